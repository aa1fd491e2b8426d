package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"dlock/demo/lab"
	"dlock/demo/store"
)

// Defaults of [Config]. Scenarios have defaults of their own for workers and
// resources.
const (
	DefaultNodes     = 5
	DefaultWorkers   = 10
	DefaultResources = 6
	DefaultTTL       = 6 * time.Second
	DefaultMode      = Redlock
)

// Limits of [Config].
const (
	MaxNodes     = 9 // a key on the keyboard each
	MaxWorkers   = 200
	MaxResources = 100
	MaxRate      = 100_000
)

// nodeTimeout is longer than the lock core's default, since embedded nodes run
// scripts slowly and share this process's CPU with the workers.
const nodeTimeout = 300 * time.Millisecond

// errStopped is why a demo that is over does nothing more.
var errStopped = errors.New("the demo is over")

// Config says what to run. Zero values mean the defaults.
type Config struct {
	// Scenario is the name of one of [Scenarios]; Mode, how workers are kept
	// apart at the start.
	Scenario string
	Mode     Mode

	Nodes, Workers, Resources int
	// Rate is how many buyers arrive a second, in scenarios that have any.
	Rate int
	// Kind of the nodes; "" takes redis-server processes if redis-server is
	// installed and embedded nodes if not.
	Kind lab.Kind
	// TTL of the locks. The watchdog renews them at a third of it.
	TTL time.Duration
	// Faults is [FaultsRandom], [FaultsRough], or the text of a script (see
	// [ParseScript]); "" for none.
	Faults string
	// Store is a postgres:// URL; "" is an SQLite file of our own. It may
	// hold a password, which is told to nobody.
	Store string
	// Quarantine seeds fencing tokens from the clock and keeps restarted
	// nodes from voting for a TTL, as the lock core does by default. The demo
	// does not, so that tokens are 1, 2, 3, … and a node that came back empty
	// does the harm that it can.
	Quarantine bool
	// Seed makes the workers' choices and those of random faults repeatable.
	// What the operating system does in between is not.
	Seed uint64
}

func (c Config) withDefaults() (Config, Scenario, error) {
	if c.Scenario == "" {
		c.Scenario = Scenarios[0].Name
	}
	s, err := FindScenario(c.Scenario)
	if err != nil {
		return c, s, err
	}
	if c.Mode == "" {
		c.Mode = DefaultMode
	}
	if c.Nodes == 0 {
		c.Nodes = DefaultNodes
	}
	if c.Workers == 0 {
		c.Workers = s.Workers
	}
	if c.Resources == 0 {
		c.Resources = s.Resources
	}
	if c.Rate == 0 {
		c.Rate = s.Rate
	}
	if c.TTL == 0 {
		c.TTL = DefaultTTL
	}
	if c.Kind == "" {
		c.Kind = lab.Embedded
		if _, ok := lab.FindServer(); ok {
			c.Kind = lab.Process
		}
	}
	switch {
	case c.Nodes < 1 || c.Nodes > MaxNodes:
		return c, s, fmt.Errorf("the demo runs 1 to %d nodes, not %d", MaxNodes, c.Nodes)
	case c.Workers < 1 || c.Workers > MaxWorkers:
		return c, s, fmt.Errorf("the demo runs 1 to %d workers, not %d", MaxWorkers, c.Workers)
	case c.Resources < 1 || c.Resources > MaxResources:
		return c, s, fmt.Errorf("the demo has 1 to %d resources, not %d", MaxResources, c.Resources)
	case c.Rate < 0 || c.Rate > MaxRate:
		return c, s, fmt.Errorf("at most %d buyers a second can arrive, not %d", MaxRate, c.Rate)
	case c.Rate > 0 && s.Rate == 0:
		return c, s, fmt.Errorf("nobody arrives in the scenario %s; a rate is for %s", s.Name, "flash-sale")
	case c.TTL < time.Second:
		return c, s, fmt.Errorf("a TTL of %v is too short to watch; give at least 1s", c.TTL)
	}
	return c, s, s.allows(c.Mode)
}

// Demo is a running demonstration. Its methods are safe for concurrent use.
type Demo struct {
	config   Config
	scenario Scenario
	started  time.Time
	lab      *lab.Lab
	net      *network
	store    *store.Store
	operator *client // what faults and clean-up are done with
	checker  checker
	buyers   chan struct{} // those who queue; nil where nobody arrives
	anybody  chan order    // for whoever is inside next

	life    context.Context // ends when stopping begins
	end     context.CancelFunc
	running sync.WaitGroup

	// switching is held by who changes the mode, breaking by who changes
	// what is broken.
	switching, breaking sync.Mutex
	runs                int // rounds so far; guarded by switching

	mu      sync.Mutex
	round   *round        // nil while it is being changed
	opened  chan struct{} // closed when the next round is on
	pair    *pair         // nil until it is needed
	crew    []*worker
	workers []Worker
	asleep  map[string]chan struct{} // closed to wake a stopped worker
	tallies map[Mode]*tally
	order   []Mode // of first use
	active  []ActiveFault
	events  []Event
	failed  error

	stopOnce sync.Once
	stopErr  error
}

// Start starts the nodes, the store and the workers. When it returns without
// error the nodes answer and the workers run until Finish or Stop; ctx bounds
// the start only. On error nothing is left behind.
func Start(ctx context.Context, c Config) (*Demo, error) {
	c, scenario, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	plan, err := parseFaults(c)
	if err != nil {
		return nil, err
	}
	d := &Demo{
		config: c, scenario: scenario, started: time.Now(), net: newNetwork(c.Nodes),
		anybody: make(chan order, 16), opened: make(chan struct{}),
		workers: make([]Worker, c.Workers), asleep: make(map[string]chan struct{}), tallies: make(map[Mode]*tally),
	}
	d.life, d.end = context.WithCancel(context.WithoutCancel(ctx))
	if err := d.start(ctx, plan); err != nil {
		return nil, errors.Join(err, d.Stop())
	}
	return d, nil
}

func (d *Demo) start(ctx context.Context, plan faults) (err error) {
	c := d.config
	if d.lab, err = lab.Start(ctx, lab.Config{Nodes: c.Nodes, Kind: c.Kind}); err != nil {
		return err
	}
	if d.store, err = store.Open(ctx, c.Store); err != nil {
		return err
	}
	if d.operator, err = d.connect("demo"); err != nil {
		return err
	}
	if err := d.SetMode(ctx, c.Mode); err != nil {
		return err
	}
	for i := range c.Workers {
		w := &worker{
			demo: d, index: i, name: workerName(i), orders: make(chan order, 1),
			rand: rand.New(rand.NewPCG(c.Seed, uint64(i))),
		}
		if w.client, err = d.connect(w.name); err != nil {
			return err
		}
		d.mu.Lock()
		d.crew = append(d.crew, w)
		d.mu.Unlock()
		d.set(w, Idle, "", 0, "")
		d.spawn(func() { w.run(d.life) })
	}
	if c.Rate > 0 {
		d.buyers = make(chan struct{}, c.Rate)
		d.spawn(d.arrive)
	}
	d.spawn(d.keepAuditing)
	d.spawn(func() { plan.run(d) })
	return nil
}

func workerName(i int) string { return fmt.Sprintf("worker-%d", i+1) }

func nodeName(i int) string { return fmt.Sprintf("n%d", i+1) }

func (d *Demo) connect(name string) (*client, error) { return connect(name, d.lab.URLs(), d.net) }

// spawn runs a part of the demo. A panic in it ends the demo in order, with
// nothing left behind, instead of the program.
func (d *Demo) spawn(part func()) {
	d.running.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				d.fail(fmt.Errorf("a part of the demo panicked: %v\n%s", p, debug.Stack()))
			}
		}()
		part()
	})
}

// fail ends the demo because something went wrong that must not.
func (d *Demo) fail(err error) {
	d.mu.Lock()
	if d.failed == nil {
		d.failed = err
	}
	d.mu.Unlock()
	d.end()
}

// Done is closed when the demo is over: by Finish, Stop, or a failure that
// [Demo.Err] tells.
func (d *Demo) Done() <-chan struct{} { return d.life.Done() }

// Err is why the demo ended by itself; nil if it did not.
func (d *Demo) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// Finish ends the workers, which release what they hold, counts the store for
// the last time, and returns how it all ended. The nodes go on until Stop.
func (d *Demo) Finish(ctx context.Context) (Status, error) {
	d.end()
	d.running.Wait()
	d.switching.Lock()
	defer d.switching.Unlock()
	d.endRound(ctx)
	return d.Status(), d.Err()
}

// Stop ends the workers, which release what they hold, and then the nodes and
// the store. Nothing is left running or on disk. It is idempotent.
func (d *Demo) Stop() error {
	d.stopOnce.Do(func() {
		d.end()
		d.running.Wait()
		// Whoever changes the mode or breaks something finishes first.
		d.switching.Lock()
		defer d.switching.Unlock()
		d.breaking.Lock()
		defer d.breaking.Unlock()
		if d.operator != nil {
			d.operator.close()
		}
		var errs []error
		if d.pair != nil {
			errs = append(errs, d.pair.close())
		}
		if d.lab != nil {
			errs = append(errs, d.lab.Close())
		}
		if d.store != nil {
			errs = append(errs, d.store.Close())
		}
		d.stopErr = errors.Join(errs...)
	})
	return d.stopErr
}

// URLs are the nodes' addresses, in order.
func (d *Demo) URLs() []string { return d.lab.URLs() }

// Kind is what the nodes are made of.
func (d *Demo) Kind() lab.Kind { return d.config.Kind }

// arrivals is how often buyers are let into the queue.
const arrivals = 5 * time.Millisecond

// arrive lets buyers come at the configured rate, whether or not anybody is
// there to serve them. Those who find the queue full go away.
func (d *Demo) arrive() {
	tick := time.NewTicker(arrivals)
	defer tick.Stop()
	began, came := time.Now(), 0
	for {
		select {
		case <-d.life.Done():
			return
		case <-tick.C:
		}
		due := int(time.Since(began).Seconds() * float64(d.config.Rate))
		away := uint64(0)
		for ; came < due; came++ {
			select {
			case d.buyers <- struct{}{}:
			default:
				away++
			}
		}
		d.mu.Lock()
		r := d.round
		d.mu.Unlock()
		if r != nil && away > 0 {
			r.count(func(t *tally) { t.away += away })
		}
	}
}

// awaitBuyer waits for somebody to serve.
func (d *Demo) awaitBuyer(ctx context.Context) bool {
	if d.buyers == nil {
		return ctx.Err() == nil
	}
	select {
	case <-d.buyers:
		return true
	case <-ctx.Done():
		return false
	}
}

// eventsKept is how many events are remembered.
const eventsKept = 100

// note remembers what was done.
func (d *Demo) note(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, Event{time.Now(), text})
	if len(d.events) > eventsKept {
		d.events = d.events[len(d.events)-eventsKept:]
	}
}

func (d *Demo) set(w *worker, state WorkerState, resource string, fence int64, note string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.workers[w.index]
	since := time.Now()
	if old.State == state && old.Resource == resource {
		since = old.Since // only the note changed
	}
	d.workers[w.index] = Worker{Name: w.name, State: state, Resource: resource, Fence: fence, Since: since, Note: note}
}

// sleeping notes that a worker is stopped; what it returns is closed to wake
// it.
func (d *Demo) sleeping(name string) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := make(chan struct{})
	d.asleep[name] = c
	return c
}

func (d *Demo) awake(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.asleep, name)
}
