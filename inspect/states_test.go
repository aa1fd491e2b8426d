package inspect

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
	"dlock/lockcore/node"
)

// Each state a server can be in is driven for real on one of three voters. The
// lock on all of them stays held, the other two are looked at as ever, and what
// the one is in is told in words.
func TestServerStates(t *testing.T) {
	const slow = 300 * time.Millisecond // how long we wait for an answer
	do := func(t *testing.T, c *redis.Client, args ...any) {
		t.Helper()
		if err := c.Do(context.Background(), args...).Err(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	for _, c := range []struct {
		name    string
		into    func(t *testing.T, l *lab.Lab, c *redis.Client) // n3 and its client
		state   NodeState
		says    string // in the node's error
		finding string // about n3
		answer  Answer // n3's about the lock; "" is held
	}{
		{name: "ok", into: func(*testing.T, *lab.Lab, *redis.Client) {}, state: NodeUp},
		{name: "replica", state: NodeReplica, finding: "replica-voter", into: func(t *testing.T, l *lab.Lab, c *redis.Client) {
			host, port, _ := net.SplitHostPort(l.Nodes()[0].Addr())
			do(t, c, "replicaof", host, port)
			waitUntil(t, "the replica follows", func() bool {
				return strings.Contains(c.Info(t.Context(), "replication").Val(), "master_link_status:up")
			})
		}},
		{name: "SIGSTOP", state: NodeDown, says: "no answer in time", answer: AnswerUnreachable, into: func(t *testing.T, l *lab.Lab, _ *redis.Client) {
			if err := l.Nodes()[2].Pause(); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "CLIENT PAUSE ALL", state: NodeDown, says: "no answer in time", answer: AnswerUnreachable, into: func(t *testing.T, _ *lab.Lab, c *redis.Client) {
			do(t, c, "client", "pause", 600_000, "all")
		}},
		{name: "CLIENT PAUSE WRITE", state: NodeUp, into: func(t *testing.T, _ *lab.Lab, c *redis.Client) {
			do(t, c, "client", "pause", 600_000, "write")
		}},
		{name: "OOM", state: NodeUp, finding: "out-of-memory", into: func(t *testing.T, _ *lab.Lab, c *redis.Client) {
			do(t, c, "config", "set", "maxmemory-policy", "noeviction", "maxmemory", "1")
			if err := c.Set(t.Context(), "x", "y", 0).Err(); err == nil || !strings.HasPrefix(err.Error(), "OOM") {
				t.Fatal(err)
			}
		}},
		{name: "NOREPLICAS", state: NodeUp, finding: "no-replicas", into: func(t *testing.T, _ *lab.Lab, c *redis.Client) {
			do(t, c, "config", "set", "min-replicas-to-write", "1")
			if err := c.Set(t.Context(), "x", "y", 0).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOREPLICAS") {
				t.Fatal(err)
			}
		}},
		{name: "MISCONF", state: NodeUp, finding: "misconf", into: func(t *testing.T, _ *lab.Lab, c *redis.Client) {
			// A directory of that name is in its way.
			do(t, c, "config", "set", "dbfilename", "appendonlydir", "save", "100000 1")
			do(t, c, "bgsave")
			waitUntil(t, "the snapshot failed", func() bool {
				return strings.Contains(c.Info(t.Context(), "persistence").Val(), "rdb_last_bgsave_status:err")
			})
			if err := c.Set(t.Context(), "x", "y", 0).Err(); err == nil || !strings.HasPrefix(err.Error(), "MISCONF") {
				t.Fatal(err)
			}
		}},
		{name: "LOADING", state: NodeDown, says: "LOADING ", finding: "not-serving", answer: AnswerUnreachable, into: func(t *testing.T, _ *lab.Lab, c *redis.Client) {
			for n := range 500 {
				do(t, c, "set", fmt.Sprint("ballast", n), strings.Repeat("x", 2000))
			}
			do(t, c, "config", "set", "rdbcompression", "no", "loading-process-events-interval-bytes", "1024", "key-load-delay", "100000")
			go c.Do(context.Background(), "debug", "reload")
			waitUntil(t, "it is loading", func() bool {
				return strings.HasPrefix(fmt.Sprint(c.Get(t.Context(), "x").Err()), "LOADING")
			})
		}},
		{name: "BUSY", state: NodeDown, says: "BUSY ", finding: "not-serving", answer: AnswerUnreachable, into: func(t *testing.T, _ *lab.Lab, c *redis.Client) {
			do(t, c, "config", "set", "busy-reply-threshold", "1")
			go c.Eval(context.Background(), "while true do end", nil)
			waitUntil(t, "it is busy", func() bool {
				return strings.HasPrefix(fmt.Sprint(c.Get(t.Context(), "x").Err()), "BUSY")
			})
		}},
		{name: "NOAUTH", state: NodeDenied, says: "NOAUTH", answer: AnswerDenied, into: func(t *testing.T, _ *lab.Lab, c *redis.Client) {
			do(t, c, "config", "set", "requirepass", "pw")
			do(t, c, "client", "kill", "type", "normal", "skipme", "no")
		}},
		{name: "NOPERM of SCAN", state: NodeDenied, says: "NOPERM", into: func(t *testing.T, _ *lab.Lab, c *redis.Client) {
			do(t, c, "acl", "setuser", "default", "-scan")
		}},
		{name: "NOPERM of everything", state: NodeDenied, says: "NOPERM", answer: AnswerDenied, into: func(t *testing.T, _ *lab.Lab, c *redis.Client) {
			do(t, c, "acl", "setuser", "default", "-@all")
		}},
		{name: "NOPERM of the key", state: NodeUp, finding: "forbidden-keys", answer: AnswerDenied, into: func(t *testing.T, _ *lab.Lab, c *redis.Client) {
			do(t, c, "acl", "setuser", "default", "resetkeys", "~other:*")
		}},
		{name: "dead", state: NodeDown, says: "connection refused", answer: AnswerUnreachable, into: func(t *testing.T, l *lab.Lab, _ *redis.Client) {
			kill(t, l, "n3")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := labtest.Start(t, lab.Config{Nodes: 3, Kind: lab.Process, Args: []string{"--enable-debug-command", "yes", "--enable-protected-configs", "yes"}})
			var clients []*redis.Client
			for _, n := range l.Nodes() {
				one := labtest.Client(t, n)
				clients = append(clients, one)
				if err := one.Set(t.Context(), "lock:a", "token-a", time.Hour).Err(); err != nil {
					t.Fatal(err)
				}
			}
			c.into(t, l, clients[2])
			i := New(open(t, l.URLs(), node.Options{Timeout: slow, DialTimeout: slow, ReadOnly: true}), Config{Interval: MinInterval})
			snap, err := i.Look(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			check := func(snap Snapshot) {
				t.Helper()
				n := snap.Target.Nodes[2]
				if n.State != c.state || !strings.Contains(n.Error, c.says) || (n.Error != "") != (c.says != "") {
					t.Errorf("it is %s: %q", n.State, n.Error)
				}
				complete := c.state != NodeDown && c.state != NodeDenied && c.answer == ""
				if snap.Complete != complete {
					t.Errorf("complete %v", snap.Complete)
				}
				a := lock(t, snap, "lock:a")
				want := c.answer
				if want == "" {
					want = AnswerHeld
				}
				if a.State != Held || a.Copies[2].Answer != want {
					t.Errorf("%s, %s: %s", a.State, a.Copies[2].Answer, a.Copies[2].Error)
				}
				if c.finding != "" {
					if f := nodeFinding(t, snap, c.finding); len(f.Nodes) != 1 || f.Nodes[0] != "n3" || f.Severity == Low {
						t.Errorf("%+v", f)
					}
				}
				for _, f := range snap.Findings {
					// Each of these labs was started just now.
					if f.ID != c.finding && f.ID != "restarted" {
						t.Errorf("beside it: %+v", f)
					}
				}
			}
			check(snap)
			// A Watch goes on looking at the others while this one fails.
			w := watchOf(t, i)
			first := w.until("two nodes answer", func(s Snapshot) bool {
				return s.Target.Up() >= 2 && len(s.Locks) == 1 && s.Target.Nodes[2].State != NodePending
			})
			check(first)
			for range 5 {
				snap = w.until("the next", func(Snapshot) bool { return true })
				for _, n := range snap.Target.Nodes[:2] {
					if n.State != NodeUp || !n.SampledAt.After(first.Target.Nodes[0].SampledAt) {
						t.Errorf("%s was not asked again: %+v", n.Name, n)
					}
				}
				first = snap
			}
			check(snap)
		})
	}
}

// A wrong password and a socket that is not there are told apart from a server
// that is down.
func TestServersThatCannotBeEntered(t *testing.T) {
	l := labtest.Start(t, lab.Config{Nodes: 1, Kind: lab.Process, Args: []string{"--requirepass", "right"}})
	for _, c := range []struct {
		url   string
		state NodeState
		says  string
	}{
		{"redis://:wrong@" + l.Nodes()[0].Addr(), NodeDenied, "AUTH: wrong password"},
		{"redis://nobody:wrong@" + l.Nodes()[0].Addr(), NodeDenied, "WRONGPASS"},
		{"unix://" + filepath.Join(t.TempDir(), "none"), NodeDown, "no such socket"},
		{"redis://:right@" + l.Nodes()[0].Addr() + "/99", NodeDown, "out of range"},
	} {
		i := New(open(t, []string{c.url}, node.Options{}), Config{})
		snap, _ := i.Look(t.Context())
		if n := snap.Target.Nodes[0]; n.State != c.state || !strings.Contains(n.Error, c.says) || strings.Contains(n.Error, "wrong@") {
			t.Errorf("%s: %+v", c.url, n)
		}
	}
}
