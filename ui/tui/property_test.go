package tui

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"dlock/inspect"
)

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// checkScreen fails unless the screen is exactly w by h cells and holds no
// control byte beside colours and attributes.
func checkScreen(t interface {
	Helper()
	Fatalf(string, ...any)
}, screen string, w, h int) {
	t.Helper()
	lines := strings.Split(screen, "\n")
	if len(lines) != h {
		t.Fatalf("%d lines instead of %d", len(lines), h)
	}
	for i, l := range lines {
		if got := ansi.StringWidth(l); got != w {
			t.Fatalf("line %d is %d cells wide instead of %d: %q", i, got, w, l)
		}
		bare := sgr.ReplaceAllString(l, "")
		if !utf8.ValidString(bare) {
			t.Fatalf("line %d is not UTF-8: %q", i, l)
		}
		for _, r := range bare {
			if r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0x2028 || r == 0x200b {
				t.Fatalf("line %d holds %U: %q", i, r, l)
			}
		}
	}
}

var hostilePieces = []string{
	"lock:", "orders", ":", "\x1b[2J", "\x1b]52;c;aGk=\x07", "\x1b]0;x\x1b\\", "\r\n", "\x00", "\x7f", "\x9b31m", "\u009b", "\u202e", "\u2028", "\u200b",
	"注文", "🔒", "👩‍👩‍👧", "e\u0301", "\u0301", "مفتاح", "①", "🇩🇪", "\xff\xfe", "\\", "\"", " ", "\t", "%s", strings.Repeat("a", 300), "\U000e0041",
}

func hostile() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(hostilePieces), 0, 5).Draw(t, "pieces"), "")
	})
}

// randomSnapshot is any snapshot the types allow, sense or not.
func randomSnapshot() *rapid.Generator[inspect.Snapshot] {
	return rapid.Custom(func(t *rapid.T) inspect.Snapshot {
		text := hostile()
		when := rapid.Custom(func(t *rapid.T) time.Time {
			if rapid.IntRange(0, 5).Draw(t, "known") == 0 {
				return time.Time{}
			}
			return t0.Add(time.Duration(rapid.Int64Range(-1e16, 1e16).Draw(t, "when")))
		})
		expiry := rapid.Custom(func(t *rapid.T) inspect.Expiry {
			return inspect.Expiry{At: when.Draw(t, "at"), Never: rapid.IntRange(0, 4).Draw(t, "never") == 0}
		})
		n := rapid.IntRange(0, 12).Draw(t, "nodes")
		name := func(i int) string { return fmt.Sprintf("n%d", i+1) }
		s := inspect.Snapshot{
			At: when.Draw(t, "at"), Interval: time.Duration(rapid.Int64Range(0, 1e11).Draw(t, "interval")), Complete: rapid.Bool().Draw(t, "complete"),
			EventsDropped: rapid.Uint64Range(0, 1<<40).Draw(t, "dropped"),
			Scan:          inspect.Progress{Match: []string{text.Draw(t, "match")}, Keys: rapid.Int64Range(0, 1e9).Draw(t, "keys"), Passes: rapid.IntRange(0, 3).Draw(t, "passes"), Cut: rapid.Bool().Draw(t, "cut")},
		}
		s.Target = inspect.Target{Topology: rapid.SampledFrom([]inspect.Topology{inspect.Single, inspect.Redlock, inspect.Cluster}).Draw(t, "topology"), Quorum: n/2 + 1}
		for i := range n {
			s.Target.Nodes = append(s.Target.Nodes, inspect.NodeStatus{
				Name: name(i) + text.Draw(t, "name"), Addr: text.Draw(t, "addr"), Error: text.Draw(t, "error"), Role: text.Draw(t, "role"), Version: text.Draw(t, "version"), Eviction: text.Draw(t, "eviction"),
				State: rapid.SampledFrom([]inspect.NodeState{inspect.NodeUp, inspect.NodeDown, inspect.NodeDenied, inspect.NodeReplica, inspect.NodePending, "?"}).Draw(t, "state"),
				Since: when.Draw(t, "since"), SampledAt: when.Draw(t, "sampled"), NextTry: when.Draw(t, "next"), Denied: []string{text.Draw(t, "denied")},
				RTT:         inspect.Maybe[time.Duration]{Value: time.Duration(rapid.Int64().Draw(t, "rtt")), Known: rapid.Bool().Draw(t, "rttKnown")},
				ClockOffset: inspect.Maybe[time.Duration]{Value: time.Duration(rapid.Int64().Draw(t, "offset")), Known: rapid.Bool().Draw(t, "offsetKnown")},
				Locks:       inspect.Maybe[int]{Value: rapid.Int().Draw(t, "locks"), Known: rapid.Bool().Draw(t, "locksKnown")},
			})
		}
		states := []inspect.State{inspect.Held, inspect.Split, inspect.Partial, inspect.Unknown, inspect.Expired, "novel"}
		flags := []inspect.Flag{inspect.NoExpiry, inspect.Stuck, inspect.Expiring, inspect.Degraded, inspect.Leftover, "novel"}
		for i := range rapid.IntRange(0, 25).Draw(t, "locks") {
			l := inspect.Lock{
				ID: inspect.ID{Key: text.Draw(t, "key") + fmt.Sprint(i), DB: rapid.IntRange(0, 1).Draw(t, "db")}, Library: text.Draw(t, "library"), Kind: text.Draw(t, "kind"), Type: text.Draw(t, "type"),
				State: rapid.SampledFrom(states).Draw(t, "state"), Flags: rapid.SliceOfN(rapid.SampledFrom(flags), 0, 3).Draw(t, "flags"),
				Votes:  inspect.Votes{Need: n/2 + 1, Of: n, Agree: rapid.IntRange(0, 1000).Draw(t, "agree"), Unreachable: rapid.IntRange(0, 12).Draw(t, "silent")},
				Expiry: expiry.Draw(t, "expiry"), FullTTL: time.Duration(rapid.Int64Range(-1, 1e15).Draw(t, "full")), HeldSince: when.Draw(t, "held"), HeldIsMinimum: rapid.Bool().Draw(t, "min"),
				Renewals: rapid.IntRange(0, 1e9).Draw(t, "renewals"), LastRenewal: when.Draw(t, "renewed"),
				Fence:   inspect.Maybe[int64]{Value: rapid.Int64().Draw(t, "fence"), Known: rapid.Bool().Draw(t, "fenced")},
				Waiters: inspect.Maybe[int]{Value: rapid.Int().Draw(t, "waiters"), Known: rapid.Bool().Draw(t, "waited")},
				Idle:    inspect.Maybe[time.Duration]{Value: time.Duration(rapid.Int64().Draw(t, "idle")), Known: rapid.Bool().Draw(t, "idled")},
				GoneAt:  when.Draw(t, "gone"),
			}
			for range rapid.IntRange(0, 3).Draw(t, "owners") {
				l.Owners = append(l.Owners, inspect.Owner{Token: text.Draw(t, "token"), Name: text.Draw(t, "owner"), Since: when.Draw(t, "since"), Count: 2, Votes: []string{text.Draw(t, "vote")}, Expiry: expiry.Draw(t, "expiry")})
			}
			for j := range n {
				l.Copies = append(l.Copies, inspect.Copy{
					Node: name(j), Token: text.Draw(t, "token"), Type: text.Draw(t, "type"), Error: text.Draw(t, "error"), Expiry: expiry.Draw(t, "expiry"), HasToken: rapid.Bool().Draw(t, "has"),
					Answer:    rapid.SampledFrom([]inspect.Answer{inspect.AnswerHeld, inspect.AnswerOther, inspect.AnswerFree, inspect.AnswerUnreachable, inspect.AnswerDenied}).Draw(t, "answer"),
					SampledAt: when.Draw(t, "sampled"), ChangedAt: when.Draw(t, "changed"), Change: inspect.EventKind(text.Draw(t, "change")), RTT: time.Duration(rapid.Int64().Draw(t, "rtt")),
				})
			}
			if rapid.Bool().Draw(t, "finding") {
				l.Findings = []inspect.Finding{{ID: "x", Severity: rapid.SampledFrom([]inspect.Severity{inspect.High, inspect.Medium, inspect.Low}).Draw(t, "severity"), Text: text.Draw(t, "text"), Advice: text.Draw(t, "advice")}}
			}
			s.Locks = append(s.Locks, l)
		}
		for range rapid.IntRange(0, 20).Draw(t, "events") {
			s.Events = append(s.Events, inspect.Event{At: when.Draw(t, "at"), Kind: inspect.EventKind(rapid.SampledFrom([]string{"taken", "renewed", "split", "operator", "\x1bnovel"}).Draw(t, "kind")),
				Key: text.Draw(t, "key"), Node: text.Draw(t, "node"), Token: text.Draw(t, "token"), Owner: text.Draw(t, "owner"), Text: text.Draw(t, "text")})
		}
		return s
	})
}

// everyKey is every key that does something anywhere, but for saving, and some
// that do not.
func everyKey() []string {
	seen := map[string]bool{}
	var out []string
	for _, b := range newKeyMap(true, false) {
		for _, k := range b.keys {
			if !seen[k] && b.act != actSave { // which writes files
				seen[k] = true
				out = append(out, k)
			}
		}
	}
	return append(out, "tab", "shift+tab", "left", "right", "backspace", "delete", "ctrl+y", "a", "w", "p", "5", "é", "d", "D", "K")
}

func TestEveryScreenIsExactlyAsLargeAsTheTerminal(t *testing.T) {
	keys := everyKey()
	looks := []look{coloured, sixteen, mono, plain, ascii, {depth: depth256, theme: "high-contrast"}}
	rapid.Check(t, func(rt *rapid.T) {
		c := Config{Title: hostile().Draw(rt, "title"), Env: hostile().Draw(rt, "env"), Filter: hostile().Draw(rt, "filter")}
		if rapid.Bool().Draw(rt, "readonly") {
			c.ReadOnly = hostile().Draw(rt, "why")
		}
		if rapid.Bool().Draw(rt, "demo") {
			st := demoStatus()
			for i := range st.Workers {
				st.Workers[i].Name, st.Workers[i].Note = hostile().Draw(rt, "worker"), hostile().Draw(rt, "note")
			}
			c.Lab = &fakeLab{status: st}
		}
		w, h := rapid.IntRange(1, 200).Draw(rt, "w"), rapid.IntRange(1, 70).Draw(rt, "h")
		s := newScreen(t, w, h, rapid.SampledFrom(looks).Draw(rt, "look"), c)
		checkScreen(rt, s.view(), w, h)
		snap := randomSnapshot().Draw(rt, "snapshot")
		s.source.snap = snap
		s.load(snap)
		checkScreen(rt, s.view(), w, h)
		for i := range rapid.IntRange(0, 12).Draw(rt, "steps") {
			switch rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0:
				w, h = rapid.IntRange(1, 200).Draw(rt, "w"), rapid.IntRange(1, 70).Draw(rt, "h")
				s.resize(w, h)
			case 1:
				s.load(randomSnapshot().Draw(rt, "snapshot"))
			case 2:
				s.now = s.now.Add(time.Duration(rapid.Int64Range(0, 1e11).Draw(rt, "pass")))
				s.tick()
			default:
				s.press(rapid.SampledFrom(keys).Draw(rt, "key"))
			}
			checkScreen(rt, s.view(), w, h)
			_ = i
		}
	})
}

// Every size, of the screens that have most on them.
func TestEverySize(t *testing.T) {
	views := [][]string{nil, {"enter"}, {"2"}, {"3"}, {"?"}, {"4"}, {"4", "F", "k"}, {"j", "X", "r"}, {"X"}, {"/", "x"}, {"z"}, {"5"}, {"6"}, {"7"}, {"M", "X"}, {":", "s"}, {":", "z"}}
	for _, keys := range views {
		s := newScreen(t, 120, 36, mono, Config{Lab: &fakeLab{status: demoStatus()}})
		s.load(incident())
		s.tick()
		s.press(keys...)
		for w := 1; w <= 200; w += 7 {
			for h := 1; h <= 70; h += 3 {
				s.resize(w, h)
				checkScreen(t, s.view(), w, h)
			}
		}
		for w := 1; w <= 24; w++ {
			for h := 1; h <= 18; h++ {
				s.resize(w, h)
				checkScreen(t, s.view(), w, h)
			}
		}
	}
}
