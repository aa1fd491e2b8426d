package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
)

// site is the command line on the nodes of a lab.
type site struct {
	t     *testing.T
	lab   *lab.Lab
	urls  []string
	state string
}

func newSite(t *testing.T, kind lab.Kind, nodes int, args ...string) *site {
	t.Helper()
	l := labtest.Start(t, lab.Config{Nodes: nodes, Kind: kind, Args: args})
	return &site{t: t, lab: l, urls: l.URLs(), state: t.TempDir()}
}

// run runs the program as main does, with the lab's nodes in the environment.
// The timeout leaves room for a busy machine: nothing here waits for it except
// where a node is paused.
func (s *site) run(args ...string) ending {
	s.t.Helper()
	var out, errs bytes.Buffer
	env := []string{"DLOCK_NODES=" + strings.Join(s.urls, " "), "XDG_STATE_HOME=" + s.state, "DLOCK_TIMEOUT=2s"}
	code := Main(s.t.Context(), args, env, strings.NewReader(""), &out, &errs)
	return ending{code: code, out: out.String(), err: errs.String()}
}

// do sends a command to the numbered nodes, counted from 1.
func (s *site) do(nodes []int, args ...any) {
	s.t.Helper()
	for _, n := range nodes {
		c := labtest.Client(s.t, s.lab.Nodes()[n-1])
		if err := c.Do(s.t.Context(), args...).Err(); err != nil {
			s.t.Fatalf("n%d: %v: %v", n, args[0], err)
		}
	}
}

func (s *site) stored(node int, key string) string {
	s.t.Helper()
	v, _ := labtest.Client(s.t, s.lab.Nodes()[node-1]).Get(s.t.Context(), key).Result()
	return v
}

// document is `ls -o json` or `get -o json`, checked against the schema.
func (s *site) document(args ...string) (doc struct {
	Complete bool
	Target   struct{ Nodes []struct{ State string } }
	Locks    []struct {
		Key    string
		KeyB64 *string `json:"key_b64"`
		State  string
		Flags  []string
		Holder *struct {
			Token    string
			TokenB64 *string `json:"token_b64"`
		}
		Votes struct{ Need, Agree, Of, Unreachable int }
		TTLMS *int64 `json:"ttl_ms"`
		Nodes []struct{ State string }
	}
}) {
	s.t.Helper()
	e := s.run(append(args, "-o", "json")...)
	wantDocument(s.t, e.out)
	if err := json.Unmarshal([]byte(e.out), &doc); err != nil {
		s.t.Error(err)
	}
	return doc
}

var all = []int{1, 2, 3, 4, 5}

func TestListOnNodes(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		s := newSite(t, kind, 5)
		for key, on := range map[string][]int{"lock:five": all, "lock:three": {1, 2, 3}, "lock:two": {4, 5}} {
			s.do(on, "SET", key, "token-of-"+key, "PX", 60_000)
		}
		s.do([]int{1, 2}, "SET", "lock:split", "token-a", "PX", 60_000)
		s.do([]int{3, 4}, "SET", "lock:split", "token-b", "PX", 60_000)
		s.do(all, "SET", "lock:forever", "token-f")
		s.do([]int{1, 2, 3, 4}, "SET", "lock:leftover", "token-new", "PX", 60_000)
		s.do([]int{5}, "SET", "lock:leftover", "token-old", "PX", 60_000)
		s.do(all, "SET", "other", "x")

		want := map[string]string{
			"lock:five": "held 5/5", "lock:three": "held 3/5 degraded", "lock:two": "partial 2/5", "lock:split": "split 2/5",
			"lock:forever": "held 5/5 no-expiry", "lock:leftover": "held 4/5 leftover",
		}
		doc := s.document("ls")
		if !doc.Complete || len(doc.Locks) != len(want) {
			t.Errorf("complete %v, %d locks", doc.Complete, len(doc.Locks))
		}
		for _, l := range doc.Locks {
			got := fmt.Sprintf("%s %d/%d", l.State, l.Votes.Agree, l.Votes.Of)
			for _, f := range l.Flags {
				got += " " + f
			}
			if got != want[l.Key] {
				t.Errorf("%s is %q, want %q", l.Key, got, want[l.Key])
			}
			if (l.TTLMS == nil) != (l.Key == "lock:forever") {
				t.Errorf("%s: ttl %v", l.Key, l.TTLMS)
			}
		}
		e := s.run("ls", "lock:f*", "-o", "keys")
		wantCode(t, e, exitOK)
		wantSilentStderr(t, e)
		if e.out != "lock:forever\nlock:five\n" {
			t.Errorf("keys: %q", e.out)
		}
		e = s.run("get", "lock:five", "lock:nowhere")
		wantCode(t, e, exitNotThere)
		wantSentence(t, e, "no such lock: lock:nowhere")

		// With two nodes down the quorum of five still answers for what it
		// has, and nobody can say that the two others have nothing.
		for _, n := range s.lab.Nodes()[3:] {
			if err := n.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		e = s.run("ls")
		wantCode(t, e, exitIncomplete)
		wantSentence(t, e, "incomplete", "n4", "n5", "refused")
		e = s.run("get", "lock:two")
		wantCode(t, e, exitIncomplete)
		for _, l := range s.document("ls").Locks {
			switch l.Key {
			case "lock:five", "lock:three", "lock:forever", "lock:leftover":
				if l.State != "held" || l.Votes.Unreachable != 2 {
					t.Errorf("%s: %s, %d unreachable", l.Key, l.State, l.Votes.Unreachable)
				}
			}
		}
		for _, n := range s.lab.Nodes()[:3] {
			if err := n.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		for _, args := range [][]string{{"ls"}, {"get", "lock:five"}, {"release", "lock:five", "--token", "token-of-lock:five"}} {
			e = s.run(args...)
			wantCode(t, e, exitNoNode)
			wantSentence(t, e, "n1", "n2", "n3", "n4", "n5")
			if e.out != "" {
				t.Errorf("stdout: %q", e.out)
			}
		}
	})
}

func TestReleaseOnNodes(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		s := newSite(t, kind, 5)
		s.do(all, "SET", "lock:a", "token-of-a", "PX", 60_000)
		s.do(all, "SET", "lock:forever", "token-f")
		s.do(all, "HSET", "lock:hash", "field", "1")
		s.do([]int{1, 2}, "SET", "lock:split", "token-a", "PX", 60_000)
		s.do([]int{3, 4}, "SET", "lock:split", "token-b", "PX", 60_000)

		e := s.run("release", "lock:a", "--token", "another")
		wantCode(t, e, exitNotThere)
		if !strings.Contains(e.out, "owner changed, not touched") || s.stored(1, "lock:a") != "token-of-a" {
			t.Errorf("%s; n1 has %q", e.out, s.stored(1, "lock:a"))
		}
		e = s.run("release", "lock:a", "--if-no-expiry")
		wantCode(t, e, exitNotThere)
		if s.stored(1, "lock:a") != "token-of-a" {
			t.Error("a lock with an expiry was released by --if-no-expiry")
		}
		e = s.run("release", "lock:hash", "--token", "1")
		wantCode(t, e, exitRefused)
		if !strings.Contains(e.out, "hash") {
			t.Errorf("no reason: %s", e.out)
		}
		e = s.run("release", "lock:a", "--token", "token-of-a", "--dry-run")
		wantCode(t, e, exitOK)
		if s.stored(1, "lock:a") != "token-of-a" || !strings.Contains(e.out, "lock:a token-of-a") {
			t.Errorf("dry run: %s", e.out)
		}
		e = s.run("--read-only", "release", "lock:a", "--token", "token-of-a")
		wantCode(t, e, exitRefused)
		if s.stored(1, "lock:a") != "token-of-a" {
			t.Error("released in spite of --read-only")
		}

		e = s.run("release", "lock:a", "--token", "token-of-a", "--reason", "test")
		wantCode(t, e, exitOK)
		wantSilentStderr(t, e)
		for n := range all {
			if v := s.stored(n+1, "lock:a"); v != "" {
				t.Errorf("n%d still has %q", n+1, v)
			}
		}
		e = s.run("release", "lock:a", "--token", "token-of-a")
		wantCode(t, e, exitNotThere)
		if !strings.Contains(e.out, "already gone") {
			t.Errorf("%s", e.out)
		}
		e = s.run("release", "lock:split", "--token", "token-b")
		wantCode(t, e, exitOK)
		if s.stored(1, "lock:split") != "token-a" || s.stored(3, "lock:split") != "" {
			t.Errorf("of a split lock the wrong side went: n1 %q n3 %q", s.stored(1, "lock:split"), s.stored(3, "lock:split"))
		}

		// A node that is down keeps its copy, and that is said.
		if err := s.lab.Nodes()[4].Kill(); err != nil {
			t.Fatal(err)
		}
		e = s.run("release", "lock:forever", "--if-no-expiry")
		wantCode(t, e, exitIncomplete)
		if !strings.Contains(e.out, "lock:forever: released") || !strings.Contains(e.out, "n5  not reached") {
			t.Errorf("%s", e.out)
		}
		if err := s.lab.Nodes()[4].Restart(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		if s.stored(5, "lock:forever") != "token-f" {
			t.Error("the node that was down lost its copy")
		}

		raw, err := os.ReadFile(filepath.Join(s.state, "dlock", "audit.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		var outcomes []string
		for line := range strings.Lines(string(raw)) {
			var rec auditForTest
			if err := json.Unmarshal([]byte(line), &rec); err != nil {
				t.Fatal(err)
			}
			if rec.Outcome != outcomeSending {
				outcomes = append(outcomes, rec.Outcome)
			}
		}
		want := []string{"owner changed, not touched", "not released", "refused", "released", "already gone", "released", "released"}
		if !slices.Equal(outcomes, want) {
			t.Errorf("the audit file says %q, want %q", outcomes, want)
		}
	})
}

type auditForTest struct{ Outcome string }

// A holder that creates its lock again must not go unnoticed.
func TestReleaseOfALockThatComesBack(t *testing.T) {
	s := newSite(t, lab.Embedded, 3)
	var clients []*redis.Client
	for _, n := range s.lab.Nodes() {
		clients = append(clients, labtest.Client(t, n))
	}
	stop, taken, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for first := true; ; first = false {
			for _, c := range clients {
				c.Set(t.Context(), "lock:a", "token-of-a", time.Minute)
			}
			if first {
				close(taken)
			}
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	defer func() { close(stop); <-done }()
	<-taken
	e := s.run("release", "lock:a", "--token", "token-of-a")
	wantCode(t, e, exitNotThere)
	if !strings.Contains(e.out, "came back") {
		t.Errorf("%s", e.out)
	}
}

// Whatever the keys and tokens are: what ls prints, get and release take.
func TestHostileNamesOnNodes(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		s := newSite(t, kind, 3)
		names := []string{
			"lock:plain", "lock:with space", "lock:a\nb", "lock:\x1b]0;owned\a", "lock:\xff\xfe", "lock:\u202eabc", `lock:"q"`, `lock:back\slash\x41`,
			"lock:'single'", "lock:注文:🔒", "lock:\x00nul", "lock:\u009b31m", "lock:*", "lock:[a", `"lock:quoted"`, "-n", "--help", "--", " lead", "lock:{tag}:x",
		}
		for _, n := range names {
			s.do([]int{1, 2, 3}, "SET", n, "token\x1b of\xff "+n, "PX", 60_000)
		}
		e := s.run("ls", "*", "-o", "keys")
		wantCode(t, e, exitOK)
		wantSilentStderr(t, e)
		checkPrintable(t, e.out)
		printed := strings.Split(strings.TrimSuffix(e.out, "\n"), "\n")
		if len(printed) != len(names) {
			t.Fatalf("%d keys printed, not %d:\n%s", len(printed), len(names), e.out)
		}
		raw := s.run("ls", "*", "-0")
		wantCode(t, raw, exitIncomplete)
		wantSentence(t, raw, "1 key with a NUL byte")
		got := strings.Split(strings.TrimSuffix(raw.out, "\x00"), "\x00")
		slices.Sort(got)
		want := slices.DeleteFunc(slices.Sorted(slices.Values(names)), func(n string) bool { return strings.Contains(n, "\x00") })
		if !slices.Equal(got, want) {
			t.Errorf("raw keys %q, want %q", got, want)
		}
		wantCode(t, s.run(append([]string{"get", "--"}, got...)...), exitOK)
		checkPrintable(t, s.run("ls", "*", "-o", "wide").out)
		checkPrintable(t, s.run(append([]string{"get"}, printed...)...).out)

		// At the same time, since each release looks back for a while.
		var releases sync.WaitGroup
		for _, arg := range printed {
			releases.Go(func() {
				doc := s.document("get", arg)
				if len(doc.Locks) != 1 || doc.Locks[0].Holder == nil || doc.Locks[0].Holder.TokenB64 == nil {
					t.Errorf("get %s: %+v", arg, doc.Locks)
					return
				}
				// The token is not UTF-8, so JSON carries its quoted
				// form, which --token takes.
				e := s.run("release", arg, "--token", doc.Locks[0].Holder.Token)
				wantCode(t, e, exitOK)
				checkPrintable(t, e.out)
			})
		}
		releases.Wait()
		if e := s.run("ls", "*", "-o", "keys"); e.out != "" {
			t.Errorf("left over: %s", e.out)
		}
	})
}

func TestSingleNode(t *testing.T) {
	s := newSite(t, lab.Embedded, 1)
	s.do([]int{1}, "SET", "lock:a", "token-of-a", "PX", 60_000)
	doc := s.document("ls")
	if len(doc.Locks) != 1 || doc.Locks[0].State != "held" || len(doc.Locks[0].Flags) != 0 {
		t.Errorf("%+v", doc.Locks)
	}
	e := s.run("release", "lock:a", "--token", "token-of-a")
	wantCode(t, e, exitOK)
}

// A user who may only scan and read remaining lives still gets a list, and is
// told what is missing.
func TestLeastPrivilege(t *testing.T) {
	labtest.NeedServer(t)
	s := newSite(t, lab.Process, 1)
	s.do([]int{1}, "SET", "lock:a", "token-of-a", "PX", 60_000)
	s.do([]int{1}, "ACL", "SETUSER", "viewer", "on", ">look only", "resetkeys", "~lock:*", "-@all", "+scan", "+pttl")
	run := func(args ...string) ending {
		var out, errs bytes.Buffer
		env := []string{"REDIS_URL=" + s.lab.URLs()[0], "DLOCK_PASSWORD=look only", "DLOCK_AUDIT=none", "DLOCK_TIMEOUT=2s"}
		code := Main(t.Context(), append([]string{"--user", "viewer"}, args...), env, strings.NewReader(""), &out, &errs)
		if strings.Contains(out.String()+errs.String(), "look only") {
			t.Error("the password was printed")
		}
		return ending{code: code, out: out.String(), err: errs.String()}
	}
	e := run("ls", "-o", "keys")
	if e.out != "lock:a\n" {
		t.Errorf("exit code %d, %q, %q", e.code, e.out, e.err)
	}
	e = run("release", "lock:a", "--token", "token-of-a")
	wantCode(t, e, exitRefused)
	if s.stored(1, "lock:a") != "token-of-a" {
		t.Error("released without permission")
	}
}

// What the server refuses is not released, and its word is passed on.
func TestReleaseRefusedByTheServer(t *testing.T) {
	labtest.NeedServer(t)
	s := newSite(t, lab.Process, 1)
	s.do([]int{1}, "SET", "lock:a", "token-of-a", "PX", 60_000)
	s.do([]int{1}, "CONFIG", "SET", "min-replicas-to-write", "1")
	e := s.run("release", "lock:a", "--token", "token-of-a")
	wantCode(t, e, exitRefused)
	if !strings.Contains(e.out, "NOREPLICAS") {
		t.Errorf("%s", e.out)
	}
}
