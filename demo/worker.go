package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"dlock/lockcore"
)

// resourceNames are what the workers contend for. A larger demo numbers
// further ones.
var resourceNames = []string{
	"orders:settle:eu-west", "inventory:sku:55-0192", "billing:invoice:run",
	"search:reindex", "mail:digest:tue", "cart:checkout:88120", "report:daily:finance", "cache:warm:home",
}

func resourceName(i int) string {
	if i < len(resourceNames) {
		return resourceNames[i]
	}
	return fmt.Sprintf("tenant:migrate:%04d", i)
}

// worker is one contending client: it thinks, asks for a lock, works under it
// and releases it, over and over.
type worker struct {
	demo   *Demo
	index  int
	name   string
	locker *lockcore.Locker
	rand   *rand.Rand
}

func (w *worker) run(ctx context.Context) {
	defer w.locker.Close()
	// A short first pause, so that a newcomer sees locks at once.
	w.sleep(ctx, w.between(0, 300*time.Millisecond))
	for ctx.Err() == nil {
		w.turn(ctx, resourceName(w.rand.IntN(w.demo.config.Resources)))
		w.demo.set(w, Idle, "", 0, "")
		w.sleep(ctx, w.between(200*time.Millisecond, 1500*time.Millisecond))
	}
}

// turn takes one lock, works and releases it.
func (w *worker) turn(ctx context.Context, resource string) {
	d := w.demo
	if inside := d.checker.inside(resource); inside != "" {
		d.count(func(c *counts) { c.contended++ })
		d.set(w, Waiting, resource, 0, inside+" is inside")
	} else {
		d.set(w, Waiting, resource, 0, "")
	}
	lock, err := w.acquire(ctx, resource)
	if err != nil {
		return
	}
	d.count(func(c *counts) { c.grants++ })
	d.set(w, Working, resource, lock.Fence(), "")
	leave := d.checker.enter(resource, w.name, lock)

	// Most work is short; some of it outlives the TTL, so that renewals are
	// seen.
	long := w.between(400*time.Millisecond, 2500*time.Millisecond)
	if w.rand.IntN(5) == 0 {
		long = w.between(d.config.TTL/2, d.config.TTL*3/2)
	}
	w.work(ctx, lock, long)
	leave()

	var lost *lockcore.LostError
	if errors.As(lock.Err(), &lost) {
		d.count(func(c *counts) { c.losses++ })
		d.set(w, Lost, resource, lock.Fence(), "lock lost: "+string(lost.Reason))
		lock.Release(ctx) // deletes what is left of it on nodes that still have it
		w.sleep(ctx, time.Second)
		return
	}
	lock.Release(ctx)
}

// work is inside for d, or until the lock or the demo ends.
func (w *worker) work(ctx context.Context, lock *lockcore.Lock, d time.Duration) {
	held, done := context.WithCancel(lock.Context())
	defer done()
	defer context.AfterFunc(ctx, done)()
	w.sleep(held, d)
}

// acquire tries until it has the lock or ctx ends, telling each time why not.
func (w *worker) acquire(ctx context.Context, resource string) (*lockcore.Lock, error) {
	d := w.demo
	for {
		// A short wait, so that the reason on screen is a fresh one.
		lock, err := w.locker.Acquire(ctx, resource, lockcore.WithWait(time.Second))
		if err == nil {
			return lock, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		var nq *lockcore.NoQuorumError
		var held *lockcore.NotAcquiredError
		switch {
		case errors.As(err, &nq):
			d.count(func(c *counts) { c.noQuorum++ })
			d.set(w, Waiting, resource, 0, fmt.Sprintf("no quorum: needs %d of %d nodes, reached %d", nq.Need, nq.Of, nq.Reached))
		case errors.As(err, &held) && held.Owner != "":
			d.set(w, Waiting, resource, 0, held.Owner+" is inside")
		default:
			d.set(w, Waiting, resource, 0, err.Error())
		}
	}
}

func (w *worker) between(low, high time.Duration) time.Duration {
	return low + time.Duration(w.rand.Int64N(int64(high-low)+1))
}

// sleep waits for d or until ctx ends.
func (w *worker) sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
