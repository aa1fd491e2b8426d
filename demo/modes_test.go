package demo_test

import (
	"context"
	"testing"
	"time"

	"dlock/demo"
	"dlock/demo/lab"
)

func run(t *testing.T, c demo.Config) *demo.Demo {
	t.Helper()
	if c.Kind == "" {
		c.Kind = lab.Embedded
	}
	if c.TTL == 0 {
		c.TTL = time.Second
	}
	d, err := demo.Start(t.Context(), c)
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

// finish ends the demo and returns the tally of its only mode.
func finish(t *testing.T, d *demo.Demo) demo.ModeTally {
	t.Helper()
	s, err := d.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Stop(); err != nil {
		t.Error(err)
	}
	if len(s.Table) != 1 {
		t.Fatalf("a table of %d modes", len(s.Table))
	}
	t.Logf("%+v", s.Table[0])
	return s.Table[0]
}

func TestFlashSaleWithNothingOversells(t *testing.T) {
	d := run(t, demo.Config{Scenario: "flash-sale", Mode: demo.None, Seed: 1})
	until(t, d, "a thousand buyers", func(s demo.Status) bool { return s.Table[0].Writes > 1000 })
	got := finish(t, d)
	if got.Store.Oversold == 0 || got.Store.Lost == 0 || got.DoubleEntries == 0 {
		t.Error("no damage")
	}
	if len(got.Broken) != 0 {
		t.Errorf("what promised nothing is reproached with %q", got.Broken)
	}
}

func TestModesThatPromiseAnExactStoreKeepIt(t *testing.T) {
	for _, m := range []demo.Mode{demo.Fenced, demo.Redlock, demo.Single, demo.Replica, demo.Optimistic, demo.Pessimistic} {
		t.Run(string(m), func(t *testing.T) {
			d := run(t, demo.Config{Scenario: "flash-sale", Mode: m, Seed: 1, Nodes: 3, Workers: 6})
			until(t, d, "two hundred buyers", func(s demo.Status) bool { return s.Table[0].Operations > 200 })
			got := finish(t, d)
			if got.Store.Damaged() || len(got.Broken) != 0 || got.Violations != 0 {
				t.Error("damage")
			}
		})
	}
}
