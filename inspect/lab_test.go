package inspect

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
	"dlock/lockcore/node"
)

// field is a lab with a client for each node and an inspector over all.
type field struct {
	t       *testing.T
	lab     *lab.Lab
	clients []*redis.Client
	nodes   []*node.Node
	*Inspector
}

func newField(t *testing.T, kind lab.Kind, n int, c Config) *field {
	t.Helper()
	return newFieldOf(t, lab.Config{Nodes: n, Kind: kind}, c)
}

func newFieldOf(t *testing.T, lc lab.Config, c Config) *field {
	t.Helper()
	l := labtest.Start(t, lc)
	f := &field{t: t, lab: l}
	for _, n := range l.Nodes() {
		f.clients = append(f.clients, labtest.Client(t, n))
	}
	f.nodes = open(t, l.URLs(), node.Options{Timeout: 2 * time.Second, DialTimeout: 2 * time.Second, ReadOnly: true})
	f.Inspector = New(f.nodes, c)
	return f
}

func open(t *testing.T, urls []string, o node.Options) []*node.Node {
	t.Helper()
	nodes, err := node.OpenAll(urls, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { node.CloseAll(nodes) })
	return nodes
}

// set writes a value on the nodes with these numbers, counted from 1. A ttl of
// 0 means none.
func (f *field) set(key, value string, ttl time.Duration, nodes ...int) {
	f.t.Helper()
	for _, n := range nodes {
		if err := f.clients[n-1].Set(f.t.Context(), key, value, ttl).Err(); err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *field) del(key string, nodes ...int) {
	f.t.Helper()
	for _, n := range nodes {
		if err := f.clients[n-1].Del(f.t.Context(), key).Err(); err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *field) look() Snapshot {
	f.t.Helper()
	snap, err := f.Look(f.t.Context())
	if err != nil {
		f.t.Fatalf("Look: %v", err)
	}
	return snap
}

// lock returns a lock of a snapshot.
func lock(t *testing.T, snap Snapshot, key string) Lock {
	t.Helper()
	for _, l := range snap.Locks {
		if l.ID.Key == key {
			return l
		}
	}
	t.Fatalf("%q is not among %d locks", key, len(snap.Locks))
	return Lock{}
}

func findingIDs(l Lock) []string {
	var ids []string
	for _, f := range l.Findings {
		ids = append(ids, f.ID)
	}
	return ids
}

// bothKinds runs a test on embedded nodes and on redis-server processes.
func bothKinds(t *testing.T, test func(*testing.T, lab.Kind)) {
	for _, kind := range []lab.Kind{lab.Embedded, lab.Process} {
		t.Run(string(kind), func(t *testing.T) { test(t, kind) })
	}
}

// watching runs a Watch and hands its snapshots to until, one after the other,
// until that returns true.
type watching struct {
	t     *testing.T
	snaps chan Snapshot
}

func (f *field) watch() *watching {
	f.t.Helper()
	return watchOf(f.t, f.Inspector)
}

func watchOf(t *testing.T, i *Inspector) *watching {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &watching{t: t, snaps: make(chan Snapshot)}
	done := make(chan error, 1)
	go func() {
		done <- i.Watch(ctx, func(s Snapshot) {
			select {
			case w.snaps <- s:
			case <-ctx.Done():
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Watch ended with %v", err)
		}
	})
	return w
}

// until returns the first snapshot that satisfies the condition. The limit is
// only there so that a broken test ends.
func (w *watching) until(what string, ok func(Snapshot) bool) Snapshot {
	w.t.Helper()
	limit := time.After(30 * time.Second)
	var last Snapshot
	for {
		select {
		case last = <-w.snaps:
			if ok(last) {
				return last
			}
		case <-limit:
			w.t.Fatalf("never saw: %s; last: %+v", what, last)
		}
	}
}

func (w *watching) untilLock(what, key string, ok func(Lock) bool) Lock {
	w.t.Helper()
	var found Lock
	w.until(what, func(s Snapshot) bool {
		for _, l := range s.Locks {
			if l.ID.Key == key && ok(l) {
				found = l
				return true
			}
		}
		return false
	})
	return found
}

func kinds(events []Event, key string) []EventKind {
	var out []EventKind
	for _, e := range events {
		if e.Key == key {
			out = append(out, e.Kind)
		}
	}
	return out
}

func hasEvent(events []Event, key string, kind EventKind) bool {
	return slices.Contains(kinds(events, key), kind)
}

func z(score float64, member string) redis.Z { return redis.Z{Score: score, Member: member} }
