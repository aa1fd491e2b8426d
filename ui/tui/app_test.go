package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dlock/demo/lab"
	"dlock/inspect"
)

func (s *screen) mustShow(words ...string) {
	s.t.Helper()
	v := s.view()
	for _, w := range words {
		if !strings.Contains(v, w) {
			s.t.Fatalf("%q is not on the screen:\n%s", w, v)
		}
	}
}

func (s *screen) mustNotShow(words ...string) {
	s.t.Helper()
	v := s.view()
	for _, w := range words {
		if strings.Contains(v, w) {
			s.t.Fatalf("%q is on the screen:\n%s", w, v)
		}
	}
}

func loaded(t testing.TB, w, h int, c Config) *screen {
	s := newScreen(t, w, h, plain, c)
	s.load(incident())
	s.tick()
	return s
}

func TestKeysDoNotCollide(t *testing.T) {
	for _, m := range []keyMap{newKeyMap(false, false), newKeyMap(true, false), newKeyMap(false, true)} {
		for v := viewLocks; v < viewsEnd; v <<= 1 {
			seen := map[string]action{}
			for _, b := range m {
				if b.in&v == 0 {
					continue
				}
				for _, k := range b.keys {
					if other, dup := seen[k]; dup {
						t.Errorf("in view %d the key %q is both %s and %s", v, k, other, b.act)
					}
					seen[k] = b.act
				}
			}
			for _, k := range []string{"d", "D", "K", "backspace", "delete"} {
				if act, bound := seen[k]; bound {
					t.Errorf("%q does %s; too near to what people press by mistake", k, act)
				}
			}
			if act, ok := seen["x"]; ok && act != actReleaseHint {
				t.Errorf("x does %s", act)
			}
		}
		for _, b := range m {
			if b.act == actRelease && !slices.Equal(b.keys, []string{"X"}) {
				t.Errorf("release is on %q", b.keys)
			}
		}
	}
}

func TestReadOnlyNeverExecutes(t *testing.T) {
	keys := everyKey()
	rapid.Check(t, func(rt *rapid.T) {
		s := loaded(t, 120, 36, Config{ReadOnly: "--read-only"})
		for range rapid.IntRange(1, 60).Draw(rt, "n") {
			s.press(rapid.SampledFrom(keys).Draw(rt, "key"))
		}
		if len(s.source.executed)+s.source.dryRuns > 0 {
			rt.Fatal("something was executed")
		}
		if s.app.release != nil {
			rt.Fatal("the dialog is open")
		}
	})
	s := loaded(t, 120, 36, Config{ReadOnly: "--read-only"})
	s.press("X")
	s.mustShow("releasing is off: --read-only", "READ-ONLY")
	s.press("?")
	s.mustShow("not now: releasing is")
}

func TestReleaseFromTheScreen(t *testing.T) {
	var audited []inspect.Result
	s := loaded(t, 120, 36, Config{Operator: "ana", Audit: func(r inspect.Result) error { audited = append(audited, r); return errBoom }})
	s.source.result = inspect.Result{Outcome: inspect.OutReleased, Freed: true, Nodes: []inspect.NodeOutcome{
		{Node: "n1", Outcome: inspect.OutReleased}, {Node: "n2", Outcome: inspect.OutAlreadyGone},
		{Node: "n3", Outcome: inspect.OutNotReached, Detail: "no answer in time", Expiry: in(30 * time.Second)},
		{Node: "n4", Outcome: inspect.OutCameBack}, {Node: "n5", Outcome: inspect.OutRefused, Detail: "NOPERM \x1b[2J"}}}
	s.press("j", "j", "X")
	s.mustShow("lock:search:reindex", "Type the last part of the name to arm:  reindex", "probably ALIVE", "sends to")
	s.press(strings.Split("reindex", "")...)
	s.press("tab", "enter")
	if len(s.source.executed) != 1 || s.source.executed[0].Token != tokenA || s.source.executed[0].ID.Key != "lock:search:reindex" {
		t.Fatalf("executed %+v", s.source.executed)
	}
	if len(audited) != 1 {
		t.Fatalf("%d audit lines", len(audited))
	}
	s.mustShow("deleted", "was already gone", "not reached: no answer in time; its copy ends in at most", "came back", `refused by the server: NOPERM \x1b[2J`,
		"FREE: a client can take it now", "The audit line could not be written: boom")
	s.press("enter")
	if s.app.release != nil {
		t.Fatal("the dialog is still open")
	}
}

func TestDryRunFromTheScreen(t *testing.T) {
	s := loaded(t, 120, 36, Config{Operator: "ana", Audit: func(inspect.Result) error { t.Error("a dry run is audited"); return nil }})
	s.press("j", "j", "X", "ctrl+d")
	s.mustShow("Nothing was sent", "n1   → would be sent the command", "n3   ○ would be left alone: no answer in time")
	if s.source.dryRuns != 1 || len(s.source.executed) != 0 {
		t.Fatalf("%d dry runs, %d releases", s.source.dryRuns, len(s.source.executed))
	}
	s.press("a")
	s.mustShow("Type the last part of the name to arm")
}

func TestReleaseIsRecordedByName(t *testing.T) {
	s := loaded(t, 120, 36, Config{Operator: "ana\x1b", Audit: func(inspect.Result) error { return nil }})
	s.source.result = inspect.Result{Outcome: inspect.OutReleased}
	s.press("j", "j", "X")
	s.press(strings.Split("reindex", "")...)
	s.press("tab", "enter")
	s.mustShow(`Recorded in the audit file as operator ana\x1b.`, "NOT FREE yet")
}

func TestReleaseKeepsTheRowStill(t *testing.T) {
	s := loaded(t, 120, 36, Config{})
	s.press("j", "j", "X")
	before := slices.Clone(s.app.locks.list.ids)
	snap := incident()
	slices.Reverse(snap.Locks)
	for i := range snap.Locks {
		snap.Locks[i].Flags = nil
	}
	s.now = s.now.Add(time.Minute)
	s.load(snap)
	if !slices.Equal(before, s.app.locks.list.ids) {
		t.Fatal("rows moved under an open dialog")
	}
}

func TestSelectionFollowsIdentity(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var l list[int]
		l.setHeight(rapid.IntRange(0, 12).Draw(rt, "height"))
		ids := rapid.SliceOfNDistinct(rapid.IntRange(0, 50), 0, 30, rapid.ID).Draw(rt, "ids")
		l.set(ids)
		for range rapid.IntRange(0, 20).Draw(rt, "steps") {
			l.navigate(rapid.SampledFrom([]action{actUp, actDown, actPageUp, actPageDown, actTop, actBottom, actHalfUp, actHalfDown}).Draw(rt, "move"))
			was, had := l.selected()
			before := l.ids
			next := rapid.Permutation(before).Draw(rt, "shuffled")
			next = slices.DeleteFunc(slices.Clone(next), func(int) bool { return rapid.IntRange(0, 4).Draw(rt, "gone") == 0 })
			next = append(next, rapid.SliceOfNDistinct(rapid.IntRange(51, 90), 0, 5, rapid.ID).Draw(rt, "new")...)
			slices.Sort(next)
			next = slices.Compact(next)
			next = rapid.Permutation(next).Draw(rt, "again")
			l.set(next)
			is, has := l.selected()
			if has != (len(next) > 0) {
				rt.Fatalf("selected %v of %v", has, next)
			}
			if had && slices.Contains(next, was) && is != was {
				rt.Fatalf("%d was selected and is still there, but %d is now", was, is)
			}
			if had && has && !slices.Contains(next, was) {
				// The nearest of those after it that are left, else of those before.
				at := slices.Index(before, was)
				want, found := 0, false
				for i := at + 1; i < len(before) && !found; i++ {
					want, found = before[i], slices.Contains(next, before[i])
				}
				for i := at - 1; i >= 0 && !found; i-- {
					want, found = before[i], slices.Contains(next, before[i])
				}
				if found && is != want {
					rt.Fatalf("%d is gone; %d is selected instead of its neighbour %d", was, is, want)
				}
			}
			from, to := l.window()
			if l.height > 0 && has && (l.cur < from || l.cur >= to) {
				rt.Fatal("the selection is out of sight")
			}
			if to-from < min(l.height, len(next)) {
				rt.Fatal("the window is not full")
			}
		}
	})
}

func TestRowsMoveOnlyUnderARestingCursor(t *testing.T) {
	s := loaded(t, 120, 36, Config{})
	s.press("j")
	calm := incident()
	for i := range calm.Locks {
		calm.Locks[i].State, calm.Locks[i].Flags = inspect.Held, nil
	}
	before := slices.Clone(s.app.locks.list.ids)
	s.now = s.now.Add(rest / 2)
	s.load(calm)
	if !slices.Equal(before, s.app.locks.list.ids) {
		t.Fatal("rows moved under a hand that had just moved the cursor")
	}
	s.now = s.now.Add(rest)
	s.load(calm)
	if slices.Equal(before, s.app.locks.list.ids) {
		t.Fatal("rows never move")
	}
	if id, _ := s.app.locks.list.selected(); id != before[1] {
		t.Fatalf("the selection went from %v to %v", before[1], id)
	}
}

func TestPauseFreezesTheScreen(t *testing.T) {
	s := loaded(t, 120, 36, Config{})
	s.press(" ")
	body := func() string { l := s.lines(); return strings.Join(l[1:], "\n") }
	before := body()
	snap := incident()
	snap.Locks = snap.Locks[:2]
	for range 12 {
		snap.Events = append(snap.Events, inspect.Event{At: t0, Kind: inspect.Taken, Key: "k"})
	}
	s.now = s.now.Add(40 * time.Second)
	s.load(snap)
	s.tick()
	if got := body(); got != before {
		t.Fatalf("the screen moved:\n%s", got)
	}
	s.mustShow("PAUSED", "12 changes waiting")
	s.press(" ")
	s.mustShow("Locks 2")
	s.mustNotShow("PAUSED")
}

func TestStaleDataIsMarked(t *testing.T) {
	s := loaded(t, 120, 36, Config{})
	s.mustShow("LIVE")
	s.now = s.now.Add(30 * time.Second)
	s.tick()
	s.mustShow("STALE", "data 30s old")
	s.send(watchEndedMsg{errBoom, s.now})
	s.mustShow("STOPPED", "no new data: boom")
	s.now = s.now.Add(time.Second)
	snap := incident()
	for i := range snap.Target.Nodes {
		snap.Target.Nodes[i].SampledAt = s.now
	}
	s.load(snap)
	s.mustShow("LIVE")
}

func TestLostQuorumIsSaidInEveryView(t *testing.T) {
	const says = "NO QUORUM: 2 of 5 nodes answer, 3 needed"
	for _, size := range [][2]int{{120, 36}, {80, 24}, {60, 16}} {
		s := newScreen(t, size[0], size[1], plain, Config{Lab: &fakeLab{status: demoStatus()}})
		snap := incident()
		for i := range 3 {
			snap.Target.Nodes[i].State = inspect.NodeDown
		}
		s.load(snap)
		s.tick()
		for _, v := range []string{"1", "2", "3", "4", "1", "enter"} {
			s.press(v)
			s.mustShow(says)
		}
		s.press("?")
		s.mustShow("NO QUORUM")
	}
}

// ofAll says how many locks the fixture has.
func ofAll() string { return fmt.Sprintf("of %d", len(incident().Locks)) }

func TestFilterAndEscape(t *testing.T) {
	s := loaded(t, 120, 36, Config{})
	s.press("/")
	s.press(strings.Split("orders !west", "")...)
	s.press("enter")
	s.mustShow("filter: orders !west", "Locks 1 "+ofAll(), "lock:orders:settle:us-east")
	s.press("/", "z", "z", "esc") // taken back
	s.mustShow("filter: orders !west")
	s.press("esc")
	s.mustShow(fmt.Sprintf("Locks %d ", len(incident().Locks)))
	s.press("/", "q", "X", "2")
	if s.quit || s.app.release != nil || s.app.view != viewLocks {
		t.Fatal("letters typed into the filter did something else")
	}
	s.mustShow("No lock passes the filter")
}

func FuzzFilter(f *testing.F) {
	f.Add("state:held !x", "lock:a")
	f.Add("!", "\xff")
	f.Fuzz(func(t *testing.T, s, k string) {
		l := lockOf(k, "hh", inspect.Held, time.Second)
		pos := parseFilter(s)
		for _, term := range pos.terms {
			inverse := term
			inverse.not = !term.not
			a, b := filter{terms: []filterTerm{term}}, filter{terms: []filterTerm{inverse}}
			if a.lock(&l) == b.lock(&l) {
				t.Fatalf("%q and its opposite say the same", s)
			}
		}
	})
}

func TestSorting(t *testing.T) {
	s := loaded(t, 120, 36, Config{})
	first := func() string { id, _ := s.app.locks.list.ids[0], 0; return id.Key }
	for _, c := range []struct{ name, key string }{
		{"by name", "lock:\x1b[2J\x1b]52;c;aGk=\x07evil\r\n\u202e\x9b注文:42"}, {"by ttl", "lock:mail:digest:tue"}, {"by held for", "lock:billing:invoice:run"}, {"by waiters", "lock:billing:invoice:run"}, {"by trouble", "lock:orders:settle:eu-west"},
	} {
		s.press("s")
		s.mustShow(c.name)
		if first() != c.key {
			t.Errorf("%s puts %q first", c.name, first())
		}
	}
	s.press("s", "S")
	if first() != "lock:注文:決済:🔒" {
		t.Errorf("by name, reversed, puts %q first", first())
	}
}

func TestDetailFollowsItsLock(t *testing.T) {
	s := loaded(t, 120, 36, Config{})
	s.press("j", "j", "enter")
	s.mustShow("Lock lock:search:reindex", "OWNER")
	snap := incident()
	slices.Reverse(snap.Locks)
	s.load(snap)
	s.mustShow("Lock lock:search:reindex")
	snap.Locks = snap.Locks[:3]
	s.now = s.now.Add(10 * time.Second)
	s.load(snap)
	s.mustShow("Lock lock:search:reindex", "EXPIRED", "nobody stores it any more; last seen 10s ago")
	s.press("X")
	s.mustShow("this lock is gone already")
	s.press("esc")
	s.mustShow("Locks 3")
}

func TestDetailSteps(t *testing.T) {
	s := loaded(t, 120, 36, Config{})
	s.press("enter", "]")
	s.mustShow("Lock lock:billing:invoice:run", "never: it stays until somebody deletes it")
	s.press("[")
	s.mustShow("Lock lock:orders:settle:eu-west")
	s.press("e")
	s.mustShow("Events 1 of 7   of lock:orders:settle:eu-west")
	s.press("esc")
	s.mustShow("Lock lock:orders:settle:eu-west")
	s.press("q", "q")
	if !s.quit {
		t.Fatal("q in the list does not quit")
	}
}

func TestEventsFollowUntilScrolled(t *testing.T) {
	s := loaded(t, 120, 36, Config{})
	s.press("3", "j", "j")
	at, _ := s.app.events.list.selected()
	snap := incident()
	snap.Events = append(snap.Events, inspect.Event{At: t0, Kind: inspect.Taken, Key: "lock:new"})
	snap.Events, snap.EventsDropped = snap.Events[2:], 2
	s.load(snap)
	if now, _ := s.app.events.list.selected(); now != at {
		t.Fatalf("the selection moved from event %d to %d", at, now)
	}
	s.press("f")
	if now, _ := s.app.events.list.selected(); now != 9-2+2-2 {
		t.Fatalf("following selects event %d", now)
	}
	s.mustShow("following")
}

func TestTroubleKeys(t *testing.T) {
	s := loaded(t, 120, 36, Config{})
	s.press("n", "n", "n", "n", "n", "n")
	if l, _ := s.app.locks.selected(&s.app.shown); !l.Has(inspect.Leftover) {
		t.Fatalf("stopped at %s", l.State)
	}
	s.press("N")
	if l, _ := s.app.locks.selected(&s.app.shown); l.State != inspect.Unknown {
		t.Fatalf("went back to %s", l.State)
	}
}

func TestIntervalSteps(t *testing.T) {
	s := loaded(t, 120, 36, Config{})
	s.press("-")
	if s.source.interval != 5*time.Second {
		t.Fatalf("- leads to %v", s.source.interval)
	}
	s.press("+", "+")
	if s.source.interval != time.Second {
		t.Fatalf("+ leads to %v", s.source.interval)
	}
	s.press("+", "+", "+")
	if s.source.interval != 500*time.Millisecond {
		t.Fatalf("the floor is %v", s.source.interval)
	}
}

func TestFaultMenu(t *testing.T) {
	for keys, want := range map[string]string{
		"F k 1": "kill n1", "F k 3": "restart n3", "F w 2": "wipe n2", "F p 4": "pause n4", "F p 5": "resume n5", "F p 3": "", "F k 9": "", "F 1": "", "F esc k 1": "", "F k esc 1": "",
	} {
		for _, view := range []string{"1", "2", "3", "4"} {
			l := &fakeLab{status: demoStatus()}
			s := loaded(t, 120, 36, Config{Lab: l})
			s.press(view)
			s.press(strings.Fields(keys)...)
			if got := strings.Join(l.did, ", "); got != want {
				t.Errorf("view %s, %s: did %q, want %q", view, keys, got, want)
			}
		}
	}
	l := &fakeLab{status: demoStatus(), err: errBoom}
	s := loaded(t, 120, 36, Config{Lab: l})
	s.press("F", "k", "1")
	s.mustShow("n1: boom")
	s = loaded(t, 120, 36, Config{})
	s.press("F", "4")
	if s.app.view != viewLocks || s.app.faults != nil {
		t.Error("the demo's keys work outside a demo")
	}
}

func TestHelpListsExactlyTheKeysOfTheView(t *testing.T) {
	for _, withLab := range []bool{false, true} {
		c := Config{}
		if withLab {
			c.Lab = &fakeLab{status: demoStatus()}
		}
		s := newScreen(t, 120, 70, plain, c)
		s.load(incident())
		s.tick()
		s.press("?")
		v := s.view()
		for _, b := range s.app.keys {
			if has := strings.Contains(v, string(b.label)); b.label != "" && has != (b.in&viewLocks != 0) {
				t.Errorf("%q listed: %v", b.label, has)
			}
		}
	}
}

func TestTooSmallDoesNothingButQuit(t *testing.T) {
	s := loaded(t, 40, 10, Config{})
	s.mustShow("Terminal too small", "40 x 10", "60 x 16")
	s.press("X", "j", "/", "2")
	if s.app.release != nil || s.app.input != nil || s.app.view != viewLocks {
		t.Fatal("keys act on a screen that cannot be seen")
	}
	s.press("q")
	if !s.quit {
		t.Fatal("q does not quit")
	}
}

func TestPulse(t *testing.T) {
	s := newScreen(t, 120, 36, plain, Config{})
	if s.app.every != slowPulse {
		t.Fatalf("%v before there is anything to see", s.app.every)
	}
	s.load(incident())
	if s.app.every != fastPulse {
		t.Fatalf("%v with a lock that ends in 0.9s on the screen", s.app.every)
	}
	gen := s.app.ticks
	s.send(tickedMsg{gen - 1, s.now}) // an old train
	if s.app.ticks != gen {
		t.Fatal("a pulse of an older train starts another")
	}
	s.press(" ")
	s.tick()
	if s.app.every != slowPulse {
		t.Fatalf("%v while paused", s.app.every)
	}
}

func TestNoColourMeansAttributesOnly(t *testing.T) {
	for _, keys := range [][]string{nil, {"enter"}, {"2"}, {"3"}, {"?"}, {"j", "X"}, {"4"}} {
		s := newScreen(t, 120, 36, mono, Config{Lab: &fakeLab{status: demoStatus()}, Env: "PROD"})
		s.load(incident())
		s.tick()
		s.press(keys...)
		for _, seq := range sgr.FindAllString(s.view(), -1) {
			for _, p := range strings.Split(strings.Trim(seq, "\x1b[m"), ";") {
				if n, _ := strconv.Atoi(p); n >= 30 {
					t.Fatalf("%q is a colour", seq)
				}
			}
		}
		if !strings.Contains(s.view(), "\x1b[7m") && len(keys) == 0 {
			t.Fatal("the cursor is not to be seen")
		}
	}
}

func TestDepth(t *testing.T) {
	for _, c := range []struct {
		env  string
		want depth
	}{
		{"TERM=dumb", depthNone}, {"TERM=xterm-256color", depth256}, {"TERM=xterm", depth16}, {"TERM=linux", depth16}, {"TERM=xterm COLORTERM=truecolor", depth256},
		{"TERM=xterm-256color NO_COLOR=1", depthAttrs}, {"TERM=xterm-256color CLICOLOR=0", depthAttrs}, {"TERM=vt100", depthAttrs}, {"TERM=dumb NO_COLOR=1", depthNone},
	} {
		if got := detectDepth(getenv(c.env)); got != c.want {
			t.Errorf("%s: %v, want %v", c.env, got, c.want)
		}
	}
	if _, err := newTheme("solarized", depth16); err == nil || !strings.Contains(err.Error(), "default, dark, light, mono or high-contrast") {
		t.Errorf("an unknown theme: %v", err)
	}
}

func getenv(vars string) func(string) string {
	return func(name string) string {
		for _, v := range strings.Fields(vars) {
			if s, ok := strings.CutPrefix(v, name+"="); ok {
				return s
			}
		}
		return ""
	}
}

func TestGlyphsAreOneCellAndTellApart(t *testing.T) {
	for _, g := range []glyphs{unicodeGlyphs(), asciiGlyphs()} {
		seen := map[string]bool{}
		for _, s := range []string{string(g.this), string(g.other), string(g.free), string(g.silent), string(g.unknown)} {
			if seen[s] {
				t.Errorf("%q stands for two answers", s)
			}
			seen[s] = true
			if len([]rune(s)) != 1 {
				t.Errorf("%q is not one cell", s)
			}
		}
	}
}

func TestDemoSuggestionsFitTheState(t *testing.T) {
	for broken := 0; broken <= 5; broken++ {
		st := demoStatus()
		for i := range st.Nodes {
			st.Nodes[i].State = lab.Up
			if i < broken {
				st.Nodes[i].State = lab.Down
			}
		}
		got := fmt.Sprint(tries(&st))
		if lost := strings.Contains(got, "No quorum"); lost != (broken >= 3) {
			t.Errorf("%d broken: %s", broken, got)
		}
	}
}
