package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"dlock/demo/lab"
)

// field is a number of redis-server processes and what is needed to measure on
// them.
type field struct {
	lab     *lab.Lab
	plan    plan
	entries []contestant // that can use so many nodes
	report  *report
	asking  []*redis.Client // one per node, to read its statistics
	names   atomic.Int64
}

// serverArgs switch off what writes to the disk: it is the locks that are
// measured.
var serverArgs = []string{"--appendonly", "no"}

func openField(ctx context.Context, nodes int, p plan, all []contestant, r *report) (*field, error) {
	l, err := lab.Start(ctx, lab.Config{Nodes: nodes, Kind: lab.Process, Args: serverArgs})
	if err != nil {
		return nil, err
	}
	f := &field{lab: l, plan: p, report: r}
	for _, c := range all {
		if c.most == 0 || nodes <= c.most {
			f.entries = append(f.entries, c)
		}
	}
	for _, n := range l.Nodes() {
		f.asking = append(f.asking, peerClient(n.Addr(), 1))
	}
	return f, nil
}

func (f *field) close() error { return errors.Join(closeAll(f.asking), f.lab.Close()) }

func (f *field) nodes() int { return len(f.lab.Nodes()) }

// direct connects to the nodes themselves.
func (f *field) direct() connect {
	c := connect{pool: f.plan.pool}
	for _, n := range f.lab.Nodes() {
		c.addrs = append(c.addrs, n.Addr())
	}
	return c
}

// name is one that was not used before, so that what an earlier slice left
// behind is in nobody's way.
func (f *field) name(what string) string { return fmt.Sprintf("%s-%d", what, f.names.Add(1)) }

// note adds a figure to the report.
func (f *field) note(scenario, contestant, what string, value float64) {
	f.report.add(figure{Scenario: scenario, Nodes: f.nodes(), Contestant: contestant, Name: what, Value: value})
}

func (f *field) noteMillis(scenario, contestant, what string, s *samples, percent float64) {
	if v, ok := s.millis(percent); ok {
		f.note(scenario, contestant, what, v)
	}
}

// turn is one contestant's part in a scenario.
type turn struct {
	contestant
	clients []locker
}

// errors of a few nodes or slices do not end a run, but are told.
func (f *field) trouble(scenario string, t *turn, err error) {
	if err != nil {
		f.report.trouble(scenario, f.nodes(), t.name, err)
	}
}

// rotate opens clients for every contestant that may take part and gives each a
// slice per round, in an order that rotates. Before the first round each gets one
// that is not measured, for connections to be made. run must not leave anything
// running that slows down the next.
func (f *field) rotate(ctx context.Context, scenario string, rounds int, c connect, clients int, may func(plan, contestant) bool, run func(ctx context.Context, t *turn, measured bool) error) error {
	var turns []*turn
	defer func() {
		for _, t := range turns {
			for _, l := range t.clients {
				f.trouble(scenario, t, l.close())
			}
		}
	}()
	for _, entry := range f.entries {
		if !may(f.plan, entry) {
			continue
		}
		t := &turn{contestant: entry}
		turns = append(turns, t)
		for range clients {
			l, err := entry.open(c)
			if err != nil {
				return fmt.Errorf("%s: %w", entry.name, err)
			}
			t.clients = append(t.clients, l)
		}
	}
	for round := -1; round < rounds; round++ {
		for i := range turns {
			t := turns[(i+max(round, 0))%len(turns)]
			if err := settle(ctx); err != nil {
				return err
			}
			if err := run(ctx, t, round >= 0); err != nil {
				return fmt.Errorf("%s, N=%d, %s: %w", scenario, f.nodes(), t.name, err)
			}
		}
	}
	return nil
}

// pauseBetween lets answers that nobody waited for come in.
const pauseBetween = 50 * time.Millisecond

// settle keeps one slice out of the next: its last commands and its garbage.
func settle(ctx context.Context) error {
	if err := sleep(ctx, pauseBetween); err != nil {
		return err
	}
	runtime.GC()
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
