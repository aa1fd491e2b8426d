package demo_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dlock/demo"
	"dlock/demo/lab"
)

func inject(t *testing.T, d *demo.Demo, name, target string, by time.Duration) {
	t.Helper()
	if err := d.Inject(t.Context(), name, target, by); err != nil {
		t.Fatal(err)
	}
}

// A worker that sleeps past its lease and wakes is what a lease cannot help
// and a fence can.
func TestAStoppedWorker(t *testing.T) {
	for _, c := range []struct {
		mode   demo.Mode
		refuse bool
	}{{demo.Redlock, false}, {demo.Fenced, true}} {
		t.Run(string(c.mode), func(t *testing.T) {
			d := run(t, demo.Config{Scenario: "flash-sale", Mode: c.mode, Workers: 4, Nodes: 3, Rate: 500, Seed: 1})
			inject(t, d, "stop", demo.Holder, time.Hour)
			until(t, d, "a worker inside while another one is stopped there", func(s demo.Status) bool { return s.Table[0].DoubleEntries > 0 })
			// Others must write before it wakes.
			before := d.Status().Table[0].Writes
			until(t, d, "writes behind its back", func(s demo.Status) bool { return s.Table[0].Writes > before+1 })
			inject(t, d, "wake", demo.Holder, 0)
			until(t, d, "the sleeper to go on", func(s demo.Status) bool {
				return slices.ContainsFunc(s.Inside, func(v demo.Visit) bool { return !v.WokenAt.IsZero() && !v.To.IsZero() })
			})
			s := d.Status()
			i := slices.IndexFunc(s.Inside, func(v demo.Visit) bool { return !v.WokenAt.IsZero() })
			if v := s.Inside[i]; v.LeaseEnded.IsZero() || v.LeaseEnded.After(v.WokenAt) || v.StoppedAt.IsZero() {
				t.Errorf("its visit is %+v", v)
			}
			got := finish(t, d)
			if got.Violations != 0 || len(got.Broken) != 0 {
				t.Error("both believed in their locks")
			}
			if c.refuse != (got.Refused > 0) || c.refuse == got.Store.Damaged() {
				t.Error("the fence does not make the difference")
			}
		})
	}
}

// Nodes that come and go within what a quorum bears let nobody in twice.
func TestRandomFaultsViolateNothing(t *testing.T) {
	for _, m := range []demo.Mode{demo.Redlock, demo.Fenced} {
		t.Run(string(m), func(t *testing.T) {
			d := run(t, demo.Config{Scenario: "wallet", Mode: m, Workers: 6, Faults: demo.FaultsRandom, Seed: 7})
			s := until(t, d, "faults and grants", func(s demo.Status) bool { return len(s.Events) >= 6 && s.Grants > 50 })
			t.Log(s.Events)
			got := finish(t, d)
			if got.Violations != 0 || len(got.Broken) != 0 || len(got.Voided) != 0 || m == demo.Fenced && got.Store.Damaged() {
				t.Error("a promise is broken")
			}
		})
	}
}

// What two workers then do with the lock is a matter of luck; see TestPair for
// the loss itself.
func TestFailover(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind lab.Kind) {
		d := start(t, demo.Config{Kind: kind, Scenario: "wallet", Mode: demo.Replica, Nodes: 1, Resources: 3, Workers: 2, TTL: 2 * time.Second, Seed: 1})
		until(t, d, "some visits", func(s demo.Status) bool { return s.Grants > 10 })
		for _, primary := range []string{"r2", "r1"} {
			inject(t, d, "failover", "", 0)
			s := d.Status()
			if s.Primary != primary || len(s.Faults) != 1 || s.Faults[0].Name != "failover" {
				t.Fatalf("the primary is %s, faults %+v", s.Primary, s.Faults)
			}
			if err := d.Inject(t.Context(), "failover", "", 0); err == nil {
				t.Error("a failover to a dead replica")
			}
			until(t, d, "visits on the new primary", func(now demo.Status) bool { return now.Grants > s.Grants+10 })
			inject(t, d, "rejoin", "", 0)
		}
		if got := finish(t, d); len(got.Broken) != 0 || !slices.Equal(got.Voided, []string{"failover"}) {
			t.Error("what no replica can promise is asked of it")
		}
	})
}

// A naive lock of a worker that dies between its two steps stays for ever; one
// that overruns is deleted by whoever overran.
func TestNaiveShowsDamage(t *testing.T) {
	t.Run("crash", func(t *testing.T) {
		d := run(t, demo.Config{Scenario: "flash-sale", Mode: demo.Naive, Workers: 4, Nodes: 1, Seed: 1})
		inject(t, d, "crash", demo.Holder, 0)
		until(t, d, "a lock that is stuck", func(s demo.Status) bool {
			waiting := 0
			for _, w := range s.Workers {
				if w.State == demo.Waiting {
					waiting++
				}
			}
			return s.Table[0].Stuck == 1 && waiting == 4
		})
		before := d.Status().Grants
		// The next mode does not inherit it.
		if err := d.SetMode(t.Context(), demo.Single); err != nil {
			t.Fatal(err)
		}
		until(t, d, "buyers", func(s demo.Status) bool { return s.Grants > before+10 })
	})
	t.Run("overrun", func(t *testing.T) {
		d := run(t, demo.Config{Scenario: "flash-sale", Mode: demo.Naive, Workers: 4, Nodes: 1, Rate: 500, Seed: 1})
		inject(t, d, "stop", demo.Holder, time.Hour)
		until(t, d, "a second one inside", func(s demo.Status) bool { return s.Table[0].DoubleEntries > 0 })
		before := d.Status().Table[0].Writes
		until(t, d, "writes behind its back", func(s demo.Status) bool { return s.Table[0].Writes > before+1 })
		inject(t, d, "wake", demo.Holder, 0)
		until(t, d, "the sleeper's write", func(s demo.Status) bool { return s.Table[0].Store.Lost > 0 })
	})
}

func TestEvictionAndClock(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(t *testing.T, d *demo.Demo)
	}{
		{"evict", func(t *testing.T, d *demo.Demo) { inject(t, d, "evict", "orders:settle:eu-west", 0) }},
		{"clock", func(t *testing.T, d *demo.Demo) {
			inject(t, d, "clock", "n1", time.Minute)
			if err := d.HealAll(t.Context()); err != nil {
				t.Error(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := run(t, demo.Config{Mode: demo.Single, Nodes: 1, Workers: 3, Resources: 1, TTL: 30 * time.Second, Seed: 1})
			until(t, d, "somebody inside", func(s demo.Status) bool {
				return slices.ContainsFunc(s.Workers, func(w demo.Worker) bool { return w.State == demo.Working })
			})
			// The holder may just have left; then the next one suffers it.
			for d.Status().Table[0].DoubleEntries == 0 {
				before := d.Status().Grants
				c.do(t, d)
				until(t, d, "another one inside", func(s demo.Status) bool { return s.Table[0].DoubleEntries > 0 || s.Grants > before })
			}
			if got := finish(t, d); !slices.Equal(got.Voided, []string{c.name}) || len(got.Broken) != 0 {
				t.Error("the promise stands")
			}
		})
	}
}

// Whatever lasts is listed, and gone when all is healed.
func TestEveryFaultHeals(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind lab.Kind) {
		d := start(t, demo.Config{Kind: kind, Nodes: 3, Workers: 3, Mode: demo.Replica, TTL: 2 * time.Second})
		for _, f := range demo.Faults {
			if f.HealedBy == "" || f.Target == demo.OnWorker {
				continue
			}
			target := ""
			if f.Target == demo.OnNode {
				target = "n2"
			}
			err := d.Inject(t.Context(), f.Name, target, 0)
			if f.Name == "clock" && kind == lab.Process {
				if err == nil {
					t.Error("the clock of a redis-server was set")
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			if s := d.Status(); len(s.Faults) != 1 || s.Faults[0].Name != f.Name || s.Faults[0].Target != target {
				t.Errorf("%s leaves %+v", f.Name, s.Faults)
			}
			if err := d.HealAll(t.Context()); err != nil {
				t.Fatalf("%s does not heal: %v", f.Name, err)
			}
			s := d.Status()
			if len(s.Faults) != 0 || slices.ContainsFunc(slices.Concat(s.Nodes, s.Pair), func(n lab.Status) bool { return n.State != lab.Up }) {
				t.Errorf("%s heals to %+v, %+v", f.Name, s.Faults, s.Nodes)
			}
		}
	})
}

func TestTargetsAreChecked(t *testing.T) {
	d := run(t, demo.Config{Nodes: 1, Workers: 1})
	for _, f := range demo.Faults {
		bad := "nobody"
		if err := d.Inject(t.Context(), f.Name, bad, 0); err == nil || strings.Contains(err.Error(), bad) {
			t.Errorf("%s on nobody: %v", f.Name, err)
		}
	}
	if err := d.Inject(t.Context(), "earthquake", "n1", 0); err == nil {
		t.Error("there was an earthquake")
	}
	if err := d.Inject(t.Context(), "failover", "", 0); err == nil {
		t.Error("a failover of nothing")
	}
	if err := d.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := d.Inject(context.Background(), "kill", "n1", 0); err == nil {
		t.Error("a demo that is over was broken")
	}
	if err := d.SetMode(context.Background(), demo.None); err == nil {
		t.Error("a demo that is over changed its mode")
	}
}

func TestFaultsTable(t *testing.T) {
	names, keys := map[string]bool{}, map[string]bool{}
	for _, f := range demo.Faults {
		if names[f.Name] || keys[f.Key] || len(f.Key) != 1 || f.Does == "" {
			t.Errorf("%+v", f)
		}
		names[f.Name], keys[f.Key] = true, true
		if f.HealedBy != "" {
			if h, ok := demo.FindFault(f.HealedBy); !ok || h.Target != f.Target || h.HealedBy != "" {
				t.Errorf("%s is healed by %q", f.Name, f.HealedBy)
			}
		}
		if f.Random && (len(f.VoidsExclusion) > 0 || len(f.VoidsStore) > 0) {
			t.Errorf("%s is random and voids a promise", f.Name)
		}
	}
}

// What is written as a script reads back as the same script.
func TestScriptRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(demo.Faults).Draw(t, "fault")
		want := demo.Act{At: time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "at")), Fault: f.Name}
		if f.Target != demo.OnNothing {
			want.Target = rapid.StringMatching(`[a-z]+[-:][0-9]`).Draw(t, "target")
		}
		if f.Takes {
			want.By = time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "by"))
		}
		got, err := demo.ParseScript("# one\n\n " + want.String() + " # two")
		if err != nil || len(got) != 1 || got[0] != want {
			t.Fatalf("%q reads as %+v, %v", want, got, err)
		}
	})
}

func TestScriptErrors(t *testing.T) {
	for text, want := range map[string]string{
		"secret kill n1":       "line 1",
		"1s kill n1\n2s":       "line 2",
		"1s explode n1":        "kill, restart",
		"1s kill":              "needs a node",
		"1s kill n1 5s":        "a word too many",
		"1s slow n1 fast":      "a duration",
		"1s slow n1 -1s":       "above 0",
		"-1s kill n1":          "the time",
		"1s failover n1":       "a word too many",
		"1s stop holder 1s 2s": "a word too many",
	} {
		_, err := demo.ParseScript(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", text, err)
		}
	}
	script, err := demo.ParseScript("5s restart n2; 1s kill n2\n3s clock n1 -10s")
	if err != nil || len(script) != 3 || script[0].Fault != "kill" || script[1].By != -10*time.Second || script[2].Fault != "restart" {
		t.Errorf("%+v, %v", script, err)
	}
}

func FuzzParseScript(f *testing.F) {
	f.Add("2s kill n2\n8s restart n2 # back\n")
	f.Add("1s slow n1 80ms; 2s heal n1")
	f.Fuzz(func(t *testing.T, text string) {
		script, err := demo.ParseScript(text)
		if err != nil {
			return
		}
		for i, act := range script {
			if act.At < 0 || i > 0 && act.At < script[i-1].At {
				t.Fatalf("%q is out of order: %v", text, script)
			}
			if again, err := demo.ParseScript(act.String()); err != nil || len(again) != 1 || again[0] != act {
				t.Fatalf("%q does not read back: %v, %v", act, again, err)
			}
		}
	})
}
