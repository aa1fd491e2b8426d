package demo_test

import (
	"context"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dlock/demo"
	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// A go-redis pool that could not connect sleeps for a second between
		// two tries and notices only then that it was closed.
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// start starts a demo on nodes of the kind that the configuration names.
func start(t *testing.T, c demo.Config) *demo.Demo {
	t.Helper()
	if c.Kind == lab.Process {
		if _, ok := lab.FindServer(); !ok {
			if os.Getenv("DLOCK_REQUIRE_REDIS") == "1" {
				t.Fatal("redis-server is not installed")
			}
			t.Skip("redis-server is not installed")
		}
	}
	return run(t, c)
}

func until(t *testing.T, d *demo.Demo, what string, ok func(demo.Status) bool) demo.Status {
	t.Helper()
	var s demo.Status
	defer func() {
		if t.Failed() {
			t.Logf("waiting for this ended with %+v: %s", s, what)
		}
	}()
	labtest.Eventually(t, what, func() bool {
		s = d.Status()
		return ok(s)
	})
	return s
}

func onEachKind(t *testing.T, test func(t *testing.T, kind lab.Kind)) {
	for _, kind := range []lab.Kind{lab.Embedded, lab.Process} {
		t.Run(string(kind), func(t *testing.T) {
			test(t, kind)
		})
	}
}

func TestWorkersContendAndNeverMeet(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind lab.Kind) {
		d := start(t, demo.Config{Kind: kind, TTL: 2 * time.Second, Seed: 1})
		s := until(t, d, "thirty grants, some of them contended", func(s demo.Status) bool { return s.Grants >= 30 && s.Contended > 0 })
		if s.Violations != 0 || s.Kind != kind || len(s.Workers) != demo.DefaultWorkers || len(s.Nodes) != demo.DefaultNodes {
			t.Errorf("got %+v", s)
		}
	})
}

func TestLosingTheQuorumIsToldAndHeals(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind lab.Kind) {
		// Work lasts longer than what is left of the lease, as a rule.
		d := start(t, demo.Config{Kind: kind, TTL: time.Second, Seed: 1})
		until(t, d, "most resources taken", func(s demo.Status) bool {
			inside := 0
			for _, w := range s.Workers {
				if w.State == demo.Working {
					inside++
				}
			}
			return inside >= 4
		})
		for _, n := range []string{"n1", "n3", "n5"} {
			if err := d.Kill(n); err != nil {
				t.Fatal(err)
			}
		}
		s := until(t, d, "every worker to be without a lock for want of nodes", func(s demo.Status) bool {
			for _, w := range s.Workers {
				if w.State == demo.Working {
					return false
				}
			}
			return s.NoQuorum > 0 && s.Losses > 0
		})
		if s.Violations != 0 {
			t.Errorf("%d violations", s.Violations)
		}
		for _, n := range []string{"n1", "n3", "n5"} {
			if err := d.Restart(context.Background(), n, false); err != nil {
				t.Fatal(err)
			}
		}
		before := d.Status().Grants
		until(t, d, "new grants", func(s demo.Status) bool { return s.Grants > before+5 })
	})
}

func TestConfigIsChecked(t *testing.T) {
	for _, c := range []demo.Config{{Nodes: -1}, {Nodes: 10}, {Workers: -1}, {Workers: 1000}, {Resources: -1}, {TTL: time.Millisecond}, {Kind: "tin can"}, {Scenario: "x"}, {Mode: "x"}, {Faults: "x"}, {Store: "mysql://x"}, {Rate: 5}, {Rate: -1}, {Scenario: "philosophers", Mode: demo.Pessimistic}} {
		if d, err := demo.Start(context.Background(), c); err == nil {
			d.Stop()
			t.Errorf("%+v is accepted", c)
		}
	}
}

func TestUnknownNode(t *testing.T) {
	d := start(t, demo.Config{Kind: lab.Embedded, TTL: 2 * time.Second, Seed: 1})
	if d.Kill("n9") == nil || d.Restart(context.Background(), "", true) == nil || d.Pause("x") == nil || d.Resume("x") == nil {
		t.Error("a node that does not exist is acted on")
	}
}
