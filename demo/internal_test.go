package demo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
	"dlock/lockcore"
	"dlock/lockcore/node"
)

// A failover over an asynchronous replica gives one lock to two, and both are
// right to believe in it.
func TestPair(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		p, err := startPair(t.Context(), kind)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := p.close(); err != nil {
				t.Error(err)
			}
		}()
		locker := func(name string) *lockcore.Locker {
			n, err := node.Open(p.url(), node.Options{Dialer: p.dialer(&lab.Link{})})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { n.Close() })
			l, err := lockcore.New([]*node.Node{n}, lockcore.WithOwner(name), lockcore.WithTTL(time.Minute),
				lockcore.WithNodeTimeout(5*time.Second), lockcore.WithWait(5*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			return l
		}
		alice, bob := locker("alice"), locker("bob")
		key := lockcore.Key(lockcore.DefaultPrefix, "phone")
		// loseOne has a failover happen, with alice taking the lock once the
		// replica has lost sight of the primary, and returns her lock; nil if
		// she took it at another moment.
		loseOne := func() *lockcore.Lock {
			primary, replica := p.both()
			crown, heir := p.clients[primary].Client(), p.clients[replica].Client()
			over := make(chan missed, 1)
			go func() {
				m, err := p.fail(context.Background(), []string{key})
				if err != nil {
					t.Error(err)
				}
				over <- m
			}()
			arrives := func(probe int) bool {
				ctx, cancel := context.WithTimeout(t.Context(), 10*lag)
				defer cancel()
				crown.Set(ctx, "probe", probe, 0)
				return p.wait(ctx, func(ctx context.Context) bool { n, _ := heir.Get(ctx, "probe").Int(); return n == probe }) == nil
			}
			for probe := 1; arrives(probe); probe++ {
			}
			lock, err := alice.Acquire(t.Context(), "phone")
			if err != nil {
				t.Fatal(err)
			}
			if m := <-over; m == (missed{key, true}) {
				return lock
			}
			lock.Release(t.Context())
			return nil
		}
		hers := loseOne()
		for hers == nil {
			// What was missed may keep everybody out.
			if err := p.clients[p.primary()].Client().Del(t.Context(), key).Err(); err != nil {
				t.Fatal(err)
			}
			if err := p.rejoin(t.Context()); err != nil {
				t.Fatal(err)
			}
			hers = loseOne()
		}
		his, err := bob.Acquire(t.Context(), "phone")
		if err != nil {
			t.Fatal(err)
		}
		if !hers.Valid() || !his.Valid() {
			t.Errorf("alice believes in hers: %v, bob in his: %v", hers.Valid(), his.Valid())
		}
		if err := p.rejoin(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, replica := p.both()
		if err := p.wait(t.Context(), func(ctx context.Context) bool {
			return p.clients[replica].Client().Get(ctx, key).Val() == his.Token().String()
		}); err != nil {
			t.Errorf("the old primary, %s, does not follow the new one", replica.Name())
		}
	})
}

// A worker that panics ends the demo in order, and nothing is left of it.
func TestAPanicLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	kind := lab.Embedded
	if _, ok := lab.FindServer(); ok {
		kind = lab.Process
	}
	d, err := Start(t.Context(), Config{Kind: kind, Nodes: 2, Workers: 3})
	if err != nil {
		t.Fatal(err)
	}
	d.spawn(func() { panic("boom") })
	<-d.Done()
	if _, err := d.Finish(t.Context()); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("it ended with %v", err)
	}
	if err := d.Stop(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// A panic inside a visit does not keep the round from ending.
func TestAPanicInAVisit(t *testing.T) {
	wallet, err := FindScenario("wallet")
	if err != nil {
		t.Fatal(err)
	}
	wallet.Name, wallet.job = "panic", func(*worker) job { panic("boom") }
	Scenarios = append(Scenarios, wallet)
	defer func() { Scenarios = Scenarios[:len(Scenarios)-1] }()
	d, err := Start(t.Context(), Config{Kind: lab.Embedded, Nodes: 1, Workers: 2, Scenario: wallet.Name, Mode: Single})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Stop()
	<-d.Done()
	if _, err := d.Finish(t.Context()); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("it ended with %v", err)
	}
}

// A start that fails leaves nothing.
func TestAFailedStartLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if d, err := Start(ctx, Config{Kind: lab.Embedded}); !errors.Is(err, context.Canceled) {
		t.Errorf("it starts: %v, %v", d, err)
	}
	if d, err := Start(t.Context(), Config{Kind: lab.Embedded, Store: "postgres://u@127.0.0.1:1/x"}); err == nil {
		t.Errorf("it starts: %v", d)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestHistogram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "d"))
		low := least(classOf(d))
		if low > max(d, 1) || float64(low) < float64(d)*8/9 {
			t.Fatalf("%v is counted as %v", d, low)
		}
		var h histogram
		small := rapid.IntRange(51, 200).Draw(t, "small")
		for range small {
			h.add(d)
		}
		for range 100 - min(small, 100) {
			h.add(d * 1000)
		}
		if got := h.quantile(0.5); got != low {
			t.Fatalf("half is below %v, not %v", got, low)
		}
	})
	if got := new(histogram).quantile(0.99); got != 0 {
		t.Errorf("of nothing it is %v", got)
	}
}

// Random faults never break more than a minority, and end what they began.
func TestRandomFaultsStayWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Config{Nodes: rapid.IntRange(1, MaxNodes).Draw(t, "nodes"), Resources: 2, Kind: lab.Process}
		rough := rapid.Bool().Draw(t, "rough")
		r := randFrom(rapid.Uint64().Draw(t, "seed"))
		d := &Demo{config: c}
		for range 200 {
			act := nextRandom(r, c, Scenarios[0], d.active, false, rough)
			if act.Fault == "" {
				continue
			}
			f, ok := FindFault(act.Fault)
			if !ok || f.Target != OnNothing && act.Target == "" || f.Name == "clock" || f.Name == "failover" {
				t.Fatalf("it does %+v", act)
			}
			if !rough && (len(f.VoidsExclusion) > 0 || f.Target == OnWorker) {
				t.Fatalf("it does %s", f.Name)
			}
			d.record(f, act.Target, act.By)
			broken := map[string]bool{}
			for _, a := range d.active {
				broken[a.Target] = true
			}
			if len(broken) > (c.Nodes-1)/2 {
				t.Fatalf("%d of %d nodes are broken: %+v", len(broken), c.Nodes, d.active)
			}
		}
	})
}
