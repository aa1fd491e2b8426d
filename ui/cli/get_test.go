package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"dlock/inspect"
	"dlock/ui/text"
)

func TestGetScreens(t *testing.T) {
	s := everyKind()
	for i, l := range s.Locks {
		t.Run(fmt.Sprintf("%d-%s", i, l.State), func(t *testing.T) {
			// As on a terminal of 100 columns, without colour.
			e := invocation{
				args: []string{"--color=never", "get", "--", l.ID.Key}, outTTY: true, width: 100,
				fake: &fakeInspector{snapshot: s},
			}.run(t)
			wantCode(t, e, exitIncomplete)
			golden.RequireEqual(t, []byte(e.out))
			checkPrintable(t, e.out)
		})
	}
}

func TestGetKeepsTheOrderAskedFor(t *testing.T) {
	s := picture(1, []inspect.Lock{lockOf("a", in(1e9), "t"), lockOf("b", in(1e9), "t"), lockOf("c", in(1e9), "t")})
	fake := &fakeInspector{snapshot: s}
	e := invocation{args: []string{"get", "c", "a", "c", "b", "-o", "jsonl"}, fake: fake}.run(t)
	wantCode(t, e, exitOK)
	wantSilentStderr(t, e)
	var order []string
	for line := range strings.Lines(e.out) {
		order = append(order, line[:strings.Index(line, ",")])
	}
	if want := []string{`{"key":"c"`, `{"key":"a"`, `{"key":"b"`}; !slices.Equal(order, want) {
		t.Errorf("order %q", order)
	}
	if len(fake.asked) != 1 || !slices.Equal(fake.asked[0], []string{"c", "a", "b"}) {
		t.Errorf("asked for %q", fake.asked)
	}
	if !e.readOnly[0] {
		t.Error("get did not open its nodes read-only")
	}
}

func TestGetExitCodes(t *testing.T) {
	here := lockOf("lock:a", in(1e9), "t", "t", "t")
	gone := lockOf("lock:b", in(1e9), "", "", "")
	open := lockOf("lock:b", in(1e9), "", "!", "!")
	denied := lockOf("lock:d", in(1e9), "#", "#", "#")
	for _, c := range []struct {
		name  string
		keys  []string
		snap  inspect.Snapshot
		code  int
		words []string
	}{
		{"found", []string{"lock:a"}, picture(3, []inspect.Lock{here}), exitOK, nil},
		{"gone", []string{"lock:b"}, picture(3, []inspect.Lock{gone}), exitNotThere, []string{"no such lock: lock:b"}},
		{"not even mentioned", []string{"lock:b"}, picture(3, nil), exitNotThere, []string{"no such lock: lock:b"}},
		{"one of two", []string{"lock:a", "lock:b"}, picture(3, []inspect.Lock{here, gone}), exitNotThere, []string{"no such lock: lock:b"}},
		{"a node is silent", []string{"lock:a"}, picture(3, []inspect.Lock{here}, 2), exitIncomplete, []string{"n3 (127.0.0.1:7003)"}},
		{"silent nodes decide", []string{"lock:b"}, picture(3, []inspect.Lock{open}, 1, 2), exitIncomplete, []string{"n2", "n3"}},
		{"no node", []string{"lock:a"}, picture(3, nil, 0, 1, 2), exitNoNode, []string{"no node answers"}},
		{"not permitted", []string{"lock:d"}, picture(3, []inspect.Lock{denied}), exitRefused, []string{"may not be read: lock:d: NOPERM"}},
		{"quotes lost", []string{`lock:a\nb`}, picture(3, nil), exitNotThere, []string{`"lock:a\\nb"`, "quotes around its quotes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := invocation{args: append([]string{"get"}, c.keys...), fake: &fakeInspector{snapshot: c.snap}}.run(t)
			wantCode(t, e, c.code)
			if c.code == exitOK {
				wantSilentStderr(t, e)
				return
			}
			wantSentence(t, e, c.words...)
			found := slices.Contains(c.keys, "lock:a") && c.code != exitNoNode
			if found != strings.Contains(e.out, "lock:a") {
				t.Errorf("stdout: %q", e.out)
			}
		})
	}
}

// Whatever get tells people to paste releases exactly what was shown.
func TestGetPrintsAReleaseThatMeansTheSameLock(t *testing.T) {
	s := everyKind()
	for _, l := range s.Locks {
		owner, ok := l.Holder()
		if !ok {
			continue
		}
		e := invocation{args: []string{"get", "--", l.ID.Key}, fake: &fakeInspector{snapshot: s}}.run(t)
		_, line, found := strings.Cut(e.out, "  release   ")
		line, _, _ = strings.Cut(line, "\n")
		if !found {
			t.Errorf("%q: no line to paste:\n%s", l.ID.Key, e.out)
			continue
		}
		args := shellSplit(t, line)
		fake := &fakeInspector{snapshot: s}
		r := invocation{args: append([]string{"--audit", "none"}, args[1:]...), fake: fake}
		wantCode(t, r.run(t), exitOK)
		if len(fake.executed) != 1 || fake.executed[0].ID.Key != l.ID.Key || fake.executed[0].Token != owner.Token {
			t.Errorf("%s\nreleases %+v", line, fake.executed)
		}
	}
}

// shellSplit reads a line as a POSIX shell does, as far as text.Shell writes it.
func shellSplit(t *testing.T, line string) []string {
	t.Helper()
	var words []string
	word, started, quotes := "", false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quotes && c == '\'':
			quotes = false
		case quotes:
			word += string([]byte{c})
		case c == '\'':
			quotes, started = true, true
		case c == '\\':
			i++
			word += string([]byte{line[i]})
		case c == ' ':
			if started {
				words = append(words, word)
			}
			word, started = "", false
		default:
			word, started = word+string([]byte{c}), true
		}
	}
	if quotes {
		t.Fatalf("open quotes: %s", line)
	}
	if started {
		words = append(words, word)
	}
	if got := text.Shell(words...); len(words) == 0 {
		t.Fatalf("no words in %q (%q)", line, got)
	}
	return words
}
