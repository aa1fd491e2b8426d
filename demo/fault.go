package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dlock/demo/lab"
	"dlock/lockcore"
	"dlock/lockcore/node"
)

// Target is what a fault is done to.
type Target string

// The targets.
const (
	OnNode     Target = "node"     // n1, n2, …; r1 and r2 are the Redis with a replica
	OnWorker   Target = "worker"   // worker-1, …, or Holder
	OnResource Target = "resource" // the name of a lock
	OnNothing  Target = ""
)

// Holder names, as a fault's target, whichever worker is inside next.
const Holder = "holder"

// FaultInfo describes a fault, or what heals one.
type FaultInfo struct {
	Name string
	// Key is the letter that a menu may give it.
	Key    string
	Target Target
	// Takes says that it takes a duration, and By is the one without which
	// it may be given; 0 means that there must be one.
	Takes bool
	By    time.Duration
	// HealedBy is the name of the fault that ends it, "" if it is over at
	// once.
	HealedBy string
	// Does says in a sentence what it does.
	Does string
	// Random says that random faults may be it: no mode that promises
	// anything may fail for it. Rough says the same of rough faults.
	Random, Rough bool
	// VoidsExclusion and VoidsStore are the modes whose promise it is
	// beyond.
	VoidsExclusion, VoidsStore []Mode

	do func(ctx context.Context, d *Demo, target string, by time.Duration) error
}

// votes are the modes whose locks stand on the nodes.
var votes = []Mode{Single, Redlock, Fenced}

// Faults are all of them. Help, menus, scripts and tests are made from this
// table.
var Faults = []FaultInfo{
	{
		Name: "kill", Key: "k", Target: OnNode, HealedBy: "restart", Random: true,
		Does: "stops a node at once, as kill -9 does",
		do:   onNode(func(_ context.Context, n *lab.Node, _ time.Duration) error { return n.Kill() }),
	},
	{
		Name: "restart", Key: "r", Target: OnNode,
		Does: "brings a node back with the data it had",
		do:   onNode(func(ctx context.Context, n *lab.Node, _ time.Duration) error { return n.Restart(ctx, false) }),
	},
	{
		Name: "empty", Key: "w", Target: OnNode, Rough: true,
		Does:           "restarts a node without its data: it has forgotten every lock",
		VoidsExclusion: votes, VoidsStore: []Mode{Fenced},
		do: onNode(func(ctx context.Context, n *lab.Node, _ time.Duration) error { return n.Restart(ctx, true) }),
	},
	{
		Name: "pause", Key: "p", Target: OnNode, HealedBy: "resume", Random: true,
		Does: "makes a node hang: it takes connections and answers nothing",
		do:   onNode(func(_ context.Context, n *lab.Node, _ time.Duration) error { return n.Pause() }),
	},
	{
		Name: "resume", Key: "u", Target: OnNode,
		Does: "ends a pause",
		do:   onNode(func(_ context.Context, n *lab.Node, _ time.Duration) error { return n.Resume() }),
	},
	{
		Name: "cut", Key: "x", Target: OnNode, HealedBy: "heal", Random: true,
		Does: "cuts all workers off from a node; you can still see it",
		do:   onLink(func(l *lab.Link, _ time.Duration) { l.Cut() }),
	},
	{
		Name: "slow", Key: "l", Target: OnNode, Takes: true, By: 80 * time.Millisecond, HealedBy: "heal", Random: true,
		Does: "makes everything sent to a node arrive later",
		do:   onLink(func(l *lab.Link, by time.Duration) { l.Slow(by) }),
	},
	{
		Name: "heal", Key: "h", Target: OnNode,
		Does: "mends a link that is cut or slow, and sets a node's clock right",
		do:   heal,
	},
	{
		Name: "clock", Key: "c", Target: OnNode, Takes: true, By: 10 * time.Second, HealedBy: "heal", Rough: true,
		Does:           "sets a node's clock forward or, with a minus, back; embedded nodes only",
		VoidsExclusion: votes,
		do:             onNode(func(_ context.Context, n *lab.Node, by time.Duration) error { return n.JumpClock(by) }),
	},
	{
		Name: "stop", Key: "g", Target: OnWorker, Takes: true, HealedBy: "wake", Rough: true,
		Does: "stops a worker the next time it is inside, as a garbage collection does: it wakes past its lease and writes",
		// Without a fence the store is as good as its last writer.
		do: func(_ context.Context, d *Demo, target string, by time.Duration) error {
			if by == 0 {
				by = d.config.TTL * 3 / 2
			}
			return d.orderTo(target, order{stop: by})
		},
	},
	{
		Name: "wake", Key: "v", Target: OnWorker,
		Does: "wakes a worker that is stopped",
		do:   func(_ context.Context, d *Demo, target string, _ time.Duration) error { return d.wake(target) },
	},
	{
		Name: "crash", Key: "d", Target: OnWorker, Rough: true,
		Does: "has a worker die the next time it is inside, or, in the mode naive, between its two steps",
		do: func(_ context.Context, d *Demo, target string, _ time.Duration) error {
			return d.orderTo(target, order{crash: true})
		},
	},
	{
		Name: "evict", Key: "e", Target: OnResource, Rough: true,
		Does:           "takes a lock's key away on every node, as servers short of memory do",
		VoidsExclusion: []Mode{Single, Replica, Redlock, Fenced},
		do:             evict,
	},
	{
		Name: "failover", Key: "f", Target: OnNothing, HealedBy: "rejoin", Rough: true,
		Does:           "in the mode replica: the primary dies and the replica, which has not seen its last locks, takes over",
		VoidsExclusion: []Mode{Replica},
		do:             failover,
	},
	{
		Name: "rejoin", Key: "j", Target: OnNothing,
		Does: "brings the old primary back as a replica",
		do: func(ctx context.Context, d *Demo, _ string, _ time.Duration) error {
			p := d.thePair()
			if p == nil {
				return errNoPair
			}
			return p.rejoin(ctx)
		},
	},
}

var errNoPair = errors.New("there is no Redis with a replica; change to the mode replica first")

// FindFault returns a fault by its name.
func FindFault(name string) (FaultInfo, bool) {
	i := slices.IndexFunc(Faults, func(f FaultInfo) bool { return f.Name == name })
	if i < 0 {
		return FaultInfo{}, false
	}
	return Faults[i], true
}

// ActiveFault is a fault that lasts.
type ActiveFault struct {
	Name, Target string
	By           time.Duration // 0 where it takes none
	Since        time.Time
}

// Inject does a fault, or heals one. target is a node's, a worker's or a
// resource's name, or "" for those that have none; by is how much, 0 for the
// fault's own measure. ctx bounds what takes time. The error says what cannot
// be done, such as setting the clock of a redis-server.
func (d *Demo) Inject(ctx context.Context, name, target string, by time.Duration) error {
	f, ok := FindFault(name)
	if !ok {
		return fmt.Errorf("there is no fault of that name; use %s", listed(Faults, func(f FaultInfo) string { return f.Name }))
	}
	if err := d.checkTarget(f, target); err != nil {
		return err
	}
	if by == 0 {
		by = f.By
	}
	d.breaking.Lock()
	defer d.breaking.Unlock()
	if d.life.Err() != nil {
		return errStopped
	}
	// Before it is done: its effect may be seen before do returns.
	d.void(f)
	if err := f.do(ctx, d, target, by); err != nil {
		d.note(strings.TrimSpace(f.Name+" "+target) + " failed: " + err.Error())
		return err
	}
	d.record(f, target, by)
	return nil
}

// record keeps the list of what lasts, and notes what was done.
func (d *Demo) record(f FaultInfo, target string, by time.Duration) {
	text := strings.TrimSpace(f.Name + " " + target)
	if f.Takes && by != 0 {
		text += " " + by.String()
	}
	d.note(text)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.active = slices.DeleteFunc(d.active, func(a ActiveFault) bool {
		if a.Target != target {
			return false
		}
		old, _ := FindFault(a.Name)
		// A node that is brought up again neither hangs nor is down.
		back := f.Name == "restart" || f.Name == "empty"
		return a.Name == f.Name && f.Name != "clock" || old.HealedBy == f.Name || back && (a.Name == "kill" || a.Name == "pause") ||
			f.Name == "kill" && a.Name == "pause"
	})
	// A worker is stopped only when it is inside, and says so itself.
	if f.HealedBy != "" && f.Target != OnWorker {
		d.active = append(d.active, ActiveFault{f.Name, target, by, time.Now()})
	}
}

// HealAll ends everything that lasts.
func (d *Demo) HealAll(ctx context.Context) error {
	d.mu.Lock()
	active := slices.Clone(d.active)
	asleep := make([]string, 0, len(d.asleep))
	for name := range d.asleep {
		asleep = append(asleep, name)
	}
	d.mu.Unlock()
	var errs []error
	for _, a := range active {
		f, _ := FindFault(a.Name)
		errs = append(errs, d.Inject(ctx, f.HealedBy, a.Target, 0))
	}
	for _, name := range asleep {
		errs = append(errs, d.Inject(ctx, "wake", name, 0))
	}
	return errors.Join(errs...)
}

// void takes back the promises of the present mode that a fault is beyond.
func (d *Demo) void(f FaultInfo) {
	d.mu.Lock()
	r := d.round
	d.mu.Unlock()
	if r != nil {
		d.voidIn(r, f)
	}
}

// voidActive does so for a round that begins while faults last.
func (d *Demo) voidActive(r *round) {
	d.mu.Lock()
	active := slices.Clone(d.active)
	d.mu.Unlock()
	for _, a := range active {
		if f, _ := FindFault(a.Name); f.Name != "failover" { // what it lost, it lost then
			d.voidIn(r, f)
		}
	}
}

func (d *Demo) voidIn(r *round, f FaultInfo) {
	if f.Name == "empty" && d.config.Quarantine && r.mode.Mode != Single {
		return // what a node has forgotten is over before it votes again
	}
	r.count(func(t *tally) {
		if slices.Contains(f.VoidsExclusion, r.mode.Mode) && !slices.Contains(t.voidedExclusion, f.Name) {
			t.voidedExclusion = append(t.voidedExclusion, f.Name)
		}
		if slices.Contains(f.VoidsStore, r.mode.Mode) && !slices.Contains(t.voidedStore, f.Name) {
			t.voidedStore = append(t.voidedStore, f.Name)
		}
	})
}

// checkTarget reports why a fault cannot be done to a target.
func (d *Demo) checkTarget(f FaultInfo, target string) error {
	switch f.Target {
	case OnNode:
		if d.node(target) == nil {
			return fmt.Errorf("the demo has no node of that name; %s is for one of n1 to n%d", f.Name, d.config.Nodes)
		}
	case OnWorker:
		if target != Holder && d.worker(target) == nil {
			return fmt.Errorf("the demo has no worker of that name; %s is for one of worker-1 to worker-%d, or %s", f.Name, d.config.Workers, Holder)
		}
	case OnResource:
		if !slices.Contains(d.scenario.locks(d.config.Resources), target) {
			return fmt.Errorf("no worker locks a resource of that name; %s is for one such as %s", f.Name, d.scenario.locks(1)[0])
		}
	default:
		if target != "" {
			return fmt.Errorf("%s is done to nothing in particular; leave out its target", f.Name)
		}
	}
	return nil
}

// node returns a node by name, nil if there is none.
func (d *Demo) node(name string) *lab.Node {
	if n, ok := d.lab.Node(name); ok {
		return n
	}
	if p := d.thePair(); p != nil {
		if n, ok := p.lab.Node(name); ok {
			return n
		}
	}
	return nil
}

// link returns the way of all workers to a node.
func (d *Demo) link(name string) *lab.Link {
	for i, l := range d.net.links {
		if nodeName(i) == name {
			return l
		}
	}
	return d.thePair().links[name]
}

func (d *Demo) worker(name string) *worker {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.crew {
		if w.name == name {
			return w
		}
	}
	return nil
}

func onNode(do func(ctx context.Context, n *lab.Node, by time.Duration) error) func(context.Context, *Demo, string, time.Duration) error {
	return func(ctx context.Context, d *Demo, target string, by time.Duration) error {
		return do(ctx, d.node(target), by)
	}
}

func onLink(do func(l *lab.Link, by time.Duration)) func(context.Context, *Demo, string, time.Duration) error {
	return func(_ context.Context, d *Demo, target string, by time.Duration) error {
		if by < 0 {
			return errors.New("a link cannot be faster than it is; give a duration above 0")
		}
		do(d.link(target), by)
		return nil
	}
}

func heal(_ context.Context, d *Demo, target string, _ time.Duration) error {
	link := d.link(target)
	link.Slow(0)
	link.Heal()
	var ahead time.Duration
	d.mu.Lock()
	for _, a := range d.active {
		if a.Name == "clock" && a.Target == target {
			ahead += a.By
		}
	}
	d.mu.Unlock()
	if ahead == 0 {
		return nil
	}
	return d.node(target).JumpClock(-ahead)
}

// orderTo tells a worker what to suffer. One order at a time waits for it.
func (d *Demo) orderTo(target string, o order) error {
	orders := d.anybody
	if target != Holder {
		orders = d.worker(target).orders
	}
	select {
	case orders <- o:
		return nil
	default:
		return fmt.Errorf("%s has not come to its last stop or crash yet; wait until it is inside", target)
	}
}

// wake wakes a stopped worker, or all of them.
func (d *Demo) wake(target string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	woken := false
	for name, c := range d.asleep {
		if target == Holder || target == name {
			close(c)
			delete(d.asleep, name)
			woken = true
		}
	}
	if !woken {
		return fmt.Errorf("%s is not stopped", target)
	}
	return nil
}

func evict(ctx context.Context, d *Demo, target string, _ time.Duration) error {
	nodes := slices.Clone(d.operator.nodes)
	if p := d.thePair(); p != nil {
		nodes = append(nodes, p.clients[p.primary()])
	}
	key := lockcore.Key(lockcore.DefaultPrefix, target)
	reached := 0
	var errs []error
	for _, n := range nodes {
		if err := n.Client().Del(ctx, key).Err(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %s", n.Name(), node.Explain(err)))
			continue
		}
		reached++
	}
	if reached == 0 {
		return errors.Join(errs...)
	}
	return nil
}

func failover(ctx context.Context, d *Demo, _ string, _ time.Duration) error {
	p := d.thePair()
	if p == nil {
		return errNoPair
	}
	if _, replica := p.both(); replica.State() != lab.Up {
		return errors.New("the replica is not up; rejoin first")
	}
	m, err := p.fail(ctx, d.lockKeys())
	switch {
	case err != nil:
		return err
	case m.grant:
		d.note("the replica that took over has never seen the lock on " + m.key + ": a second worker can take it")
	case m.key != "":
		d.note("the replica that took over has not seen the release of " + m.key + ": nobody can take it until it expires")
	}
	return nil
}

// Kill stops a node at once, as kill -9 does.
func (d *Demo) Kill(name string) error { return d.Inject(context.Background(), "kill", name, 0) }

// Restart brings a node back on its address, with the data it had or empty.
func (d *Demo) Restart(ctx context.Context, name string, wipe bool) error {
	if wipe {
		return d.Inject(ctx, "empty", name, 0)
	}
	return d.Inject(ctx, "restart", name, 0)
}

// Pause makes a node hang: it accepts connections and does not answer.
func (d *Demo) Pause(name string) error { return d.Inject(context.Background(), "pause", name, 0) }

// Resume ends a Pause.
func (d *Demo) Resume(name string) error { return d.Inject(context.Background(), "resume", name, 0) }
