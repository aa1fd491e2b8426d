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

func start(t *testing.T, kind lab.Kind) *demo.Demo {
	t.Helper()
	if kind == lab.Process {
		if _, ok := lab.FindServer(); !ok {
			if os.Getenv("DLOCK_REQUIRE_REDIS") == "1" {
				t.Fatal("redis-server is not installed")
			}
			t.Skip("redis-server is not installed")
		}
	}
	d, err := demo.Start(context.Background(), demo.Config{Kind: kind, TTL: 2 * time.Second, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	})
	return d
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
			t.Parallel() // a demo runs at a pace people can follow
			test(t, kind)
		})
	}
}

func TestWorkersContendAndNeverMeet(t *testing.T) {
	t.Parallel()
	onEachKind(t, func(t *testing.T, kind lab.Kind) {
		d := start(t, kind)
		s := until(t, d, "thirty grants, some of them contended", func(s demo.Status) bool { return s.Grants >= 30 && s.Contended > 0 })
		if s.Violations != 0 || s.Kind != kind || len(s.Workers) != demo.DefaultWorkers || len(s.Nodes) != demo.DefaultNodes {
			t.Errorf("got %+v", s)
		}
	})
}

func TestLosingTheQuorumIsToldAndHeals(t *testing.T) {
	t.Parallel()
	onEachKind(t, func(t *testing.T, kind lab.Kind) {
		d := start(t, kind)
		until(t, d, "some locks", func(s demo.Status) bool { return s.Grants >= 5 })
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
	for _, c := range []demo.Config{{Nodes: -1}, {Nodes: 10}, {Workers: -1}, {Workers: 1000}, {Resources: -1}, {TTL: time.Millisecond}, {Kind: "tin can"}} {
		if d, err := demo.Start(context.Background(), c); err == nil {
			d.Stop()
			t.Errorf("%+v is accepted", c)
		}
	}
}

func TestUnknownNode(t *testing.T) {
	d := start(t, lab.Embedded)
	if d.Kill("n9") == nil || d.Restart(context.Background(), "", true) == nil || d.Pause("x") == nil || d.Resume("x") == nil {
		t.Error("a node that does not exist is acted on")
	}
}
