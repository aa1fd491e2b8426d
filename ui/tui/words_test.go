package tui

import (
	"strings"
	"testing"
	"time"

	"dlock/inspect"
)

// foreign is a lock whose key holds something that is no token.
func foreign(kind string) inspect.Lock {
	l := lockOf("lock:other:library", "hhhhh", inspect.Held, 10*time.Second)
	l.Owners, l.Type = nil, kind
	for i := range l.Copies {
		l.Copies[i].Type, l.Copies[i].HasToken, l.Copies[i].Token = kind, false, ""
	}
	return l
}

func TestForeignValuesAreShownAndNotReleased(t *testing.T) {
	const says = "the key is a hash (another library's lock?): dlock shows it and does not release it"
	for _, state := range []inspect.State{inspect.Held, inspect.Unknown, inspect.Partial} {
		s := newScreen(t, 120, 36, plain, Config{})
		snap := incident()
		l := foreign("hash")
		l.State = state
		snap.Locks = []inspect.Lock{l}
		s.load(snap)
		s.press("X")
		if s.app.release != nil {
			t.Fatal("the dialog opens for a key that is never released")
		}
		s.mustShow(says)
		s.mustNotShow("do not answer")
		s.press("enter")
		s.mustShow(says)
	}
	silent := foreign("hash")
	silent.State, silent.Copies[0].Answer = inspect.Unknown, inspect.AnswerUnreachable
	if s := foreignText(&silent); s != "" {
		t.Errorf("with a node silent: %s", s)
	}
	unreadable := foreign("string")
	unreadable.Copies[2].Error = "NOPERM"
	if s := foreignText(&unreadable); !strings.Contains(string(s), "cannot be read (NOPERM)") {
		t.Errorf("a value that is not permitted: %q", s)
	}
	if l := heldLock(); foreignText(&l) != "" {
		t.Error("a lock of ours is foreign")
	}
}

func TestIncompleteIsSaidOnlyWhereLocksCanHide(t *testing.T) {
	for down, want := range map[int]string{0: "keys match lock:*", 2: "leftovers on n1 and n2 are not seen", 3: "incomplete: locks may exist that are not listed"} {
		s := newScreen(t, 120, 36, plain, Config{})
		snap := incident()
		snap.Complete = down == 0
		for i := range snap.Target.Nodes {
			snap.Target.Nodes[i].State = inspect.NodeUp
			if i < down {
				snap.Target.Nodes[i].State = inspect.NodeDown
			}
		}
		snap.Locks = snap.Locks[8:9]
		s.load(snap)
		s.mustShow(want)
		if down < 3 {
			s.mustNotShow("incomplete")
		}
		snap.Locks = nil
		s.load(snap)
		if got := strings.Contains(s.view(), "nothing is known about any lock"); got != (down >= 3) {
			t.Errorf("%d down, nothing listed: says that something may be missing: %v", down, got)
		}
	}
}

func TestRefusingNodeIsNotSilent(t *testing.T) {
	for _, n := range []int{1, 3} {
		s := newScreen(t, 160, 36, plain, Config{})
		snap := incident()
		snap.Locks = nil
		snap.Target.Nodes = snap.Target.Nodes[:n]
		snap.Target.Quorum = n/2 + 1
		for i := range snap.Target.Nodes {
			snap.Target.Nodes[i].State, snap.Target.Nodes[i].Error = inspect.NodeDenied, "NOAUTH Authentication required."
		}
		s.load(snap)
		s.mustShow("us: NOAUTH Authentication required; set DLOCK_PASSWORD, and --user")
		s.mustNotShow("NO ANSWER", "No node answers")
		if got := strings.Count(s.view(), "NOAUTH"); got != n+1 {
			t.Errorf("said %d times, not for each node and on the message line", got)
		}
	}
}

func TestTombstonesSayHowItEndedAndStandLast(t *testing.T) {
	gone := lockOf("lock:a", "fffff", inspect.Expired, 0)
	for kind, want := range map[inspect.EventKind]string{inspect.Released: "RELEASED", inspect.Ended: "EXPIRED", inspect.Operator: "RELEASED"} {
		s := newScreen(t, 120, 36, plain, Config{})
		snap := incident()
		snap.Locks = []inspect.Lock{gone, heldLock()}
		snap.Events = []inspect.Event{{At: t0, Kind: inspect.Ended, Key: "lock:a"}, {At: t0, Kind: kind, Key: "lock:a"}, {At: t0, Kind: inspect.Ended, Key: "lock:b"}}
		s.load(snap)
		s.mustShow("○ " + want)
		for by := order(0); by < orders; by++ {
			for _, reverse := range []bool{false, true} {
				if rows := arrange(snap.Locks, filter{}, by, reverse); rows[1] != 0 {
					t.Errorf("by %s, reversed %v: what is gone stands first", by.name(), reverse)
				}
			}
		}
	}
	gone.Copies[1].Change, gone.Copies[1].ChangedAt = inspect.Released, t0
	if got := lastEnd(&inspect.Snapshot{}, &gone); got != inspect.Released {
		t.Errorf("by a node's word: %s", got)
	}
}

func TestAlarmStaysUnderTheCursor(t *testing.T) {
	s := newScreen(t, 120, 36, coloured, Config{})
	s.load(incident())
	if chip := s.app.kit.alarm.apply(s.app.kit.g.split + " SPLIT"); !strings.Contains(s.view(), chip) {
		t.Error("the chip of the selected row is gone")
	}
}

func TestFilterSaysWhatItDoesNotKnow(t *testing.T) {
	nodes := incident().Target.Nodes
	for source, want := range map[string]string{
		"state:foo": "no such state: foo", "!flag:zz": "no such flag: zz", "node:n9": "no such node: n9", "state:held node:n1 flag:stuck": "", "state:no-exp": "", "state:released": "", "text:foo": "", "lib:foo": "",
	} {
		if got := parseFilter(source).unknown(nodes); string(got) != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
	s := loaded(t, 120, 36, Config{})
	s.press(strings.Split("/state:foo", "")...)
	s.mustShow("/ state:foo_   no such state: foo")
	s.press("enter")
	s.mustShow("No lock passes the filter: no such state: foo.")
}

func TestSortingGoesToTheTop(t *testing.T) {
	s := loaded(t, 120, 36, Config{})
	s.press("G", "s")
	if s.app.locks.list.cur != 0 {
		t.Errorf("after s the cursor is in row %d", s.app.locks.list.cur+1)
	}
}

func TestHintOfTheSmallLetterIsTheReason(t *testing.T) {
	s := loaded(t, 120, 36, Config{ReadOnly: "--read-only"})
	s.press("x")
	s.mustShow("releasing is off: --read-only")
}

func TestTokensAreToldApart(t *testing.T) {
	k := &kit{g: unicodeGlyphs()}
	for _, tokens := range [][]string{
		{"worker-1", "worker-2"}, {"abcdeX", "abcdeY"}, {"prefix-that-is-long-1-tail", "prefix-that-is-long-2-tail"},
		{tokenA, tokenA[:40] + "X worker-1:2"}, {tokenA, tokenB}, {"abcd", "abcdef"}, {"aaaa1111-same-end", "aaaa2222-same-end"},
	} {
		l := inspect.Lock{Owners: []inspect.Owner{{Token: tokens[0]}}, Copies: []inspect.Copy{{Token: tokens[0]}, {Token: tokens[1]}}}
		for name, f := range map[string]func(*inspect.Lock, string) string{
			"tiny":  func(l *inspect.Lock, s string) string { return string(k.tinyOf(l, s)) },
			"short": func(l *inspect.Lock, s string) string { return string(k.shortOf(l, s)) },
		} {
			a, b := f(&l, tokens[0]), f(&l, tokens[1])
			if a == b {
				t.Errorf("%s: both are %q", name, a)
			}
			if name == "tiny" && len([]rune(a)) > 8 {
				t.Errorf("%q is no short form", a)
			}
		}
	}
}

func TestWordsAgreeInNumber(t *testing.T) {
	one := lockOf("k", "huu", inspect.Unknown, time.Second)
	one.Renewals, one.LastRenewal = 1, ago(2*time.Second)
	two := lockOf("k", "hhuff", inspect.Unknown, time.Second)
	k := &kit{g: unicodeGlyphs()}
	for got, want := range map[string]string{
		string(explain(k, one, t0)):                                              "1 of 3 nodes stores it, 2 needed; the 2 that do not answer could decide",
		string(explain(k, two, t0)):                                              "2 of 5 nodes store it, 3 needed; the one that does not answer could decide",
		string(renewText(one, t0)):                                               "renewed once, 2.0s ago",
		string(onNodes(inspect.Owner{Votes: []string{"n1", "n2"}})):              "on n1 and n2",
		string(heldFor(k, inspect.Lock{HeldSince: t0, HeldIsMinimum: true}, t0)): "<1s",
		string(eventDetail(k, &inspect.Event{Kind: inspect.HandedOver, Owner: "worker-2", Text: "from worker-2"})): "by worker-2",
		string(eventWord(&inspect.Event{Kind: inspect.HandedOver, Owner: "worker-2", Text: "from worker-2"})):      "taken again",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestCutTextEndsInAMark(t *testing.T) {
	for s, want := range map[string]string{"abcdef": "abc…", "abcd": "abcd", "abc   ": "abc ", "────────": "────"} {
		if got := newLine(4).add(style{}, cleanText(s)).String(); got != want {
			t.Errorf("%q is cut to %q, want %q", s, got, want)
		}
	}
}

// The wish to stop and the going on.
func TestSuspendAndContinue(t *testing.T) {
	s := loaded(t, 120, 36, Config{})
	s.now = s.now.Add(42 * time.Second)
	s.send(resumedMsg{nil, s.now})
	s.mustShow("was stopped for 42s; what happened meanwhile was not seen")
	if s.source.refresh == 0 {
		t.Error("nothing is read again")
	}
	s.send(resumedMsg{errNotStopped, s.now})
	s.mustShow(errNotStopped.Error())
}

func TestFreeRowsGoToThePreview(t *testing.T) {
	s := newScreen(t, 80, 24, plain, Config{})
	snap := incident()
	snap.Locks = snap.Locks[:2]
	s.load(snap)
	s.mustShow("is still at work before you release the other.")
}
