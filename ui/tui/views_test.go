package tui

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dlock/inspect"
	"dlock/inspect/dialect"
	"dlock/ui/text"
)

func TestFindingsWorstFirst(t *testing.T) {
	snap := incident()
	v := &findingsView{}
	v.setSize(layoutFor(120, 36, false))
	v.setData(&snap)
	var got []string
	for _, r := range v.rows {
		got = append(got, string(r.Severity)+" "+r.ID)
	}
	want := "high replica-voter, high eviction, high split, medium clock-offset, medium no-persistence, medium no-expiry"
	if strings.Join(got, ", ") != want {
		t.Errorf("%q", got)
	}
	v.navigate(actDown)
	v.navigate(actDown)
	r, ok := v.selected()
	if !ok || !r.aboutLock || r.lock.Key != "lock:orders:settle:eu-west" {
		t.Errorf("selected %+v", r)
	}
	// What is selected stays selected when others come and go.
	snap.Findings = snap.Findings[3:]
	v.setData(&snap)
	if again, _ := v.selected(); again.id() != r.id() {
		t.Errorf("the cursor went from %v to %v", r.id(), again.id())
	}
	sc := sceneOf(&snap, 120, 36)
	lineWith(t, v.view(sc), "Wait for the shorter copy to end")
}

func TestNoFindingsIsNotSaidOfWhatCannotBeSeen(t *testing.T) {
	for name, c := range map[string]struct {
		snap inspect.Snapshot
		want string
	}{"well": {nothing(), "Nothing is found wrong with 0 locks on 5 nodes."}, "blind": {unreached(), "not everything can be seen"}} {
		t.Run(name, func(t *testing.T) {
			v := &findingsView{}
			v.setData(&c.snap)
			lineWith(t, v.view(sceneOf(&c.snap, 120, 36)), c.want)
		})
	}
}

func TestOwnersAreCounted(t *testing.T) {
	a := lockOf("lock:a", "hhh", inspect.Held, time.Second)
	b := lockOf("lock:b", "hoo", inspect.Split, time.Second)
	b.HeldSince = ago(time.Hour)
	b.HeldIsMinimum = true
	nobody := lockOf("lock:c", "hhh", inspect.Held, time.Second)
	nobody.Owners[0].Name, nobody.Owners[0].Host = "", ""
	gone := lockOf("lock:d", "fff", inspect.Expired, 0)
	was := lockOf("lock:e", "uuu", inspect.Unknown, time.Second)
	was.Owners = []inspect.Owner{{Token: tokenA, Name: "worker-7f9c:4411"}}
	twice := lockOf("lock:f", "hhh", inspect.Held, time.Second)
	twice.Owners = append(twice.Owners, twice.Owners[0])
	locks := []inspect.Lock{a, b, nobody, gone, was, twice}
	var got []string
	for _, g := range groupOwners(locks, false) {
		got = append(got, fmt.Sprintf("%s: %d, holds %d, copies %d, trouble %d", g.name, len(g.locks), g.held, g.copies, g.troubled))
	}
	want := []string{"worker-7f9c:4411: 3, holds 2, copies 1, trouble 1", "api-2:88: 1, holds 0, copies 1, trouble 1", ": 1, holds 1, copies 0, trouble 0"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	g := groupOwners(locks, false)[0]
	if !g.oldest.Equal(ago(time.Hour)) || !g.oldestIsMinimum {
		t.Errorf("oldest %v, at least: %v", g.oldest, g.oldestIsMinimum)
	}
}

func TestOwnersByHost(t *testing.T) {
	var locks []inspect.Lock
	for i := range 4 {
		l := lockOf(fmt.Sprintf("lock:%d", i), "hhh", inspect.Held, time.Second)
		l.Owners[0].Name, l.Owners[0].Host = fmt.Sprintf("web-%d:%d", i%2, i), fmt.Sprintf("web-%d", i%2)
		locks = append(locks, l)
	}
	v := &ownersView{}
	v.setSize(layoutFor(120, 36, false))
	snap := inspect.Snapshot{Locks: locks}
	v.setData(&snap)
	if len(v.groups) != 4 {
		t.Errorf("%d owners", len(v.groups))
	}
	v.toggleHosts()
	if len(v.groups) != 2 || v.groups[0].name != "web-0" || len(v.groups[0].locks) != 2 {
		t.Errorf("by host %+v", v.groups)
	}
}

// The filter of an owner leaves that owner's locks, whatever it is called.
func TestOwnerFilterFindsItsLocks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := lockOf("k", "hhh", inspect.Held, time.Second)
		l.Owners[0].Name = hostile().Draw(rt, "name")
		for _, g := range groupOwners([]inspect.Lock{l}, false) {
			if f := parseFilter(g.filter()); !f.empty() && !f.lock(&l) {
				rt.Fatalf("%q does not find %q", g.filter(), l.Owners[0].Name)
			}
		}
	})
}

func TestAgreementOfNodes(t *testing.T) {
	s := inspect.Snapshot{Target: inspect.Target{Topology: inspect.Redlock, Quorum: 2, Nodes: make([]inspect.NodeStatus, 3)},
		Locks: []inspect.Lock{lockOf("a", "hhf", inspect.Held, 0), lockOf("b", "hho", inspect.Held, 0), lockOf("c", "hfu", inspect.Partial, 0), lockOf("d", "fff", inspect.Expired, 0)}}
	want := []agreement{{agree: 3}, {agree: 2}, {differ: 1, missing: 1}}
	if got := compareNodes(&s); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Owners share a cell fairly, and it never says fewer than there are.
func TestOwnersInACell(t *testing.T) {
	k := &kit{g: unicodeGlyphs()}
	lock := func(state inspect.State, names ...string) *inspect.Lock {
		l := &inspect.Lock{State: state}
		for _, n := range names {
			l.Owners = append(l.Owners, inspect.Owner{Token: n, Name: n, Votes: []string{"n1"}, Holds: state == inspect.Held})
		}
		return l
	}
	for _, c := range []struct {
		l    *inspect.Lock
		w    int
		want string
	}{
		{lock(inspect.Split, "worker-7f9c:4411", "api-2"), 30, "worker-7f9c:4411 + api-2"},
		{lock(inspect.Split, "worker-7f9c:4411", "api-2"), 20, "worker-7f9c… + api-2"},
		{lock(inspect.Split, "worker-7f9c:4411", "worker-0b13:1", "c"), 20, "worker… + worker… +1"},
		{lock(inspect.Split, "worker-7f9c:4411", "worker-0b13:1"), 12, "worker-7… +1"},
		{lock(inspect.Held, "reader-a", "reader-b", "reader-c"), 20, "reader-a +2"},
		{lock(inspect.Held, "reader-a", "reader-b", "reader-c"), 23, "reader-a + reader-b +1"},
		{lock(inspect.Held, "a"), 5, "a"},
	} {
		if got := string(fitOwners(k, c.l, c.w)); got != c.want {
			t.Errorf("in %d cells %q, want %q", c.w, got, c.want)
		}
	}
}

func TestOwnersFitTheirCell(t *testing.T) {
	k := &kit{g: unicodeGlyphs()}
	rapid.Check(t, func(rt *rapid.T) {
		l := &inspect.Lock{State: rapid.SampledFrom([]inspect.State{inspect.Held, inspect.Split, inspect.Unknown}).Draw(rt, "state")}
		for range rapid.IntRange(2, 12).Draw(rt, "owners") {
			l.Owners = append(l.Owners, inspect.Owner{Token: hostile().Draw(rt, "token"), Name: hostile().Draw(rt, "name"), Votes: []string{"n1"}, Holds: l.State == inspect.Held})
		}
		w := rapid.IntRange(12, 80).Draw(rt, "w")
		if got := fitOwners(k, l, w); text.Width(got) > w {
			rt.Fatalf("%q has %d cells of %d", got, text.Width(got), w)
		}
	})
}

func TestPanelsShareTheScreen(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h, chrome := rapid.IntRange(0, 70).Draw(rt, "h"), rapid.IntRange(1, 2).Draw(rt, "chrome")
		var panels []panel
		for range rapid.IntRange(0, 5).Draw(rt, "panels") {
			panels = append(panels, panel{lines: make([]string, rapid.IntRange(0, 40).Draw(rt, "lines")), least: rapid.IntRange(0, 10).Draw(rt, "least")})
		}
		sum := 0
		for i, n := range shareLines(panels, h, chrome) {
			if n != 0 && n < min(panels[i].least, len(panels[i].lines))+chrome {
				rt.Fatalf("panel %d gets %d lines, which is too few to be worth it", i, n)
			}
			sum += n
		}
		if sum > h {
			rt.Fatalf("%d lines of %d", sum, h)
		}
	})
}

// The series shows what was known: nothing before the first sample, nothing
// while samples were missing, and between samples the time running down.
func TestSeriesOfTimeToLive(t *testing.T) {
	var v lives
	add := func(at time.Duration, left time.Duration, state inspect.State) {
		l := &inspect.Lock{State: state, Expiry: inspect.Expiry{At: ago(at).Add(left)}}
		if state == inspect.Expired {
			l.Expiry = inspect.Expiry{}
		}
		v.add(l, ago(at))
	}
	add(8*time.Second, 10*time.Second, inspect.Held)
	add(6*time.Second, 10*time.Second, inspect.Held) // renewed
	add(2*time.Second, 0, inspect.Expired)
	got := v.series(window{from: ago(10 * time.Second), to: t0, cells: 10}, 2*time.Second)
	var words []string
	for _, x := range got {
		if math.IsNaN(x) {
			words = append(words, "-")
		} else {
			words = append(words, fmt.Sprintf("%.1f", x))
		}
	}
	if s := strings.Join(words, " "); s != "- - 9.5 8.5 9.5 8.5 - - 0.0 0.0" {
		t.Error(s)
	}
}

func TestSamplesOfTimeToLiveAreBounded(t *testing.T) {
	var v lives
	l := &inspect.Lock{State: inspect.Held}
	for i := range 5 * mostLives {
		v.add(l, t0.Add(time.Duration(i)*time.Second))
	}
	if len(v.samples) > mostLives || !v.samples[len(v.samples)-1].at.Equal(t0.Add(time.Duration(5*mostLives-1)*time.Second)) {
		t.Errorf("%d samples", len(v.samples))
	}
}

func TestDoubtAboutTheLibrary(t *testing.T) {
	for want, l := range map[string]inspect.Lock{
		"dlock|": {Library: dialect.Dlock, Confidence: dialect.Certain},
		"?|":     {Library: dialect.Unknown},
		"redsync?|possibly redsync, by the form of its value alone": {Library: "redsync", Confidence: dialect.Possible},
		"bull|likely bull, by its name and the form of its value":   {Library: "bull", Confidence: dialect.Likely},
		"redisson|":                    {Library: "redisson", Confidence: dialect.Certain},
		"?|written alike by a, b or c": {Library: dialect.Unknown, Candidates: []string{"a", "b", "c"}},
		"a/b?|most likely a/b; written alike by a or b": {Library: "a/b", Candidates: []string{"a", "b"}, Confidence: dialect.Possible},
	} {
		if got := string(libraryText(&l) + "|" + doubtText(&l)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestReleaseIsShownNodeByNode(t *testing.T) {
	steps := []inspect.Step{{Node: "n1", Send: true, Command: "A"}, {Node: "n2", Why: "has no such key"}, {Node: "n3", Send: true, Command: "A"}, {Node: "n3", Send: true, Command: "B"}, {Node: "n4", Why: "has no such key"}}
	var got []string
	for _, g := range groupSteps(steps) {
		got = append(got, strings.Join(g.nodes, "+")+" "+g.command+g.why)
	}
	if want := []string{"n1+n3 A", "n3 B", "n2+n4 has no such key"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	snap := incident()
	sc := sceneOf(&snap, 120, 36)
	held := snap.Locks[8]
	all := strings.Join(sc.releaseLines(&held, 116), "\n")
	for _, want := range []string{"n1, n2, n4 and n5:", "EVAL", "n3: left alone, no answer in time", "BEWARE"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing:\n%s", want, all)
		}
	}
	nobody := lockOf("k", "hhh", inspect.Held, time.Second)
	nobody.Owners = nil
	lineWith(t, sc.releaseLines(&nobody, 116), "dlock cannot release this safely")
}

// An empty list never leaves it open whether there is nothing or nothing could
// be seen.
func TestEmptyListExplainsItself(t *testing.T) {
	scanning, cut, denied := nothing(), nothing(), nothing()
	scanning.Scan.Passes, scanning.Scan.Keys = 0, 17
	cut.Scan.Cut = true
	denied.Target.Nodes[0].Denied = []string{"TYPE"}
	others := nothing()
	others.Scan.Keys = 3
	for name, c := range map[string]struct {
		snap  inspect.Snapshot
		words []string
		not   string
	}{
		"nothing":   {nothing(), []string{"No lock is held: no key matches lock:*.", "on 5 nodes, 3 passes so far", "--match", "another database"}, "may be locks"},
		"scanning":  {scanning, []string{"Looking for locks: 17 keys found so far"}, "No lock is held"},
		"cut short": {cut, []string{"there may be locks that are not listed"}, ""},
		"denied":    {denied, []string{"some commands are refused"}, ""},
		"no locks":  {others, []string{"3 keys match lock:* and none is a lock"}, ""},
		"unreached": {unreached(), []string{"1 of 5 nodes can be asked and 3 are needed", "connection refused", "nothing listens on it", "no such host", "spelled as it should be", "no connection in time", "a firewall", "NOAUTH", "DLOCK_PASSWORD", "next try in 4s"}, "No lock is held"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range [][2]int{{120, 36}, {100, 30}} {
				s := newScreen(t, size[0], size[1], plain, Config{})
				s.load(c.snap)
				s.mustShow(c.words...)
				if c.not != "" {
					s.mustNotShow(c.not)
				}
			}
		})
	}
}

func TestKeyWithoutItsLockIsNoLock(t *testing.T) {
	s := newScreen(t, 120, 36, plain, Config{})
	s.load(kinds())
	row := lineWith(t, s.lines(), "redisson_lock_queue")
	if !strings.Contains(row, "NO LOCK") || !strings.Contains(row, "queue of pay") || strings.Contains(row, "gone") {
		t.Errorf("%q", row)
	}
}

func TestNextTroubleStopsAtASplitToo(t *testing.T) {
	s := newScreen(t, 120, 36, plain, Config{})
	snap := incident()
	snap.Locks = []inspect.Lock{heldLock(), lockOf("lock:zz", "hoo", inspect.Split, time.Second), lockOf("lock:c", "hhh", inspect.Held, time.Second)}
	s.load(snap)
	s.press("s", "g", "n") // by name, so that it does not stand first
	if l, ok := s.app.locks.selected(&s.app.shown); !ok || l.State != inspect.Split {
		t.Errorf("the cursor is on %q", l.ID.Key)
	}
}

// What may have been renewed unseen is not called over.
func TestOldDataIsNotCalledExpired(t *testing.T) {
	for _, keys := range [][]string{nil, {"enter"}, {"3"}} {
		s := loaded(t, 120, 36, Config{})
		s.press(keys...)
		s.now = s.now.Add(time.Hour)
		s.tick()
		for _, l := range s.lines() {
			if strings.Contains(l, "us-east") && (strings.Contains(l, "EXPIRED") || strings.Contains(l, "0.0s")) {
				t.Errorf("%q", l)
			}
		}
	}
}

// many is a snapshot of n locks with everything that the views go through.
func many(n int) inspect.Snapshot {
	s := incident()
	base := s.Locks
	s.Locks = make([]inspect.Lock, n)
	for i := range s.Locks {
		l := base[i%len(base)]
		l.ID.Key = fmt.Sprintf("lock:tenant:%06d:%s", i, l.ID.Key)
		s.Locks[i] = l
	}
	return s
}

func BenchmarkViews(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		snap := many(n)
		sc := sceneOf(&snap, 160, 50)
		var (
			locks    locksView
			nodes    nodesView
			findings findingsView
			owners   ownersView
			timeline timelineView
			detail   detailView
		)
		locks.setSize(sc.lay)
		order := arranging{snap: snap, kit: sc.kit}.arrange()
		locks.place(order.rows, order.ids)
		nodes.setSize(sc.lay)
		findings.setSize(sc.lay)
		owners.setSize(sc.lay)
		timeline.setSize(sc.lay)
		detail.open(snap.Locks[8], t0)
		for name, v := range map[string]struct {
			fill func()
			view func(*scene) []string
		}{
			"locks":    {func() {}, locks.view},
			"nodes":    {func() { nodes.setData(&snap) }, nodes.view},
			"findings": {func() { findings.setData(&snap) }, findings.view},
			"owners":   {func() { owners.setData(&snap) }, owners.view},
			"timeline": {func() { timeline.setData(&snap, t0) }, timeline.view},
			"detail":   {func() {}, detail.view},
		} {
			v.fill()
			b.Run(fmt.Sprintf("%s/%d/view", name, n), func(b *testing.B) {
				for b.Loop() {
					v.view(sc)
				}
			})
			if name == "locks" || name == "detail" {
				continue // these are not filled by the view
			}
			b.Run(fmt.Sprintf("%s/%d/fill", name, n), func(b *testing.B) {
				for b.Loop() {
					v.fill()
				}
			})
		}
	}
}
