package cli

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dlock/inspect"
	"dlock/ui/tui"
)

func TestWrongUsage(t *testing.T) {
	for _, c := range []struct {
		args  []string
		words []string
	}{
		{[]string{"lss"}, []string{"no command lss", "did you mean ls?"}},
		{[]string{"rlease", "k", "--token", "T"}, []string{"did you mean release?"}},
		{[]string{"list"}, []string{"did you mean ls?"}},
		{[]string{"frobnicate"}, []string{"no command frobnicate", "--help"}},
		{[]string{"wach"}, []string{"did you mean watch?"}},
		{[]string{"events"}, []string{"did you mean watch?"}},
		{[]string{"watch", "--for", "10"}, []string{"--for 10 needs a unit"}},
		{[]string{"watch", "--event", "taken,eaten"}, []string{"--event takes taken,", "node-down"}},
		{[]string{"watch", "-o", "json"}, []string{"-o must be text or jsonl"}},
		{[]string{"doctor", "--acl", "all"}, []string{"--acl must be look, release, lock or sentinel"}},
		{[]string{"doctor", "--acl", "look", "--probe"}, []string{"leave out the rest"}},
		{[]string{"doctor", "-o", "wide"}, []string{"-o must be text or json"}},
		{[]string{"ls", "--fail-on", "stuck,no-ttl"}, []string{"--fail-on takes no-expiry, stuck, split"}},
		{[]string{"ls", "--fail-on", ""}, []string{"--fail-on takes"}},
		{[]string{"release", "--owner", ""}, []string{"--owner is empty"}},
		{[]string{"release", "--owner", "a"}, []string{"all of an owner, needs --yes"}},
		{[]string{"release", "k", "--owner", "a"}, []string{"needs --yes", "--dry-run"}},
		{[]string{"release", "k", "l", "--if-no-expiry"}, []string{"needs --yes", "--dry-run"}},
		{[]string{"help", "frobnicate"}, []string{"no help"}},
		{[]string{"completion"}, []string{"bash"}},
		{[]string{"completion", "tcsh"}, []string{"bash"}},
		{[]string{"ls", "--nodes"}, []string{"--node?"}},
		{[]string{"ls", "--frobnicate"}, []string{"--frobnicate"}},
		{[]string{"ls", "-x"}, []string{"short option"}},
		{[]string{"get", "-n"}, []string{"after --"}},
		{[]string{"ls", "--="}, []string{"--name"}},
		{[]string{"ls", "--timeout"}, []string{"--timeout needs a value"}},
		{[]string{"--timeout", "500", "ls"}, []string{"--timeout 500 needs a unit, for example 500ms"}},
		{[]string{"ls", "--timeout=1.5"}, []string{"--timeout 1.5 needs a unit"}},
		{[]string{"ls", "--timeout", "soon"}, []string{"--timeout needs a duration with a unit"}},
		{[]string{"ls", "--timeout", "0"}, []string{"--timeout must be at least 1ms"}},
		{[]string{"ls", "--timeout", "-5s"}, []string{"--timeout must be at least 1ms"}},
		{[]string{"top", "--interval", "10ms"}, []string{"--interval must be at least 100ms"}},
		{[]string{"ls", "--db", "x"}, []string{"--db needs a whole number"}},
		{[]string{"ls", "--db", "-1"}, []string{"--db needs a whole number"}},
		{[]string{"ls", "--color", "red"}, []string{"--color must be auto, always or never"}},
		{[]string{"ls", "--theme", "red"}, []string{"--theme must be default, dark, light, mono or high-contrast"}},
		{[]string{"ls", "--read-only=maybe"}, []string{"--read-only must be true or false"}},
		{[]string{"ls", "-o", "yaml"}, []string{"-o must be table, wide, json, jsonl or keys"}},
		{[]string{"-o", "wide", "get", "k"}, []string{"-o must be text, json or jsonl"}},
		{[]string{"-o", "json"}, []string{"-o is for"}},
		{[]string{"get"}, []string{"needs a key"}},
		{[]string{"release"}, []string{"needs a key"}},
		{[]string{"get", ""}, []string{"empty"}},
		{[]string{"get", `"a\q"`}, []string{"key 1", "escape"}},
		{[]string{"top", "x"}, []string{"takes no arguments"}},
		{[]string{"version", "x"}, []string{"takes no arguments"}},
		{[]string{"--", "ls"}, []string{"takes no arguments"}},
		{[]string{"release", "k"}, []string{"--token T"}},
		{[]string{"release", "k", "--yes"}, []string{"--yes alone"}},
		{[]string{"release", "k", "--token", ""}, []string{"--token is empty"}},
		{[]string{"release", "k", "--if-held-for", "10"}, []string{"--if-held-for 10 needs a unit"}},
		{[]string{"release", "k", "l", "--token", "T"}, []string{"several keys, or all of an owner, needs --yes"}},
		{[]string{"demo", "--node", "redis://h"}, []string{"nodes of its own"}},
		{[]string{"demo", "--duration", "1s"}, []string{"--headless"}},
		{[]string{"demo", "--nodes", "0"}, []string{"--nodes needs a whole number from 1 to"}},
		{[]string{"demo", "--kind", "x"}, []string{"--kind must be auto, embedded or redis-server"}},
		{[]string{"demo", "--seed", "-1"}, []string{"--seed needs a whole number"}},
		{[]string{"demo", "--tour"}, []string{"--headless"}},
		{[]string{"demo", "--scenario", "x"}, []string{"--scenario", "flash-sale"}},
		{[]string{"demo", "--mode", "x"}, []string{"--mode", "redlock+fence"}},
		{[]string{"demo", "--mode", "none,single"}, []string{"--headless"}},
		{[]string{"demo", "--scenario", "philosophers", "--mode", "optimistic"}, []string{"philosophers has no mode optimistic"}},
		{[]string{"demo", "--faults", "/no/such/file"}, []string{"--faults", "no such file"}},
		{[]string{"demo", "--faults", "1s explode n1"}, []string{"--faults", "line 1"}},
		{[]string{"demo", "--headless", "-o", "keys"}, []string{"-o must be text or json"}},
		{nil, []string{"stdout is not a terminal", "dlock ls"}},
		{[]string{"top"}, []string{"stdout is not a terminal", "dlock ls"}},
		{[]string{"demo"}, []string{"stdout is not a terminal", "--headless"}},
		{[]string{"ls", "--node", "redis://h:99999"}, []string{"--node: node 1", "port"}},
		{[]string{"ls", "--node", "redis://h:1", "--node", "redis://h:1/0"}, []string{"--node: node 2", "same server"}},
		{[]string{"ls", "--debug", "/no/such/dir/x"}, []string{"--debug"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			e := invocation{args: c.args}.run(t)
			wantCode(t, e, exitUsage)
			wantSentence(t, e, c.words...)
			if e.out != "" {
				t.Errorf("stdout: %q", e.out)
			}
		})
	}
}

func TestWrongEnvironment(t *testing.T) {
	for _, c := range []struct {
		env   string
		words []string
	}{
		{"DLOCK_TIMEOUT=500", []string{"DLOCK_TIMEOUT 500 needs a unit"}},
		{"DLOCK_DB=x", []string{"DLOCK_DB needs a whole number"}},
		{"DLOCK_READ_ONLY=maybe", []string{"DLOCK_READ_ONLY must be true or false"}},
		{"DLOCK_COLOR=red", []string{"DLOCK_COLOR must be"}},
		{"DLOCK_NODES=redis://a:1 nonsense", []string{"DLOCK_NODES: node 2"}},
		{"REDIS_URL=http://a", []string{"REDIS_URL: node 1"}},
		{"DLOCK_PASSWORD_FILE=/no/such/file", []string{"DLOCK_PASSWORD_FILE"}},
		{"DLOCK_PASSWORD_FILE=" + os.DevNull, []string{"DLOCK_PASSWORD_FILE", "empty"}},
	} {
		t.Run(c.env, func(t *testing.T) {
			e := invocation{args: []string{"ls"}, env: []string{c.env}}.run(t)
			wantCode(t, e, exitUsage)
			wantSentence(t, e, c.words...)
			// A broken environment must not take the help away.
			for _, args := range [][]string{{"version"}, {"help"}, {"ls", "--help"}, {"completion", "bash"}} {
				e := invocation{args: args, env: []string{c.env}}.run(t)
				wantCode(t, e, exitOK)
				wantSilentStderr(t, e)
			}
		})
	}
}

func TestHelpGoesToStdoutAndNamesEveryCommand(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"-h"}, {"help"}} {
		e := invocation{args: args}.run(t)
		wantCode(t, e, exitOK)
		wantSilentStderr(t, e)
		for _, word := range []string{"  top ", "  ls ", "  get ", "  release ", "  run ", "  acquire ", "  extend ", "  unlock ", "  demo ", "  version ", "Examples:", "Exit codes", "--node", "  watch ", "  doctor ", "  config "} {
			if !strings.Contains(e.out, word) {
				t.Errorf("%q: the help lacks %q", args, word)
			}
		}
	}
	for _, command := range []string{"top", "ls", "get", "watch", "release", "run", "acquire", "extend", "unlock", "doctor", "demo", "config"} {
		e := invocation{args: []string{command, "--help"}}.run(t)
		wantCode(t, e, exitOK)
		if _, examples, _ := strings.Cut(e.out, "Examples:\n"); !strings.Contains(examples[:max(0, strings.Index(examples, "\n"))], "dlock "+command) {
			t.Errorf("%s: no example:\n%s", command, e.out)
		}
		for line := range strings.Lines(e.out) {
			if len([]rune(line)) > 100 {
				t.Errorf("%s: a line of %d characters: %s", command, len(line), line)
			}
		}
	}
}

// Every example of the help is a command line that is understood.
func TestExamplesParse(t *testing.T) {
	stop := func(context.Context, tui.Config, tui.Source) error { return nil }
	for name, examples := range map[string]string{
		"root": rootExamples, "top": topExamples, "ls": lsExamples, "get": getExamples, "release": releaseExamples,
		"watch": watchExamples, "doctor": doctorExamples, "config": configExamples,
	} {
		for line := range strings.Lines(examples) {
			t.Run(name+"/"+strings.TrimSpace(line), func(t *testing.T) {
				line, _, _ := strings.Cut(strings.TrimSpace(line), " | ")
				line, _, _ = strings.Cut(line, " > ")
				words := shellSplit(t, line)
				var env []string
				for words[0] != "dlock" {
					env, words = append(env, words[0]), words[1:]
				}
				if slices.Equal(words, []string{"dlock", "demo"}) {
					t.Skip("starts nodes; see the tests of the demo command")
				}
				if slices.Contains(words, "--probe") || slices.Contains(words, "--profile") {
					t.Skip("takes a lock, or needs a file; see the tests of doctor and config")
				}
				e := invocation{
					args: append(words[1:], "--audit=none")[:len(words)-1], env: append(env, "DLOCK_AUDIT=none"), tui: stop,
					fake: &fakeInspector{
						snapshot: picture(1, nil),
						watch:    func(context.Context, func(inspect.Snapshot)) error { return nil },
					}, inTTY: true, outTTY: true,
				}.run(t)
				if e.code == exitUsage || e.code == exitFailure {
					t.Errorf("exit code %d: %s", e.code, e.err)
				}
			})
		}
	}
}

func TestPrecedence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("from file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		env  []string
		want func(settings) bool
	}{
		{"default node", nil, nil, func(s settings) bool { return slices.Equal(s.nodes, []string{defaultURL}) }},
		{"REDIS_URL", nil, []string{"REDIS_URL=redis://a"}, func(s settings) bool { return slices.Equal(s.nodes, []string{"redis://a"}) }},
		{"DLOCK_NODES over REDIS_URL", nil, []string{"REDIS_URL=redis://a", "DLOCK_NODES= redis://b  redis://c "}, func(s settings) bool { return slices.Equal(s.nodes, []string{"redis://b", "redis://c"}) }},
		{"blank DLOCK_NODES", nil, []string{"REDIS_URL=redis://a", "DLOCK_NODES=  "}, func(s settings) bool { return slices.Equal(s.nodes, []string{"redis://a"}) }},
		{"--node over all", []string{"--node", "redis://d"}, []string{"REDIS_URL=redis://a", "DLOCK_NODES=redis://b"}, func(s settings) bool { return slices.Equal(s.nodes, []string{"redis://d"}) }},
		{"timeout default", nil, nil, func(s settings) bool { return s.timeout == 300*time.Millisecond }},
		{"timeout variable", nil, []string{"DLOCK_TIMEOUT=1s"}, func(s settings) bool { return s.timeout == time.Second }},
		{"timeout flag", []string{"--timeout", "2s"}, []string{"DLOCK_TIMEOUT=1s"}, func(s settings) bool { return s.timeout == 2*time.Second }},
		{"a wrong variable does not matter under a flag", []string{"--timeout", "2s"}, []string{"DLOCK_TIMEOUT=1"}, func(s settings) bool { return s.timeout == 2*time.Second }},
		{"empty variable", nil, []string{"DLOCK_TIMEOUT="}, func(s settings) bool { return s.timeout == 300*time.Millisecond }},
		{"read-only variable", nil, []string{"DLOCK_READ_ONLY=1"}, func(s settings) bool { return s.readOnly && s.readOnlyBy == "DLOCK_READ_ONLY" }},
		{"read-only flag off", []string{"--read-only=false"}, []string{"DLOCK_READ_ONLY=1"}, func(s settings) bool { return !s.readOnly }},
		{"password", nil, []string{"DLOCK_PASSWORD=a", "DLOCK_PASSWORD_FILE=" + file, "REDISCLI_AUTH=b"}, func(s settings) bool { return s.password == "a" }},
		{"password file", nil, []string{"DLOCK_PASSWORD_FILE=" + file, "REDISCLI_AUTH=b"}, func(s settings) bool { return s.password == "from file" }},
		{"redis-cli's password", nil, []string{"REDISCLI_AUTH=b"}, func(s settings) bool { return s.password == "b" }},
		{"the rest", []string{"--db", "3", "--user", "u", "--stuck-after", "1m", "--audit", "none", "--ascii"}, []string{"DLOCK_PASSWORD=p"}, func(s settings) bool {
			return s.db == 3 && s.user == "u" && s.stuckAfter == time.Minute && s.audit == "none" && s.ascii
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, args := range [][]string{append(slices.Clone(c.args), "ls"), append([]string{"ls"}, c.args...)} {
				e := invocation{args: args, env: c.env, fake: &fakeInspector{snapshot: picture(1, nil)}}.run(t)
				wantCode(t, e, exitOK)
				wantSilentStderr(t, e)
				if !c.want(e.settings) {
					t.Errorf("%q: %+v", args, e.settings)
				}
			}
		})
	}
}

func TestInterruptIsQuiet(t *testing.T) {
	for _, command := range [][]string{{"ls"}, {"get", "k"}, {"release", "k", "--token", "t", "--audit", "none"}} {
		ctx, cancel := context.WithCancel(t.Context())
		fake := &fakeInspector{onLook: cancel, err: context.Canceled}
		e := invocation{args: command, fake: fake, ctx: ctx}.run(t)
		wantCode(t, e, exitInterrupted)
		wantSilentStderr(t, e)
	}
}

// An interrupt does not wait for a node that hangs, however long its timeout.
func TestInterruptWhileANodeHangs(t *testing.T) {
	for _, command := range [][]string{{"ls"}, {"get", "k"}} {
		ctx, cancel := context.WithCancel(t.Context())
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c, err := l.Accept()
			if err != nil {
				return
			}
			// It was asked something, and never answers.
			c.Read(make([]byte, 1))
			cancel()
			io.Copy(io.Discard, c)
			c.Close()
		}()
		var out, errs bytes.Buffer
		p := newProgram(nil, strings.NewReader(""), &out, &errs)
		code := p.main(ctx, append(command, "--node", "redis://"+l.Addr().String(), "--timeout", "1h"))
		if code != exitInterrupted || errs.Len() > 0 {
			t.Errorf("%v: code %d, %q", command, code, errs.String())
		}
		l.Close()
		<-ended
		cancel()
	}
}

func TestTopStartsTheLiveView(t *testing.T) {
	for _, c := range []struct {
		name         string
		args, env    []string
		readOnly     bool
		readOnlyText string
		audited      bool
	}{
		{"plain", nil, nil, false, "", true},
		{"by name", []string{"top"}, nil, false, "", true},
		{"read-only", []string{"--read-only"}, nil, true, "--read-only", false},
		{"read-only variable", []string{"top"}, []string{"DLOCK_READ_ONLY=true"}, true, "DLOCK_READ_ONLY", false},
		{"no record wanted", []string{"--audit", "none"}, nil, false, "", true},
		{"no record possible", []string{"--audit", "/no/such/dir/x"}, nil, true, "the audit file cannot be written", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			started := 0
			state := t.TempDir()
			fake := &fakeInspector{snapshot: picture(1, nil)}
			e := invocation{
				args: c.args, env: append([]string{"XDG_STATE_HOME=" + state, "DLOCK_NODES=redis://u:secret@h1:1 redis://h2:2"}, c.env...),
				fake: fake, inTTY: true, outTTY: true, width: 80,
				tui: func(_ context.Context, conf tui.Config, s tui.Source) error {
					started++
					if conf.Title != "h1:1 +1" || conf.Operator != "alice@bastion" || conf.Lab != nil {
						t.Errorf("config: %+v", conf)
					}
					if !strings.HasPrefix(conf.ReadOnly, c.readOnlyText) || (conf.ReadOnly == "") != (c.readOnlyText == "") {
						t.Errorf("read-only because of %q", conf.ReadOnly)
					}
					if (conf.Audit != nil) != c.audited {
						t.Errorf("audit: %v", conf.Audit != nil)
					}
					if conf.Audit != nil {
						return conf.Audit(inspect.Result{Plan: inspect.Plan{ID: inspect.ID{Key: "lock:a"}, Token: "t"}, Outcome: inspect.OutReleased, At: fixedNow})
					}
					return nil
				},
			}.run(t)
			wantCode(t, e, exitOK)
			wantSilentStderr(t, e)
			if started != 1 || e.readOnly[0] != c.readOnly {
				t.Errorf("started %d times, nodes read-only: %v", started, e.readOnly)
			}
			record, err := os.ReadFile(filepath.Join(state, "dlock", "audit.jsonl"))
			if wants := c.audited && c.name != "no record wanted"; wants != (err == nil && strings.Contains(string(record), `"command":"top","key":"lock:a"`)) {
				t.Errorf("audit file: %v %s", err, record)
			}
		})
	}
}

func TestTopNeedsATerminalOnBothSides(t *testing.T) {
	e := invocation{args: nil, outTTY: true}.run(t)
	wantCode(t, e, exitUsage)
	wantSentence(t, e, "stdin is not a terminal")
}

// The shell asks for completions with a command that is in no help text.
func TestTheShellGetsCompletions(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"__complete", "rel"}, "release"},
		{[]string{"__complete", "ls", "--rea"}, "--read-only"},
		{[]string{"__completeNoDesc", "ge"}, "get"},
		{[]string{"__complete", "run", "job", "--max"}, "--max-hold"},
		{[]string{"__complete", "unlock", ""}, ":4"}, // no files
	} {
		e := invocation{args: c.args}.run(t)
		if e.code != exitOK || !strings.Contains(e.out, c.want) {
			t.Errorf("%q: code %d, %q", c.args, e.code, e.out)
		}
	}
}

func TestVersionFlag(t *testing.T) {
	for _, flag := range []string{"--version", "-v"} {
		if e := (invocation{args: []string{flag}}).run(t); e.code != exitOK || !strings.HasPrefix(e.out, "dlock ") || e.err != "" {
			t.Errorf("%s: code %d, %q %q", flag, e.code, e.out, e.err)
		}
	}
}

// What get prints as the way to release must go to the same database as the
// same user, and is not offered for a value that tells nobody from anybody.
func TestReleaseHintIsComplete(t *testing.T) {
	some := lockOf("lock:a", in(8*time.Second), tokenA, tokenA, tokenA)
	e := invocation{args: []string{"get", "lock:a", "--db", "3", "--user", "ops"}, env: []string{"DLOCK_PASSWORD=p"}, fake: &fakeInspector{snapshot: picture(3, []inspect.Lock{some})}}.run(t)
	if !strings.Contains(e.out, "--db 3") || !strings.Contains(e.out, "--user ops") {
		t.Errorf("got %s", e.out)
	}
	empty := some
	empty.Owners = []inspect.Owner{{Votes: []string{"n1", "n2", "n3"}}}
	e = invocation{args: []string{"get", "lock:a"}, fake: &fakeInspector{snapshot: picture(3, []inspect.Lock{empty})}}.run(t)
	if strings.Contains(e.out, "dlock release") {
		t.Errorf("a release is offered that would be refused: %s", e.out)
	}
}
