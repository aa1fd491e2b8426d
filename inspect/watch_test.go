package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"dlock/demo/lab"
	"dlock/lockcore/node"
)

func TestWatchEvents(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind lab.Kind) {
		f := newField(t, kind, 3, Config{Interval: MinInterval})
		f.set("lock:old", "before", time.Minute, 1, 2, 3)
		w := f.watch()
		first := w.until("the first snapshot", func(Snapshot) bool { return true })
		if !first.Complete || len(first.Locks) != 1 || len(first.Events) != 0 || first.Interval != MinInterval {
			t.Errorf("%+v", first)
		}

		f.set("lock:a", "one", time.Minute, 1, 2, 3)
		l := w.untilLock("lock:a held by all", "lock:a", func(l Lock) bool { return l.State == Held && l.Votes.Agree == 3 })
		if l.HeldIsMinimum || l.HeldSince.IsZero() {
			t.Errorf("its taking was seen: %v %v", l.HeldSince, l.HeldIsMinimum)
		}
		old := w.untilLock("lock:old", "lock:old", func(l Lock) bool { return !l.HeldSince.IsZero() })
		if !old.HeldIsMinimum {
			t.Error("lock:old was there before us")
		}

		for n := range f.clients {
			f.clients[n].PExpire(t.Context(), "lock:a", 2*time.Minute)
		}
		l = w.untilLock("a renewal", "lock:a", func(l Lock) bool { return l.Renewals == 1 })
		if l.FullTTL < 110*time.Second || l.LastRenewal.IsZero() {
			t.Errorf("%+v", l)
		}

		f.set("lock:a", "two", time.Minute, 1, 2, 3)
		w.untilLock("another owner", "lock:a", func(l Lock) bool {
			o, _ := l.Holder()
			return l.State == Held && o.Token == "two" && l.Votes.Agree == 3
		})

		f.del("lock:a", 3)
		w.untilLock("a node less", "lock:a", func(l Lock) bool { return l.Has(Degraded) })
		f.del("lock:a", 1, 2)
		w.untilLock("gone", "lock:a", func(l Lock) bool { return l.State == Expired && !l.GoneAt.IsZero() })

		f.set("lock:short", "three", 300*time.Millisecond, 1, 2, 3)
		last := w.until("lock:short expired", func(s Snapshot) bool { return hasEvent(s.Events, "lock:short", Ended) })
		if got := kinds(last.Events, "lock:old"); len(got) != 0 {
			t.Errorf("lock:old: %v", got)
		}
		// Writing to one node after the other may be sampled half way, so
		// there may be gained nodes in between; what must be there is there
		// in order and once.
		got := slices.DeleteFunc(kinds(last.Events, "lock:a"), func(k EventKind) bool { return k == GainedNode || k == LostNode })
		if want := []EventKind{Taken, Renewed, HandedOver, Released}; !slices.Equal(got, want) {
			t.Errorf("lock:a: %v, want %v", got, want)
		}
		if !hasEvent(last.Events, "lock:a", LostNode) {
			t.Error("the lost node was not told")
		}
		if last.Seq <= first.Seq || !last.At.After(first.At) {
			t.Errorf("%d %v after %d %v", last.Seq, last.At, first.Seq, first.At)
		}
		if len(first.Locks) != 1 || len(first.Events) != 0 {
			t.Error("the first snapshot has changed since")
		}
	})
}

func TestWatchNodeGoesAndComes(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind lab.Kind) {
		f := newField(t, kind, 3, Config{Interval: MinInterval})
		f.set("lock:a", "token", time.Minute, 1, 2, 3)
		f.set("lock:b", "token", time.Minute, 2, 3)
		w := f.watch()
		w.until("all up", func(s Snapshot) bool { return s.Target.Up() == 3 && s.Complete })
		kill(t, f.lab, "n3")
		snap := w.until("n3 down", func(s Snapshot) bool { return s.Target.Nodes[2].State == NodeDown })
		n3 := snap.Target.Nodes[2]
		if n3.Error == "" || n3.NextTry.IsZero() || n3.Since.IsZero() || snap.Complete {
			t.Errorf("%+v", n3)
		}
		a, b := lock(t, snap, "lock:a"), lock(t, snap, "lock:b")
		if a.State != Held || a.Copies[2].Answer != AnswerUnreachable || a.Copies[2].Token != "token" || !a.Copies[2].SampledAt.Before(a.Copies[0].SampledAt) {
			t.Errorf("%+v", a.Copies[2])
		}
		if b.State != Unknown || b.Votes.Agree != 1 || b.Votes.Unreachable != 1 {
			t.Errorf("%s %+v", b.State, b.Votes)
		}
		n, _ := f.lab.Node("n3")
		if err := n.Restart(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		f.Refresh()
		snap = w.until("n3 up again, empty", func(s Snapshot) bool {
			return s.Target.Nodes[2].State == NodeUp && s.Complete && lock(t, s, "lock:a").Votes.Agree == 2
		})
		if l := lock(t, snap, "lock:b"); l.State != Partial {
			t.Errorf("lock:b %s", l.State)
		}
		var nodes []EventKind
		for _, e := range snap.Events {
			if e.Node == "n3" && e.Key == "" {
				nodes = append(nodes, e.Kind)
			}
		}
		if !slices.Equal(nodes, []EventKind{NodeFell, NodeWentUp}) {
			t.Errorf("n3: %v", nodes)
		}
		if got := kinds(snap.Events, "lock:a"); !slices.Equal(got, []EventKind{LostNode}) {
			t.Errorf("lock:a: %v", got)
		}
		if got := kinds(snap.Events, "lock:b"); !slices.Equal(got, []EventKind{Released}) {
			t.Errorf("lock:b: %v", got)
		}
	})
}

// A node that hangs costs the others nothing: snapshots go on, and its first
// answer is not waited for longer than its timeout.
func TestWatchHungNode(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind lab.Kind) {
		f := newField(t, kind, 3, Config{})
		f.set("lock:a", "token", time.Minute, 1, 2, 3)
		n3, _ := f.lab.Node("n3")
		if err := n3.Pause(); err != nil {
			t.Fatal(err)
		}
		timeout := 200 * time.Millisecond
		i := New(open(t, f.lab.URLs(), node.Options{Timeout: timeout, DialTimeout: timeout}), Config{Interval: MinInterval})
		w := watchOf(t, i)
		first := w.until("the first snapshot", func(Snapshot) bool { return true })
		if l := lock(t, first, "lock:a"); l.State != Held || l.Votes.Agree != 2 || l.Copies[2].Answer != AnswerUnreachable {
			t.Errorf("%+v", l)
		}
		w.until("it is known to be down", func(s Snapshot) bool { return s.Target.Nodes[2].State == NodeDown })
		// While a try of the hung node is under way, the others' samples
		// stay new in every snapshot.
		old := time.Time{}
		for range 15 {
			snap := w.until("the next one", func(Snapshot) bool { return true })
			at := lock(t, snap, "lock:a").Copies[0].SampledAt
			if !at.After(old) {
				t.Error("a snapshot without a new sample of n1")
			}
			old = at
		}
		if err := n3.Resume(); err != nil {
			t.Fatal(err)
		}
		i.Refresh()
		w.until("it is back", func(s Snapshot) bool { return s.Target.Up() == 3 && lock(t, s, "lock:a").Votes.Agree == 3 })
	})
}

// Looking must not change what is looked at: the idle time of a key grows
// while it is watched, with an expiry and without.
func TestWatchLeavesIdleTimeAlone(t *testing.T) {
	f := newField(t, lab.Process, 1, Config{Interval: MinInterval})
	ctx := t.Context()
	f.set("lock:never", "token", 0, 1)
	f.set("lock:some", "token", time.Hour, 1)
	idle := func(key string) time.Duration {
		d, err := f.clients[0].ObjectIdleTime(ctx, key).Result()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	w := f.watch()
	snap := w.until("idle for three seconds", func(Snapshot) bool {
		return idle("lock:never") >= 3*time.Second && idle("lock:some") >= 3*time.Second
	})
	for _, key := range []string{"lock:never", "lock:some"} {
		if l := lock(t, snap, key); !l.Idle.Known || l.Idle.Value < 2*time.Second {
			t.Errorf("%s: idle %+v", key, l.Idle)
		}
	}
	// A new owner without expiry does not show in PTTL, but in idle time.
	f.set("lock:never", "successor", 0, 1)
	w.untilLock("the successor", "lock:never", func(l Lock) bool {
		o, _ := l.Holder()
		return o.Token == "successor"
	})
}

func TestWatchRefreshAndInterval(t *testing.T) {
	f := newField(t, lab.Embedded, 1, Config{Interval: time.Hour})
	w := f.watch()
	w.until("the first", func(s Snapshot) bool { return s.Interval == time.Hour })
	f.set("lock:a", "token", time.Minute, 1)
	f.Refresh()
	snap := w.until("the second, though the interval is an hour", func(Snapshot) bool { return true })
	lock(t, snap, "lock:a")
	f.SetInterval(0)
	w.until("the next ones at the shortest interval", func(s Snapshot) bool { return s.Interval == MinInterval })
	w.until("and another", func(Snapshot) bool { return true })
	if err := f.Watch(t.Context(), func(Snapshot) {}); !errors.Is(err, ErrWatching) {
		t.Errorf("a second Watch: %v", err)
	}
}

func TestGetBesideWatch(t *testing.T) {
	f := newField(t, lab.Process, 3, Config{Interval: MinInterval})
	ctx := t.Context()
	f.set("lock:a", "token", time.Minute, 1, 2, 3)
	w := f.watch()
	w.untilLock("some history", "lock:a", func(l Lock) bool { return !l.HeldSince.IsZero() })
	for n := range f.clients {
		f.clients[n].PExpire(ctx, "lock:a", 2*time.Minute)
	}
	w.untilLock("a renewal", "lock:a", func(l Lock) bool { return l.Renewals == 1 })
	snap, err := f.Get(ctx, "lock:a", "lock:none")
	if err != nil {
		t.Fatal(err)
	}
	l := lock(t, snap, "lock:a")
	if l.Renewals != 1 || l.HeldSince.IsZero() || !l.HeldIsMinimum || l.State != Held {
		t.Errorf("%+v", l)
	}
	if l := lock(t, snap, "lock:none"); l.State != Expired {
		t.Errorf("%+v", l)
	}
	if p, err := PlanRelease(l, "token"); err != nil || !slices.ContainsFunc(p.Warnings, func(s string) bool { return len(s) > 0 }) {
		t.Errorf("%+v %v", p, err)
	}
	f.set("lock:a", "successor", time.Minute, 1, 2, 3)
	snap, _ = f.Get(ctx, "lock:a")
	if o, _ := snap.Locks[0].Holder(); o.Token != "successor" || snap.Locks[0].Renewals != 0 {
		t.Errorf("%+v", snap.Locks[0])
	}
}

func TestWatchTellsOfRelease(t *testing.T) {
	f, i := hand(t, lab.Embedded, 1)
	i.SetInterval(time.Hour)
	f.set("lock:a", "token-1234", time.Minute, 1)
	w := watchOf(t, i)
	snap := w.until("the lock", func(s Snapshot) bool { return len(s.Locks) == 1 })
	p, err := PlanRelease(snap.Locks[0], "token-1234")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan Result, 1)
	go func() { done <- i.Execute(context.Background(), p, false) }()
	snap = w.until("the release", func(s Snapshot) bool { return hasEvent(s.Events, "lock:a", Operator) })
	if r := <-done; r.Outcome != OutReleased {
		t.Errorf("%+v", r)
	}
	if l := lock(t, snap, "lock:a"); l.State != Expired {
		t.Errorf("%+v", l)
	}
}

func TestTombstonesEnd(t *testing.T) {
	f := newField(t, lab.Embedded, 1, Config{Interval: MinInterval, Tombstone: 300 * time.Millisecond})
	f.set("lock:a", "token", time.Minute, 1)
	w := f.watch()
	w.untilLock("held", "lock:a", func(l Lock) bool { return l.State == Held })
	f.del("lock:a", 1)
	w.untilLock("a tombstone", "lock:a", func(l Lock) bool { return l.State == Expired })
	w.until("nothing", func(s Snapshot) bool { return len(s.Locks) == 0 })
	f.set("lock:a", "token", time.Minute, 1)
	last := w.until("it is back", func(s Snapshot) bool { return len(s.Locks) == 1 && s.Locks[0].State == Held })
	if got := kinds(last.Events, "lock:a"); !slices.Equal(got, []EventKind{Released, Taken}) {
		t.Errorf("%v", got)
	}
}

// A keyspace that does not fit into one round is gone through in slices, and
// what was found so far is shown meanwhile.
func TestWatchLargeKeyspace(t *testing.T) {
	f := newField(t, lab.Process, 1, Config{Interval: MinInterval, ScanCount: 10})
	ctx := t.Context()
	pipe := f.clients[0].Pipeline()
	for n := range 6_000 {
		pipe.Set(ctx, fmt.Sprintf("junk:%d", n), "x", 0)
	}
	for n := range 30 {
		pipe.Set(ctx, fmt.Sprintf("lock:%d", n), "token", time.Hour)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		t.Fatal(err)
	}
	w := f.watch()
	first := w.until("the first", func(Snapshot) bool { return true })
	if first.Complete || first.Scan.Passes != 0 {
		t.Errorf("the first snapshot is complete: %+v", first.Scan)
	}
	snap := w.until("one pass", func(s Snapshot) bool { return s.Scan.Passes == 1 })
	if !snap.Complete || len(snap.Locks) != 30 || snap.Scan.Keys != 30 {
		t.Errorf("complete %v, %d locks, %+v", snap.Complete, len(snap.Locks), snap.Scan)
	}
	if len(snap.Events) != 0 {
		t.Errorf("locks that were found late are not new: %+v", snap.Events[0])
	}
	f.set("lock:new", "token", time.Hour, 1)
	f.del("lock:7", 1)
	snap = w.until("what changed", func(s Snapshot) bool {
		return hasEvent(s.Events, "lock:new", Taken) && hasEvent(s.Events, "lock:7", Released)
	})
	if l := lock(t, snap, "lock:new"); l.State != Held {
		t.Errorf("%+v", l)
	}
}

// A refusal is remembered until somebody asks for everything, or until the
// node was away.
func TestRefusalsAreForgotten(t *testing.T) {
	f := newField(t, lab.Process, 1, Config{})
	f.set("lock:a", "token", time.Minute, 1)
	grant := func(rules ...any) {
		if err := f.clients[0].Do(t.Context(), append([]any{"acl", "setuser", "eye"}, rules...)...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	grant("reset", "on", ">pw", "~lock:*", "+scan", "+pttl")
	i := New(open(t, []string{"redis://eye:pw@" + f.nodes[0].Addr()}, node.Options{}), Config{Interval: MinInterval})
	w := watchOf(t, i)
	w.until("refused", func(s Snapshot) bool { return slices.Contains(s.Target.Nodes[0].Denied, "GET") })
	grant("+get", "+getrange")
	for range 3 {
		snap := w.until("the next", func(Snapshot) bool { return true })
		if len(snap.Locks[0].Owners) != 0 {
			t.Error("it was asked again unbidden")
		}
	}
	i.Refresh()
	w.untilLock("the owner", "lock:a", func(l Lock) bool { return len(l.Owners) == 1 })

	s := newSession(i)
	m := s.members[0]
	m.probe.note("SOMETHING", errors.New("not a server's word"))
	if !m.probe.allowed("SOMETHING") {
		t.Error("a broken connection is taken for a refusal")
	}
	m.probe.note("SOMETHING", f.clients[0].Do(t.Context(), "no-such-command").Err())
	if m.probe.allowed("SOMETHING") {
		t.Error("an unknown command would be asked again")
	}
	look := func() {
		s.launch(t.Context(), m, job{keys: []string{"lock:a"}})
		s.settle(t.Context(), nil)
	}
	if look(); m.probe.allowed("SOMETHING") {
		t.Error("forgotten without a reason")
	}
	m.failures = 1
	if look(); !m.probe.allowed("SOMETHING") || m.failures != 0 {
		t.Error("still remembered after the node was away")
	}
}

// A refresh that comes while a node is being asked must not be lost when that
// question fails: the node may have come back a moment after it was sent.
func TestRefreshWhileANodeIsAskedIsNotLost(t *testing.T) {
	n, err := node.Open("redis://127.0.0.1:1", node.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	i := New([]*node.Node{n}, Config{})
	s := newSession(i)
	m := s.members[0]
	m.failures, m.busy = 4, true
	s.tryEverything()
	s.absorb(t.Context(), report{member: 0, err: &nodeError{err: errors.New("no answer in time")}})
	if next := m.status.NextTry; next.After(i.now()) {
		t.Errorf("asked again only in %v", next.Sub(i.now()))
	}
	m.busy = true
	s.absorb(t.Context(), report{member: 0, err: &nodeError{err: errors.New("no answer in time")}})
	if next := m.status.NextTry; !next.After(i.now()) {
		t.Error("a node that is down is asked without a pause")
	}
}
