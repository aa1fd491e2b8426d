package lockcore_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
	"dlock/lockcore"
)

var historyTime = flag.Duration("lockcore.history", 12*time.Second, "how long to run each history on redis-server; 10m gives more than 10,000 grants")

// Faults that only redis-server processes can have.
const (
	faultKill     = "kill -9 and restart with data"
	faultStop     = "SIGSTOP"
	faultPause    = "CLIENT PAUSE"
	faultReplicas = "NOREPLICAS"
	faultMemory   = "OOM"
	faultDisk     = "MISCONF"
)

// history is a schedule that runs on redis-server processes, in real time.
type history struct {
	world
	t     *testing.T
	lab   *lab.Lab
	admin []*redis.Client
}

// Whatever goes wrong with real servers, within what is promised for: no two
// locks are valid at once, fencing tokens grow, and nothing is left behind.
func TestHistoriesOnRedisServer(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	for name, p := range map[string]plan{
		// A restarted node votes at once.
		"durable": {durable: true, ttl: time.Second},
		// A restarted node stays out for a TTL.
		"quarantined": {ttl: 600 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.seed = rand.Uint64()
			p.nodes, p.clients, p.resources, p.rounds = 5, 8, 2, 1<<30
			p.nodeTimeout, p.latency, p.crashes, p.brisk = 100*time.Millisecond, 200*time.Microsecond, 1, true
			p.odds = odds{spike: 0.01, spikes: 150 * time.Millisecond, cutBefore: 0.003, cutAfter: 0.003, mute: 0.002, losePush: 0.05, latePush: 0.05}
			h := newHistory(t, p)
			h.run()
			var total summary
			total.add(h.book, h.net.faults)
			t.Log(&total)
			for _, what := range h.book.verdict(inModel) {
				t.Error(what)
			}
			h.book.mu.Lock()
			defer h.book.mu.Unlock()
			if len(h.book.grants) < 50 {
				t.Errorf("only %d grants in %v", len(h.book.grants), *historyTime)
			}
			if t.Failed() {
				t.Logf("seed %d", p.seed)
			}
		})
	}
}

func newHistory(t *testing.T, p plan) *history {
	// A database file that cannot be written, for MISCONF.
	l := labtest.Start(t, lab.Config{Nodes: p.nodes, Kind: lab.Process, Args: []string{"--dbfilename", "appendonlydir"}})
	h := &history{t: t, lab: l, world: world{plan: p, book: newBook(), tolerance: 5 * time.Second, stop: make(chan struct{})}}
	var dials []func(context.Context) (net.Conn, error)
	for _, n := range l.Nodes() {
		h.admin = append(h.admin, labtest.Client(t, n))
		dials = append(dials, func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", n.Addr())
		})
	}
	h.net = newNetwork(p.seed, dials...)
	return h
}

func (h *history) run() {
	clients := make([]*client, h.plan.clients)
	for i := range clients {
		clients[i] = h.newClient(i, rand.New(rand.NewPCG(h.plan.seed, 100+uint64(i))))
	}
	var working, nemesis sync.WaitGroup
	for _, c := range clients {
		working.Go(c.work)
	}
	nemesis.Go(func() { h.nemesis(clients) })
	timer := time.AfterFunc(*historyTime, func() { close(h.stop) })
	defer timer.Stop()
	<-h.stop
	nemesis.Wait() // which leaves everything in repair, so that the clients come to an end
	working.Wait()
	for _, c := range clients {
		c.close()
	}

	defer func() {
		if h.t.Failed() {
			h.t.Logf("left: %q", h.leftovers())
		}
	}()
	eventually(h.t, "no lock, no queue and no waiter on any node", func() bool { return len(h.leftovers()) == 0 })
	last := h.newClient(len(clients), rand.New(rand.NewPCG(h.plan.seed, 99)))
	defer last.close()
	for _, l := range last.links {
		l.odds = odds{}
	}
	for r := range h.plan.resources {
		k, err := last.locker.Acquire(background, last.resource(r), lockcore.WithWait(time.Minute))
		if err != nil {
			h.t.Errorf("when all was well again: %v", err)
			continue
		}
		if err := k.Release(background); err != nil {
			h.t.Errorf("when all was well again: %v", err)
		}
	}
}

// waits reports whether a record of the wait companion is of a waiter that may
// still be served. Beside such there are tokens that are remembered as
// released, and waiters whose time is over.
func waits(record string) bool {
	until, err := strconv.ParseInt(strings.Fields(record)[0], 10, 64)
	return err == nil && until > time.Now().UnixMilli()
}

// leftovers are the keys that must not outlive the locks.
func (h *history) leftovers() []string {
	var left []string
	for i, c := range h.admin {
		keys, err := c.Keys(background, "*").Result()
		if err != nil {
			return []string{err.Error()}
		}
		for _, k := range keys {
			if k == "lock:node" || strings.HasPrefix(k, "lock:fence:") {
				continue
			}
			if strings.HasPrefix(k, "lock:wait:") {
				waiters := c.HVals(background, k).Val()
				if !slices.ContainsFunc(waiters, waits) {
					continue
				}
			}
			left = append(left, fmt.Sprint(i, " ", k))
		}
	}
	return left
}

// nemesis breaks things, and repairs what it broke before it returns.
func (h *history) nemesis(clients []*client) {
	rng := rand.New(rand.NewPCG(h.plan.seed, 2))
	kinds := []string{faultKill, faultKill, faultStop, faultStop, faultPause, faultCut, faultFreeze, faultScripts, faultReplicas, faultMemory, faultDisk}
	var repairs sync.WaitGroup
	defer repairs.Wait()
	busy := make([]chan struct{}, len(h.admin))
	for i := range busy {
		busy[i] = make(chan struct{}, 1)
	}
	for {
		select {
		case <-h.stop:
			return
		case <-time.After(20*time.Millisecond + time.Duration(rng.Int64N(int64(300*time.Millisecond)))):
		}
		kind, i := kinds[rng.IntN(len(kinds))], rng.IntN(len(h.admin))
		n, admin := h.lab.Nodes()[i], h.admin[i]
		for_ := 20*time.Millisecond + time.Duration(rng.Int64N(int64(2*h.plan.ttl)))
		c := clients[rng.IntN(len(clients))]
		select {
		case busy[i] <- struct{}{}:
		default:
			continue // one fault on a node at a time
		}
		h.net.count(kind)
		repairs.Go(func() {
			defer func() { <-busy[i] }()
			var err error
			switch kind {
			case faultCut:
				h.net.sites[i].cutAll()
			case faultScripts:
				err = admin.ScriptFlush(background).Err()
			case faultPause:
				err = admin.Do(background, "CLIENT", "PAUSE", for_.Milliseconds()/4, "ALL").Err()
			case faultFreeze:
				c.links[i].frozen.close()
				h.pause(for_)
				c.links[i].frozen.open()
			case faultKill:
				if err = n.Kill(); err == nil {
					h.pause(for_ / 4)
					err = n.Restart(background, false)
				}
			case faultStop:
				if err = n.Pause(); err == nil {
					h.pause(for_)
					err = n.Resume()
				}
			case faultReplicas:
				err = h.refuse(admin, for_, "min-replicas-to-write", "1", "0")
			case faultMemory:
				err = h.refuse(admin, for_, "maxmemory", "1", "0")
			case faultDisk:
				err = h.failToSave(admin, for_)
			}
			if err != nil {
				h.book.wrong("the nemesis failed at %s: %v", kind, err)
			}
		})
	}
}

// refuse has a server refuse writes for a while.
func (h *history) refuse(admin *redis.Client, for_ time.Duration, setting, bad, good string) error {
	if err := admin.ConfigSet(background, setting, bad).Err(); err != nil {
		return err
	}
	h.pause(for_ / 2)
	return admin.ConfigSet(background, setting, good).Err()
}

// failToSave has a server refuse writes because it could not save its data.
func (h *history) failToSave(admin *redis.Client, for_ time.Duration) error {
	if err := admin.ConfigSet(background, "save", "3600 1").Err(); err != nil {
		return err
	}
	if err := admin.BgSave(background).Err(); err != nil {
		return err
	}
	for {
		info, err := admin.Info(background, "persistence").Result()
		if err != nil {
			return err
		}
		if strings.Contains(info, "rdb_last_bgsave_status:err") {
			break
		}
		if h.pause(5 * time.Millisecond) {
			break
		}
	}
	h.pause(for_ / 2)
	return admin.ConfigSet(background, "save", "").Err()
}
