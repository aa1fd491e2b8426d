package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dlock/demo/lab/labtest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// A go-redis pool that could not connect sleeps for a second between
		// two tries and notices only then that it was closed.
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// brief is quick, and smaller.
func brief() plan {
	p := quick()
	p.pool = 10
	p.slice, p.warm, p.crowdWarm = 50*time.Millisecond, 10*time.Millisecond, 50*time.Millisecond
	p.callers, p.crowd, p.held = 16, 24, 50
	return p
}

// Each scenario must yield each of its figures for each contestant that takes
// part, or the tables have holes. A lock that lets two in ends the run with an
// error.
func TestEveryScenarioFillsItsTable(t *testing.T) {
	labtest.NeedServer(t)
	for _, nodes := range []int{1, 5} {
		c := choice{plan: brief(), sizes: []int{nodes}, scenarios: scenarios(), contestants: contestants()}
		r, err := measure(t.Context(), c, t.Logf)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range scenarios() {
			for _, who := range contestants() {
				if nodes < s.least || who.most > 0 && nodes > who.most || !s.may(c.plan, who) {
					continue
				}
				for _, column := range s.columns {
					if _, known := cpuTime(); column.unit == percent && !known {
						continue
					}
					if _, ok := r.value(s.name, nodes, who.name, column.name); !ok {
						t.Errorf("N=%d, %s, %s: %q was not measured", nodes, s.name, who.name, column.name)
					}
				}
			}
		}
		for _, p := range r.problems {
			t.Logf("N=%d, %s, %s: %d errors, the first: %s", nodes, p.Scenario, p.Contestant, p.Count, p.First)
		}
		for _, v := range r.verdicts() {
			if v.Limit != nil && v.Value == nil {
				t.Errorf("N=%d: nothing is known about the target %q", nodes, v.Target)
			}
		}
		var out strings.Builder
		if err := r.print(&out, c.plan); err != nil {
			t.Error(err)
		}
		if err := r.writeJSON(io.Discard); err != nil {
			t.Error(err)
		}
	}
}

// Each contestant must keep all others out of the place it protects, also the
// floor, which is measured nowhere where clients contend.
func TestContestantsExclude(t *testing.T) {
	labtest.NeedServer(t)
	for _, nodes := range []int{1, 5} {
		p := brief()
		f, err := openField(t.Context(), nodes, p, contestants(), &report{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := f.close(); err != nil {
				t.Error(err)
			}
		})
		err = f.rotate(t.Context(), "exclusion", 1, f.direct(), p.clients, everyone, func(ctx context.Context, c *turn, measured bool) error {
			a, err := f.contend(ctx, c, "exclusion", p.clients, false, func(ctx context.Context, a *arena) error {
				return f.watch(ctx, c, "exclusion", a, p.warm, true)
			})
			if len(a.gaps) == 0 {
				t.Errorf("N=%d, %s: the lock never changed hands", nodes, c.name)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// free is a lock that everybody gets, with a fencing token that may stand still.
type free struct{ token func() int64 }

func (f free) acquire(context.Context, string) (grant, error) { return freeGrant{f.token()}, nil }
func (free) close() error                                     { return nil }

type freeGrant struct{ token int64 }

func (g freeGrant) fence() int64                { return g.token }
func (freeGrant) release(context.Context) error { return nil }

// contended runs clients of one locker against each other until the lock has
// changed hands. They stay inside for hold, or until it is over.
func contended(t *testing.T, l locker, hold time.Duration) error {
	t.Helper()
	const waiters = 4
	f := &field{plan: plan{hold: hold}, report: &report{}}
	_, err := f.contend(t.Context(), &turn{clients: []locker{l}}, "test", waiters, true, func(ctx context.Context, a *arena) error {
		a.measure(true)
		return a.awaitGap(ctx)
	})
	return err
}

func TestLocksThatDoNotExcludeAreFoundOut(t *testing.T) {
	err := contended(t, free{func() int64 { return 0 }}, time.Hour)
	if err == nil || !strings.Contains(err.Error(), "two were inside") {
		t.Errorf("a lock that everybody gets is judged %v", err)
	}
}

// turns is a lock that excludes.
type turns struct {
	free
	turn chan struct{}
}

func (l turns) acquire(ctx context.Context, name string) (grant, error) {
	select {
	case l.turn <- struct{}{}:
		g, err := l.free.acquire(ctx, name)
		return turnsGrant{g, l.turn}, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type turnsGrant struct {
	grant
	turn chan struct{}
}

func (g turnsGrant) release(context.Context) error { <-g.turn; return nil }

func TestFencingTokensMustGrow(t *testing.T) {
	next := int64(0)
	grows := func() int64 { next++; return next } // called under the lock
	if err := contended(t, turns{free{grows}, make(chan struct{}, 1)}, 0); err != nil {
		t.Errorf("a lock that is right is judged %v", err)
	}
	stands := func() int64 { return 7 }
	err := contended(t, turns{free{stands}, make(chan struct{}, 1)}, 0)
	if err == nil || !strings.Contains(err.Error(), "fencing token") {
		t.Errorf("a fencing token that stands still is judged %v", err)
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"-nodes 0", "not a list of numbers"},
		{"-nodes 1,x", "not a list of numbers"},
		{"-nodes 65", "not a list of numbers"},
		{"-only serail", `no scenario "serail"`},
		{"-contestants all", `no contestant "all"`},
		{"-rounds -1", "cannot be negative"},
		{"-pool 0", "at least one connection"},
		{"quick", "flags"},
	} {
		_, err := choose(strings.Fields(c.args), io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, which does not say %q", c.args, err, c.says)
		}
	}
	got, err := choose(strings.Fields("-quick -nodes 5,1,5 -only serial,parallel -contestants floor,dlock -rounds 3 -pool 7"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.sizes) != 2 || got.sizes[0] != 5 || got.sizes[1] != 1 {
		t.Errorf("sizes are %v", got.sizes)
	}
	if len(got.scenarios) != 2 || got.scenarios[0].name != "parallel" {
		t.Errorf("%d scenarios, and the first is %s", len(got.scenarios), got.scenarios[0].name)
	}
	if len(got.contestants) != 2 || got.contestants[1].name != "floor" {
		t.Errorf("%d contestants, and the second is %s", len(got.contestants), got.contestants[1].name)
	}
	if got.plan.rounds != 3 || got.plan.pool != 7 {
		t.Errorf("%d rounds and %d connections", got.plan.rounds, got.plan.pool)
	}
}
