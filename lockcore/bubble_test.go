package lockcore_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"

	"dlock/lockcore"
)

// schedules is how many of them to run: fewer under the race detector unless
// somebody asks for more than usual.
func schedules() int {
	if underRace && *seeds == usualSeeds {
		return usualSeeds / 5
	}
	return *seeds
}

const usualSeeds = 150

var seeds = flag.Int("lockcore.seeds", usualSeeds, "random schedules to run on fake time; 2000 take a few minutes")

// plan is a random schedule: who does what to whom, and what goes wrong. It
// follows from its seed. The order of what happens at one instant does not, so
// that a seed which failed may have to be run a few times to fail again.
type plan struct {
	seed        uint64
	nodes       int
	clients     int
	resources   int
	rounds      int // per client
	ttl         time.Duration
	nodeTimeout time.Duration
	durable     bool
	latency     time.Duration
	calm        bool // nothing goes wrong at all
	wild        bool // nodes' clocks jump
	greedy      bool // every holder is paused past its lease
	brisk       bool // most holders hold for a moment only
	crashes     int  // of 20 holders, how many crash instead of releasing
	weights     map[string]int
	odds        odds
	mutation    lockcore.Option
}

// Faults that the nemesis deals out.
const (
	faultHang    = "hang"
	faultCrash   = "crash with data"
	faultWipe    = "crash without data"
	faultCut     = "cut"
	faultFreeze  = "partition"
	faultScripts = "script flush"
	faultRefuse  = "refusal"
	faultStep    = "clock step"
	faultDoze    = "client stopped"
	faultSuspend = "client suspended"
)

func newPlan(seed uint64) plan {
	rng := rand.New(rand.NewPCG(seed, 0))
	pick := func(ds ...time.Duration) time.Duration { return ds[rng.IntN(len(ds))] }
	p := plan{
		seed:      seed,
		nodes:     []int{1, 3, 3, 3, 5, 5}[rng.IntN(6)],
		clients:   4 + rng.IntN(3)*rng.IntN(3),
		resources: 1 + rng.IntN(2),
		rounds:    2 + rng.IntN(3),
		ttl:       pick(400*time.Millisecond, time.Second, 3*time.Second),
		latency:   pick(100*time.Microsecond, time.Millisecond, 5*time.Millisecond),
		durable:   rng.IntN(3) == 0,
		calm:      rng.IntN(8) == 0,
		crashes:   1,
		weights:   make(map[string]int),
	}
	p.nodeTimeout = min(pick(20*time.Millisecond, 50*time.Millisecond, 200*time.Millisecond), p.ttl/3)
	p.latency = min(p.latency, p.nodeTimeout/8) // there and back it takes up to six times this
	if p.calm {
		p.nodeTimeout = p.ttl / 3
		return p
	}
	p.wild = rng.IntN(8) == 0
	for _, kind := range []string{faultHang, faultCrash, faultWipe, faultCut, faultFreeze, faultScripts, faultRefuse, faultStep} {
		p.weights[kind] = rng.IntN(4)
	}
	if p.durable || p.nodes == 1 {
		p.weights[faultWipe] = 0 // they are said not to forget
	}
	some := func(most float64) float64 {
		if rng.IntN(2) == 0 {
			return 0
		}
		return rng.Float64() * most
	}
	p.odds = odds{spike: some(0.1), spikes: 2 * p.nodeTimeout, cutBefore: some(0.03), cutAfter: some(0.03), mute: some(0.03), losePush: some(0.5), latePush: some(0.5)}
	p.odds.stall, p.odds.stalls = some(0.03), 2*p.ttl
	for _, kind := range []string{faultDoze, faultSuspend} {
		p.weights[kind] = rng.IntN(3)
	}
	return p
}

// strictness is what the schedule allows to be promised.
func (p plan) strictness() strictness {
	if p.wild {
		return fenceOnly
	}
	return inModel
}

// bubbleNode is a Redis in this process whose clock is its own.
type bubbleNode struct {
	redis *miniredis.Miniredis
	site  *site

	mu     sync.Mutex
	born   time.Time
	wiped  time.Time
	rate   float64
	offset time.Duration
}

// tick sets the server's clock. It is what makes its keys age.
func (n *bubbleNode) tick() {
	n.mu.Lock()
	defer n.mu.Unlock()
	age := time.Since(n.born)
	n.redis.SetTime(n.born.Add(age + time.Duration(float64(age)*n.rate) + n.offset))
}

func (n *bubbleNode) step(d time.Duration) {
	n.tick()
	n.mu.Lock()
	n.offset += d
	n.mu.Unlock()
}

// marked reports whether the node has a marker, and votes whether that lets it
// vote.
func (n *bubbleNode) marked() (marked, votes bool) {
	n.tick()
	marker, err := n.redis.Get("lock:node")
	if err != nil {
		return false, false
	}
	fields := strings.Fields(marker)
	birth, _ := strconv.ParseInt(fields[0], 10, 64)
	longest, _ := strconv.ParseInt(fields[1], 10, 64)
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now().Add(time.Duration(float64(time.Since(n.born))*n.rate) + n.offset)
	return true, birth == 0 || birth+longest+longest/100+1 < now.UnixMilli()
}

// leftovers are the keys that must not outlive the locks.
func (n *bubbleNode) leftovers() []string {
	n.tick()
	var keys []string
	for _, k := range n.redis.Keys() {
		if k != "lock:node" && !strings.HasPrefix(k, "lock:fence:") {
			v, _ := n.redis.Get(k)
			keys = append(keys, k+"="+v)
		}
	}
	return keys
}

func (n *bubbleNode) forgetScripts() {
	conn, err := n.redis.Dial()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "*2\r\n$6\r\nSCRIPT\r\n$5\r\nFLUSH\r\n"); err != nil {
		panic(err)
	}
	if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
		panic(err)
	}
}

// bubble is one schedule being run.
type bubble struct {
	world
	nodes []*bubbleNode
}

// run runs the schedule in a bubble of fake time and returns what was wrong.
func (p plan) run(t *testing.T, total *summary) (bad []string) {
	p.bubble(t, func(b *bubble) {
		clients := make([]*client, p.clients)
		for i := range clients {
			clients[i] = b.newClient(i, rand.New(rand.NewPCG(p.seed, 100+uint64(i))))
		}
		var working, nemesis sync.WaitGroup
		for _, c := range clients {
			working.Go(c.work)
		}
		nemesis.Go(func() { b.nemesis(clients) })
		working.Wait()
		close(b.stop)
		nemesis.Wait()
		b.settle(clients)
		bad = b.book.verdict(p.strictness())
		if total != nil {
			total.add(b.book, b.net.faults)
		}
	})
	return bad
}

// bubble has something played on fake time with the plan's nodes, which are
// up, new and connected to nobody.
func (p plan) bubble(t *testing.T, play func(*bubble)) {
	synctest.Test(t, func(t *testing.T) {
		// A bubble begins in 2000, when fencing tokens had no seed yet.
		time.Sleep(time.Until(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)))
		b := &bubble{world: world{plan: p, book: newBook(), stop: make(chan struct{}), tolerance: time.Millisecond}}
		rng := rand.New(rand.NewPCG(p.seed, 2))
		var dials []func(context.Context) (net.Conn, error)
		for range p.nodes {
			n := &bubbleNode{redis: miniredis.NewMiniRedis(), born: time.Now()}
			if !p.calm {
				n.rate = (rng.Float64() - 0.5) * 0.008 // within what drift allows for
			}
			n.redis.ClockTTL(true)
			b.nodes = append(b.nodes, n)
			dials = append(dials, func(context.Context) (net.Conn, error) { return n.redis.Dial() })
		}
		b.net = newNetwork(p.seed, dials...)
		b.net.instant = true
		for i, n := range b.nodes {
			n.site = b.net.sites[i]
			n.site.before = n.tick
		}
		play(b)
		for _, n := range b.nodes {
			n.site.crash()
			n.redis.Close()
		}
	})
}

// settle lets everything end and looks at what is left.
func (b *bubble) settle(clients []*client) {
	for _, c := range clients {
		c.close()
	}
	if b.plan.calm && b.loose.Load() == 0 {
		for i, n := range b.nodes {
			if left := n.leftovers(); len(left) > 0 {
				b.book.wrong("left on node %d after the last release, though nothing went wrong: %q", i, left)
			}
		}
	}
	// Everything works again, and after the longest quarantine everything can
	// be locked by somebody new.
	time.Sleep(b.plan.ttl + b.plan.ttl/50 + 10*time.Millisecond)
	last := b.newClient(len(clients), rand.New(rand.NewPCG(b.plan.seed, 99)))
	for _, l := range last.links {
		l.odds = odds{}
	}
	for r := range b.plan.resources {
		called := time.Now()
		k, err := last.locker.Acquire(context.Background(), last.resource(r), lockcore.WithWait(3*b.plan.ttl+5*time.Second))
		if err != nil {
			b.book.wrong("when all was well again, %q was not to be had: %v", last.resource(r), err)
			continue
		}
		h := b.book.granted(last, called, k)
		h.releasing()
		if err := k.Release(context.Background()); err != nil {
			b.book.wrong("when all was well again, the release said: %v", err)
		}
	}
	last.close()
	// The last resort for what a lost release left behind, and the time for
	// which a node refuses a token whose acquire may be on its way, from when a
	// release that was itself held up on its way arrived.
	time.Sleep(max(2*b.plan.ttl, 30*time.Second) + b.plan.odds.stalls + time.Second)
	for i, n := range b.nodes {
		if left := n.leftovers(); len(left) > 0 {
			b.book.wrong("left on node %d for ever: %q", i, left)
		}
	}
}

// nemesis breaks things, and repairs what it broke before it returns.
func (b *bubble) nemesis(clients []*client) {
	rng := rand.New(rand.NewPCG(b.plan.seed, 3))
	var kinds []string
	for kind, weight := range b.plan.weights {
		for range weight {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	if len(kinds) == 0 {
		return
	}
	between := func(least, most time.Duration) time.Duration {
		return least + time.Duration(rng.Int64N(int64(most-least)))
	}
	var repairs sync.WaitGroup
	defer repairs.Wait()
	busy := make([]chan struct{}, len(b.nodes)) // one fault on a node at a time
	for i := range busy {
		busy[i] = make(chan struct{}, 1)
	}
	dozing := make([]chan struct{}, len(clients))
	for i := range dozing {
		dozing[i] = make(chan struct{}, 1)
	}
	stepped := make([]time.Time, len(b.nodes))
	for {
		select {
		case <-b.stop:
			return
		case <-time.After(between(b.plan.ttl/50, b.plan.ttl/3)):
		}
		kind, i := kinds[rng.IntN(len(kinds))], rng.IntN(len(b.nodes))
		n, s := b.nodes[i], b.net.sites[i]
		for_ := between(b.plan.nodeTimeout/4, 2*b.plan.ttl)
		c := clients[rng.IntN(len(clients))]
		nudge := time.Duration((rng.Float64() - 0.6) * float64(b.plan.ttl) * 0.01)
		if b.plan.wild {
			nudge = time.Duration((rng.Float64() - 0.3) * 4 * float64(b.plan.ttl))
		}
		switch kind {
		case faultCut:
			s.cutAll()
		case faultScripts:
			n.forgetScripts()
		case faultStep:
			if !b.plan.wild && time.Since(stepped[i]) < b.plan.ttl {
				continue // one small step per lease is what drift allows for
			}
			stepped[i] = time.Now()
			n.step(nudge)
		case faultFreeze:
			l := c.links[i]
			repairs.Go(func() {
				l.frozen.close()
				b.pause(for_)
				l.frozen.open()
			})
		case faultDoze, faultSuspend:
			deaf := rng.IntN(2) == 0
			select {
			case dozing[c.id] <- struct{}{}:
			default:
				continue
			}
			repairs.Go(func() {
				c.doze(for_, kind == faultSuspend, deaf)
				<-dozing[c.id]
			})
		case faultRefuse:
			text := []string{"OOM command not allowed when used memory > 'maxmemory'", "BUSY Redis is busy running a script", "LOADING Redis is loading the dataset in memory"}[rng.IntN(3)]
			repairs.Go(func() {
				n.redis.SetError(text)
				b.pause(for_ / 4)
				n.redis.SetError("")
			})
		default:
			if kind == faultWipe && !b.mayForget() {
				continue
			}
			select {
			case busy[i] <- struct{}{}:
			default:
				continue
			}
			if kind == faultWipe {
				n.wiped = time.Now()
			}
			repairs.Go(func() {
				defer func() { <-busy[i] }()
				if kind == faultHang {
					s.hung.close()
					b.pause(for_)
					s.hung.open()
					return
				}
				s.crash()
				n.forgetScripts()
				if kind == faultWipe {
					n.redis.FlushAll()
				}
				b.pause(for_ / 2)
				s.recover()
			})
		}
		b.net.count(kind)
	}
}

// mayForget reports whether one more node may lose its data: of a minority
// only, counting those that still must not vote because they did.
func (b *bubble) mayForget() bool {
	out, unmarked, inUse := 0, 0, false
	for _, n := range b.nodes {
		marked, votes := n.marked()
		inUse = inUse || marked
		switch recently := !n.wiped.IsZero() && time.Since(n.wiped) < b.plan.ttl+b.plan.ttl/10; {
		case recently || marked && !votes:
			out++
		case !marked:
			unmarked++
		}
	}
	if inUse {
		out += unmarked
	}
	return out < len(b.nodes)-lockcore.Quorum(len(b.nodes))
}

// Whatever goes wrong, within what is promised for: no two locks are valid at
// once, fencing tokens grow, holders are told of their loss in time, and
// nothing is left behind.
func TestRandomSchedules(t *testing.T) {
	var total summary
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // the servers' Lua makes much garbage
	t.Run("seeds", func(t *testing.T) {
		for seed := range uint64(schedules()) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				p := newPlan(seed)
				for _, what := range p.run(t, &total) {
					t.Error(what)
				}
				if t.Failed() {
					t.Logf("seed %d: %+v", seed, p)
				}
			})
		}
	})
	t.Log(&total)
	if told := toldOf(lockcore.LossSuspended); total.schedules >= 100 && total.faults[told] == 0 {
		t.Errorf("nobody was %s; the schedules have shown nothing of it", told)
	}
}
