package main

import (
	"context"
	"time"

	"dlock/lockcore"
	"dlock/lockcore/node"
)

// commandLimit bounds a command on the wire for dlock and the floor. It is far
// longer than dlock's node timeout, which ends the wait for a node but not its
// connection.
const commandLimit = time.Second

// patience is how long dlock may wait for a lock: longer than a slice.
const patience = time.Minute

type dlockClient struct {
	nodes  []*node.Node
	locker *lockcore.Locker
}

func openDlock(c connect) (locker, error) { return newDlock(c) }

func newDlock(c connect, opts ...lockcore.Option) (*dlockClient, error) {
	nodes, err := openNodes(c)
	if err != nil {
		return nil, err
	}
	l, err := lockcore.New(nodes, append([]lockcore.Option{lockcore.WithWait(patience)}, opts...)...)
	if err != nil {
		node.CloseAll(nodes)
		return nil, err
	}
	return &dlockClient{nodes: nodes, locker: l}, nil
}

func openNodes(c connect) ([]*node.Node, error) {
	urls := make([]string, len(c.addrs))
	for i, addr := range c.addrs {
		urls[i] = "redis://" + addr
	}
	return node.OpenAll(urls, node.Options{Timeout: commandLimit, PoolSize: c.pool})
}

func (d *dlockClient) acquire(ctx context.Context, name string) (grant, error) {
	k, err := d.locker.Acquire(ctx, name)
	if err != nil {
		return nil, err
	}
	return dlockGrant{k}, nil
}

func (d *dlockClient) close() error {
	err := d.locker.Close()
	node.CloseAll(d.nodes)
	return err
}

type dlockGrant struct{ lock *lockcore.Lock }

func (g dlockGrant) fence() int64                      { return g.lock.Fence() }
func (g dlockGrant) release(ctx context.Context) error { return g.lock.Release(ctx) }
