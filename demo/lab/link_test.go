package lab_test

import (
	"bufio"
	"context"
	"net"
	"testing"
	"time"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
)

// ping asks over a connection and reports what came within the deadline.
func ping(t *testing.T, c net.Conn, deadline time.Duration) error {
	t.Helper()
	c.SetDeadline(time.Now().Add(deadline))
	if _, err := c.Write([]byte("*1\r\n$4\r\nPING\r\n")); err != nil {
		return err
	}
	_, err := bufio.NewReader(c).ReadString('\n')
	return err
}

func TestLink(t *testing.T) {
	l := labtest.Start(t, lab.Config{Nodes: 1})
	addr := l.Nodes()[0].Addr()
	var link, other lab.Link
	dial := func(l *lab.Link) net.Conn {
		t.Helper()
		c, err := l.Dial(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	a, b := dial(&link), dial(&other)
	if err := ping(t, a, 10*time.Second); err != nil {
		t.Fatal(err)
	}

	link.Cut()
	if cut, _ := link.State(); !cut {
		t.Error("it does not say that it is cut")
	}
	if err := ping(t, a, 50*time.Millisecond); err == nil {
		t.Error("an answer came over a cut link")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c, err := link.Dial(ctx, "tcp", addr); err == nil {
		c.Close()
		t.Error("a cut link connects")
	}
	if err := ping(t, b, 10*time.Second); err != nil {
		t.Errorf("another link: %v", err)
	}

	link.Heal()
	if err := ping(t, a, 10*time.Second); err == nil {
		t.Error("a connection that lacks bytes lives on")
	}
	a = dial(&link)
	const late = 30 * time.Millisecond
	link.Slow(late)
	for range 3 {
		sent := time.Now()
		if err := ping(t, a, 10*time.Second); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(sent); took < late {
			t.Errorf("it took %v", took)
		}
	}
	link.Slow(0)
	if err := ping(t, a, 10*time.Second); err != nil {
		t.Errorf("after it was slow: %v", err)
	}
}

func TestClockJumps(t *testing.T) {
	l := labtest.Start(t, lab.Config{Nodes: 1})
	n := l.Nodes()[0]
	c := labtest.Client(t, n)
	ahead := func() time.Duration {
		now, err := c.Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		return time.Until(now).Round(time.Minute)
	}
	set := func(key string, ttl time.Duration) {
		if err := c.Set(t.Context(), key, "x", ttl).Err(); err != nil {
			t.Fatal(err)
		}
	}
	jump := func(d time.Duration) {
		t.Helper()
		if err := n.JumpClock(d); err != nil {
			t.Fatal(err)
		}
	}
	set("short", time.Hour)
	set("long", 3*time.Hour)
	jump(2 * time.Hour)
	if n := c.Exists(t.Context(), "short").Val(); n != 0 {
		t.Error("a key outlives its hour")
	}
	if left := c.PTTL(t.Context(), "long").Val().Round(time.Minute); left != time.Hour || ahead() != 2*time.Hour {
		t.Errorf("%v are left, the clock is %v ahead", left, ahead())
	}
	jump(-4 * time.Hour)
	if left := c.PTTL(t.Context(), "long").Val().Round(time.Minute); left != 5*time.Hour || ahead() != -2*time.Hour {
		t.Errorf("%v are left, the clock is %v ahead", left, ahead())
	}
	jump(2 * time.Hour)
	if ahead() != 0 {
		t.Errorf("the clock is %v ahead", ahead())
	}
	if err := n.Kill(); err != nil {
		t.Fatal(err)
	}
	if n.JumpClock(time.Second) == nil {
		t.Error("the clock of a dead node was set")
	}
}

func TestNoClockToSet(t *testing.T) {
	l := labtest.Start(t, lab.Config{Nodes: 1, Kind: lab.Process, Prefix: "x"})
	if n, ok := l.Node("x1"); !ok || n.JumpClock(time.Hour) == nil {
		t.Error("the clock of a redis-server was set")
	}
}
