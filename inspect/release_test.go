package inspect

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dlock/demo/lab"
	"dlock/lockcore/node"
)

func TestSum(t *testing.T) {
	outcomes := []Outcome{OutReleased, OutAlreadyGone, OutChanged, OutCameBack, OutRefused, OutNotReached}
	for _, n := range []int{1, 3, 5} {
		quorum := n/2 + 1
		nodes := make([]NodeOutcome, n)
		var fill func(int)
		check := func() {
			got := sum(nodes, quorum)
			left := countOf(nodes, OutCameBack) + countOf(nodes, OutRefused) + countOf(nodes, OutNotReached)
			if released := countOf(nodes, OutReleased) > 0 && left < quorum; released != (got == OutReleased) {
				t.Fatalf("%v: %s", nodes, got)
			}
			if countOf(nodes, got) == 0 {
				t.Fatalf("%v: %s, which happened on no node", nodes, got)
			}
			if countOf(nodes, got) == n {
				return
			}
			if left >= quorum && (got == OutAlreadyGone || got == OutChanged) {
				t.Fatalf("%v: %s, though it may still be held", nodes, got)
			}
		}
		fill = func(at int) {
			if at == n {
				check()
				return
			}
			for _, o := range outcomes {
				nodes[at].Outcome = o
				fill(at + 1)
			}
		}
		fill(0)
	}
}

// Nodes that never had the token say nothing about what became of its release.
func TestReleaseOfOneSideOfASplit(t *testing.T) {
	f, i := hand(t, lab.Embedded, 5)
	f.set("lock:a", "token-aaaa", time.Minute, 1, 2)
	f.set("lock:a", "token-bbbb", time.Minute, 3, 4)
	p := f.plan("lock:a", "token-bbbb")
	for _, name := range []string{"n3", "n4"} {
		kill(t, f.lab, name)
	}
	r := i.Execute(t.Context(), p, false)
	want := []Outcome{OutChanged, OutChanged, OutNotReached, OutNotReached, OutAlreadyGone}
	if r.Outcome != OutNotReached || !slices.Equal(outcomes(r), want) || r.Freed {
		t.Errorf("%s %v", r.Outcome, outcomes(r))
	}
	if d := r.Nodes[0].Detail; d != "stores another token" {
		t.Errorf("n1: %q", d)
	}
}

func TestConcerned(t *testing.T) {
	other, none, send, silent := Step{Why: whyOther}, Step{Why: whyFree}, Step{Send: true}, Step{Why: "connection refused"}
	for _, tt := range []struct {
		name     string
		steps    []Step
		outcomes []Outcome
		want     Outcome
	}{
		{"both sides gone", []Step{other, send, send}, []Outcome{OutChanged, OutAlreadyGone, OutAlreadyGone}, OutAlreadyGone},
		{"one side unreached", []Step{other, other, send}, []Outcome{OutChanged, OutChanged, OutNotReached}, OutNotReached},
		{"a free node and one that refuses", []Step{none, send, none}, []Outcome{OutAlreadyGone, OutRefused, OutAlreadyGone}, OutRefused},
		{"it changed where it was", []Step{none, send, send}, []Outcome{OutAlreadyGone, OutChanged, OutChanged}, OutChanged},
		{"nothing to be done", []Step{other, other, none}, []Outcome{OutChanged, OutChanged, OutAlreadyGone}, OutChanged},
		{"came back where it was not", []Step{none, none, send}, []Outcome{OutCameBack, OutCameBack, OutReleased}, OutCameBack},
		{"was silent and has nothing", []Step{silent, other, other}, []Outcome{OutAlreadyGone, OutChanged, OutChanged}, OutAlreadyGone},
	} {
		nodes := make([]NodeOutcome, len(tt.outcomes))
		for n, o := range tt.outcomes {
			nodes[n].Outcome = o
		}
		if got := sum(concerned(tt.steps, nodes), 2); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestPlanRelease(t *testing.T) {
	now := time.Now()
	in := func(s int) Expiry { return Expiry{At: now.Add(time.Duration(s) * time.Second)} }
	held := func(node string, e Expiry) Copy {
		return Copy{Node: node, Answer: AnswerHeld, Token: "token-a", HasToken: true, Type: "string", Expiry: e}
	}
	l := Lock{
		ID: ID{Key: "lock:a b"}, State: Held, Library: "unknown", Type: "string", Renewals: 3,
		Owners: []Owner{{Token: "token-a", Votes: []string{"n1", "n2"}, Expiry: in(9)}, {Token: "token-b", Votes: []string{"n3"}}},
		Copies: []Copy{
			held("n1", in(8)), held("n2", in(9)),
			{Node: "n3", Answer: AnswerOther, Token: "token-b", HasToken: true},
			{Node: "n4", Answer: AnswerFree},
			{Node: "n5", Answer: AnswerUnreachable, Error: "connection refused"},
			{Node: "n6", Answer: AnswerUnreachable, Error: "no answer in time", Token: "token-a", HasToken: true, Expiry: in(5)},
			{Node: "n7", Answer: AnswerDenied, Error: "NOPERM"},
		},
	}
	p, err := PlanRelease(l, "token-a")
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		send   bool
		expiry Expiry
	}{{true, in(8)}, {true, in(9)}, {false, Expiry{}}, {false, Expiry{}}, {false, in(9)}, {false, in(5)}, {true, Expiry{}}}
	for i, w := range want {
		s := p.Steps[i]
		if s.Send != w.send || s.Expiry != w.expiry || s.Send == (s.Why != "") {
			t.Errorf("%s: %+v", l.Copies[i].Node, s)
		}
		if !strings.HasPrefix(s.Command, `EVAL "`) || !strings.HasSuffix(s.Command, ` 1 "lock:a b" token-a`) {
			t.Errorf("command %s", s.Command)
		}
	}
	if p.Token != "token-a" || p.ID != l.ID || len(p.Warnings) < 4 {
		t.Errorf("%+v", p)
	}

	_, err = PlanRelease(l, "token-c")
	var changed ErrOwnerChanged
	if !errors.As(err, &changed) || len(changed.Seen) != 2 || strings.Contains(err.Error(), "token-") {
		t.Errorf("%v", err)
	}
	l.State = Expired
	if _, err := PlanRelease(l, "token-a"); !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
}

// hand is a field with an inspector that may write.
func hand(t *testing.T, kind lab.Kind, n int) (*field, *Inspector) {
	t.Helper()
	f := newField(t, kind, n, Config{})
	return f, New(open(t, f.lab.URLs(), node.Options{Timeout: 2 * time.Second, DialTimeout: 2 * time.Second}), Config{})
}

func (f *field) plan(key, token string) Plan {
	f.t.Helper()
	snap, err := f.Get(f.t.Context(), key)
	if err != nil {
		f.t.Fatal(err)
	}
	p, err := PlanRelease(snap.Locks[0], token)
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

func outcomes(r Result) []Outcome {
	var out []Outcome
	for _, n := range r.Nodes {
		out = append(out, n.Outcome)
	}
	return out
}

// Whichever owner is chosen, exactly the nodes that store its token are sent
// the delete.
func TestPlanReleaseGoesToTheNodesOfTheChosenOwner(t *testing.T) {
	tokens := []string{"token-a", "token-a", "token-b", "token-b", ""}
	l := Lock{ID: ID{Key: "lock:x"}, State: Split, Library: "unknown", Type: "string", Owners: []Owner{
		{Token: "token-a", Votes: []string{"n1", "n2"}}, {Token: "token-b", Votes: []string{"n3", "n4"}},
	}}
	for i, token := range tokens {
		c := Copy{Node: []string{"n1", "n2", "n3", "n4", "n5"}[i], Answer: AnswerFree}
		if token != "" {
			c.Answer, c.Token, c.HasToken, c.Type = AnswerHeld, token, true, "string"
			if token != "token-a" {
				c.Answer = AnswerOther
			}
		}
		l.Copies = append(l.Copies, c)
	}
	for _, o := range l.Owners {
		p, err := PlanRelease(l, o.Token)
		if err != nil {
			t.Fatal(err)
		}
		var sent []string
		for _, s := range p.Steps {
			if s.Send {
				sent = append(sent, s.Node)
			}
		}
		if !slices.Equal(sent, o.Votes) {
			t.Errorf("releasing %s goes to %v, which is stored on %v", o.Token, sent, o.Votes)
		}
	}
}

func TestExecute(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind lab.Kind) {
		f, i := hand(t, kind, 3)
		ctx := t.Context()
		value := func(n int, key string) string {
			v, err := f.clients[n-1].Get(ctx, key).Result()
			if err != nil && !errors.Is(err, redis.Nil) {
				t.Fatal(err)
			}
			return v
		}

		t.Run("the right token", func(t *testing.T) {
			f.set("lock:a", "token", time.Minute, 1, 2, 3)
			r := i.Execute(ctx, f.plan("lock:a", "token"), false)
			if r.Outcome != OutReleased || !r.Freed || r.DryRun || r.Took <= 0 || !slices.Equal(outcomes(r), slices.Repeat([]Outcome{OutReleased}, 3)) {
				t.Errorf("%+v", r)
			}
			for n := 1; n <= 3; n++ {
				if v := value(n, "lock:a"); v != "" {
					t.Errorf("n%d still has %q", n, v)
				}
			}
		})
		t.Run("dry run", func(t *testing.T) {
			f.set("lock:a", "token", time.Minute, 1, 2, 3)
			r := i.Execute(ctx, f.plan("lock:a", "token"), true)
			if r.Outcome != OutNotSent || !r.DryRun || r.Freed || value(1, "lock:a") != "token" {
				t.Errorf("%+v", r)
			}
		})
		t.Run("a new owner meanwhile", func(t *testing.T) {
			p := f.plan("lock:a", "token")
			f.set("lock:a", "successor", time.Minute, 1, 2, 3)
			r := i.Execute(ctx, p, false)
			if r.Outcome != OutChanged || r.Freed || !slices.Equal(outcomes(r), slices.Repeat([]Outcome{OutChanged}, 3)) {
				t.Errorf("%+v", r)
			}
			for n := 1; n <= 3; n++ {
				if value(n, "lock:a") != "successor" {
					t.Errorf("the successor's lock on n%d was touched", n)
				}
			}
		})
		t.Run("gone meanwhile", func(t *testing.T) {
			p := f.plan("lock:a", "successor")
			f.del("lock:a", 1, 2, 3)
			r := i.Execute(ctx, p, false)
			if r.Outcome != OutAlreadyGone || !r.Freed {
				t.Errorf("%+v", r)
			}
		})
		t.Run("another type meanwhile", func(t *testing.T) {
			f.set("lock:h", "token", time.Minute, 1, 2, 3)
			p := f.plan("lock:h", "token")
			for n := range f.clients {
				f.del("lock:h", n+1)
				f.clients[n].HSet(ctx, "lock:h", "f", "v")
			}
			r := i.Execute(ctx, p, false)
			if r.Outcome != OutChanged || r.Freed || f.clients[0].HGet(ctx, "lock:h", "f").Val() != "v" {
				t.Errorf("%+v", r)
			}
		})
		t.Run("one side of a split", func(t *testing.T) {
			f.set("lock:s", "one", time.Minute, 1)
			f.set("lock:s", "two", time.Minute, 2)
			r := i.Execute(ctx, f.plan("lock:s", "one"), false)
			if r.Outcome != OutReleased || !r.Freed || !slices.Equal(outcomes(r), []Outcome{OutReleased, OutChanged, OutAlreadyGone}) || value(2, "lock:s") != "two" {
				t.Errorf("%+v", r)
			}
		})
		t.Run("came back", func(t *testing.T) {
			f.set("lock:z", "token", time.Minute, 1, 2, 3)
			p := f.plan("lock:z", "token")
			done := make(chan struct{})
			go func() {
				defer close(done)
				for n := range f.clients {
					for !f.clients[n].SetNX(ctx, "lock:z", "token", time.Minute).Val() && ctx.Err() == nil {
					}
				}
			}()
			r := i.Execute(ctx, p, false)
			<-done
			if r.Outcome != OutCameBack || r.Freed || !r.Nodes[0].Expiry.IsKnown() {
				t.Errorf("%+v", r)
			}
		})
		t.Run("taken by the next one at once is no coming back", func(t *testing.T) {
			f.set("lock:n", "token", time.Minute, 1, 2, 3)
			p := f.plan("lock:n", "token")
			done := make(chan struct{})
			go func() {
				defer close(done)
				for n := range f.clients {
					for !f.clients[n].SetNX(ctx, "lock:n", "next", time.Minute).Val() && ctx.Err() == nil {
					}
				}
			}()
			r := i.Execute(ctx, p, false)
			<-done
			if r.Outcome != OutReleased {
				t.Errorf("%+v", r)
			}
		})
		t.Run("read-only", func(t *testing.T) {
			f.set("lock:r", "token", time.Minute, 1, 2, 3)
			r := f.Execute(ctx, f.plan("lock:r", "token"), false)
			if r.Outcome != OutRefused || !strings.Contains(r.Nodes[0].Detail, "--read-only") || value(1, "lock:r") != "token" {
				t.Errorf("%+v", r)
			}
		})
		t.Run("a node down", func(t *testing.T) {
			f.set("lock:d", "token", time.Minute, 1, 2, 3)
			p := f.plan("lock:d", "token")
			kill(t, f.lab, "n3")
			r := i.Execute(ctx, p, false)
			if r.Outcome != OutReleased || !r.Freed || r.Nodes[2].Outcome != OutNotReached || r.Nodes[2].Detail == "" {
				t.Errorf("%+v", r)
			}
			if left, ok := r.Nodes[2].Expiry.Remaining(time.Now()); !ok || left > time.Minute || left < 30*time.Second {
				t.Errorf("n3 keeps it for %v %v", left, ok)
			}
			f.set("lock:e", "token", time.Minute, 1, 2)
			r = i.Execute(ctx, f.plan("lock:e", "token"), false)
			if left, ok := r.Nodes[2].Expiry.Remaining(time.Now()); r.Outcome != OutReleased || r.Nodes[2].Outcome != OutNotReached || !ok || left > time.Minute {
				t.Errorf("%+v", r)
			}
			kill(t, f.lab, "n2")
			f.set("lock:q", "token", time.Minute, 1)
			r = i.Execute(ctx, f.plan("lock:q", "token"), false)
			if r.Outcome != OutNotReached || r.Freed || r.Nodes[0].Outcome != OutReleased {
				t.Errorf("two of three not reached: %+v", r)
			}
		})
	})
}

func TestExecuteRefusedByServer(t *testing.T) {
	f := newField(t, lab.Process, 1, Config{})
	f.set("lock:a", "token", time.Minute, 1)
	for _, rules := range [][]any{{"+@read", "+eval", "+evalsha"}, {"+@read"}} {
		f.clients[0].Do(t.Context(), append([]any{"acl", "setuser", "eye", "reset", "on", ">pw", "~lock:*"}, rules...)...)
		i := New(open(t, []string{"redis://eye:pw@" + f.nodes[0].Addr()}, node.Options{}), Config{})
		r := i.Execute(t.Context(), f.plan("lock:a", "token"), false)
		if r.Outcome != OutRefused || r.Freed || !strings.Contains(r.Nodes[0].Detail, "NOPERM") && !strings.Contains(r.Nodes[0].Detail, "can't run this command") || !r.Nodes[0].Expiry.IsKnown() {
			t.Errorf("%v: %+v", rules, r)
		}
	}
	f.clients[0].ScriptFlush(t.Context())
	i := New(open(t, f.lab.URLs(), node.Options{Name: "n1"}), Config{})
	if r := i.Execute(t.Context(), f.plan("lock:a", "token"), false); r.Outcome != OutReleased || !r.Freed {
		t.Errorf("%+v", r)
	}
}

// A plan that PlanRelease did not make does not say what to compare.
func TestExecuteBadPlan(t *testing.T) {
	f, i := hand(t, lab.Embedded, 1)
	f.set("lock:a", "token", time.Minute, 1)
	made := f.plan("lock:a", "token")
	p := made
	p.Steps = []Step{{Node: "n1", Key: "lock:a", Send: true, Command: made.Steps[0].Command}}
	if r := i.Execute(t.Context(), p, false); r.Outcome != OutRefused || r.Nodes[0].Detail == "" {
		t.Errorf("%+v", r)
	}
	if v := f.clients[0].Get(t.Context(), "lock:a").Val(); v != "token" {
		t.Errorf("the lock is %q now", v)
	}
}

func TestCorrected(t *testing.T) {
	now := time.Now()
	same, other, gone := has("token", time.Second)(now), has("other", time.Second)(now), free(now)
	tests := []struct {
		before Outcome
		sent   bool
		seen   sample
		want   Outcome
	}{
		{OutReleased, true, gone, OutReleased},
		{OutReleased, true, other, OutReleased},
		{OutReleased, true, same, OutCameBack},
		{OutAlreadyGone, false, same, OutCameBack},
		{OutChanged, true, same, OutCameBack},
		{OutRefused, true, same, OutRefused},
		{OutNotReached, true, same, OutNotReached},
		{OutNotReached, true, gone, OutReleased},
		{OutNotReached, false, gone, OutAlreadyGone},
		{OutNotReached, true, sample{presence: forbidden}, OutNotReached},
		{OutNotReached, true, sample{presence: present}, OutNotReached},
		{OutCameBack, true, gone, OutCameBack},
	}
	for _, tt := range tests {
		got := corrected(NodeOutcome{Outcome: tt.before}, tt.seen, Step{Send: tt.sent}, "token")
		if got.Outcome != tt.want {
			t.Errorf("%s, then %+v: %s, want %s", tt.before, tt.seen, got.Outcome, tt.want)
		}
	}
}
