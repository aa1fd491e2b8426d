package tui

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dlock/inspect"
	"dlock/ui/text"
)

func event(back time.Duration, kind inspect.EventKind, owner, more string) inspect.Event {
	return inspect.Event{At: ago(back), Kind: kind, Key: "k", Token: "token of " + owner, Owner: owner, Text: more}
}

// heldBy is a lock that is held at present.
func heldBy(since time.Duration, minimum bool, owners ...string) *inspect.Lock {
	l := &inspect.Lock{ID: inspect.ID{Key: "k"}, State: inspect.Held, HeldSince: ago(since), HeldIsMinimum: minimum,
		Copies: []inspect.Copy{{Node: "n1", Answer: inspect.AnswerHeld, SampledAt: t0}}}
	for _, o := range owners {
		l.Owners = append(l.Owners, inspect.Owner{Token: "token of " + o, Name: o, Holds: true, Votes: []string{"n1"}})
	}
	return l
}

// told is a hold as "owner from..to", in seconds before t0.
func told(h hold) string {
	from := "?"
	if !h.from.IsZero() {
		from = t0.Sub(h.from).String()
	}
	s := h.owner + " " + from + ".."
	if !h.to.IsZero() {
		s += t0.Sub(h.to).String()
	}
	if h.early {
		s += " early"
	}
	return s
}

func TestHoldsFromEvents(t *testing.T) {
	const watched = 5 * time.Minute
	gone := &inspect.Lock{State: inspect.Expired, GoneAt: ago(2 * time.Second)}
	unknown := &inspect.Lock{State: inspect.Unknown}
	split := &inspect.Lock{State: inspect.Split, Copies: []inspect.Copy{{Answer: inspect.AnswerHeld, SampledAt: t0}}}
	for name, c := range map[string]struct {
		events   []inspect.Event
		lock     *inspect.Lock
		dropped  bool
		expected []string
	}{
		"taken and held":             {events: []inspect.Event{event(40*time.Second, inspect.Taken, "a", "")}, lock: heldBy(40*time.Second, false, "a"), expected: []string{"a 40s.."}},
		"taken and released":         {events: []inspect.Event{event(40*time.Second, inspect.Taken, "a", ""), event(9*time.Second, inspect.Released, "a", "")}, lock: gone, expected: []string{"a 40s..9s"}},
		"handed over":                {events: []inspect.Event{event(40*time.Second, inspect.Taken, "a", ""), event(9*time.Second, inspect.HandedOver, "b", "from a")}, lock: heldBy(9*time.Second, false, "b"), expected: []string{"a 40s..9s", "b 9s.."}},
		"handed over by one unseen":  {events: []inspect.Event{event(9*time.Second, inspect.HandedOver, "b", "from a")}, lock: heldBy(9*time.Second, false, "b"), expected: []string{"a 5m0s..9s early", "b 9s.."}},
		"there before us":            {lock: heldBy(time.Hour, true, "a"), expected: []string{"a 1h0m0s.. early"}},
		"renewed, there before us":   {events: []inspect.Event{event(20*time.Second, inspect.Renewed, "a", "")}, lock: heldBy(time.Hour, true, "a"), expected: []string{"a 5m0s.. early"}},
		"older events are forgotten": {events: []inspect.Event{event(20*time.Second, inspect.Renewed, "a", "")}, lock: heldBy(0, true, "a"), dropped: true, expected: []string{"a 20s.. early"}},
		"ended, beginning unseen":    {events: []inspect.Event{event(9*time.Second, inspect.Ended, "a", "")}, lock: gone, expected: []string{"a 5m0s..9s early"}},
		"two readers, one leaves": {events: []inspect.Event{event(40*time.Second, inspect.Taken, "a", ""), event(30*time.Second, inspect.Taken, "b", "beside others"), event(9*time.Second, inspect.Released, "a", "others hold it still")},
			lock: heldBy(30*time.Second, false, "b"), expected: []string{"a 40s..9s", "b 30s.."}},
		"nobody can tell whether it ended": {events: []inspect.Event{event(40*time.Second, inspect.Taken, "a", "")}, lock: unknown, expected: []string{"a 40s.."}},
		"split":                            {events: []inspect.Event{event(40*time.Second, inspect.Taken, "a", ""), event(9*time.Second, inspect.WentSplit, "a", "")}, lock: split, expected: []string{"a 40s..9s"}},
		"forgotten by the snapshot":        {events: []inspect.Event{event(40*time.Second, inspect.Taken, "a", ""), event(9*time.Second, inspect.Released, "a", "")}, expected: []string{"a 40s..9s"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := story{id: inspect.ID{Key: "k"}, events: c.events, complete: !c.dropped, lock: c.lock}
			var got []string
			for _, h := range s.holds(ago(watched)) {
				got = append(got, told(h))
			}
			if strings.Join(got, "; ") != strings.Join(c.expected, "; ") {
				t.Errorf("%q, want %q", got, c.expected)
			}
		})
	}
}

func TestLanesAreAsWideAsTheirWindow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := window{to: t0, from: t0.Add(-time.Duration(rapid.Int64Range(-1e9, 1e13).Draw(rt, "span"))), cells: rapid.IntRange(0, 200).Draw(rt, "cells")}
		when := rapid.Custom(func(rt *rapid.T) time.Time {
			return t0.Add(time.Duration(rapid.Int64Range(-2e13, 2e13).Draw(rt, "at")))
		})
		var l lane
		for range rapid.IntRange(0, 6).Draw(rt, "stretches") {
			l.stretches = append(l.stretches, stretch{when.Draw(rt, "from"), when.Draw(rt, "to"), style{}, "━"})
		}
		for range rapid.IntRange(0, 6).Draw(rt, "marks") {
			l.marks = append(l.marks, mark{when.Draw(rt, "at"), style{}, "A", rapid.IntRange(0, 5).Draw(rt, "weight")})
		}
		ln, ruler := newLine(300), newLine(300)
		l.draw(ln, w)
		w.ruler(ruler, style{})
		if ln.used != w.cells || ruler.used > max(w.cells, 0) {
			rt.Fatalf("%d and %d cells in a window of %d", ln.used, ruler.used, w.cells)
		}
	})
}

func TestLaneShowsWhatWeighsMost(t *testing.T) {
	w := window{from: ago(10 * time.Second), to: t0, cells: 10}
	l := lane{
		stretches: []stretch{{ago(time.Hour), t0, style{}, "."}, {ago(8500 * time.Millisecond), ago(3500 * time.Millisecond), style{}, "="}},
		marks:     []mark{{ago(8400 * time.Millisecond), style{}, "A", weighBegin}, {ago(8300 * time.Millisecond), style{}, "r", weighRenewal}, {ago(3500 * time.Millisecond), style{}, "!", weighEnd}, {t0, style{}, "N", 0}, {t0.Add(time.Second), style{}, "L", 9}},
	}
	ln := newLine(10)
	l.draw(ln, w)
	if got := ln.String(); got != ".A====!..N" {
		t.Errorf("%q", got)
	}
}

// A hand-over is seen as one letter after another, and in one lock's own
// timeline as a step from one lane to the next.
func TestHandOverInTheTimeline(t *testing.T) {
	snap := incident()
	v := &timelineView{}
	sc := sceneOf(&snap, 120, 36)
	v.setSize(sc.lay)
	v.setData(&snap, t0)
	row := lineWith(t, v.view(sc), "orders:settle:us-east")
	if !regexp.MustCompile("[A-Z]━+[A-Z]━+!·+[A-Z]━+[A-Z]━+").MatchString(row) {
		t.Errorf("two hand-overs and an expiry: %q", row)
	}
	v.open(snap.Locks[8].ID)
	v.setData(&snap, t0)
	lines := v.view(sc)
	first, last := lineWith(t, lines, "api-2:88"), lineWith(t, lines, "worker-7f9c:4411")
	if end, begin := strings.LastIndex(first, "━"), strings.Index(last, "┣"); end < 0 || begin < 0 || text.Width(text.Safe(first[:end])) > text.Width(text.Safe(last[:begin])) {
		t.Errorf("no step:\n%s\n%s", first, last)
	}
	for _, l := range lines {
		if got := text.AnsiWidth(l); got != 120 {
			t.Errorf("%d cells: %s", got, l)
		}
	}
}

func TestTimelineSaysWhatIsNotKnown(t *testing.T) {
	snap := incident()
	sc := sceneOf(&snap, 120, 36)
	v := &timelineView{}
	v.setSize(sc.lay)
	v.setData(&snap, t0)
	lines := v.view(sc)
	if row := lineWith(t, lines, "quota:reset:hourly"); !strings.Contains(row, "?") || strings.ContainsAny(row, "━·") {
		t.Errorf("a lock that nobody tells of: %q", row)
	}
	if row := lineWith(t, lines, "node n3 silent"); !strings.Contains(row, "✗") {
		t.Errorf("a silent node: %q", row)
	}
	snap = nothing()
	snap.Locks = nil
	v.setData(&snap, t0)
	lineWith(t, v.view(sc), "No lock is held and none has been")
}

// A lock that was free when the quorum was lost is not drawn as free after it.
func TestFreeIsNotDrawnWhereNobodyCanTell(t *testing.T) {
	snap := incident()
	gone := lockOf("lock:gone", "fuuuf", inspect.Expired, 0)
	gone.History = []inspect.Event{event(100*time.Second, inspect.Taken, "a", ""), event(90*time.Second, inspect.Released, "a", "")}
	snap.Locks, snap.Events = []inspect.Lock{gone}, []inspect.Event{{At: ago(200 * time.Second), Kind: inspect.Released, Key: "lock:before", Token: "t", Owner: "b"}}
	for i, back := range []time.Duration{70, 60, 50} {
		n := &snap.Target.Nodes[1+i]
		n.State, n.Since = inspect.NodeDown, ago(back*time.Second)
	}
	sc := sceneOf(&snap, 120, 36)
	v := &timelineView{}
	v.setSize(sc.lay)
	v.setData(&snap, t0)
	for _, key := range []string{"lock:gone", "lock:before"} {
		row := lineWith(t, v.view(sc), key)
		if free, untold := strings.LastIndex(row, "·"), strings.Index(row, "?"); untold < 0 || free > untold {
			t.Errorf("%q", row)
		}
	}
	at, ok := quorumLostSince(snap.Target)
	if !ok || !at.Equal(ago(50*time.Second)) {
		t.Errorf("lost since %v, %v", at, ok)
	}
}

// sceneOf is what a view draws from, without a screen around it.
func sceneOf(s *inspect.Snapshot, w, h int) *scene {
	k := &kit{g: unicodeGlyphs()}
	return &scene{kit: k, lay: layoutFor(w, h, false), snap: s, loaded: true, counts: count(k, s.Locks), marks: &marks{}, now: t0, wall: t0, since: ago(5 * time.Minute)}
}

func lineWith(t *testing.T, lines []string, what string) string {
	t.Helper()
	for _, l := range lines {
		if strings.Contains(l, what) {
			return l
		}
	}
	t.Fatalf("no line has %q:\n%s", what, strings.Join(lines, "\n"))
	return ""
}
