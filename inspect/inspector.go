package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dlock/inspect/dialect"
	"dlock/lockcore"
	"dlock/lockcore/node"
)

// ErrNoNode is returned when no configured node answered at all.
var ErrNoNode = errors.New("no node answers")

// ErrWatching is returned by [Inspector.Watch] while another Watch of the same
// Inspector is running.
var ErrWatching = errors.New("this inspector is already watching")

// Inspector looks at the locks of one deployment. It is safe for concurrent
// use; at most one Watch runs at a time.
type Inspector struct {
	deployment *deployment
	config     Config
	topology   Topology
	quorum     int
	db         int
	now        func() time.Time
	seq        atomic.Uint64

	refresh chan struct{} // somebody wants a look at once
	nudge   chan struct{} // a Get has read what a running Watch does not know
	changed chan struct{} // the interval was changed

	mu       sync.Mutex
	interval time.Duration
	visible  []string // what a person looks at; its array is never changed
	live     *session // of the running Watch
}

// New makes an inspector of the given nodes, which stay the caller's to close.
// One node is a single deployment: a server, the master that sentinels name, or
// all primaries of a cluster. Several are independent voters, and the quorum is
// floor(N/2)+1 of them. It panics without a node, and if a cluster is one of
// several. It does no I/O, but has each connection that the nodes make from then
// on say CLIENT NO-TOUCH ON, so that where the server knows that (from 7.2 on)
// and permits it a key's idle time is not reset by our reading it.
func New(nodes []*node.Node, c Config) *Inspector {
	if len(nodes) == 0 {
		panic("inspect: New needs at least one node")
	}
	if len(nodes) > 1 && slices.ContainsFunc(nodes, func(n *node.Node) bool { return n.Topology() == node.Cluster }) {
		panic("inspect: a cluster is no voter among others")
	}
	c = c.withDefaults()
	i := &Inspector{
		config:   c,
		topology: Single,
		quorum:   len(nodes)/2 + 1,
		db:       nodes[0].DB(),
		now:      time.Now,
		refresh:  make(chan struct{}, 1),
		nudge:    make(chan struct{}, 1),
		changed:  make(chan struct{}, 1),
		interval: c.Interval,
	}
	now := func() time.Time { return i.now() }
	i.deployment = newDeployment(slices.Clone(nodes), now, func(name string, n *node.Node) *probe {
		n.LeaveIdleTimes()
		return &probe{
			name: name, node: n, prefix: c.Prefix, count: c.ScanCount, max: c.MaxKeys, now: now,
			own:   dialect.Dlocks(c.Prefix, len(nodes)),
			ahead: func(r node.Redirect) (*probe, error) { return i.deployment.ahead(r) },
		}
	})
	switch {
	case len(nodes) > 1:
		i.topology = Redlock
	case nodes[0].Topology() == node.Sentinel:
		i.topology = Sentinel
	case nodes[0].Topology() == node.Cluster:
		i.topology = Cluster
	}
	return i
}

func (c Config) withDefaults() Config {
	c.Match = slices.Clone(c.Match)
	if len(c.Match) == 0 {
		c.Match = []string{DefaultMatch}
	}
	if c.All {
		for _, p := range dialect.Patterns() {
			if !slices.Contains(c.Match, p) {
				c.Match = append(c.Match, p)
			}
		}
	}
	if c.Prefix == "" {
		c.Prefix = lockcore.DefaultPrefix
	}
	if c.Interval <= 0 {
		c.Interval = DefaultInterval
	}
	c.Interval = max(c.Interval, MinInterval)
	if c.StuckAfter <= 0 {
		c.StuckAfter = DefaultStuckAfter
	}
	if c.ScanBudget <= 0 {
		c.ScanBudget = DefaultScanBudget
	}
	c.ScanBudget = min(c.ScanBudget, 1)
	if c.ScanCount <= 0 {
		c.ScanCount = 500
	}
	if c.MaxKeys <= 0 {
		c.MaxKeys = 1_000_000
	}
	if c.EventRing <= 0 {
		c.EventRing = 5000
	}
	if c.Tombstone <= 0 {
		c.Tombstone = 10 * time.Second
	}
	return c
}

// Look takes one complete look: it scans all nodes in parallel for
// Config.Match and samples what it finds. Each command is bounded by its
// node's timeout; the scan as a whole is bounded by ctx only. The error wraps
// [ErrNoNode] when no node answered, or is that of ctx; the Snapshot holds
// what is known in either case. A node that answers but refuses us counts as
// answering; its NodeStatus says so. The error's text may hold bytes from a
// server. The end of ctx ends the look at once, also while a node hangs; what
// was asked of that node is given up in the background, at its timeout or when
// it is closed.
func (i *Inspector) Look(ctx context.Context) (Snapshot, error) {
	i.deployment.lookUp(ctx, nil)
	s := newSession(i)
	for _, m := range s.members {
		s.launch(ctx, m, job{scan: &m.scan, learn: true})
	}
	s.settle(ctx, nil)
	s.confirm(ctx, nil)
	snap := s.compose(nil, false)
	return snap, s.failure(ctx)
}

// Get looks at these keys only and never scans. A key that no node has comes
// back as a Lock that is Expired, or Unknown if silent nodes could decide.
// It reads the values in any case, however sure a Watch may be of them. While a
// Watch runs, what it knows of a lock's history is in the answer, and what was
// read corrects the Watch. The error and the end of ctx are as for [Inspector.Look].
func (i *Inspector) Get(ctx context.Context, keys ...string) (Snapshot, error) {
	i.deployment.lookUp(ctx, nil)
	s := newSession(i)
	wanted := slices.Clone(keys)
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	live := i.running()
	s.learnFrom(live, wanted)
	asked := s.expect(live, wanted)
	all := func(string) bool { return true }
	shares := s.shares(asked)
	for n, m := range s.members {
		s.launch(ctx, m, job{keys: shares[n], before: m.samples, fresh: all, learn: true})
	}
	s.settle(ctx, nil)
	s.confirm(ctx, nil)
	if s.teach(live, wanted) {
		select {
		case i.nudge <- struct{}{}:
		default:
		}
	}
	snap := s.compose(wanted, false)
	return snap, s.failure(ctx)
}

// Refresh makes a running Watch look at once: nodes that are down are tried
// again, refused commands too, and values are read again, of up to some
// thousand locks from the top of the list. It does not wait for the look.
func (i *Inspector) Refresh() {
	select {
	case i.refresh <- struct{}{}:
	default:
	}
}

// SetInterval sets the time between two looks of a Watch, running or to come.
// It is at least [MinInterval].
func (i *Inspector) SetInterval(d time.Duration) {
	i.mu.Lock()
	i.interval = max(d, MinInterval)
	i.mu.Unlock()
	select {
	case i.changed <- struct{}{}:
	default:
	}
}

func (i *Inspector) currentInterval() time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.interval
}

func (i *Inspector) running() *session {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.live
}

// failure is the error of a look that is over.
func (s *session) failure(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	reasons := make([]string, 0, len(s.members))
	for _, m := range s.members {
		switch m.status.State {
		case NodeDown, NodePending:
			reasons = append(reasons, fmt.Sprintf("%s (%s): %s", m.status.Name, m.status.Addr, m.status.Error))
		default:
			return nil
		}
	}
	return fmt.Errorf("%w: %s", ErrNoNode, strings.Join(reasons, "; "))
}
