package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"dlock/demo/lab"
	"dlock/lockcore"
	"dlock/lockcore/node"
)

// Defaults of [Config].
const (
	DefaultNodes     = 5
	DefaultWorkers   = 10
	DefaultResources = 6
	DefaultTTL       = 6 * time.Second
)

// Limits of [Config].
const (
	MaxNodes     = 9 // a key on the keyboard each
	MaxWorkers   = 200
	MaxResources = 100
)

// nodeTimeout is longer than the lock core's default, since embedded nodes run
// scripts slowly and share this process's CPU with the workers.
const nodeTimeout = 150 * time.Millisecond

// Config says what to run. Zero values mean the defaults.
type Config struct {
	Nodes, Workers, Resources int
	// Kind of the nodes; "" takes redis-server processes if redis-server is
	// installed and embedded nodes if not.
	Kind lab.Kind
	// TTL of the locks. The watchdog renews them at a third of it.
	TTL time.Duration
	// Seed makes the workers' choices repeatable.
	Seed uint64
}

func (c Config) withDefaults() (Config, error) {
	if c.Nodes == 0 {
		c.Nodes = DefaultNodes
	}
	if c.Workers == 0 {
		c.Workers = DefaultWorkers
	}
	if c.Resources == 0 {
		c.Resources = DefaultResources
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
		return c, fmt.Errorf("the demo runs 1 to %d nodes, not %d", MaxNodes, c.Nodes)
	case c.Workers < 1 || c.Workers > MaxWorkers:
		return c, fmt.Errorf("the demo runs 1 to %d workers, not %d", MaxWorkers, c.Workers)
	case c.Resources < 1 || c.Resources > MaxResources:
		return c, fmt.Errorf("the demo has 1 to %d resources, not %d", MaxResources, c.Resources)
	case c.TTL < time.Second:
		return c, fmt.Errorf("a TTL of %v is too short to watch; give at least 1s", c.TTL)
	}
	return c, nil
}

// Demo is a running demonstration. Its methods are safe for concurrent use.
type Demo struct {
	config  Config
	started time.Time
	lab     *lab.Lab
	nodes   []*node.Node
	checker checker

	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	workers []Worker
	counts  counts

	stopOnce sync.Once
	stopErr  error
}

type counts struct{ grants, contended, noQuorum, losses uint64 }

// Start starts the nodes and the workers. When it returns without error the
// nodes answer and the workers run until Stop; ctx bounds the start only. On
// error nothing is left behind.
func Start(ctx context.Context, c Config) (*Demo, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	nodes, err := lab.Start(ctx, lab.Config{Nodes: c.Nodes, Kind: c.Kind})
	if err != nil {
		return nil, err
	}
	clients, err := node.OpenAll(nodes.URLs(), node.Options{Timeout: time.Second})
	if err != nil {
		nodes.Close()
		return nil, err
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d := &Demo{config: c, started: time.Now(), lab: nodes, nodes: clients, cancel: cancel, workers: make([]Worker, c.Workers)}
	for i := range c.Workers {
		w := &worker{
			demo: d, index: i, name: fmt.Sprintf("worker-%d", i+1),
			rand: rand.New(rand.NewPCG(c.Seed, uint64(i))),
		}
		w.locker, err = lockcore.New(clients,
			lockcore.WithOwner(w.name), lockcore.WithTTL(c.TTL), lockcore.WithNodeTimeout(nodeTimeout), lockcore.WithDurable())
		if err != nil {
			d.Stop()
			return nil, err
		}
		d.set(w, Idle, "", 0, "")
		d.running.Go(func() { w.run(run) })
	}
	return d, nil
}

// Stop ends the workers, which release what they hold, and then the nodes.
// Nothing is left running or on disk. It is idempotent.
func (d *Demo) Stop() error {
	d.stopOnce.Do(func() {
		d.cancel()
		d.running.Wait()
		node.CloseAll(d.nodes)
		d.stopErr = d.lab.Close()
	})
	return d.stopErr
}

// URLs are the nodes' addresses, in order.
func (d *Demo) URLs() []string { return d.lab.URLs() }

// Kind is what the nodes are made of.
func (d *Demo) Kind() lab.Kind { return d.config.Kind }

// Status returns a copy of what is going on.
func (d *Demo) Status() Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Status{
		Started: d.started, Kind: d.config.Kind, TTL: d.config.TTL,
		Workers: append([]Worker(nil), d.workers...), Nodes: d.lab.Status(),
		Grants: d.counts.grants, Contended: d.counts.contended, NoQuorum: d.counts.noQuorum,
		Losses: d.counts.losses, Violations: d.checker.violations(),
	}
}

// Kill stops a node at once, as kill -9 does.
func (d *Demo) Kill(name string) error {
	return d.onNode(name, func(n *lab.Node) error { return n.Kill() })
}

// Restart brings a node back on its address, with the data it had or empty.
func (d *Demo) Restart(ctx context.Context, name string, wipe bool) error {
	return d.onNode(name, func(n *lab.Node) error { return n.Restart(ctx, wipe) })
}

// Pause makes a node hang: it accepts connections and does not answer.
func (d *Demo) Pause(name string) error {
	return d.onNode(name, func(n *lab.Node) error { return n.Pause() })
}

// Resume ends a Pause.
func (d *Demo) Resume(name string) error {
	return d.onNode(name, func(n *lab.Node) error { return n.Resume() })
}

func (d *Demo) onNode(name string, do func(*lab.Node) error) error {
	n, ok := d.lab.Node(name)
	if !ok {
		return fmt.Errorf("the demo has no node %q", name)
	}
	return do(n)
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

func (d *Demo) count(add func(*counts)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	add(&d.counts)
}
