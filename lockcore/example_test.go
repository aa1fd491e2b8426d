package lockcore_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dlock/demo/lab"
	"dlock/lockcore"
	"dlock/lockcore/node"
)

// Three independent nodes; in production their URLs come from configuration.
func exampleNodes() (nodes []*node.Node, done func()) {
	l, err := lab.Start(context.Background(), lab.Config{Nodes: 3})
	if err != nil {
		panic(err)
	}
	nodes, err = node.OpenAll(l.URLs(), node.Options{Timeout: time.Second})
	if err != nil {
		panic(err)
	}
	return nodes, func() {
		node.CloseAll(nodes)
		l.Close()
	}
}

func Example() {
	nodes, done := exampleNodes()
	defer done()

	locker, err := lockcore.New(nodes, lockcore.WithTTL(10*time.Second), lockcore.WithNodeTimeout(2*time.Second))
	if err != nil {
		panic(err)
	}
	defer locker.Close()

	ctx := context.Background()
	lock, err := locker.Acquire(ctx, "orders:42")
	if err != nil {
		panic(err)
	}
	fmt.Println(lock.Key(), lock.Valid(), lock.Fence() > 0)
	err = lock.Release(ctx)
	fmt.Println("released:", err == nil, lock.Valid())
	// Output:
	// lock:orders:42 true true
	// released: true false
}

// Who holds a lock that is not to be had is part of the error.
func ExampleLocker_TryAcquire() {
	nodes, done := exampleNodes()
	defer done()
	ctx := context.Background()

	one, _ := lockcore.New(nodes, lockcore.WithOwner("web-1:4711"), lockcore.WithNodeTimeout(2*time.Second))
	defer one.Close()
	lock, err := one.TryAcquire(ctx, "nightly-report")
	if err != nil {
		panic(err)
	}
	defer lock.Release(ctx)

	two, _ := lockcore.New(nodes, lockcore.WithOwner("web-2:815"), lockcore.WithNodeTimeout(2*time.Second))
	defer two.Close()
	_, err = two.TryAcquire(ctx, "nightly-report")
	var held *lockcore.NotAcquiredError
	if errors.As(err, &held) {
		fmt.Println("held by", held.Owner)
	}
	// Output: held by web-1:4711
}

// Work under a lock gets the lock's context, which ends when the lock does.
func ExampleLock_Context() {
	nodes, done := exampleNodes()
	defer done()
	locker, _ := lockcore.New(nodes, lockcore.WithTTL(300*time.Millisecond), lockcore.WithNodeTimeout(250*time.Millisecond), lockcore.WithWatchdog(false))
	defer locker.Close()
	lock, err := locker.Acquire(context.Background(), "slow-job")
	if err != nil {
		panic(err)
	}
	<-lock.Context().Done() // nobody renews it
	fmt.Println(errors.Is(lock.Err(), lockcore.ErrLost))
	// Output: true
}
