package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"dlock/demo/lab"
	"dlock/lockcore"
	"dlock/lockcore/node"
)

func TestLook(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind lab.Kind) {
		f := newField(t, kind, 5, Config{})
		minute := time.Minute
		f.set("lock:all", "token-a", minute, 1, 2, 3, 4, 5)
		f.set("lock:quorum", "token-a", minute, 1, 2, 3)
		f.set("lock:partial", "token-a", minute, 1, 2)
		f.set("lock:split", "token-a", minute, 1, 2)
		f.set("lock:split", "token-b", minute, 3, 4)
		f.set("lock:never", "token-a", 0, 1, 2, 3, 4, 5)
		f.set("lock:leftover", "token-a", minute, 1, 2, 3, 4)
		f.set("lock:leftover", "token-b", minute, 5)
		f.set("lock:empty", "", minute, 1, 2, 3, 4, 5)
		f.set("lock:one-never", "token-a", minute, 1, 2, 3, 4)
		f.set("lock:one-never", "token-a", 0, 5)
		f.set("other:x", "token-a", minute, 1, 2, 3, 4, 5)

		want := []struct {
			key      string
			state    State
			flags    []Flag
			agree    int
			owners   int
			findings []string
		}{
			{"lock:split", Split, nil, 2, 2, []string{"split"}},
			{"lock:never", Held, []Flag{NoExpiry}, 5, 1, []string{"no-expiry"}},
			{"lock:partial", Partial, nil, 2, 1, []string{"partial"}},
			{"lock:leftover", Held, []Flag{Leftover}, 4, 2, []string{"leftover"}},
			{"lock:quorum", Held, []Flag{Degraded}, 3, 1, []string{"degraded"}},
			{"lock:all", Held, nil, 5, 1, nil},
			{"lock:empty", Held, nil, 5, 1, nil},
			{"lock:one-never", Held, nil, 5, 1, []string{"no-expiry-copy"}},
		}
		snap := f.look()
		if !snap.Complete || snap.Target.Quorum != 3 || snap.Target.Topology != Redlock || snap.Target.Up() != 5 {
			t.Errorf("target: complete %v, %+v", snap.Complete, snap.Target)
		}
		if len(snap.Locks) != len(want) {
			t.Errorf("%d locks, want %d", len(snap.Locks), len(want))
		}
		for n, w := range want {
			l := lock(t, snap, w.key)
			if n < len(snap.Locks) && snap.Locks[n].ID.Key != w.key {
				t.Errorf("row %d is %q, want %q", n, snap.Locks[n].ID.Key, w.key)
			}
			if l.State != w.state || !slices.Equal(l.Flags, w.flags) || l.Votes.Agree != w.agree || len(l.Owners) != w.owners {
				t.Errorf("%s: %s %v agree %d owners %d, want %s %v %d %d", w.key, l.State, l.Flags, l.Votes.Agree, len(l.Owners), w.state, w.flags, w.agree, w.owners)
			}
			if got := findingIDs(l); !slices.Equal(got, w.findings) {
				t.Errorf("%s: findings %v, want %v", w.key, got, w.findings)
			}
			if l.Votes.Need != 3 || l.Votes.Of != 5 || l.Votes.Unreachable != 0 || len(l.Copies) != 5 {
				t.Errorf("%s: votes %+v, %d copies", w.key, l.Votes, len(l.Copies))
			}
			if l.Library != "unknown" || l.Type != "string" || "lock:"+l.Resource != w.key {
				t.Errorf("%s: library %q type %q resource %q", w.key, l.Library, l.Type, l.Resource)
			}
		}
		all := lock(t, snap, "lock:all")
		left, ok := all.Expiry.Remaining(snap.At)
		if !ok || left > minute || left < minute-10*time.Second {
			t.Errorf("remaining %v %v", left, ok)
		}
		if valid, ok := all.Valid(snap.At); !ok || valid >= left {
			t.Errorf("valid %v of %v", valid, left)
		}
		if never := lock(t, snap, "lock:never"); !never.Expiry.Never {
			t.Error("no expiry is not said")
		} else if _, ok := never.Valid(snap.At); ok {
			t.Error("a lock without expiry has a validity")
		}
		for _, n := range snap.Target.Nodes {
			if n.State != NodeUp || !n.Locks.Known || !n.RTT.Known || n.Commands == 0 {
				t.Errorf("node %+v", n)
			}
			if kind == lab.Process && (n.Role != "master" || n.Version == "" || n.Eviction == "" || !n.ClockOffset.Known || len(n.Denied) != 0) {
				t.Errorf("node %+v", n)
			}
		}
		if got := snap.Target.Nodes[4].Locks.Value; got != 5 {
			t.Errorf("n5 has %d locks, want 5", got)
		}
	})
}

func TestLookSingle(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind lab.Kind) {
		f := newField(t, kind, 1, Config{})
		ctx := t.Context()
		f.set("lock:a", "token", time.Minute, 1)
		f.clients[0].HSet(ctx, "lock:hash", "field", 1)
		f.set("lock:long", strings.Repeat("x", 5000), time.Minute, 1)
		snap := f.look()
		if snap.Target.Topology != Single || snap.Target.Quorum != 1 {
			t.Errorf("target %+v", snap.Target)
		}
		if l := lock(t, snap, "lock:a"); l.State != Held || len(l.Flags) != 0 || l.Copies[0].Answer != AnswerHeld {
			t.Errorf("lock:a %+v", l)
		}
		l := lock(t, snap, "lock:hash")
		if l.State != Held || l.Type != "hash" || l.Library != "unknown" || len(l.Owners) != 0 || !slices.Contains(findingIDs(l), "wrong-type") {
			t.Errorf("lock:hash %+v", l)
		}
		if _, err := PlanRelease(l, ""); !errors.As(err, new(ErrCannotRelease)) || !strings.Contains(err.Error(), "hash") {
			t.Errorf("release of a hash: %v", err)
		}
		l = lock(t, snap, "lock:long")
		if l.State != Held || l.Type != "string" || l.Copies[0].HasToken || !slices.Contains(findingIDs(l), "wrong-type") {
			t.Errorf("lock:long %+v", l)
		}
		if _, err := PlanRelease(l, strings.Repeat("x", 5000)); !errors.As(err, new(ErrCannotRelease)) || !strings.Contains(err.Error(), "4096") {
			t.Errorf("release of a long value: %v", err)
		}
	})
}

func TestLookDlock(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind lab.Kind) {
		f := newField(t, kind, 3, Config{})
		ctx := t.Context()
		asked := time.Now().Add(-time.Hour).Truncate(time.Microsecond)
		token := lockcore.Token{UUID: uuid.New(), Ticket: asked.UnixMicro(), Owner: "web-3:4711"}.String()
		key := lockcore.Key("lock:", "orders:42")
		granted := time.Now().Add(-5 * time.Minute)
		f.set(key, token, time.Minute, 1, 2, 3)
		for n, c := range f.clients {
			at := granted.Add(time.Duration(n) * time.Second).UnixMilli()
			c.Set(ctx, lockcore.CompanionKey("lock:", lockcore.FenceCompanion, key), fmt.Sprint(12, " ", at), 0)
			c.ZAdd(ctx, lockcore.CompanionKey("lock:", lockcore.QueueCompanion, key), z(1, "w1"), z(2, "w2"))
			c.HSet(ctx, lockcore.CompanionKey("lock:", lockcore.WaitCompanion, key), "w1", "x")
			c.Set(ctx, lockcore.NodeKey("lock:"), "marker", 0)
		}
		snap := f.look()
		if len(snap.Locks) != 1 {
			t.Fatalf("%d rows, want the lock alone: %+v", len(snap.Locks), snap.Locks)
		}
		l := snap.Locks[0]
		o, _ := l.Holder()
		if l.Library != "dlock" || l.Kind != "mutex" || o.Name != "web-3:4711" || o.Host != "web-3" || o.PID != 4711 || !o.Since.Equal(asked) || o.Count != 1 {
			t.Errorf("%s %s owner %+v", l.Library, l.Kind, o)
		}
		if l.Fence != Known[int64](12) || l.Waiters != Known(2) {
			t.Errorf("fence %+v waiters %+v", l.Fence, l.Waiters)
		}
		// The second of three grants made the quorum.
		if d := l.HeldSince.Sub(granted.Add(time.Second)).Abs(); l.HeldIsMinimum || d > time.Second/2 {
			t.Errorf("held since %v (minimum %v), want %v", l.HeldSince, l.HeldIsMinimum, granted.Add(time.Second))
		}
	})
}

func TestLookNodeDown(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind lab.Kind) {
		f := newField(t, kind, 5, Config{})
		f.set("lock:decides", "token", time.Minute, 1, 2, 5)
		f.set("lock:sure", "token", time.Minute, 1, 2, 3)
		f.set("lock:minority", "token", time.Minute, 1, 5)
		kill(t, f.lab, "n5")
		snap, err := f.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if snap.Complete || snap.Target.Up() != 4 {
			t.Errorf("complete %v, up %d", snap.Complete, snap.Target.Up())
		}
		n5 := snap.Target.Nodes[4]
		if n5.State != NodeDown || n5.Error == "" || n5.NextTry.IsZero() || n5.Locks.Known || n5.RTT.Known {
			t.Errorf("n5 %+v", n5)
		}
		for key, want := range map[string]State{"lock:decides": Unknown, "lock:sure": Held, "lock:minority": Partial} {
			l := lock(t, snap, key)
			if l.State != want || l.Votes.Unreachable != 1 || l.Copies[4].Answer != AnswerUnreachable || l.Copies[4].Error == "" {
				t.Errorf("%s: %s, votes %+v, copy %+v", key, l.State, l.Votes, l.Copies[4])
			}
		}
		if ids := findingIDs(lock(t, snap, "lock:decides")); !slices.Equal(ids, []string{"unknown"}) {
			t.Errorf("findings %v", ids)
		}

		for _, name := range []string{"n3", "n4"} {
			kill(t, f.lab, name)
		}
		if l := lock(t, f.look(), "lock:sure"); l.State != Unknown || l.Votes.Agree != 2 {
			t.Errorf("%s %+v", l.State, l.Votes)
		}
		snap, err = f.Get(t.Context(), "lock:nothing", "lock:sure")
		if err != nil || len(snap.Locks) != 2 || lock(t, snap, "lock:nothing").State != Unknown {
			t.Errorf("a key nobody has while a quorum is silent: %+v %v", snap.Locks, err)
		}
		for _, name := range []string{"n1", "n2"} {
			kill(t, f.lab, name)
		}
		snap, err = f.Look(t.Context())
		if !errors.Is(err, ErrNoNode) || len(snap.Target.Nodes) != 5 || snap.Complete {
			t.Errorf("no node: %v, %+v", err, snap.Target)
		}
		for _, n := range f.nodes {
			if !strings.Contains(err.Error(), n.Addr()) {
				t.Errorf("%v does not name %s", err, n.Addr())
			}
		}
	})
}

func TestGet(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind lab.Kind) {
		f := newField(t, kind, 3, Config{})
		f.set("lock:a", "token", time.Minute, 1, 2, 3)
		f.set("elsewhere", "token", time.Minute, 1, 2, 3)
		snap, err := f.Get(t.Context(), "elsewhere", "lock:none", "elsewhere")
		if err != nil || !snap.Complete || len(snap.Locks) != 2 {
			t.Fatalf("%+v %v", snap, err)
		}
		if l := lock(t, snap, "elsewhere"); l.State != Held || l.Resource != "elsewhere" {
			t.Errorf("%+v", l)
		}
		gone := lock(t, snap, "lock:none")
		if gone.State != Expired || gone.GoneAt.IsZero() || len(gone.Owners) != 0 || gone.Copies[0].Answer != AnswerFree {
			t.Errorf("%+v", gone)
		}
		if _, err := PlanRelease(gone, "token"); !errors.Is(err, ErrGone) {
			t.Errorf("release of nothing: %v", err)
		}
		for _, n := range snap.Target.Nodes {
			if n.Commands > 15 {
				t.Errorf("%s was sent %d commands for two keys", n.Name, n.Commands)
			}
		}
	})
}

func TestLookEndsWithContext(t *testing.T) {
	f := newField(t, lab.Embedded, 2, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	snap, err := f.Look(ctx)
	if !errors.Is(err, context.Canceled) || snap.Complete || len(snap.Target.Nodes) != 2 {
		t.Errorf("%v %+v", err, snap)
	}
}

func TestHostileBytes(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind lab.Kind) {
		f := newField(t, kind, 3, Config{})
		nasty := []string{"\x1b]0;x\a", "\x00\xff\xfe", "a b\r\n\"'\\{}*?[x]", "{", "}{", "é\u202e", ":fence:{lock:x", strings.Repeat("k", 3000)}
		for _, s := range nasty {
			f.set("lock:"+s, s, time.Minute, 1, 2, 3)
		}
		writer := New(open(t, f.lab.URLs(), node.Options{}), Config{})
		var wg sync.WaitGroup
		snap := f.look()
		if len(snap.Locks) != len(nasty) {
			t.Errorf("%d locks, want %d", len(snap.Locks), len(nasty))
		}
		for _, s := range nasty {
			l := lock(t, snap, "lock:"+s)
			if o, _ := l.Holder(); l.State != Held || o.Token != s {
				t.Errorf("%q: %s %+v", s, l.State, l.Owners)
			}
			p, err := PlanRelease(l, s)
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range p.Steps {
				if strings.ContainsFunc(step.Command, func(r rune) bool { return r < ' ' || r > '~' }) {
					t.Errorf("%q is not printable", step.Command)
				}
			}
			wg.Go(func() {
				if r := writer.Execute(t.Context(), p, false); r.Outcome != OutReleased || !r.Freed {
					t.Errorf("%q: %+v", s, r)
				}
			})
		}
		wg.Wait()
		if snap := f.look(); len(snap.Locks) != 0 {
			t.Errorf("left: %+v", snap.Locks)
		}
	})
}

func TestLeastPrivilege(t *testing.T) {
	f := newField(t, lab.Process, 3, Config{})
	f.set("lock:a", "token", time.Minute, 1, 2, 3)
	f.set("lock:never", "token", 0, 1, 2, 3)
	user := func(rules ...any) []string {
		t.Helper()
		var urls []string
		for n, c := range f.clients {
			if err := c.Do(t.Context(), append([]any{"acl", "setuser", "eye", "reset", "on", ">pw"}, rules...)...).Err(); err != nil {
				t.Fatal(err)
			}
			urls = append(urls, "redis://eye:pw@"+f.nodes[n].Addr())
		}
		return urls
	}

	t.Run("scan and pttl", func(t *testing.T) {
		urls := user("~lock:*", "+scan", "+pttl")
		i := New(open(t, urls, node.Options{}), Config{})
		snap, err := i.Look(t.Context())
		if err != nil || !snap.Complete || len(snap.Locks) != 2 {
			t.Fatalf("%+v %v", snap, err)
		}
		l := lock(t, snap, "lock:a")
		if left, ok := l.Expiry.Remaining(snap.At); !ok || left < 50*time.Second || l.State != Unknown || len(l.Owners) != 0 {
			t.Errorf("%+v", l)
		}
		if c := l.Copies[0]; c.Answer != AnswerDenied || c.HasToken || !strings.Contains(c.Error, "NOPERM") || !slices.Contains(findingIDs(l), "unreadable") {
			t.Errorf("%+v %v", c, findingIDs(l))
		}
		if never := lock(t, snap, "lock:never"); !never.Has(NoExpiry) {
			t.Errorf("%+v", never)
		}
		n1 := snap.Target.Nodes[0]
		if n1.State != NodeUp || n1.Role != "" || n1.ClockOffset.Known {
			t.Errorf("%+v", n1)
		}
		for _, command := range []string{"CONFIG", "GET", "GETRANGE", "INFO", "OBJECT", "ROLE", "TIME", "TYPE"} {
			if !slices.Contains(n1.Denied, command) {
				t.Errorf("%s is not among the denied %v", command, n1.Denied)
			}
		}
		// What was refused is not asked again.
		f.clients[0].ACLLogReset(t.Context())
		if _, err := i.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if log, err := f.clients[0].ACLLog(t.Context(), 100).Result(); err != nil || len(log) != 0 {
			t.Errorf("the second look was refused %+v %v", log, err)
		}
		single := New(open(t, urls[:1], node.Options{}), Config{})
		snap, err = single.Look(t.Context())
		if l := lock(t, snap, "lock:a"); err != nil || l.State != Held || len(l.Owners) != 0 || !l.HeldSince.IsZero() {
			t.Errorf("%+v %v", l, err)
		}
	})
	t.Run("get instead of getrange", func(t *testing.T) {
		i := New(open(t, user("~lock:*", "+scan", "+pttl", "+get"), node.Options{}), Config{})
		snap, err := i.Look(t.Context())
		if l := lock(t, snap, "lock:a"); err != nil || l.State != Held || l.Owners[0].Token != "token" || l.Copies[0].Error != "" {
			t.Errorf("%+v %v", l, err)
		}
	})
	t.Run("a key that is off limits", func(t *testing.T) {
		f.set("lock:secret", "token", time.Minute, 1, 2, 3)
		i := New(open(t, user("~lock:a", "+@read", "+scan"), node.Options{}), Config{})
		snap, err := i.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		l := lock(t, snap, "lock:secret")
		if l.State != Unknown || l.Votes.Unreachable != 3 || l.Copies[0].Answer != AnswerDenied || !strings.Contains(l.Copies[0].Error, "NOPERM") {
			t.Errorf("%+v", l)
		}
		if l := lock(t, snap, "lock:a"); l.State != Held {
			t.Errorf("%+v", l)
		}
		if n := snap.Target.Nodes[0]; slices.Contains(n.Denied, "PTTL") || n.State != NodeUp {
			t.Errorf("%+v", n)
		}
	})
	t.Run("no scan", func(t *testing.T) {
		i := New(open(t, user("~lock:*", "+pttl", "+get"), node.Options{}), Config{})
		snap, err := i.Look(t.Context())
		if err != nil || snap.Complete || len(snap.Locks) != 0 {
			t.Errorf("%+v %v", snap, err)
		}
		if n := snap.Target.Nodes[0]; n.State != NodeDenied || !strings.Contains(n.Error, "scan") {
			t.Errorf("%+v", n)
		}
		snap, err = i.Get(t.Context(), "lock:a")
		if l := lock(t, snap, "lock:a"); err != nil || !snap.Complete || l.State != Held {
			t.Errorf("%+v %v", l, err)
		}
	})
	t.Run("nothing", func(t *testing.T) {
		i := New(open(t, user(), node.Options{}), Config{})
		snap, err := i.Get(t.Context(), "lock:a")
		if l := lock(t, snap, "lock:a"); err != nil || snap.Complete || l.State != Unknown || l.Copies[0].Answer != AnswerDenied {
			t.Errorf("%+v %v", l, err)
		}
		if n := snap.Target.Nodes[0]; n.State != NodeDenied || n.NextTry.IsZero() {
			t.Errorf("%+v", n)
		}
	})
	t.Run("wrong password", func(t *testing.T) {
		urls := user("allkeys", "+@all")
		for n := range urls {
			urls[n] = strings.Replace(urls[n], ":pw@", ":s3cr3t@", 1)
		}
		snap, err := New(open(t, urls, node.Options{}), Config{}).Look(t.Context())
		if err != nil || snap.Complete {
			t.Errorf("%+v %v", snap, err)
		}
		for _, n := range snap.Target.Nodes {
			if n.State != NodeDenied || n.Error == "" || strings.Contains(fmt.Sprintf("%+v", n), "s3cr3t") {
				t.Errorf("%+v", n)
			}
		}
	})
}

func TestReplica(t *testing.T) {
	f := newFieldOf(t, lab.Config{Nodes: 2, Kind: lab.Process, Args: []string{"--repl-diskless-sync-delay", "0"}}, Config{Interval: MinInterval})
	host, port, _ := strings.Cut(f.nodes[0].Addr(), ":")
	f.set("lock:a", "token", time.Minute, 1)
	if err := f.clients[1].SlaveOf(t.Context(), host, port).Err(); err != nil {
		t.Fatal(err)
	}
	w := f.watch()
	snap := w.until("the replica has its copy", func(s Snapshot) bool {
		return s.Target.Nodes[1].State == NodeReplica && s.Target.Nodes[1].Locks == Known(1)
	})
	if l := lock(t, snap, "lock:a"); l.State != Held || l.Votes.Agree != 2 || !snap.Complete {
		t.Errorf("%+v", l)
	}
	p, err := PlanRelease(lock(t, snap, "lock:a"), "token")
	if err != nil {
		t.Fatal(err)
	}
	writer := New(open(t, f.lab.URLs()[1:], node.Options{Name: "n2"}), Config{})
	p.Steps = p.Steps[1:]
	p.Steps[0].Node = writer.deployment.present().probes[0].name
	r := writer.Execute(t.Context(), p, false)
	if r.Outcome != OutRefused || r.Freed || !strings.Contains(r.Nodes[0].Detail, "READONLY") {
		t.Errorf("%+v", r)
	}
}

func TestNotServing(t *testing.T) {
	f := newField(t, lab.Process, 1, Config{})
	f.clients[0].ConfigSet(t.Context(), "requirepass", "pw")
	snap, err := f.Look(t.Context())
	if n := snap.Target.Nodes[0]; err != nil || n.State != NodeDenied || !strings.Contains(n.Error, "NOAUTH") {
		t.Errorf("%+v %v", n, err)
	}
}

func kill(t *testing.T, l *lab.Lab, name string) {
	t.Helper()
	n, ok := l.Node(name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	if err := n.Kill(); err != nil {
		t.Fatal(err)
	}
}
