package demo

import (
	"time"

	"dlock/demo/lab"
)

// WorkerState is what a worker is doing.
type WorkerState string

// The worker states.
const (
	Idle    WorkerState = "idle"    // thinks before it wants a lock again
	Waiting WorkerState = "waiting" // has asked for a lock and does not have it
	Working WorkerState = "working" // inside, holding the lock
	Lost    WorkerState = "lost"    // its lock was lost while it was inside, or its write was refused
	Stopped WorkerState = "stopped" // stands still inside, as in a garbage collection
	Crashed WorkerState = "crashed" // died inside; a new process comes in its place
)

// Worker is one contending client at a moment.
type Worker struct {
	Name     string // as it stands in the lock's token
	State    WorkerState
	Resource string    // what it wants or holds, "" when idle
	Fence    int64     // the fencing token it works under, 0 when it holds nothing
	Since    time.Time // when it entered State
	Note     string    // why it is in State, in words ("needs 3 of 5, reached 2"), "" if there is nothing to add
}

// Event is something that was done to the demo.
type Event struct {
	At   time.Time
	Text string // one sentence, without a full stop
}

// Status is the demo at a moment. It is a copy and safe to keep.
type Status struct {
	Started  time.Time
	Kind     lab.Kind
	TTL      time.Duration
	Scenario Scenario
	// Mode is how workers are kept apart at present, "" while it is being
	// changed and after the end.
	Mode    Mode
	Store   string // the name of the database
	Workers []Worker
	Nodes   []lab.Status
	// Pair is the Redis with a replica; nil until [Replica] was first on.
	// Primary is the name of the one that clients are sent to.
	Pair    []lab.Status
	Primary string
	// Table has a row for each mode that was on, in the order in which they
	// first were.
	Table []ModeTally
	// Faults are those that last, oldest first; Events the newest things
	// that were done, oldest first.
	Faults []ActiveFault
	Events []Event
	// Inside are the visits of the last seconds, at most 2000; those that are
	// on come last.
	Inside []Visit
	// Grants counts visits, Contended the waits that found somebody else
	// inside, NoQuorum the attempts that failed for want of nodes, Losses the
	// locks lost while held, and Violations the moments in which two workers
	// were inside one resource under locks that both believed in, over all
	// modes.
	Grants, Contended, NoQuorum, Losses, Violations uint64
}

// Broken says in a sentence each what a mode promised and did not hold.
func (s Status) Broken() []string {
	var all []string
	for _, t := range s.Table {
		all = append(all, t.Broken...)
	}
	return all
}

// insideWindow is how far back Status.Inside goes.
const insideWindow = 20 * time.Second

// Status returns a copy of what is going on. It does not wait for nodes or the
// store.
func (d *Demo) Status() Status {
	s := Status{
		Started: d.started, Kind: d.config.Kind, TTL: d.config.TTL, Scenario: d.scenario, Store: d.store.Name(),
		Nodes: d.lab.Status(), Inside: d.checker.since(time.Now().Add(-insideWindow)),
	}
	d.mu.Lock()
	r := d.round
	if r != nil {
		s.Mode = r.mode.Mode
	}
	s.Workers = append(s.Workers, d.workers...)
	s.Faults = append(s.Faults, d.active...)
	s.Events = append(s.Events, d.events...)
	if d.pair != nil {
		s.Pair, s.Primary = d.pair.lab.Status(), d.pair.primary().Name()
	}
	order := append([]Mode(nil), d.order...)
	tallies := make([]*tally, len(order))
	for i, m := range order {
		tallies[i] = d.tallies[m]
	}
	d.mu.Unlock()
	for i, m := range order {
		info, _ := m.Info()
		open := r
		if r != nil && r.mode.Mode != m {
			open = nil
		}
		t := tallies[i].summary(info, open)
		s.Table = append(s.Table, t)
		s.Grants += t.Operations
		s.Contended += t.Contended
		s.NoQuorum += t.NoQuorum
		s.Losses += t.Losses
		s.Violations += t.Violations
	}
	return s
}
