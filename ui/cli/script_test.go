package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
	"dlock/lockcore"
)

// TestMain makes the test binary the program itself when it is started under
// the program's name, as scripts do.
func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){
		"dlock": func() {
			os.Exit(Main(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
		},
	})
}

// leakChecked fails tests that leave goroutines behind.
type leakChecked struct{ *testing.M }

func (m leakChecked) Run() int {
	code := m.M.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// TestScripts runs the program as people and cron do, on redis-server
// processes. Beside testscript's own commands the scripts have
//
//	nodes N                start N nodes and name them in the environment
//	node kill I            kill node I, counted from 1
//	redis I COMMAND…       send a command to node I; its answer is stdout
//	exits CODE COMMAND…    as exec, for exactly this exit code
//	await held|free NAME   until all nodes that are up have the lock, or none
//	await queued NAME      until somebody waits for the lock
//	await file PATH        until the file exists and has something in it
//	await line FILE REGEXP until a line of the file matches
//	await gone PIDFILE     until the process has ended
//	fill N PREFIX VALUE    set N keys, PREFIX1 and so on, on all nodes
//	permit FILE            send the lines ACL SETUSER … to all nodes
//	signal NAME PIDFILE    send a signal to a process
func TestScripts(t *testing.T) {
	labtest.NeedServer(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Values[siteKey{}] = &scriptSite{t: env.T().(testing.TB)}
			// Room for a busy machine; nothing waits for it but where a
			// node hangs.
			env.Setenv("DLOCK_TIMEOUT", "2s")
			env.Setenv("XDG_STATE_HOME", env.WorkDir)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"nodes":  scriptNodes,
			"node":   scriptNode,
			"redis":  scriptRedis,
			"exits":  scriptExits,
			"await":  scriptAwait,
			"signal": scriptSignal,
			"fill":   scriptFill,
			"permit": scriptPermit,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

type siteKey struct{}

type scriptSite struct {
	t       testing.TB
	lab     *lab.Lab
	clients []*redis.Client
}

func siteOf(ts *testscript.TestScript) *scriptSite { return ts.Value(siteKey{}).(*scriptSite) }

func scriptNodes(ts *testscript.TestScript, _ bool, args []string) {
	s := siteOf(ts)
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	s.lab = labtest.Start(s.t, lab.Config{Nodes: n, Kind: lab.Process})
	for _, n := range s.lab.Nodes() {
		s.clients = append(s.clients, labtest.Client(s.t, n))
	}
	ts.Setenv("DLOCK_NODES", strings.Join(s.lab.URLs(), " "))
}

func (s *scriptSite) index(ts *testscript.TestScript, arg string) int {
	i, err := strconv.Atoi(arg)
	if err != nil || i < 1 || i > len(s.clients) {
		ts.Fatalf("there is no node %s", arg)
	}
	return i - 1
}

func scriptNode(ts *testscript.TestScript, _ bool, args []string) {
	s := siteOf(ts)
	if args[0] != "kill" {
		ts.Fatalf("node: what is %s?", args[0])
	}
	ts.Check(s.lab.Nodes()[s.index(ts, args[1])].Kill())
}

func scriptRedis(ts *testscript.TestScript, _ bool, args []string) {
	s := siteOf(ts)
	var words []any
	for _, a := range args[1:] {
		words = append(words, a)
	}
	reply, err := s.clients[s.index(ts, args[0])].Do(context.Background(), words...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		ts.Fatalf("redis: %v", err)
	}
	fmt.Fprintln(ts.Stdout(), reply)
}

func scriptExits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func scriptAwait(ts *testscript.TestScript, _ bool, args []string) {
	s := siteOf(ts)
	var key string
	if args[0] == "held" || args[0] == "free" || args[0] == "queued" {
		key = lockcore.Key(lockcore.DefaultPrefix, args[1])
	}
	everywhere := func(want int64) bool {
		for i, n := range s.lab.Nodes() {
			if n.State() == lab.Up && s.clients[i].Exists(context.Background(), key).Val() != want {
				return false
			}
		}
		return true
	}
	var ok func() bool
	switch args[0] {
	case "held":
		ok = func() bool { return everywhere(1) }
	case "free":
		ok = func() bool { return everywhere(0) }
	case "queued":
		queue := lockcore.CompanionKey(lockcore.DefaultPrefix, lockcore.QueueCompanion, key)
		ok = func() bool { return s.clients[0].ZCard(context.Background(), queue).Val() > 0 }
	case "file":
		ok = func() bool { info, err := os.Stat(ts.MkAbs(args[1])); return err == nil && info.Size() > 0 }
	case "line":
		file, want := ts.MkAbs(args[1]), regexp.MustCompile("(?m)"+strings.Join(args[2:], " "))
		ok = func() bool { text, err := os.ReadFile(file); return err == nil && want.Match(text) }
	case "gone":
		pid := scriptPID(ts, args[1])
		ok = func() bool { return processGone(pid) }
	default:
		ts.Fatalf("await: what is %s?", args[0])
	}
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			ts.Fatalf("never happened: await %s", strings.Join(args, " "))
		case <-tick.C:
		}
	}
}

func scriptFill(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	for _, c := range siteOf(ts).clients {
		for i := range n {
			ts.Check(c.Set(context.Background(), args[1]+strconv.Itoa(i+1), args[2], 0).Err())
		}
	}
}

func scriptPermit(ts *testscript.TestScript, _ bool, args []string) {
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var words []any
		for _, w := range strings.Fields(line) {
			words = append(words, w)
		}
		for _, c := range siteOf(ts).clients {
			ts.Check(c.Do(context.Background(), words...).Err())
		}
	}
}

func scriptPID(ts *testscript.TestScript, file string) int {
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(file)))
	ts.Check(err)
	return pid
}

func scriptSignal(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(sendSignal(scriptPID(ts, args[1]), args[0]))
}
