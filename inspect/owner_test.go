package inspect

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dlock/demo/lab"
	"dlock/lockcore/node"
)

// replace makes another client the owner at one stroke, with these options of
// SET.
func (f *field) replace(key, value string, options ...any) {
	f.t.Helper()
	for _, c := range f.clients {
		pipe := c.TxPipeline()
		if len(options) == 0 {
			pipe.Del(f.t.Context(), key)
		}
		pipe.Do(f.t.Context(), append([]any{"set", key, value}, options...)...)
		if _, err := pipe.Exec(f.t.Context()); err != nil {
			f.t.Fatal(err)
		}
	}
}

func ownedBy(value string) func(Lock) bool {
	return func(l Lock) bool {
		o, _ := l.Holder()
		return l.State == Held && o.Token == value
	}
}

// A hand-over that neither the remaining life nor the idle time shows is found
// all the same: it comes right after our reading, which resets the idle time.
func TestHiddenHandOver(t *testing.T) {
	for _, tt := range []struct {
		name    string
		ttl     time.Duration
		lfu     bool
		options []any
	}{
		{"no expiry", 0, false, nil},
		{"no expiry, no idle time", 0, true, nil},
		{"keeps the expiry", time.Hour, false, []any{"XX", "KEEPTTL"}},
		{"keeps the expiry, no idle time", time.Hour, true, []any{"XX", "KEEPTTL"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newField(t, lab.Process, 1, Config{Interval: MinInterval})
			if tt.lfu {
				if err := f.clients[0].ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lfu").Err(); err != nil {
					t.Fatal(err)
				}
			}
			f.set("lock:a", "OWNER-A", tt.ttl, 1)
			w := f.watch()
			w.untilLock("the first owner", "lock:a", ownedBy("OWNER-A"))
			f.replace("lock:a", "OWNER-B", tt.options...)
			w.untilLock("the second owner", "lock:a", ownedBy("OWNER-B"))
			// Later too, when the value has been read several times.
			f.replace("lock:a", "OWNER-C", tt.options...)
			w.untilLock("the third owner", "lock:a", ownedBy("OWNER-C"))
		})
	}
}

// Get always reads, and what it reads corrects a Watch that would not have
// looked for a long time; so does Refresh.
func TestGetAndRefreshReadValues(t *testing.T) {
	f := newField(t, lab.Process, 3, Config{Interval: time.Hour})
	f.set("lock:a", "OWNER-A", 0, 1, 2, 3)
	w := f.watch()
	w.untilLock("the first owner", "lock:a", ownedBy("OWNER-A"))
	f.replace("lock:a", "OWNER-B")
	snap, err := f.Get(t.Context(), "lock:a")
	if err != nil || !ownedBy("OWNER-B")(lock(t, snap, "lock:a")) {
		t.Fatalf("Get: %v %+v", err, snap.Locks)
	}
	snap = w.until("the next snapshot, long before the interval is over", func(Snapshot) bool { return true })
	if l := lock(t, snap, "lock:a"); !ownedBy("OWNER-B")(l) || !hasEvent(snap.Events, "lock:a", HandedOver) {
		t.Errorf("%+v %v", l.Owners, kinds(snap.Events, "lock:a"))
	}
	f.replace("lock:a", "OWNER-C")
	f.Refresh()
	snap = w.until("the snapshot after a refresh", func(Snapshot) bool { return true })
	if l := lock(t, snap, "lock:a"); !ownedBy("OWNER-C")(l) {
		t.Errorf("%+v", l.Owners)
	}
}

// What a Get has read counts unless the Watch has read later, and a job that
// was under way with what was known before does not undo it.
func TestCorrectionsOfAWatch(t *testing.T) {
	n, err := node.Open("redis://127.0.0.1:1", node.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	i := New([]*node.Node{n}, Config{})
	base := time.Now()
	at := func(value string, sent, read int) sample {
		return sample{presence: present, got: text(value), never: true,
			asked: when(base.Add(time.Duration(sent) * time.Second)), read: when(base.Add(time.Duration(read) * time.Second))}
	}
	live, get := newSession(i), newSession(i)
	m := live.members[0]
	live.absorb(t.Context(), report{samples: map[string]sample{"lock:a": at("old", 1, 1)}})
	get.absorb(t.Context(), report{samples: map[string]sample{"lock:a": at("new", 2, 2), "lock:other": at("x", 2, 2)}})
	m.busy = true
	if !get.teach(live, []string{"lock:a", "lock:other", "lock:none"}) {
		t.Error("a new value is no news")
	}
	live.correctAll()
	if m.samples["lock:a"].got.entry.Value != "old" {
		t.Error("changed under a job")
	}
	live.absorb(t.Context(), report{samples: map[string]sample{"lock:a": at("old", 3, 1)}})
	if m.samples["lock:a"].got.entry.Value != "new" || len(m.samples) != 1 || len(m.inbox) != 0 {
		t.Errorf("%+v", m.samples)
	}
	if get.teach(live, []string{"lock:a"}) {
		t.Error("what is known is news")
	}
	live.absorb(t.Context(), report{samples: map[string]sample{"lock:a": at("newest", 4, 4)}})
	if m.samples["lock:a"].got.entry.Value != "newest" {
		t.Error("an older reading undid a newer one")
	}
}

func TestOutdated(t *testing.T) {
	base := time.Now()
	rapid.Check(t, func(t *rapid.T) {
		never, idle := rapid.Bool().Draw(t, "never"), rapid.Bool().Draw(t, "idle")
		key := rapid.String().Draw(t, "key")
		a := text("a")
		before := sample{presence: present, got: a, never: never, asked: when(base), read: when(base)}
		most := rereadMost
		if never || !idle {
			most = rereadSlow
		}
		now := base
		for range 12 {
			read := now
			for {
				now = now.Add(100 * time.Millisecond)
				next := sample{presence: present, got: a, never: never, idleAsked: idle, asked: when(now), read: before.read}
				if outdated(before, next, key, 1) {
					next.read = when(now)
					before = next.succeeds(before)
					break
				}
				before = next.succeeds(before)
				if now.Sub(read) > most {
					t.Fatalf("not read again for %v", now.Sub(read))
				}
			}
			if now.Sub(read) < 2*time.Second {
				t.Fatalf("read again after %v, which is too soon for an idle time to speak", now.Sub(read))
			}
		}
		if before.gap < most/2 {
			t.Fatalf("the pause does not grow: %v", before.gap)
		}
		changed := sample{presence: present, got: text("b"), never: never, asked: when(now), read: when(now)}
		if got := changed.succeeds(before); got.gap != 0 {
			t.Fatalf("the pause of the last value stays: %v", got.gap)
		}
	})
	if outdated(sample{}, sample{asked: when(base.Add(time.Hour))}, "a", 1) {
		t.Error("what cannot be read is not tried again because of its age")
	}
}

// Our own readings leave the idle time alone that is shown.
func TestRereadingKeepsIdleTime(t *testing.T) {
	base := time.Now()
	used := base.Add(-time.Hour)
	s := sample{presence: present, got: text("a"), never: true, idleAsked: true, touched: when(used), asked: when(base), read: when(base)}
	for n := 1; n < 20; n++ {
		at := base.Add(time.Duration(n) * rereadSlow)
		next := s
		next.asked, next.touched = when(at), when(s.readAt().Add(time.Second)) // as the server counts
		if touchedBetween(s, next.touchedAt()) {
			t.Fatal("our own reading looks like somebody's use")
		}
		next.read = when(at)
		s = next.succeeds(s)
		if !s.touchedAt().Equal(used) {
			t.Fatalf("after %d readings it was last used at %v", n, s.touchedAt())
		}
	}
}

// A node that hangs does not hold back whoever gives up, however long its
// timeout is.
func TestEndOfContextIsAtOnce(t *testing.T) {
	f := newField(t, lab.Embedded, 2, Config{})
	f.set("lock:a", "token", time.Minute, 1, 2)
	n2, _ := f.lab.Node("n2")
	if err := n2.Pause(); err != nil {
		t.Fatal(err)
	}
	for name, look := range map[string]func(*Inspector, context.Context) error{
		"Look":  func(i *Inspector, ctx context.Context) error { _, err := i.Look(ctx); return err },
		"Get":   func(i *Inspector, ctx context.Context) error { _, err := i.Get(ctx, "lock:a"); return err },
		"Watch": func(i *Inspector, ctx context.Context) error { return i.Watch(ctx, func(Snapshot) {}) },
	} {
		t.Run(name, func(t *testing.T) {
			nodes := open(t, f.lab.URLs(), node.Options{Timeout: time.Hour, DialTimeout: time.Hour})
			i := New(nodes, Config{})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- look(i, ctx) }()
			for i.deployment.present().probes[0].known().at.IsZero() {
				// n1 has answered, so the question to n2 is out.
				if ctx.Err() != nil {
					t.Fatal(ctx.Err())
				}
				select {
				case err := <-done:
					t.Fatalf("ended by itself: %v", err)
				case <-time.After(time.Millisecond):
				}
			}
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	if err := n2.Resume(); err != nil {
		t.Fatal(err)
	}
}

// While a large keyspace is scanned for the first time on healthy nodes, no
// lock is shown in a state that it is not in.
func TestNoFalseStateDuringTheFirstScan(t *testing.T) {
	f := newField(t, lab.Process, 3, Config{Interval: MinInterval, ScanCount: 50})
	const locks = 10_000
	for _, c := range f.clients {
		pipe := c.Pipeline()
		for n := range locks {
			pipe.Set(t.Context(), fmt.Sprintf("lock:%d", n), "token", time.Hour)
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w := f.watch()
	last := w.until("all locks", func(s Snapshot) bool {
		for _, l := range s.Locks {
			if l.State != Held || l.Votes.Agree != 3 {
				t.Fatalf("%s is %s, %+v, %+v", l.ID.Key, l.State, l.Votes, l.Copies)
			}
		}
		if s.Scan.Pending > 0 && (s.Complete || !s.Blind()) {
			t.Fatalf("locks are left out and it is not said: %+v", s.Scan)
		}
		return s.Complete && len(s.Locks) == locks
	})
	if last.Blind() || last.Scan.Pending != 0 {
		t.Errorf("blind %v, %+v", last.Blind(), last.Scan)
	}
	for _, e := range last.Events {
		// A machine that is slow may cause gaps, but no lock has changed.
		if e.Kind != Gap {
			t.Errorf("%+v", e)
		}
	}
}

func TestPendingIsNotSilent(t *testing.T) {
	up := []NodeStatus{{Name: "n1", State: NodeUp}, {Name: "n2", State: NodeUp}, {Name: "n3", State: NodeUp}}
	now := time.Now()
	a := has("aaaa", time.Minute)(now)
	replies := []reply{
		{node: &up[0], answers: true, sampled: true, sample: a},
		{node: &up[1], answers: true, sampled: true, sample: a},
		{node: &up[2], answers: true},
	}
	l, _, _ := newTracker(Config{}.withDefaults(), 2).step(ID{Key: "lock:x"}, replies, now, time.Second)
	if l.State != Held || l.Copies[2].Answer != AnswerPending || l.Votes.Unreachable != 0 {
		t.Errorf("%s %+v %+v", l.State, l.Votes, l.Copies[2])
	}
}

func TestBlind(t *testing.T) {
	target := func(up ...NodeState) Target {
		t := Target{Quorum: len(up)/2 + 1}
		for _, s := range up {
			t.Nodes = append(t.Nodes, NodeStatus{State: s})
		}
		return t
	}
	scan := Progress{Match: []string{"lock:*"}, Passes: 1}
	for _, tt := range []struct {
		name string
		snap Snapshot
		want bool
	}{
		{"all is well", Snapshot{Target: target(NodeUp), Scan: scan}, false},
		{"a minority is down", Snapshot{Target: target(NodeUp, NodeReplica, NodeDown), Scan: scan}, false},
		{"a majority is down", Snapshot{Target: target(NodeUp, NodeDenied, NodeDown), Scan: scan}, true},
		{"nothing was scanned for", Snapshot{Target: target(NodeUp)}, false},
		{"the first pass is not over", Snapshot{Target: target(NodeUp), Scan: Progress{Match: scan.Match}}, true},
		{"the scan was cut", Snapshot{Target: target(NodeUp), Scan: Progress{Match: scan.Match, Passes: 3, Cut: true}}, true},
		{"locks were left out", Snapshot{Target: target(NodeUp), Scan: Progress{Match: scan.Match, Passes: 3, Pending: 1}}, true},
	} {
		if got := tt.snap.Blind(); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
