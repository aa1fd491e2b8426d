package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"dlock/inspect"
)

func TestPlanOne(t *testing.T) {
	held := lockOf("lock:a", in(8*time.Second), tokenA, tokenA, tokenA)
	forever := lockOf("lock:a", never, "t", "t", "t")
	split := lockOf("lock:a", in(8*time.Second), tokenA, tokenB, "")
	gone := lockOf("lock:a", inspect.Expiry{}, "", "", "")
	open := lockOf("lock:a", inspect.Expiry{}, "", "!", "!")
	denied := lockOf("lock:a", inspect.Expiry{}, "#", "#", "#")
	quotedToken := lockOf("lock:a", in(8*time.Second), `"t"`, `"t"`, "t")
	old := held
	old.HeldSince, old.HeldIsMinimum = fixedNow.Add(-11*time.Minute), true
	idle := forever
	idle.Idle = inspect.Known(11 * time.Minute)
	// What is known of the time concerns the majority's token, not the one
	// that a minority has just stored.
	leftover := lockOf("lock:a", in(8*time.Second), tokenA, tokenA, tokenB)
	leftover.HeldSince, leftover.Idle = fixedNow.Add(-11*time.Minute), inspect.Known(11*time.Minute)
	untold := held
	untold.Expiry, untold.Owners = inspect.Expiry{}, []inspect.Owner{{Token: tokenA}}

	token := func(s string) releaseOptions { return releaseOptions{token: s, hasToken: true} }
	for _, c := range []struct {
		name    string
		lock    inspect.Lock
		options releaseOptions
		token   string // that is sent; "" for nothing
		outcome string
		detail  string
		code    int
	}{
		{"the token", held, token(tokenA), tokenA, "", "", 0},
		{"the token in quotes", held, token(`"` + tokenA + `"`), tokenA, "", "", 0},
		{"another token", held, token("other"), "", string(inspect.OutChanged), "now web-3:4711", exitNotThere},
		{"a token like another's quoted form", quotedToken, token(`"t"`), `"t"`, "", "", 0},
		{"of a split", split, token(tokenB), tokenB, "", "", 0},
		{"which of a split", split, releaseOptions{}, "", notReleased, "split between 2 tokens", exitNotThere},
		{"which of a split, by condition", split, releaseOptions{ifHeldFor: 1}, "", notReleased, "split", exitNotThere},
		{"gone", gone, token(tokenA), "", string(inspect.OutAlreadyGone), "", exitNotThere},
		{"gone, no token", gone, releaseOptions{ifNoExpiry: true}, "", string(inspect.OutAlreadyGone), "", exitNotThere},
		{"silent", open, token(tokenA), "", string(inspect.OutNotReached), "", exitIncomplete},
		{"denied", denied, token(tokenA), "", string(inspect.OutRefused), "NOPERM", exitRefused},
		{"whoever, when asked", held, releaseOptions{}, tokenA, "", "", 0},

		{"no expiry", forever, releaseOptions{ifNoExpiry: true}, "t", "", "", 0},
		{"has an expiry", held, releaseOptions{ifNoExpiry: true}, "", notReleased, "has an expiry, in 8.0s", exitNotThere},
		{"expiry not known", untold, releaseOptions{ifNoExpiry: true}, "", notReleased, "not known", exitNotThere},
		{"held long enough", old, releaseOptions{ifHeldFor: 10 * time.Minute}, tokenA, "", "", 0},
		{"not held long enough", old, releaseOptions{ifHeldFor: 12 * time.Minute}, "", notReleased, "11m00s only, not of 12m00s", exitNotThere},
		{"idle long enough", idle, releaseOptions{ifHeldFor: 10 * time.Minute}, "t", "", "", 0},
		{"the other token was held long enough", leftover, releaseOptions{token: tokenB, hasToken: true, ifHeldFor: 10 * time.Minute}, "", notReleased, "another token", exitNotThere},
		{"no evidence", held, releaseOptions{ifHeldFor: time.Second}, "", notReleased, "no evidence", exitNotThere},
		{"all must hold", idle, releaseOptions{token: "t", hasToken: true, ifNoExpiry: true, ifHeldFor: 10 * time.Minute}, "t", "", "", 0},
		{"one does not hold", old, releaseOptions{token: tokenA, hasToken: true, ifNoExpiry: true}, "", notReleased, "has an expiry", exitNotThere},
	} {
		t.Run(c.name, func(t *testing.T) {
			it := planOne(c.lock, fixedNow, c.options)
			if it.outcome != c.outcome || it.code != c.code || !strings.Contains(it.detail, c.detail) {
				t.Errorf("%q %q %d", it.outcome, it.detail, it.code)
			}
			if it.sent() && (it.plan.Token != c.token || it.plan.ID != c.lock.ID) {
				t.Errorf("plan %+v", it.plan)
			}
		})
	}
}

// outcomes makes a result with one outcome per node.
func outcomes(sum inspect.Outcome, freed bool, nodes ...inspect.Outcome) func(inspect.Plan) inspect.Result {
	return func(inspect.Plan) inspect.Result {
		r := inspect.Result{Outcome: sum, Freed: freed, Took: 12 * time.Millisecond}
		for i, o := range nodes {
			n := inspect.NodeOutcome{Node: "n" + string(rune('1'+i)), Outcome: o}
			switch o {
			case inspect.OutNotReached:
				n.Detail, n.Expiry = "connection refused", in(12*time.Second)
			case inspect.OutRefused:
				n.Detail, n.Expiry = "NOPERM this user has no permissions", never
			}
			r.Nodes = append(r.Nodes, n)
		}
		return r
	}
}

func TestReleaseResults(t *testing.T) {
	const (
		rel, gone, chg  = inspect.OutReleased, inspect.OutAlreadyGone, inspect.OutChanged
		back, ref, nope = inspect.OutCameBack, inspect.OutRefused, inspect.OutNotReached
	)
	for _, c := range []struct {
		name  string
		do    func(inspect.Plan) inspect.Result
		code  int
		words []string
	}{
		{"everywhere", outcomes(rel, true, rel, rel, rel), exitOK, []string{"lock:a: released, it can be taken now", "n1  released"}},
		{"one had nothing", outcomes(rel, true, rel, rel, gone), exitOK, []string{"n3  already gone"}},
		{"one down", outcomes(rel, true, rel, rel, nope), exitIncomplete, []string{"n3  not reached: connection refused; expires in ≤ 12.0s"}},
		{"one refuses", outcomes(rel, true, rel, rel, ref), exitIncomplete, []string{"n3  refused: NOPERM", "no expiry"}},
		{"still blocked", outcomes(rel, false, rel, chg, chg), exitOK, []string{"other copies still keep it"}},
		{"gone", outcomes(gone, true, gone, gone, gone), exitNotThere, []string{"lock:a: already gone"}},
		{"changed", outcomes(chg, false, chg, chg, chg), exitNotThere, []string{"owner changed, not touched"}},
		{"back", outcomes(back, false, back, back, back), exitNotThere, []string{"came back (its holder re-created it)"}},
		{"refused", outcomes(ref, false, ref, ref, ref), exitRefused, []string{"lock:a: refused"}},
		{"none reached", outcomes(nope, false, nope, nope, nope), exitNoNode, []string{"not reached"}},
		{"too few reached", outcomes(nope, false, gone, nope, nope), exitIncomplete, []string{"not reached"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := &fakeInspector{snapshot: picture(3, []inspect.Lock{lockOf("lock:a", in(1e9), "t", "t", "t")}), execute: c.do}
			e := invocation{args: []string{"release", "lock:a", "--token", "t", "--audit", "none"}, fake: fake}.run(t)
			wantCode(t, e, c.code)
			wantSilentStderr(t, e)
			for _, w := range c.words {
				if !strings.Contains(e.out, w) {
					t.Errorf("stdout lacks %q:\n%s", w, e.out)
				}
			}
			if len(fake.executed) != 1 || fake.dry[0] || e.readOnly[0] {
				t.Errorf("executed %d, dry %v, read-only %v", len(fake.executed), fake.dry, e.readOnly)
			}
		})
	}
}

func TestReadOnlyReleasesNothing(t *testing.T) {
	for _, c := range []struct {
		args, env []string
		word      string
	}{
		{[]string{"--read-only"}, nil, "--read-only"},
		{nil, []string{"DLOCK_READ_ONLY=1"}, "DLOCK_READ_ONLY"},
	} {
		state := t.TempDir()
		fake := &fakeInspector{}
		e := invocation{
			args: append(c.args, "release", "lock:a", "--token", "t"), env: append(c.env, "XDG_STATE_HOME="+state), fake: fake,
		}.run(t)
		wantCode(t, e, exitRefused)
		wantSentence(t, e, "refused by "+c.word, "nothing was sent")
		if len(e.readOnly) != 0 || len(fake.executed) != 0 {
			t.Error("it went to the nodes")
		}
	}
}

func TestDryRunSendsNothing(t *testing.T) {
	state := t.TempDir()
	for _, args := range [][]string{{"--token", "t"}, {}, {"--token", "t", "--read-only"}} {
		fake := &fakeInspector{snapshot: picture(3, []inspect.Lock{lockOf("lock:a", in(1e9), "t", "t", "t")})}
		e := invocation{args: append([]string{"release", "lock:a", "--dry-run"}, args...), env: []string{"XDG_STATE_HOME=" + state}, fake: fake}.run(t)
		wantCode(t, e, exitOK)
		wantSilentStderr(t, e)
		if !strings.Contains(e.out, "lock:a: dry run, nothing was sent") || !e.readOnly[0] {
			t.Errorf("read-only %v: %s", e.readOnly, e.out)
		}
		if len(fake.dry) != 1 || !fake.dry[0] {
			t.Errorf("dry runs: %v", fake.dry)
		}
	}
	if left, _ := os.ReadDir(state); len(left) != 0 {
		t.Error("a dry run was recorded")
	}
}

func TestReleasePrompt(t *testing.T) {
	held := lockOf("lock:orders:42", in(8*time.Second), tokenA, tokenA, tokenA)
	held.Findings = []inspect.Finding{{ID: "stuck", Severity: inspect.Medium, Text: "held for 11m", Advice: "find its holder"}}
	s := picture(3, []inspect.Lock{held})
	for _, c := range []struct {
		answer   string
		released bool
	}{
		{"42\n", true}, {"  42 \r\n", true}, {"42", true},
		{"y\n", false}, {"yes\n", false}, {"\n", false}, {"43\n", false}, {"", false},
	} {
		fake := &fakeInspector{snapshot: s}
		e := invocation{
			args: []string{"release", "lock:orders:42", "--audit", "none", "--color", "never"}, stdin: c.answer, fake: fake,
			inTTY: true, errTTY: true, width: 100,
		}.run(t)
		if got := len(fake.executed) == 1; got != c.released {
			t.Errorf("%q: released %v", c.answer, got)
		}
		if c.released {
			wantCode(t, e, exitOK)
		} else {
			wantCode(t, e, exitNotThere)
			if !strings.HasSuffix(e.err, "\n") || !strings.Contains(e.err, "nothing was released") || e.out != "" {
				t.Errorf("%q: %q", c.answer, e.err)
			}
		}
		if c.answer == "42\n" {
			golden.RequireEqual(t, []byte(e.err))
		}
	}
}

// Whatever has to be typed can be typed.
func TestArmingWord(t *testing.T) {
	for _, c := range []struct{ key, token, want string }{
		{"lock:orders:42", "t", "42"},
		{"lock", "t", "lock"},
		{"lock:", "t", "lock:"},
		{"lock:注文", "t", "注文"},
		{"lock:a\nb", "5d02c1f0", "5d02"},
		{"lock: x", "5d02c1f0", "5d02"},
		{"lock:\xff", "\x00\x01", "release"},
		{"lock:" + strings.Repeat("x", 65), "ab", "ab"},
	} {
		if got := armingWord(item{lock: inspect.Lock{ID: inspect.ID{Key: c.key}}, token: c.token}); got != c.want {
			t.Errorf("%q: %q, want %q", c.key, got, c.want)
		}
	}
}

// hangingTerminal cancels as soon as somebody reads from it, and never answers.
type hangingTerminal struct {
	cancel func()
	closed chan struct{}
}

func (h hangingTerminal) Read([]byte) (int, error) {
	h.cancel()
	<-h.closed
	return 0, os.ErrClosed
}

func TestPromptEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	closed := make(chan struct{})
	defer close(closed)
	var out, errs bytes.Buffer
	p := newProgram([]string{"DLOCK_AUDIT=none"}, hangingTerminal{cancel, closed}, &out, &errs)
	p.terminal = func(any) (int, bool) { return 80, true }
	fake := &fakeInspector{snapshot: picture(1, []inspect.Lock{lockOf("lock:a", in(1e9), "t")})}
	p.connect = func(*settings, bool) (*connection, error) {
		return &connection{inspector: fake, close: func() {}}, nil
	}
	if code := p.main(ctx, []string{"release", "lock:a"}); code != exitInterrupted {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	if len(fake.executed) != 0 {
		t.Error("released without an answer")
	}
}

func TestSeveralKeys(t *testing.T) {
	locks := []inspect.Lock{
		lockOf("lock:a", never, "t", "t", "t"),
		lockOf("lock:b", in(5*time.Second), "u", "u", "u"),
		lockOf("lock:c", never, "v", "v", "v"),
	}
	args := []string{"release", "lock:a", "lock:b", "lock:missing", "lock:c", "--if-no-expiry", "--audit", "none", "--color", "never"}
	for _, c := range []struct {
		name     string
		more     []string
		tty      bool
		stdin    string
		released int
		code     int
	}{
		{"asked", nil, true, "2\n", 2, exitNotThere},
		{"declined", nil, true, "3\n", 0, exitNotThere},
		{"not asked", []string{"--yes"}, false, "", 2, exitNotThere},
		{"dry", []string{"--dry-run"}, false, "", 2, exitNotThere},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := &fakeInspector{snapshot: picture(3, locks)}
			e := invocation{args: append(args, c.more...), stdin: c.stdin, inTTY: c.tty, errTTY: c.tty, fake: fake}.run(t)
			wantCode(t, e, c.code)
			if len(fake.executed) != c.released {
				t.Errorf("executed %d", len(fake.executed))
			}
			// What was matched is listed before anything is done.
			for _, w := range []string{"lock:a", "lock:b", "no: not released: it has an expiry, in 5.0s", "lock:missing", "no: already gone"} {
				if !strings.Contains(e.err, w) {
					t.Errorf("the list lacks %q:\n%s", w, e.err)
				}
			}
		})
	}
}

func TestAuditFile(t *testing.T) {
	state := t.TempDir()
	secretToken := "5d02c1f0-8a55-4c8e-9f0e-0b7c6f1be8aa"
	locks := []inspect.Lock{lockOf("lock:\xff", never, secretToken, secretToken, secretToken)}
	release := func(token string, do func(inspect.Plan) inspect.Result) {
		t.Helper()
		invocation{
			args: []string{"release", `"lock:\xff"`, "--token", token, "--reason", "INC-1\u202e\n"}, env: []string{"XDG_STATE_HOME=" + state},
			fake: &fakeInspector{snapshot: picture(3, locks), execute: do},
		}.run(t)
	}
	release(secretToken, outcomes(inspect.OutReleased, true, inspect.OutReleased, inspect.OutReleased, inspect.OutNotReached))
	release("somebody-else", nil)

	file := filepath.Join(state, "dlock", "audit.jsonl")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	checkPrintable(t, string(raw))
	if strings.Contains(string(raw), secretToken) || strings.Contains(string(raw), "somebody-else") {
		t.Errorf("the token stands in the audit file: %s", raw)
	}
	if runtime.GOOS != "windows" {
		for name, want := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700 | os.ModeDir} {
			if info, err := os.Stat(name); err != nil || info.Mode() != want {
				t.Errorf("%s: %v %v, want %v", name, info.Mode(), err, want)
			}
		}
	}
	lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines: %s", len(lines), raw)
	}
	var before, first, second map[string]any
	for i, to := range []*map[string]any{&before, &first, &second} {
		if err := json.Unmarshal([]byte(lines[i]), to); err != nil {
			t.Fatal(err)
		}
	}
	if before["outcome"] != "sending" || before["attempt"] == nil || before["attempt"] != first["attempt"] || before["token_sha256"] != first["token_sha256"] || len(before["nodes"].([]any)) != 3 {
		t.Errorf("the line before: %v", before)
	}
	for field, want := range map[string]any{
		"schema": 1.0, "at": "2026-03-04T05:06:07.089Z", "operator": "alice@bastion", "sudo_user": nil, "dlock": version(),
		"command": "release", "key": `"lock:\xff"`, "key_b64": "bG9jazr/", "library": "unknown", "owner": nil,
		"token_sha256": tokenHash(secretToken), "reason": "INC-1\u202e\n", "outcome": "released", "detail": nil, "freed": true, "took_ms": 12.0,
	} {
		if first[field] != want {
			t.Errorf("%s is %v, want %v", field, first[field], want)
		}
	}
	nodes := first["nodes"].([]any)
	if len(nodes) != 3 || nodes[2].(map[string]any)["detail"] != "connection refused" || nodes[2].(map[string]any)["expires_in_ms"] != 12000.0 {
		t.Errorf("nodes: %v", nodes)
	}
	if second["attempt"] != nil || second["outcome"] != string(inspect.OutChanged) || second["freed"] != nil || second["token_sha256"] != tokenHash("somebody-else") {
		t.Errorf("an attempt that was not sent: %v", second)
	}
}

func TestNoAuditNoRelease(t *testing.T) {
	for _, c := range []struct{ args, env []string }{
		{[]string{"--audit", filepath.Join(t.TempDir(), "no", "dir")}, nil},
		{nil, nil}, // no HOME
	} {
		fake := &fakeInspector{snapshot: picture(1, []inspect.Lock{lockOf("lock:a", in(1e9), "t")})}
		e := invocation{args: append(c.args, "release", "lock:a", "--token", "t"), env: c.env, fake: fake}.run(t)
		wantCode(t, e, exitFailure)
		wantSentence(t, e, "nothing was released", "--audit none")
		if len(fake.executed) != 0 {
			t.Error("released without a record")
		}
	}
}

// A reader that goes away must not stop a release half-way.
func TestReleaseGoesOnWithoutAReader(t *testing.T) {
	locks := []inspect.Lock{lockOf("lock:a", never, "t"), lockOf("lock:b", never, "t")}
	fake := &fakeInspector{snapshot: picture(1, locks)}
	e := invocation{
		args: []string{"release", "lock:a", "lock:b", "--token", "t", "--yes", "--audit", "none"}, fake: fake,
		stdout: &brokenWriter{syscall.EPIPE},
	}.run(t)
	if len(fake.executed) != 2 || e.code != exitOK {
		t.Errorf("released %d, exit code %d", len(fake.executed), e.code)
	}
}

func TestInterruptBetweenReleases(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var locks []inspect.Lock
	args := []string{"release", "--token", "t", "--yes", "--audit", "none"}
	for i := range 4 * atOnce {
		locks = append(locks, lockOf(fmt.Sprintf("lock:%d", i), never, "t"))
		args = append(args, locks[i].ID.Key)
	}
	fake := &fakeInspector{snapshot: picture(1, locks)}
	fake.execute = func(inspect.Plan) inspect.Result {
		cancel()
		return inspect.Result{Outcome: inspect.OutReleased, Freed: true}
	}
	e := invocation{args: args, fake: fake, ctx: ctx}.run(t)
	wantCode(t, e, exitInterrupted)
	// What was begun is finished and said, and nothing more is begun.
	n := len(fake.executed)
	if n < 1 || n > atOnce {
		t.Errorf("executed %d", n)
	}
	for _, words := range []string{fmt.Sprintf(" %d released", n), fmt.Sprintf(" %d not released", len(locks)-n), ": not released: interrupted before anything was sent"} {
		if !strings.Contains(e.out, words) {
			t.Errorf("not %q: %s", words, e.out)
		}
	}
}
