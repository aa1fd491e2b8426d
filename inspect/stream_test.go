package inspect

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"dlock/demo/lab"
)

// stored collects what a Stream hands on.
func (f *field) stream() (map[string]Lock, Snapshot) {
	f.t.Helper()
	locks := make(map[string]Lock)
	snap, err := f.Stream(f.t.Context(), func(_ time.Time, some []Lock) error {
		for _, l := range some {
			if _, twice := locks[l.ID.Key]; twice {
				f.t.Errorf("%q was handed on twice", l.ID.Key)
			}
			locks[l.ID.Key] = l
		}
		return nil
	})
	if err != nil {
		f.t.Fatalf("Stream: %v", err)
	}
	return locks, snap
}

// What a Stream hands on is what a Look lists, whatever the keys are, on however
// many nodes, and with one of them down.
func TestStreamIsALookBitByBit(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind lab.Kind) {
		many := 3 * streamPage
		if kind == lab.Embedded {
			many = 300 // they answer a SCAN in one page, and slowly
		}
		f := newField(t, kind, 3, Config{Match: []string{"*"}})
		ctx := t.Context()
		for n, c := range f.clients {
			pipe := c.Pipeline()
			for k := range many {
				if k%7 == n { // here and there one node does not have it
					continue
				}
				value := "token"
				if k%11 == n {
					value = "another"
				}
				pipe.Set(ctx, fmt.Sprint("lock:", k), value, time.Hour)
			}
			pipe.HSet(ctx, "lock:hash", thread1, 1)
			pipe.RPush(ctx, "lock:list", "x")
			for i := range 3 {
				pipe.Set(ctx, fmt.Sprintf("rueidislock:%d:job", i), "012345678901234567890123", time.Hour)
			}
			if _, err := pipe.Exec(ctx); err != nil {
				t.Fatal(err)
			}
		}
		compare := func() {
			t.Helper()
			want := f.look()
			got, snap := f.stream()
			if len(got) != len(want.Locks) || len(got) < many {
				t.Errorf("%d locks, and a look lists %d", len(got), len(want.Locks))
			}
			for _, w := range want.Locks {
				g := got[w.ID.Key]
				if g.State != w.State || g.Votes != w.Votes || g.Library != w.Library || g.Type != w.Type || !reflect.DeepEqual(tokensOf(g), tokensOf(w)) {
					t.Fatalf("%q: %v %+v %v, want %v %+v %v", w.ID.Key, g.State, g.Votes, tokensOf(g), w.State, w.Votes, tokensOf(w))
				}
			}
			if snap.Complete != want.Complete || snap.Scan.Cut || len(snap.Target.Nodes) != 3 || !reflect.DeepEqual(states(snap), states(want)) {
				t.Errorf("%+v, want %+v", snap, want.Target)
			}
		}
		compare()
		if err := f.lab.Nodes()[1].Kill(); err != nil {
			t.Fatal(err)
		}
		compare()
	})
}

func tokensOf(l Lock) []string {
	var out []string
	for _, o := range l.Owners {
		out = append(out, o.Token+fmt.Sprint(o.Votes))
	}
	slices.Sort(out)
	return out
}

func states(s Snapshot) []NodeState {
	var out []NodeState
	for _, n := range s.Target.Nodes {
		out = append(out, n.State)
	}
	return out
}

func TestStreamEndsWithWhoTakesIt(t *testing.T) {
	f := newField(t, lab.Embedded, 1, Config{})
	f.set("lock:a", "token", time.Hour, 1)
	stop := errors.New("enough")
	if _, err := f.Stream(t.Context(), func(time.Time, []Lock) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Stream(ctx, func(time.Time, []Lock) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	f.lab.Close()
	if snap, err := f.Stream(t.Context(), func(time.Time, []Lock) error { return nil }); !errors.Is(err, ErrNoNode) || snap.Target.Up() != 0 {
		t.Errorf("got %v %+v", err, snap.Target)
	}
}
