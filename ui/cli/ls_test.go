package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/exp/golden"

	"dlock/inspect"
	"dlock/ui/text"
)

var fiveNodes = []string{
	"--node", "redis://127.0.0.1:7001", "--node", "redis://127.0.0.1:7002", "--node", "redis://127.0.0.1:7003",
	"--node", "redis://127.0.0.1:7004", "--node", "redis://127.0.0.1:7005",
}

func TestListScreens(t *testing.T) {
	for _, c := range []struct {
		name  string
		width int
		args  []string
		env   []string
	}{
		{"pipe", 0, nil, nil},
		{"pipe-always", 0, []string{"--color", "always"}, nil},
		{"120", 120, nil, []string{"TERM=xterm"}},
		{"80", 80, nil, []string{"NO_COLOR=1"}},
		{"40", 40, nil, []string{"TERM=dumb"}},
		{"80-ascii", 80, []string{"--ascii", "--color=never"}, nil},
		{"wide", 80, []string{"-o", "wide", "--color=never"}, nil},
		{"wide-ascii", 80, []string{"-o", "wide", "--color=never"}, []string{"LC_ALL=C"}},
		{"json", 0, []string{"-o", "json"}, nil},
		{"jsonl", 0, []string{"-ojsonl"}, nil},
		{"keys", 0, []string{"-o", "keys"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := invocation{
				args: append([]string{"ls"}, c.args...), env: c.env,
				fake: &fakeInspector{snapshot: everyKind()}, outTTY: c.width > 0, width: c.width,
			}.run(t)
			wantCode(t, e, exitIncomplete)
			wantSentence(t, e, "incomplete: n5 (127.0.0.1:7005) connection refused")
			if len(e.readOnly) != 1 || !e.readOnly[0] {
				t.Error("ls did not open its nodes read-only")
			}
			golden.RequireEqual(t, []byte(e.out))
			checkPrintable(t, e.out)
			if c.width > 0 && !strings.Contains(c.name, "wide") {
				for line := range strings.Lines(e.out) {
					if w := text.Width(text.Safe(stripColour(strings.TrimSuffix(line, "\n")))); w > c.width {
						t.Errorf("%d cells on a terminal of %d: %q", w, c.width, line)
					}
				}
			}
		})
	}
}

// checkPrintable fails on anything a terminal would act upon, colours aside.
func checkPrintable(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Error("the output is not UTF-8")
	}
	for _, r := range stripColour(s) {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Errorf("the output has %U", r)
		}
	}
}

func stripColour(s string) string {
	for _, st := range []style{bold, faint, warning, alarm, notice} {
		s = strings.ReplaceAll(s, "\x1b["+string(st)+"m", "")
	}
	return strings.ReplaceAll(s, "\x1b[0m", "")
}

func TestListColourOnlyOnATerminal(t *testing.T) {
	for _, c := range []struct {
		name string
		tty  bool
		env  []string
		args []string
		want bool
	}{
		{"pipe", false, nil, nil, false},
		{"terminal", true, nil, nil, true},
		{"NO_COLOR", true, []string{"NO_COLOR=1"}, nil, false},
		{"empty NO_COLOR", true, []string{"NO_COLOR="}, nil, true},
		{"CLICOLOR", true, []string{"CLICOLOR=0"}, nil, false},
		{"dumb", true, []string{"TERM=dumb"}, nil, false},
		{"never", true, nil, []string{"--color=never"}, false},
		{"always", false, []string{"NO_COLOR=1"}, []string{"--color=always"}, true},
		{"variable", true, []string{"DLOCK_COLOR=never"}, nil, false},
		{"flag over variable", false, []string{"DLOCK_COLOR=never"}, []string{"--color=always"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := invocation{
				args: append(c.args, "ls"), env: c.env, outTTY: c.tty, width: 80,
				fake: &fakeInspector{snapshot: everyKind()},
			}.run(t)
			if got := strings.Contains(e.out, "\x1b["); got != c.want {
				t.Errorf("colour is %v, want %v", got, c.want)
			}
		})
	}
}

func TestListExitCodes(t *testing.T) {
	one := []inspect.Lock{lockOf("lock:a", in(1e9), "t", "t", "t")}
	denied := picture(3, nil)
	for i := range denied.Target.Nodes {
		denied.Target.Nodes[i].State, denied.Target.Nodes[i].Error = inspect.NodeDenied, "NOAUTH Authentication required."
	}
	denied.Complete = false
	cut := picture(3, one)
	cut.Complete, cut.Scan.Cut = false, true
	hole := picture(3, one)
	hole.Complete = false
	replica := picture(3, one)
	replica.Target.Nodes[1].State = inspect.NodeReplica
	for _, c := range []struct {
		name  string
		fake  *fakeInspector
		code  int
		words []string
	}{
		{"all well", &fakeInspector{snapshot: picture(3, one)}, exitOK, nil},
		{"a replica answers", &fakeInspector{snapshot: replica}, exitOK, nil},
		{"one down", &fakeInspector{snapshot: picture(3, one, 1)}, exitIncomplete, []string{"n2 (127.0.0.1:7002) connection refused"}},
		{"none", &fakeInspector{snapshot: picture(3, nil, 0, 1, 2), err: fmt.Errorf("look: %w", inspect.ErrNoNode)}, exitNoNode, []string{"no node answers", "n1 (", "n2 (", "n3 ("}},
		{"all deny", &fakeInspector{snapshot: denied}, exitRefused, []string{"NOAUTH"}},
		{"all deny, as an error", &fakeInspector{snapshot: denied, err: inspect.ErrNoNode}, exitRefused, []string{"NOAUTH"}},
		{"cut", &fakeInspector{snapshot: cut}, exitIncomplete, []string{"1234 keys", "narrower"}},
		{"a key could not be read", &fakeInspector{snapshot: hole}, exitIncomplete, []string{"could not be read"}},
		{"unexpected", &fakeInspector{err: errors.New("strange\nthing")}, exitFailure, []string{`strange\nthing`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := invocation{args: []string{"ls"}, fake: c.fake}.run(t)
			wantCode(t, e, c.code)
			if c.code == exitOK {
				wantSilentStderr(t, e)
				return
			}
			wantSentence(t, e, c.words...)
			if printed := strings.Contains(e.out, "lock:a"); printed != (c.code == exitIncomplete) {
				t.Errorf("what is known was printed: %v\n%s", printed, e.out)
			}
		})
	}
}

func TestListOfNothing(t *testing.T) {
	empty := picture(5, nil)
	e := invocation{args: []string{"ls"}, fake: &fakeInspector{snapshot: empty}, outTTY: true, width: 80}.run(t)
	wantCode(t, e, exitOK)
	wantSentence(t, e, "lock:*", "5 nodes", "dlock ls '*'")
	if e.out != "" {
		t.Errorf("stdout: %q", e.out)
	}
	for _, format := range []string{"table", "wide", "json", "jsonl", "keys"} {
		e = invocation{args: []string{"ls", "-o", format}, fake: &fakeInspector{snapshot: empty}}.run(t)
		wantCode(t, e, exitOK)
		wantSilentStderr(t, e)
		if format == "json" && !strings.Contains(e.out, `"locks": []`) {
			t.Errorf("no document: %s", e.out)
		}
	}
}

// Whatever the format, nothing is called empty that is not.
func TestListOfSomethingIsNotEmpty(t *testing.T) {
	for _, format := range []string{"table", "wide", "json", "jsonl", "keys"} {
		s := picture(1, []inspect.Lock{lockOf("lock:a", in(1e9), "t")})
		e := invocation{args: []string{"ls", "-o", format}, fake: &fakeInspector{snapshot: s}, outTTY: true, width: 80}.run(t)
		wantCode(t, e, exitOK)
		wantSilentStderr(t, e)
	}
}

// Only a person who looks at a table is told of what is wrong with the nodes.
func TestListSaysWhatIsWrongWithTheNodes(t *testing.T) {
	s := picture(3, []inspect.Lock{lockOf("lock:a", in(1e9), "t", "t", "t")})
	s.Findings = []inspect.NodeFinding{{Finding: inspect.Finding{ID: "same-server", Severity: inspect.High, Text: "n1 and n2 are one server."}}}
	e := invocation{args: []string{"ls"}, fake: &fakeInspector{snapshot: s}, outTTY: true, width: 80}.run(t)
	wantCode(t, e, exitOK)
	wantSentence(t, e, "n1 and n2 are one server (dlock doctor tells more)")
	for _, format := range []string{"table", "wide", "json", "jsonl", "keys"} {
		e := invocation{args: []string{"ls", "-o", format}, fake: &fakeInspector{snapshot: s}}.run(t)
		wantCode(t, e, exitOK)
		wantSilentStderr(t, e)
		if shown := strings.Contains(e.out, "same-server"); shown != (format == "wide" || format == "json") {
			t.Errorf("-o %s shows it: %v", format, shown)
		}
	}
}

func TestListGlobs(t *testing.T) {
	for _, c := range []struct {
		args, env, want []string
	}{
		{[]string{"ls"}, nil, nil},
		{[]string{"ls", "a*", "b*", "a*"}, nil, []string{"a*", "b*"}},
		{[]string{"ls", "--match", "m*", "--match", "n*"}, []string{"DLOCK_MATCH=x* y*"}, []string{"m*", "n*"}},
		{[]string{"--match", "m*", "ls", "a*"}, nil, []string{"a*"}},
		{[]string{"ls"}, []string{"DLOCK_MATCH=x*  y*"}, []string{"x*", "y*"}},
		{[]string{"ls", `"a\n*"`}, nil, []string{"a\n*"}},
		{[]string{"ls", "--all"}, nil, nil},
		{[]string{"ls", "--", "-n", `"q"`, "--help"}, nil, []string{"-n", `"q"`, "--help"}},
	} {
		e := invocation{args: c.args, env: c.env, fake: &fakeInspector{snapshot: picture(1, nil)}}.run(t)
		wantCode(t, e, exitOK)
		if fmt.Sprint(e.settings.match) != fmt.Sprint(c.want) {
			t.Errorf("%q: match %q, want %q", c.args, e.settings.match, c.want)
		}
		if all := slices.Contains(c.args, "--all"); e.settings.config().All != all {
			t.Errorf("%q: all is %v", c.args, !all)
		}
	}
}

func TestListRawKeys(t *testing.T) {
	s := everyKind()
	for _, args := range [][]string{{"ls", "-0"}, {"ls", "-o", "keys", "-0"}, {"-o", "keys", "ls", "--null"}} {
		e := invocation{args: args, fake: &fakeInspector{snapshot: s}}.run(t)
		var want strings.Builder
		for _, l := range s.Locks {
			want.WriteString(l.ID.Key + "\x00")
		}
		if e.out != want.String() {
			t.Errorf("%q: %q", args, e.out)
		}
	}
	e := invocation{args: []string{"ls", "-0", "-o", "json"}, fake: &fakeInspector{}}.run(t)
	wantCode(t, e, exitUsage)
}

type brokenWriter struct{ err error }

func (b brokenWriter) Write([]byte) (int, error) { return 0, b.err }

func TestClosedPipeIsQuiet(t *testing.T) {
	for _, command := range [][]string{{"ls"}, {"ls", "-o", "json"}, {"ls", "-o", "keys"}, {"get", "lock:orders:42"}, {"version"}} {
		fake := &fakeInspector{snapshot: everyKind()}
		if command[0] == "version" {
			fake = nil
		}
		e := invocation{args: command, fake: fake, stdout: &brokenWriter{fmt.Errorf("write: %w", syscall.EPIPE)}}.run(t)
		wantCode(t, e, exitBrokenPipe)
		wantSilentStderr(t, e)
	}
	e := invocation{args: []string{"ls"}, fake: &fakeInspector{snapshot: everyKind()}, stdout: &brokenWriter{syscall.ENOSPC}}.run(t)
	wantCode(t, e, exitFailure)
	wantSentence(t, e, "no space left")
}

func TestJSONLinesAreTheDocumentsLocks(t *testing.T) {
	doc := invocation{args: []string{"ls", "-o", "json"}, fake: &fakeInspector{snapshot: everyKind()}}.run(t)
	lines := invocation{args: []string{"ls", "-o", "jsonl"}, fake: &fakeInspector{snapshot: everyKind()}}.run(t)
	var parsed struct{ Locks []json.RawMessage }
	if err := json.Unmarshal([]byte(doc.out), &parsed); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(lines.out, "\n"), "\n")
	if len(got) != len(parsed.Locks) {
		t.Fatalf("%d lines for %d locks", len(got), len(parsed.Locks))
	}
	for i := range got {
		var compact bytes.Buffer
		if err := json.Compact(&compact, parsed.Locks[i]); err != nil {
			t.Fatal(err)
		}
		if compact.String() != got[i] {
			t.Errorf("line %d differs:\n%s\n%s", i+1, got[i], compact.String())
		}
	}
}
