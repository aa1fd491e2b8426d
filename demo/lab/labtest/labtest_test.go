package labtest_test

import (
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// probe stands in for a test and records how it ends.
type probe struct {
	testing.TB
	skipped, failed bool
	cleanups        []func()
}

func (p *probe) Helper()               {}
func (p *probe) Skip(...any)           { p.skipped = true; runtime.Goexit() }
func (p *probe) Fatalf(string, ...any) { p.failed = true; runtime.Goexit() }
func (p *probe) Cleanup(f func())      { p.cleanups = append(p.cleanups, f) }
func (p *probe) run(body func(t testing.TB)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, f := range p.cleanups {
				f()
			}
		}()
		body(p)
	}()
	<-done
}

func TestWithoutServer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, c := range []struct {
		require         string
		skipped, failed bool
	}{
		{"", true, false},
		{"0", true, false},
		{"1", false, true},
	} {
		t.Setenv(labtest.RequireRedis, c.require)
		p := &probe{TB: t}
		p.run(func(t testing.TB) { labtest.Start(t, lab.Config{Kind: lab.Process, Nodes: 1}) })
		if p.skipped != c.skipped || p.failed != c.failed {
			t.Errorf("%s=%q: skipped %v, failed %v; want %v, %v", labtest.RequireRedis, c.require, p.skipped, p.failed, c.skipped, c.failed)
		}
	}
}

func TestImpossibleLabFails(t *testing.T) {
	p := &probe{TB: t}
	p.run(func(t testing.TB) { labtest.Start(t, lab.Config{Nodes: -1}) })
	if !p.failed {
		t.Error("a lab that cannot start did not fail its test")
	}
}

func TestEventuallyEndsEitherWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			after  time.Duration
			failed bool
		}{{0, false}, {time.Second, false}, {time.Hour, true}} {
			p, start := &probe{TB: t}, time.Now()
			p.run(func(t testing.TB) {
				labtest.Eventually(t, "the hour", func() bool { return time.Since(start) >= c.after })
			})
			if p.failed != c.failed {
				t.Errorf("what happens after %v: failed %v, want %v", c.after, p.failed, c.failed)
			}
			if c.after == 0 && time.Since(start) != 0 {
				t.Errorf("what is true already was waited for for %v", time.Since(start))
			}
		}
	})
}

func TestLabEndsWithItsTest(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		var l *lab.Lab
		t.Run("inner", func(t *testing.T) {
			l = labtest.Start(t, lab.Config{Kind: kind, Nodes: 2})
			if got := l.Kind(); got != kind {
				t.Errorf("the lab is of kind %q, want %q", got, kind)
			}
			for _, n := range l.Nodes() {
				if err := labtest.Client(t, n).Ping(t.Context()).Err(); err != nil {
					t.Errorf("%s: %v", n.Name(), err)
				}
			}
		})
		for _, n := range l.Nodes() {
			if conn, err := net.Dial("tcp", n.Addr()); err == nil {
				conn.Close()
				t.Errorf("%s is still there after its test", n.Name())
			}
		}
	})
}
