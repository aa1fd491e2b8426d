package inspect

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"dlock/demo/lab"
	"dlock/lockcore/node"
)

// crew is a session of some servers that know many locks, without any I/O.
func crew(t *testing.T, servers, locks int) (*session, []string) {
	t.Helper()
	var urls []string
	for n := range servers {
		urls = append(urls, fmt.Sprintf("redis://127.0.0.1:%d", n+1))
	}
	s := newSession(New(open(t, urls, node.Options{}), Config{}))
	s.rows.kept = true
	keys := make([]string, locks)
	for n := range keys {
		keys[n] = fmt.Sprintf("lock:%d", n)
	}
	hear(s, time.Now().Add(-time.Minute), slices.Repeat([][]string{keys}, servers))
	return s, keys
}

// hear has each member say that it has some keys.
func hear(s *session, now time.Time, shares [][]string) {
	for n, m := range s.members {
		r := report{member: m.id, samples: make(map[string]sample)}
		for _, key := range shares[n] {
			r.samples[key] = sample{presence: present, got: text("token"), life: time.Hour, asked: when(now)}
		}
		s.absorb(context.Background(), r)
	}
}

func TestRotationAsksAboutAll(t *testing.T) {
	const locks = everyLook + 6000
	s, keys := crew(t, 3, locks)
	s.compose(nil, true)
	visible := []string{"lock:17", "lock:none", "lock:9999"}
	s.inspector.SetVisible(visible)
	hurried := []string{keys[locks-2], keys[locks-3]}
	now := time.Now()
	s.ask(now, time.Second)
	for _, key := range hurried {
		s.rotation.hurry(key)
		s.rotation.hurry(key)
	}
	s.rotation.pass = nil
	asked := make(map[string]int)
	looks, pass := 0, time.Time{}
	for ; len(asked) < locks && looks < locks; looks++ {
		now = now.Add(time.Second)
		q := s.ask(now, time.Second)
		if pass.IsZero() {
			pass = s.rotation.began
		}
		for n := 1; n < 3; n++ {
			if !slices.Equal(q.rest[n], q.rest[0]) || !slices.Equal(q.keys[n], q.keys[0]) {
				t.Fatal("the servers are not asked about the same locks at the same time")
			}
		}
		if !slices.Equal(q.keys[0], []string{"lock:17", "lock:9999"}) {
			t.Fatalf("asked in each look: %q", q.keys[0])
		}
		if looks == 0 && !slices.Equal(q.rest[0][:2], hurried) {
			t.Errorf("first %q, want %q", q.rest[0][:2], hurried)
		}
		if q.all != nil || q.total != locks {
			t.Fatalf("%d of %d", len(q.all), q.total)
		}
		for _, key := range append(slices.Clone(q.keys[0]), q.rest[0]...) {
			asked[key]++
		}
		hear(s, now, q.keys)
		hear(s, now, q.rest)
	}
	if len(asked) != locks || looks < 3 {
		t.Fatalf("%d of %d locks in %d looks", len(asked), locks, looks)
	}
	for _, key := range keys {
		if n := asked[key]; n > 1 && !slices.Contains(visible, key) {
			t.Fatalf("%s was asked about %d times before some were at all", key, n)
		}
	}
	q := s.ask(now.Add(time.Second), time.Second)
	if oldest := s.rotation.oldest; oldest.Before(pass) {
		t.Errorf("after a pass that began %v the oldest answer is of %v", pass, oldest)
	}
	if len(q.rest[0]) == 0 {
		t.Error("the next pass has not begun")
	}
}

// The slower a server, the fewer it is asked about; that it seems slow once is
// not believed.
func TestRotationKeepsToTheBudget(t *testing.T) {
	s, _ := crew(t, 3, everyLook+6000)
	slow := spending{keys: 1000, wall: 50 * time.Millisecond, server: 20 * time.Millisecond}
	fast := spending{keys: 1000, wall: 10 * time.Millisecond, server: 2 * time.Millisecond}
	visible := spending{keys: 100, wall: time.Millisecond, server: time.Millisecond}
	size := func() int {
		s.rotation = rotation{}
		return len(s.ask(time.Now(), time.Second).rest[0])
	}
	for _, m := range s.members {
		m.pace.learn(visible, fast)
	}
	// A hundredth of a second less what the visible ones take.
	if n := size(); n != 4500 {
		t.Errorf("%d", n)
	}
	s.members[1].pace.learn(visible, slow)
	if n := size(); n < 3500 || n >= 4500 {
		t.Errorf("%d after it was slow once", n)
	}
	for range 200 {
		s.members[1].pace.learn(visible, slow)
	}
	if n := size(); n != 450 {
		t.Errorf("%d of a server that is slow", n)
	}
	for range 400 {
		s.members[1].pace.learn(spending{keys: 100, server: time.Second}, slow)
	}
	if n := size(); n != restLeast {
		t.Errorf("%d where the visible ones take all there is", n)
	}
}

// A server that was away is asked about everything before its word counts again,
// and one that was busy is not left out.
func TestRotationCatchesUp(t *testing.T) {
	s, _ := crew(t, 3, everyLook+1000)
	m := s.members[2]
	m.failures, m.status.NextTry = 1, time.Now().Add(time.Hour)
	now := time.Now()
	if q := s.ask(now, time.Second); q.all != nil {
		t.Error("a server that waits for its next try is asked about everything")
	}
	m.status.NextTry = time.Time{}
	if q := s.ask(now, time.Second); len(q.all) != 3 || len(q.all[2]) != everyLook+1000 {
		t.Error("a server that comes back is not asked about everything")
	}
	m.failures = 0
	m.owe([]string{"a", "b"})
	m.owe([]string{"c"})
	if !slices.Equal(m.owed, []string{"a", "b", "c"}) || m.askedAfresh() {
		t.Errorf("%q", m.owed)
	}
	if m.owe(make([]string, everyLook)); m.owed != nil || !m.askedAfresh() {
		t.Error("a server that missed very many is not asked about all")
	}
}

// Among twenty thousand locks a change of one that is visible is in the next
// snapshot, and one that is not comes in its turn.
func TestWatchManyLocks(t *testing.T) {
	const locks = 20_000
	f := newField(t, lab.Process, 3, Config{Interval: 300 * time.Millisecond, Tombstone: time.Second})
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
	w.until("all of them", func(s Snapshot) bool { return len(s.Locks) == locks && s.Complete })
	f.SetVisible([]string{"lock:7", "lock:8"})
	w.until("a turn", func(s Snapshot) bool { return !s.Scan.Oldest.IsZero() })

	f.set("lock:7", "another", time.Hour, 1, 2, 3)
	f.set("lock:19999", "another", time.Hour, 1, 2, 3)
	changed := f.now()
	// The look under way may not show it, and the next one does.
	for tries := 0; ; tries++ {
		s := w.until("the next", func(Snapshot) bool { return true })
		l := lock(t, s, "lock:7")
		if l.Copies[0].SampledAt.Before(changed) || l.Copies[1].SampledAt.Before(changed) || l.Copies[2].SampledAt.Before(changed) {
			if tries == 10 {
				t.Fatal("a visible lock is not asked about in each look")
			}
			continue
		}
		if o, _ := l.Holder(); o.Token != "another" || l.Votes.Agree != 3 {
			t.Errorf("%+v", l)
		}
		if len(s.Locks) != locks || s.Target.Nodes[0].Locks.Value != locks {
			t.Errorf("%d locks, %+v", len(s.Locks), s.Target.Nodes[0].Locks)
		}
		break
	}
	w.until("the other one, in its turn", func(s Snapshot) bool {
		o, _ := lock(t, s, "lock:19999").Holder()
		return o.Token == "another"
	})
	f.del("lock:7", 1, 2, 3)
	last := w.untilLock("gone", "lock:7", func(l Lock) bool { return l.State == Expired })
	if last.GoneAt.IsZero() {
		t.Errorf("%+v", last)
	}
	w.until("its stone goes, too", func(s Snapshot) bool { return len(s.Locks) == locks-1 && s.Target.Nodes[0].Locks.Value == locks-1 })
}
