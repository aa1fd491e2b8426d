package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dlock/inspect"
	"dlock/inspect/dialect"
)

// enrich fills in what a snapshot may tell beside the states of its locks, with
// any bytes.
func enrich(t *rapid.T, s *inspect.Snapshot) {
	str := hostile()
	when := func(label string) time.Time {
		if rapid.IntRange(0, 3).Draw(t, label+" known") == 0 {
			return time.Time{}
		}
		return t0.Add(time.Duration(rapid.Int64Range(-4e11, 1e11).Draw(t, label)))
	}
	events := func(key string) []inspect.Event {
		var out []inspect.Event
		kinds := []inspect.EventKind{inspect.Taken, inspect.Renewed, inspect.Released, inspect.Ended, inspect.HandedOver, inspect.LostNode, inspect.GainedNode, inspect.WentSplit, inspect.WentNoTTL, inspect.Operator, inspect.Gap, "novel"}
		for range rapid.IntRange(0, 6).Draw(t, "history") {
			owner := str.Draw(t, "owner")
			out = append(out, inspect.Event{At: when("at"), Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Key: key, Token: owner, Owner: owner, Text: "from " + str.Draw(t, "text")})
		}
		return out
	}
	for i := range s.Locks {
		l := &s.Locks[i]
		l.History = events(l.ID.Key)
		l.Stats = inspect.Stats{Holds: rapid.IntRange(0, 3).Draw(t, "holds"), Total: 1e9, Longest: 1e9, Waits: 1}
		l.Candidates = rapid.SliceOfN(str, 0, 3).Draw(t, "candidates")
		l.Confidence = dialect.Confidence(rapid.IntRange(0, 2).Draw(t, "confidence"))
		l.Habits = dialect.Habits{Renews: time.Second, Endless: rapid.Bool().Draw(t, "endless"), Recreates: true, Careless: true, Consequence: str.Draw(t, "consequence")}
		l.Shared, l.Anonymous = rapid.Bool().Draw(t, "shared"), rapid.Bool().Draw(t, "anonymous")
		for range rapid.IntRange(0, 3).Draw(t, "waiters") {
			l.WaiterList = append(l.WaiterList, dialect.Waiter{Token: str.Draw(t, "token"), Owner: str.Draw(t, "owner"), Since: when("since"), Until: when("until")})
		}
		for range rapid.IntRange(0, 2).Draw(t, "companions") {
			l.Companions = append(l.Companions, inspect.Companion{Key: str.Draw(t, "key"), Of: l.ID.Key, Role: dialect.Role(str.Draw(t, "role")), Type: str.Draw(t, "type")})
		}
		if rapid.IntRange(0, 5).Draw(t, "orphan") == 0 {
			l.State, l.Companion = inspect.Expired, &inspect.Companion{Key: l.ID.Key, Of: str.Draw(t, "of"), Role: dialect.RoleQueue}
		}
		for j := range l.Owners {
			o := &l.Owners[j]
			o.Mode, o.Thread, o.Host, o.Until, o.Holds = str.Draw(t, "mode"), str.Draw(t, "thread"), str.Draw(t, "host"), when("until"), rapid.Bool().Draw(t, "holds")
		}
	}
	for range rapid.IntRange(0, 4).Draw(t, "findings") {
		f := inspect.NodeFinding{Finding: inspect.Finding{ID: str.Draw(t, "id"), Severity: rapid.SampledFrom([]inspect.Severity{inspect.High, inspect.Medium, inspect.Low, "novel"}).Draw(t, "severity"), Text: str.Draw(t, "text"), Advice: str.Draw(t, "advice")}}
		for range rapid.IntRange(0, 2).Draw(t, "nodes") {
			f.Nodes = append(f.Nodes, str.Draw(t, "node"))
		}
		s.Findings = append(s.Findings, f)
	}
	for i := range s.Target.Nodes {
		n := &s.Target.Nodes[i]
		n.Replicas, n.ReplicaLag = inspect.Known(rapid.IntRange(-1, 9).Draw(t, "replicas")), inspect.Known(time.Duration(rapid.Int64().Draw(t, "lag")))
		n.Commands, n.LookTime = rapid.IntRange(0, 1e9).Draw(t, "commands"), time.Duration(rapid.Int64().Draw(t, "look"))
	}
}

// Every view fills its part of every screen exactly, whatever stands in Redis.
func TestEveryViewFillsItsPartOfTheScreen(t *testing.T) {
	looks := []look{coloured, mono, plain, ascii}
	rapid.Check(t, func(rt *rapid.T) {
		snap := randomSnapshot().Draw(rt, "snapshot")
		enrich(rt, &snap)
		w, h := rapid.IntRange(minWidth, 200).Draw(rt, "w"), rapid.IntRange(minHeight, 70).Draw(rt, "h")
		s := newScreen(t, w, h, rapid.SampledFrom(looks).Draw(rt, "look"), Config{Lab: &fakeLab{status: demoStatus()}})
		s.load(snap)
		s.tick()
		for _, key := range []string{"1", "enter", "G", "e", "esc", "2", "j", "3", "4", "5", ">", "j", "enter", "5", "6", "j", "7", "h"} {
			s.press(key)
			checkScreen(rt, s.view(), w, h)
		}
	})
}

// What is drawn depends on what is shown and on nothing else.
func TestViewsDrawTheSameTwice(t *testing.T) {
	for _, key := range []string{"1", "2", "3", "5", "6", "7"} {
		s := loaded(t, 120, 36, Config{})
		s.press(key)
		if a, b := s.view(), s.view(); a != b {
			t.Errorf("view %s is another the second time", key)
		}
	}
}

// A lock with very many holders and waiters is still drawn at once, and says
// how many there are that it does not list.
func TestVeryManyHolders(t *testing.T) {
	l := lockOf("lock:semaphore", "hhhhh", inspect.Held, 20*time.Second)
	l.Shared = true
	l.Owners = nil
	for i := range 3000 {
		l.Owners = append(l.Owners, inspect.Owner{Token: fmt.Sprintf("token-%d", i), Name: fmt.Sprintf("worker-%d", i), Votes: []string{"n1", "n2", "n3"}, Holds: true, Loss: in(time.Second)})
		l.WaiterList = append(l.WaiterList, dialect.Waiter{Token: fmt.Sprintf("w-%d", i)})
	}
	l.Waiters = inspect.Known(5000)
	snap := incident()
	snap.Locks = []inspect.Lock{l}
	sc := sceneOf(&snap, 120, 36)
	var v detailView
	v.open(l, t0)
	all := strings.Join(v.content(sc, 116, 29), "\n")
	for _, want := range []string{"worker-0 ", "and 2.9k more owners", "and 4.9k more"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing", want)
		}
	}
	lineWith(t, sc.previewPanes(&l), "and 2998 more owners")
}
