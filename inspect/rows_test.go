package inspect

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dlock/inspect/dialect"
	"dlock/lockcore/node"
)

// Judging only what is new, or what time changes, gives the same locks as judging
// all of them each time.
func TestKeptLocksEqualRecomputedOnes(t *testing.T) {
	nodes, err := node.OpenAll([]string{"redis://127.0.0.1:1", "redis://127.0.0.1:2", "redis://127.0.0.1:3"}, node.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { node.CloseAll(nodes) })
	rapid.Check(t, func(t *rapid.T) {
		now := time.Now()
		var sessions [2]*session
		for n := range sessions {
			i := New(nodes, Config{StuckAfter: 20 * time.Second})
			i.now = func() time.Time { return now }
			sessions[n] = newSession(i)
			sessions[n].passes = true
		}
		kept, plain := sessions[0], sessions[1]
		kept.rows.kept = true
		keys := []string{"lock:a", "lock:b", "lock:c", "lock:d", "lock:part"}
		values := []*reading{text("one"), text("two"), text("three")}
		ends := make(map[string]time.Time)
		both := func(do func(s *session)) {
			for _, s := range sessions {
				do(s)
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 8000).Draw(t, "after")) * time.Millisecond)
			switch at := rapid.IntRange(0, 2).Draw(t, "node"); rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				both(func(s *session) {
					s.absorb(context.Background(), report{member: s.members[at].id, err: &nodeError{errors.New("gone")}})
				})
			case 1:
				companion := sighting{Companion: Companion{Key: "lock:queue", Of: rapid.SampledFrom(keys).Draw(t, "of"), Role: dialect.RoleQueue}}
				if rapid.Bool().Draw(t, "part") {
					companion = sighting{Companion: Companion{Key: "lock:part", Of: "lock:a", Role: dialect.RolePart}}
				}
				both(func(s *session) {
					s.absorb(context.Background(), report{member: s.members[at].id, sights: []sighting{companion}})
				})
			case 2:
				e := Event{At: now, Kind: Operator, Key: rapid.SampledFrom(keys).Draw(t, "key")}
				both(func(s *session) { s.tracker.add(e) })
			default:
				some := rapid.SliceOfDistinct(rapid.SampledFrom(keys), rapid.ID).Draw(t, "keys")
				samples := make(map[string]sample)
				asked := when(now)
				for _, key := range some {
					one := sample{asked: asked}
					switch rapid.IntRange(0, 7).Draw(t, "answer") {
					case 0:
					case 1:
						one.presence = forbidden
					case 2:
						one.presence, one.never, one.got = present, true, rapid.SampledFrom(values).Draw(t, "value")
					case 3, 4, 5:
						one.presence, one.got = present, values[0]
						if one.life = ends[key].Sub(now); one.life <= 0 {
							ends[key] = now.Add(10 * time.Second)
							one.life = 10 * time.Second
						}
					default:
						one.presence, one.got = present, rapid.SampledFrom(values).Draw(t, "value")
						one.life = time.Duration(rapid.IntRange(1, 30_000).Draw(t, "life")) * time.Millisecond
					}
					samples[key] = one
				}
				every := rapid.Bool().Draw(t, "all nodes")
				both(func(s *session) {
					for n, m := range s.members {
						if n == at || every {
							s.absorb(context.Background(), report{member: m.id, samples: samples})
						}
					}
				})
			}
			if rapid.IntRange(0, 3).Draw(t, "rest") == 0 {
				continue
			}
			a, b := kept.compose(nil, true), plain.compose(nil, true)
			if len(a.Locks) != len(b.Locks) {
				t.Fatalf("%d locks, want %d", len(a.Locks), len(b.Locks))
			}
			for n := range a.Locks {
				if diff := differ(a.Locks[n], b.Locks[n]); diff != "" {
					t.Fatalf("%s: %s", a.Locks[n].ID.Key, diff)
				}
			}
			for n := range a.Target.Nodes {
				if a.Target.Nodes[n].Locks != b.Target.Nodes[n].Locks {
					t.Fatalf("locks on a node: %v, want %v", a.Target.Nodes[n].Locks, b.Target.Nodes[n].Locks)
				}
			}
			a.Scan.Keys, b.Scan.Keys = 0, 0
			if a.Complete != b.Complete || a.Scan.Pending != b.Scan.Pending {
				t.Fatalf("complete %v with %d pending, want %v with %d", a.Complete, a.Scan.Pending, b.Complete, b.Scan.Pending)
			}
			if !slices.Equal(a.Events, b.Events) {
				t.Fatalf("events %+v, want %+v", a.Events, b.Events)
			}
		}
	})
}

// differ tells in what two locks differ, apart from what is put into words and
// counted as of the moment when they were judged.
func differ(a, b Lock) string {
	for _, l := range []*Lock{&a, &b} {
		l.Findings, l.Idle = nil, Maybe[time.Duration]{}
	}
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	for n := range va.NumField() {
		if x, y := va.Field(n).Interface(), vb.Field(n).Interface(); !reflect.DeepEqual(x, y) {
			return fmt.Sprintf("%s is %+v, want %+v", va.Type().Field(n).Name, x, y)
		}
	}
	return ""
}

// A lock that was handed out does not change any more, and one of which nothing
// is new is not made again.
func TestLocksThatWereHandedOutStay(t *testing.T) {
	s, keys := crew(t, 3, 1000)
	s.compose(nil, true)
	first := s.compose(nil, true)
	copied := slices.Clone(first.Locks)
	hear(s, time.Now(), [][]string{keys[:10], keys[:10], keys[:10]})
	second := s.compose(nil, true)
	if !reflect.DeepEqual(first.Locks, copied) {
		t.Error("a snapshot has changed since")
	}
	anew := 0
	for n := range second.Locks {
		if &second.Locks[n].Copies[0] != &first.Locks[n].Copies[0] {
			anew++
		}
	}
	if anew != 10 {
		t.Errorf("%d of %d locks were made anew, where there was something new about 10", anew, len(keys))
	}
}

func TestMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lock := rapid.Custom(func(t *rapid.T) Lock {
			return Lock{
				ID:    ID{Key: rapid.StringMatching("[a-e]{1,2}").Draw(t, "key")},
				State: rapid.SampledFrom([]State{Held, Split, Partial, Expired}).Draw(t, "state"),
			}
		})
		locks := rapid.SliceOfDistinct(lock, func(l Lock) string { return l.ID.Key })
		before, fresh := locks.Draw(t, "before"), locks.Draw(t, "fresh")
		sortLocks(before)
		sortLocks(fresh)
		anew := make(map[string]struct{})
		for _, l := range fresh {
			anew[l.ID.Key] = struct{}{}
		}
		for _, key := range rapid.SliceOf(rapid.StringMatching("[a-e]{1,2}")).Draw(t, "gone") {
			anew[key] = struct{}{}
		}
		var want []Lock
		for _, l := range before {
			if _, again := anew[l.ID.Key]; !again {
				want = append(want, l)
			}
		}
		want = append(want, fresh...)
		sortLocks(want)
		got := merge(before, anew, fresh)
		if !slices.EqualFunc(got, want, func(a, b Lock) bool { return a.ID == b.ID && a.State == b.State }) {
			t.Fatalf("%d locks, want %d", len(got), len(want))
		}
	})
}
