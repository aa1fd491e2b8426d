package lockcore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"dlock/lockcore"
	"dlock/lockcore/node"
)

// world is what clients live in while a schedule runs, on fake or real time.
type world struct {
	plan      plan
	net       *network
	book      *book
	tolerance time.Duration // how late a holder may learn of its loss
	stop      chan struct{} // closed when it is over
	loose     atomic.Int32  // locks that clients left behind when they crashed
}

// pause waits, and reports whether it was cut short because all is over.
func (w *world) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
		return false
	case <-w.stop:
		return true
	}
}

// client is one process that uses locks.
type client struct {
	sleeper
	w      *world
	id     int
	name   string
	rng    *rand.Rand
	skew   time.Duration // its clock minus the true one
	links  []*link
	nodes  []*node.Node
	locker *lockcore.Locker
	began  int // incarnations
}

func (w *world) newClient(id int, rng *rand.Rand) *client {
	c := &client{w: w, id: id, rng: rng}
	if !w.plan.calm {
		c.skew = time.Duration((rng.Float64() - 0.5) * 0.5 * float64(w.plan.ttl)) // less than the quarantine
	}
	for _, s := range w.net.sites {
		c.links = append(c.links, &link{
			net: w.net, site: s, odds: w.plan.odds,
			latency: w.plan.latency/2 + time.Duration(rng.Int64N(int64(w.plan.latency))),
		})
	}
	c.start()
	return c
}

// start begins a new process: new connections and a Locker that knows nothing.
func (c *client) start() {
	c.name = fmt.Sprintf("c%d.%d", c.id, c.began)
	c.began++
	c.nodes = nil
	for i, l := range c.links {
		n, err := node.Open(fmt.Sprintf("redis://10.0.0.%d", i+1), node.Options{
			Timeout: time.Second, PoolSize: 64, // so many that nobody queues for a connection
			Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return l.connect(ctx) },
		})
		if err != nil {
			panic(err)
		}
		c.nodes = append(c.nodes, n)
	}
	opts := []lockcore.Option{
		lockcore.WithTTL(c.w.plan.ttl), lockcore.WithNodeTimeout(c.w.plan.nodeTimeout), lockcore.WithOwner(c.name),
		lockcore.WithNow(func() time.Time { return c.now().Add(c.skew) }),
	}
	if c.w.plan.durable {
		opts = append(opts, lockcore.WithDurable())
	}
	if c.w.plan.mutation != nil {
		opts = append(opts, c.w.plan.mutation)
	}
	locker, err := lockcore.New(c.nodes, opts...)
	if err != nil {
		panic(err)
	}
	c.locker = locker
}

// stop ends the process as a crash does: what it holds stays in Redis.
func (c *client) stop() {
	c.locker.Close()
	node.CloseAll(c.nodes)
}

func (c *client) close() {
	c.stop()
}

func (c *client) resource(i int) string { return fmt.Sprint("r", i) }

func (c *client) sleep(most time.Duration) {
	time.Sleep(time.Duration(c.rng.Int64N(int64(most) + 1)))
}

func (c *client) work() {
	ttl := c.w.plan.ttl
	c.sleep(ttl / 2)
	for round := 0; round < c.w.plan.rounds; round++ {
		select {
		case <-c.w.stop:
			return
		default:
		}
		ctx, cancel := context.WithCancel(context.Background())
		wait := []time.Duration{0, ttl, 10 * ttl, 30 * ttl}[c.rng.IntN(4)]
		if c.rng.IntN(8) == 0 {
			timer := time.AfterFunc(time.Duration(c.rng.Int64N(int64(ttl))), cancel)
			defer timer.Stop()
		}
		watchdog := c.rng.IntN(3) > 0 && !c.w.plan.greedy
		called := time.Now()
		k, err := c.locker.Acquire(ctx, c.resource(c.rng.IntN(c.w.plan.resources)), lockcore.WithWait(wait), lockcore.WithWatchdog(watchdog))
		if err != nil {
			c.expect(err)
			cancel()
			c.sleep(ttl / 4)
			continue
		}
		h := c.w.book.granted(c, called, k)
		c.hold(h, round, watchdog)
		scale := 1
		if c.w.plan.brisk {
			scale = 10
		}
		switch what := c.rng.IntN(20 * scale); {
		case what < c.w.plan.crashes && !c.w.plan.calm:
			c.w.net.count("client crash")
			c.w.loose.Add(1)
			c.stop()
			c.start()
		default:
			if what%4 == 0 {
				cancel() // a release must work all the same
			}
			h.releasing()
			if err := k.Release(ctx); err != nil && !errors.Is(err, lockcore.ErrLost) && !errors.Is(err, lockcore.ErrNotReleased) {
				c.w.book.wrong("%s: release said %v", c.name, err)
			} else if err != nil && c.w.plan.calm && watchdog {
				c.w.book.wrong("%s: release said %v, though nothing went wrong", c.name, err)
			}
		}
		cancel()
		c.sleep(ttl / 10 / time.Duration(scale))
	}
}

// hold works under the lock, and sometimes goes on although it has ended.
func (c *client) hold(h *holding, round int, watchdog bool) {
	ttl := c.w.plan.ttl
	value := func(i int) int64 { return int64(c.id*1000 + round*10 + i) }
	h.write(c.id, value(0), c.w.plan.latency)
	how := c.rng.IntN(6)
	if c.w.plan.greedy {
		how = 1
	} else if c.w.plan.brisk && c.rng.IntN(20) > 0 {
		how = 0
		c.sleep(ttl / 100)
		h.write(c.id, value(4), c.w.plan.latency)
	}
	switch how {
	case 0: // releases at once
	case 1: // is paused past its lease, if nobody renews it, and goes on writing
		if !watchdog {
			c.w.net.count("client pause")
		}
		time.Sleep(ttl + ttl/10)
		h.write(c.id, value(1), c.w.plan.latency)
	case 2: // its process is cut off from everything, then goes on writing
		if c.w.plan.calm {
			break
		}
		c.w.net.count("client cut off")
		for _, l := range c.links {
			l.frozen.close()
		}
		time.Sleep(ttl + ttl/10)
		for _, l := range c.links {
			l.frozen.open()
		}
		h.write(c.id, value(2), c.w.plan.latency)
	case 3: // extends by hand
		c.sleep(ttl / 4)
		err := h.lock.Extend(context.Background())
		if err != nil && !errors.Is(err, lockcore.ErrLost) && !errors.Is(err, lockcore.ErrNoQuorum) {
			c.w.book.wrong("%s: extend said %v", c.name, err)
		}
	default:
		c.sleep(ttl / 4)
		h.write(c.id, value(3), c.w.plan.latency)
	}
}

// expect lets pass what an Acquire may say.
func (c *client) expect(err error) {
	for _, kind := range []error{lockcore.ErrNotAcquired, lockcore.ErrNoQuorum, lockcore.ErrExpiredDuringAcquire, context.Canceled} {
		if errors.Is(err, kind) {
			return
		}
	}
	c.w.book.wrong("%s: acquire said %v", c.name, err)
}
