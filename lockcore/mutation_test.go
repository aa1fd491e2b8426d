package lockcore_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"dlock/lockcore"
)

var survey = flag.Bool("lockcore.survey", false, "count how many of the seeds catch each mutation, instead of stopping at the first")

// weather makes a schedule one in which a certain mutation shows. What it
// leaves alone stays random. The protocol as it is must stand it too.
var weather = map[string]func(*plan){
	// Counters that differ from node to node, and quorums that change.
	"no raise": func(p *plan) {
		p.nodes, p.resources, p.durable, p.calm, p.wild = 3, 1, true, false, false
		p.crashes, p.rounds = 10, 5
		p.weights = map[string]int{faultFreeze: 5, faultCrash: 1}
		p.odds = odds{cutBefore: 0.05}
	},
	// Nodes that forget while others cannot be reached.
	"no quarantine": func(p *plan) {
		p.nodes, p.resources, p.durable, p.calm, p.wild, p.greedy = 3, 1, false, false, false, true
		p.weights = map[string]int{faultWipe: 6, faultFreeze: 3}
		p.odds = odds{}
	},
	// Answers that come late, and holders that stay as long as they may.
	"late base": func(p *plan) {
		p.nodes, p.resources, p.calm, p.wild, p.greedy = 1, 1, false, false, true
		p.ttl = 400 * time.Millisecond
		p.nodeTimeout = p.ttl / 3
		p.weights = nil
		p.odds = odds{spike: 0.3, spikes: p.nodeTimeout}
	},
	// Whoever is paused past the lease releases what is not its own any more.
	"release without compare": func(p *plan) { p.resources, p.wild, p.greedy = 1, false, true },
	// Nothing but the order of what is sent matters.
	"no chain": func(p *plan) {
		p.calm, p.nodes, p.weights, p.odds = true, 5, nil, odds{}
		p.nodeTimeout = p.ttl / 3
	},
	"silence is consent": func(p *plan) { p.wild = false },
}

// Each way to break the protocol is noticed within the seeds of a normal run,
// and the unbroken protocol passes the same schedules.
func TestMutationsAreCaught(t *testing.T) {
	if underRace {
		t.Skip("the mutations are of the protocol; without the race detector they are caught too")
	}
	for name, mutation := range lockcore.Mutations {
		if name == "no epoch" {
			continue // see TestATokenCountsForOneEpochOnly
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schedule := func(seed uint64) plan {
				p := newPlan(seed)
				if change := weather[name]; change != nil {
					change(&p)
				}
				return p
			}
			caught := 0
			for seed := range uint64(*seeds) {
				for _, what := range schedule(seed).run(t, nil) {
					t.Errorf("the protocol as it is, seed %d: %s", seed, what)
				}
				p := schedule(seed)
				p.mutation = mutation
				bad := p.run(t, nil)
				if len(bad) == 0 {
					continue
				}
				caught++
				t.Logf("caught by seed %d: %s", seed, bad[0])
				if !*survey {
					return
				}
			}
			if caught == 0 {
				t.Errorf("none of %d seeds noticed", *seeds)
			}
			t.Logf("caught by %d of %d seeds", caught, *seeds)
		})
	}
}

// A waiter that gave a node back must not count what it hears late of the grant
// that it gave back. Random schedules come to this once in a hundred, so it is
// played.
func TestATokenCountsForOneEpochOnly(t *testing.T) {
	t.Run("as it is", func(t *testing.T) {
		for _, what := range lateNews(t, nil) {
			t.Error(what)
		}
	})
	t.Run("no epoch", func(t *testing.T) {
		bad := lateNews(t, lockcore.Mutations["no epoch"])
		if !slices.ContainsFunc(bad, func(what string) bool { return strings.Contains(what, "before the end of") }) {
			t.Errorf("two holders at once were not noticed: %q", bad)
		}
		t.Log(strings.Join(bad, "\n"))
	})
}

func lateNews(t *testing.T, mutation lockcore.Option) (bad []string) {
	p := plan{
		nodes: 3, ttl: 3 * time.Second, nodeTimeout: 200 * time.Millisecond, latency: time.Millisecond,
		durable: true, calm: true, mutation: mutation,
	}
	p.bubble(t, func(b *bubble) {
		holder, old, young := b.actor(0), b.actor(1), b.actor(2)
		for _, c := range []*client{holder, old, young} {
			c.take("warm", 0).release() // it is connected now, and listens
		}
		h := holder.take("job", 0)
		time.Sleep(50 * time.Millisecond)

		old.links[0].frozen.close()
		old.links[1].frozen.close()
		olds := old.willTake("job")
		time.Sleep(10 * time.Millisecond)
		youngs := young.willTake("job")
		time.Sleep(20 * time.Millisecond)
		young.links[1].frozen.close()
		// Node 1 has seen grants that came to nothing. Were its counter not
		// ahead, the raise would fail on it, and show the mistake already.
		if err := b.nodes[1].redis.Set("lock:fence:{lock:job}", "100 0"); err != nil {
			t.Fatal(err)
		}
		h.release() // nodes 0 and 1 go to the young one, 2 to the old one
		old.links[1].frozen.open()

		// The young one does not hear from node 1 in time, yields, and asks
		// anew. What node 1 said then comes only now.
		time.Sleep(3 * p.nodeTimeout / 2)
		young.links[1].frozen.open()
		o := <-olds
		time.Sleep(time.Second)
		o.release()
		(<-youngs).release()
		for _, c := range []*client{holder, old, young} {
			for _, l := range c.links {
				l.frozen.open()
			}
			c.close()
		}
		bad = b.book.verdict(inModel)
	})
	return bad
}

// actor is a client whose part is written, not random.
func (w *world) actor(id int) *client {
	return w.newClient(id, rand.New(rand.NewPCG(w.plan.seed, uint64(id))))
}

// take acquires a lock and keeps it; the time to wait is added to a second.
func (c *client) take(resource string, wait time.Duration, opts ...lockcore.Option) *holding {
	called := time.Now()
	k, err := c.locker.Acquire(context.Background(), resource, append(opts, lockcore.WithWait(wait+time.Second))...)
	if err != nil {
		c.w.book.wrong("%s: %v", c.name, err)
		panic(err)
	}
	return c.w.book.granted(c, called, k)
}

func (c *client) willTake(resource string, opts ...lockcore.Option) <-chan *holding {
	got := make(chan *holding, 1)
	go func() { got <- c.take(resource, time.Minute, opts...) }()
	return got
}

func (h *holding) release() {
	h.releasing()
	if err := h.lock.Release(context.Background()); err != nil {
		h.book.wrong("release: %v", err)
	}
}
