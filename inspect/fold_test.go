package inspect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dlock/demo/lab"
	"dlock/inspect/dialect"
)

// random is a value of 24 bytes that is no text.
func random(c byte) string { return "\xff\xfe" + strings.Repeat(string(rune('a'+c%26)), 22) }

// A lock of several keys is one row: held while most of its keys hold one
// token, torn apart when none has most, and released key by key.
func TestSeveralKeys(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind lab.Kind) {
		minute := time.Minute
		keys := []string{"rueidislock:0:job", "rueidislock:1:job", "rueidislock:2:job"}
		a, b := random(1), random(2)
		for _, tt := range []struct {
			name   string
			values [3]string // "" is none
			state  State
			ids    []string
		}{
			{"all", [3]string{a, a, a}, Held, nil},
			{"two of three", [3]string{"", a, a}, Held, []string{"parts"}},
			{"the first of others", [3]string{b, a, a}, Held, []string{"parts"}},
			{"none has most", [3]string{a, b, ""}, Split, []string{"parts", "split"}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				f, i := hand(t, kind, 1)
				for n, v := range tt.values {
					if v != "" {
						f.set(keys[n], v, minute+time.Duration(n)*minute, 1)
					}
				}
				all := New(f.nodes, Config{All: true})
				snap, err := all.Look(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				got, err := f.Get(t.Context(), keys[0])
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range []Snapshot{snap, got} {
					if len(s.Locks) != 1 {
						t.Fatalf("%d rows: %+v", len(s.Locks), s.Locks)
					}
					l := s.Locks[0]
					ids := slices.DeleteFunc(findingIDs(l), func(id string) bool { return id != "parts" && id != "split" })
					slices.Sort(ids)
					if l.ID.Key != keys[0] || l.State != tt.state || l.Library != "rueidislock" || !slices.Equal(ids, tt.ids) {
						t.Errorf("%q %s %s %v", l.ID.Key, l.State, l.Library, findingIDs(l))
					}
					if tt.state == Held {
						if o, _ := l.Holder(); o.Token != a || !o.Holds {
							t.Errorf("%+v", o)
						}
					}
				}
				if tt.state != Held {
					return
				}
				// The majority ends with the second last of its keys.
				if left, _ := got.Locks[0].Expiry.Remaining(got.At); left < 90*time.Second || left > 2*minute {
					t.Errorf("ends in %v", left)
				}
				p, err := PlanRelease(got.Locks[0], a)
				if err != nil || len(p.Steps) != 3 {
					t.Fatalf("%+v %v", p.Steps, err)
				}
				if r := i.Execute(t.Context(), p, false); r.Outcome != OutReleased || !r.Freed || len(r.Nodes) != 3 {
					t.Errorf("%s freed %v %+v", r.Outcome, r.Freed, r.Nodes)
				}
				for n, v := range tt.values {
					if left, _ := f.clients[0].Get(t.Context(), keys[n]).Result(); left == a || v == b && left != b {
						t.Errorf("%s is %q", keys[n], left)
					}
				}
			})
		}
	})
}

// What stands beside a lock is in its row, a queue that is there for good
// without its lock is a row that is no lock, and a lock whose name only looks
// like a companion's is a lock.
func TestCompanions(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind lab.Kind) {
		f := newField(t, kind, 1, Config{Match: []string{"*"}, Interval: MinInterval})
		f.exec(1, "hset", "orders", thread1, 1)
		f.exec(1, "pexpire", "orders", 60_000)
		f.exec(1, "rpush", "redisson_lock_queue:{orders}", thread2)
		f.exec(1, "zadd", "redisson_lock_timeout:{orders}", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()), thread2)
		f.exec(1, "rpush", "redisson_lock_queue:{alone}", thread1)
		f.exec(1, "set", "redisson_lock_token:{alone}", 7)
		f.set("redisson_lock_queue:{fake}", "token", time.Minute, 1)
		f.set("lock:queue:{lock:fake}", "token", time.Minute, 1)
		f.exec(1, "zadd", "lock:queue:{lock:gone}", 1, "waiter")

		var ahead atomic.Int64 // time flies, for the inspector
		f.now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		w := f.watch()
		w.until("the first look", func(s Snapshot) bool { return s.Complete })
		ahead.Add(int64(orphanAfter))
		orphan := w.untilLock("a queue without its lock", "redisson_lock_queue:{alone}", func(l Lock) bool { return l.Companion != nil })
		if orphan.State != Expired || orphan.Companion.Of != "alone" || orphan.Companion.Role != dialect.RoleQueue || orphan.Type != "list" || len(orphan.Owners) != 0 || !slices.Equal(findingIDs(orphan), []string{"orphan"}) {
			t.Errorf("%+v", orphan)
		}
		if _, err := PlanRelease(orphan, ""); !errors.As(err, new(ErrCannotRelease)) {
			t.Errorf("%v", err)
		}
		w.untilLock("dlock's own", "lock:queue:{lock:gone}", func(l Lock) bool { return l.Companion != nil })
		snap := w.until("the next", func(Snapshot) bool { return true })
		var rows []string
		for _, l := range snap.Locks {
			rows = append(rows, l.ID.Key)
		}
		slices.Sort(rows)
		if want := []string{"lock:queue:{lock:fake}", "lock:queue:{lock:gone}", "orders", "redisson_lock_queue:{alone}", "redisson_lock_queue:{fake}"}; !slices.Equal(rows, want) {
			t.Errorf("rows %q, want %q", rows, want)
		}
		l := lock(t, snap, "orders")
		if l.Kind != dialect.Fair || l.Waiters != Known(1) || len(l.WaiterList) != 1 || l.WaiterList[0].Owner != thread2 || l.WaitersAreProcesses || len(l.Companions) != 2 {
			t.Errorf("%s, waiters %+v %+v, companions %+v", l.Kind, l.Waiters, l.WaiterList, l.Companions)
		}
		for _, key := range []string{"redisson_lock_queue:{fake}", "lock:queue:{lock:fake}"} {
			if l := lock(t, snap, key); l.State != Held || l.Companion != nil {
				t.Errorf("%+v", l)
			}
		}
		// The lock comes: its queue goes into its row.
		f.exec(1, "hset", "alone", thread2, 1)
		w.until("the queue in its lock's row", func(s Snapshot) bool {
			at := slices.IndexFunc(s.Locks, func(l Lock) bool { return l.ID.Key == "alone" })
			return at >= 0 && len(s.Locks[at].Companions) == 2 && !slices.ContainsFunc(s.Locks, func(l Lock) bool { return l.ID.Key == "redisson_lock_queue:{alone}" })
		})
	})
}

// A person who asks for a companion by name is told what it is.
func TestGetOfACompanion(t *testing.T) {
	f := newField(t, lab.Embedded, 1, Config{})
	f.set("lock:a", "token", time.Minute, 1)
	f.exec(1, "zadd", "lock:queue:{lock:a}", 1, "waiter")
	snap, err := f.Get(t.Context(), "lock:queue:{lock:a}")
	if err != nil || len(snap.Locks) != 1 {
		t.Fatalf("%+v %v", snap.Locks, err)
	}
	if l := snap.Locks[0]; l.Companion == nil || l.Companion.Of != "lock:a" || l.State != Expired || len(l.Findings) != 0 {
		t.Errorf("%+v", l)
	}
}

// One look tells of a queue without its lock only if its idle time shows that it
// has been so for a while.
func TestOrphanInOneLook(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		idle uint32
		want bool
	}{{1, false}, {60, true}} {
		s := sample{presence: present, got: odd("zset", ""), asked: when(now), idleAsked: true, idle: tt.idle, touched: when(now)}
		s.never = true
		session := &session{inspector: &Inspector{quorum: 1}, folds: newFolds()}
		o := &orphan{sighting: sighting{Companion{Key: "q", Of: "l", Role: dialect.RoleQueue}, []string{"zset"}}, since: now}
		row, isLock, gone := session.orphaned("q", o, []reply{{node: &NodeStatus{Name: "n1", State: NodeUp}, answers: true, sampled: true, sample: s}}, now)
		if (row != nil) != tt.want || isLock || gone {
			t.Errorf("idle %d: %v %v %v", tt.idle, row, isLock, gone)
		}
		if row != nil && (row.Findings[0].ID != "orphan" || row.Idle != Known(time.Minute)) {
			t.Errorf("%+v", row)
		}
	}
}

func TestNames(t *testing.T) {
	var n names
	now := time.Now()
	if n.has("a", now) {
		t.Error("in an empty set")
	}
	n.add("a", now)
	if !n.has("a", now) || n.has("b", now) || n.has("a", now.Add(fittingAge+1)) {
		t.Error("wrong about what was added")
	}
	n.add("b", now.Add(fittingAge+1))
	if n.has("a", now.Add(fittingAge+1)) {
		t.Error("what is too old is not forgotten")
	}
}

// Companions that all nodes' scans have gone past are forgotten.
func TestSweep(t *testing.T) {
	base := time.Now()
	s := &session{folds: newFolds(), known: map[string]struct{}{}, inspector: &Inspector{config: Config{}.withDefaults()}}
	for range 2 {
		s.members = append(s.members, &member{status: NodeStatus{State: NodeUp}, samples: map[string]sample{}})
	}
	one := func(key string) sighting {
		return sighting{Companion{Key: key, Of: "l", Role: dialect.RoleFence, Type: "string"}, nil}
	}
	s.fold([]sighting{one("f1"), one("f2")}, base)
	s.fold([]sighting{one("f2")}, base.Add(time.Minute))
	s.members[0].scanned.began = base.Add(time.Second)
	s.sweep()
	if len(s.companionsOf("l")) != 2 {
		t.Error("forgotten before all nodes were scanned")
	}
	s.members[1].scanned.began = base.Add(2 * time.Second)
	s.sweep()
	if got := s.companionsOf("l"); len(got) != 1 || got[0].Key != "f2" || s.folds.count != 1 {
		t.Errorf("%+v, %d", got, s.folds.count)
	}
	s.members[0].scanned.began, s.members[1].scanned.began = base.Add(time.Hour), base.Add(time.Hour)
	s.sweep()
	if len(s.folds.companions) != 0 || s.folds.count != 0 {
		t.Errorf("%+v", s.folds.companions)
	}
}
