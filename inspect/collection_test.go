package inspect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"dlock/demo/lab"
	"dlock/inspect/dialect"
	"dlock/lockcore/node"
)

const (
	thread1 = "5f0c62c6-9f1c-4c3c-8f63-1c1c7c1b0a01:77"
	thread2 = "0d9e2c55-2b6e-4a57-9a64-33f0a3a4b502:12"
)

// exec runs one command on the node with this number.
func (f *field) exec(n int, words ...any) {
	f.t.Helper()
	if err := f.clients[n-1].Do(f.t.Context(), words...).Err(); err != nil && !errors.Is(err, redis.Nil) {
		f.t.Fatal(words, err)
	}
}

// One lock of each form is told, shown in one row, and released without
// touching what is not its own.
func TestEveryForm(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind lab.Kind) {
		f, i := hand(t, kind, 1)
		ms := func(d time.Duration) string { return fmt.Sprint(time.Now().Add(d).UnixMilli()) }
		symfony := strings.Repeat("A", 43) + "="
		sem1, sem2 := "\x010123456789abcde", "\xff0edcba987654321"
		f.exec(1, "hset", "jobs:nightly", thread1, 2)
		f.exec(1, "pexpire", "jobs:nightly", 25_000)
		f.exec(1, "hset", "doc:7", "mode", "read", thread1, 1, thread2, 1)
		f.exec(1, "pexpire", "doc:7", 25_000)
		f.exec(1, "zadd", "invoice", ms(time.Minute), symfony, ms(time.Minute), "__write__")
		f.exec(1, "pexpire", "invoice", 60_000)
		f.exec(1, "zadd", "{pool}:timeout", ms(time.Minute), sem1, ms(-time.Minute), sem2)
		f.exec(1, "pexpire", "{pool}:timeout", 90_000)
		f.exec(1, "zadd", "{empty}:timeout", ms(-time.Minute), sem1)
		f.exec(1, "pexpire", "{empty}:timeout", 90_000)

		snap, err := f.Get(t.Context(), "jobs:nightly", "doc:7", "invoice", "{pool}:timeout", "{empty}:timeout")
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range []struct {
			key, by, kind, typ string
			state              State
			holders            []string
			shared             bool
		}{
			{"jobs:nightly", "redisson", dialect.Mutex, "hash", Held, []string{thread1}, false},
			{"doc:7", "redisson", dialect.ReadWrite, "hash", Held, []string{thread2, thread1}, true},
			{"invoice", "symfony", "", "zset", Held, []string{symfony}, false},
			{"{pool}:timeout", "redisson", dialect.Semaphore, "zset", Held, []string{sem1}, true},
			{"{empty}:timeout", "redisson", dialect.Semaphore, "zset", Expired, nil, true},
		} {
			l := lock(t, snap, w.key)
			var tokens []string
			for _, o := range l.Holders() {
				tokens = append(tokens, o.Token)
			}
			if l.Library != w.by || w.kind != "" && l.Kind != w.kind || l.Type != w.typ || l.State != w.state || !slices.Equal(tokens, w.holders) || w.kind != "" && l.Shared != w.shared {
				t.Errorf("%s: %s %s %s %s shared %v %q", w.key, l.Library, l.Kind, l.Type, l.State, l.Shared, tokens)
			}
			if len(w.holders) > 0 && slices.Contains(findingIDs(l), "wrong-type") {
				t.Errorf("%s: %v", w.key, l.Findings)
			}
		}
		if o := lock(t, snap, "jobs:nightly").Owners[0]; o.Count != 2 || o.Thread != "77" {
			t.Errorf("%+v", o)
		}
		if c := lock(t, snap, "{empty}:timeout").Copies[0]; c.Answer != AnswerFree || c.Type != "zset" || !c.Expiry.IsKnown() {
			t.Errorf("%+v", c)
		}

		release := func(key, token string) Result {
			t.Helper()
			p, err := PlanRelease(lock(t, snap, key), token)
			if err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			return i.Execute(t.Context(), p, false)
		}
		if r := release("doc:7", thread1); r.Outcome != OutReleased || r.Freed {
			t.Errorf("one of two readers: %s, freed %v %+v", r.Outcome, r.Freed, r.Nodes)
		}
		if got := f.clients[0].HGetAll(t.Context(), "doc:7").Val(); got[thread1] != "" || got[thread2] != "1" {
			t.Errorf("left of the readers: %v", got)
		}
		if r := release("{pool}:timeout", sem1); r.Outcome != OutReleased || !r.Freed {
			t.Errorf("the holder of a semaphore: %s, freed %v %+v", r.Outcome, r.Freed, r.Nodes)
		}
		if r := release("invoice", symfony); r.Outcome != OutReleased || !r.Freed {
			t.Errorf("%s %v", r.Outcome, r.Freed)
		}
	})
}

// A hash that is no lock of any library, a stream, and a collection that is
// far too large are said to be what they are and are not fetched.
func TestWhatIsNoLock(t *testing.T) {
	f := newField(t, lab.Process, 1, Config{})
	f.exec(1, "hset", "lock:hash", "field", "value")
	f.exec(1, "xadd", "lock:stream", "*", "a", "b")
	f.exec(1, "rpush", "lock:list", "a")
	huge := []any{"hset", "lock:huge"}
	for n := range 64 {
		huge = append(huge, fmt.Sprint(n), strings.Repeat("x", 10_000))
	}
	f.exec(1, huge...)
	many := []any{"sadd", "lock:many"}
	for n := range 5000 {
		many = append(many, n)
	}
	f.exec(1, many...)
	snap := f.look()
	for key, kind := range map[string]string{"lock:hash": "hash", "lock:stream": "stream", "lock:list": "list", "lock:huge": "hash", "lock:many": "set"} {
		l := lock(t, snap, key)
		if l.Type != kind || l.Library != dialect.Unknown || !slices.Contains(findingIDs(l), "wrong-type") || len(l.Owners) != 0 {
			t.Errorf("%s: %s %s %v", key, l.Type, l.Library, findingIDs(l))
		}
		if _, err := PlanRelease(l, ""); !errors.As(err, new(ErrCannotRelease)) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if c := lock(t, snap, "lock:huge").Copies[0]; c.Error != errTooLarge || c.Entry != nil {
		t.Errorf("%+v", c)
	}
	if c := lock(t, snap, "lock:many").Copies[0]; c.Entry == nil || !c.Entry.Cut || len(c.Entry.Items) != dialect.MaxItems {
		t.Errorf("%+v", c.Entry)
	}
}

// What may not be read is told, and the rest is read with what is permitted.
func TestCollectionPermissions(t *testing.T) {
	f := newField(t, lab.Process, 1, Config{})
	f.exec(1, "hset", "lock:h", thread1, 1)
	f.exec(1, "pexpire", "lock:h", 60_000)
	for _, tt := range []struct {
		name  string
		rules []any
		owner bool
	}{
		{"nothing", nil, false},
		{"type", []any{"+type"}, false},
		{"a page", []any{"+type", "+hscan"}, true},
		{"all without the size", []any{"+type", "+hgetall"}, false},
		{"all", []any{"+type", "+hgetall", "+hlen"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := f.clients[0].Do(t.Context(), append([]any{"acl", "setuser", "eye", "reset", "on", ">pw", "~*", "+scan", "+pttl", "+getrange"}, tt.rules...)...).Err(); err != nil {
				t.Fatal(err)
			}
			snap, err := New(open(t, []string{"redis://eye:pw@" + f.nodes[0].Addr()}, node.Options{}), Config{}).Look(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			l := lock(t, snap, "lock:h")
			if o, ok := l.Holder(); ok != tt.owner || ok && o.Token != thread1 || l.State != Held {
				t.Errorf("%s %+v %+v", l.State, l.Owners, l.Copies)
			}
		})
	}
}

// A hundred keys of a megabyte do not make a node miss its timeout, also where
// only whole values can be fetched.
func TestLargeValues(t *testing.T) {
	f := newField(t, lab.Process, 1, Config{})
	big := strings.Repeat("x", 1<<20)
	for n := range 100 {
		f.set(fmt.Sprintf("lock:%03d", n), big, time.Minute, 1)
	}
	f.set("lock:small", "token", time.Minute, 1)
	if err := f.clients[0].Do(t.Context(), "acl", "setuser", "eye", "reset", "on", ">pw", "~*", "+scan", "+pttl", "+get").Err(); err != nil {
		t.Fatal(err)
	}
	for name, url := range map[string]string{"getrange": "redis://" + f.nodes[0].Addr(), "get": "redis://eye:pw@" + f.nodes[0].Addr()} {
		snap, err := New(open(t, []string{url}, node.Options{}), Config{}).Look(t.Context())
		if err != nil || !snap.Complete || len(snap.Locks) != 101 {
			t.Fatalf("%s: %v, complete %v, %d locks", name, err, snap.Complete, len(snap.Locks))
		}
		if l := lock(t, snap, "lock:small"); l.Owners[0].Token != "token" {
			t.Errorf("%s: %+v", name, l.Owners)
		}
	}
}

func TestFit(t *testing.T) {
	p := &probe{}
	if p.fit("GETRANGE") != chunk || p.fit("GET") != 1 {
		t.Errorf("%d %d at first", p.fit("GETRANGE"), p.fit("GET"))
	}
	p.fitted("GET", 4<<20, 4)
	if p.fit("GET") != 1 {
		t.Errorf("%d after megabytes", p.fit("GET"))
	}
	for range 40 {
		p.fitted("GET", 40, 1)
	}
	if p.fit("GET") != 2 {
		t.Errorf("%d after small ones, one at a time", p.fit("GET"))
	}
	for range 10 {
		p.fitted("GET", 40*p.fit("GET"), p.fit("GET"))
	}
	if p.fit("GET") != wholeMost {
		t.Errorf("%d after many small ones", p.fit("GET"))
	}
	p.fitted("GET", 0, 0)
}

// Nothing that a server answers to the questions about a collection makes the
// inspector panic, or say that the lock is free.
func TestHostileCollections(t *testing.T) {
	status := func(s string) server.Cmd { return func(c *server.Peer, _ string, _ []string) { c.WriteInline(s) } }
	failing := func(s string) server.Cmd { return func(c *server.Peer, _ string, _ []string) { c.WriteError(s) } }
	list := func(items ...string) server.Cmd {
		return func(c *server.Peer, _ string, _ []string) { c.WriteStrings(items) }
	}
	nested := func(c *server.Peer, _ string, _ []string) {
		c.WriteLen(2)
		c.WriteBulk("17")
		c.WriteLen(1)
		c.WriteLen(0)
	}
	replies := map[string]server.Cmd{
		"negative": reply1(-99), "huge": reply1(1<<63 - 1), "status": status("\x1b[2J"), "odd": list("a", "b", "c"),
		"pair": list("99999999999999999999", "-1"), "nested": nested, "error": failing("ERR \x1b]0;x\a"), "denied": failing("NOPERM x"),
		"wrong type": failing("WRONGTYPE x"), "null": func(c *server.Peer, _ string, _ []string) { c.WriteNull() },
	}
	for name, r := range replies {
		for _, kind := range []string{"hash", "set", "zset", "list", "stream"} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				commands := map[string]server.Cmd{
					"SCAN": pages([]string{"lock:a"}), "PTTL": reply1(5000), "GETRANGE": failing("WRONGTYPE x"), "GET": failing("WRONGTYPE x"),
					"TYPE": func(c *server.Peer, _ string, _ []string) { c.WriteInline(kind) },
				}
				for _, c := range []string{"HLEN", "SCARD", "ZCARD", "LLEN", "MEMORY", "HGETALL", "HSCAN", "SMEMBERS", "SSCAN", "ZRANGE", "ZSCAN", "LRANGE", "TIME", "PUBSUB", "HMGET"} {
					commands[c] = r
				}
				f := newFake(t, commands)
				snap, err := f.inspector(t, Config{}).Get(t.Context(), "lock:a")
				if err != nil || len(snap.Locks) != 1 {
					t.Fatalf("%v %+v", err, snap.Locks)
				}
				// Nothing where a collection should be is nothing.
				if l := snap.Locks[0]; name != "null" && l.State != Held {
					t.Errorf("%s %+v", l.State, l.Copies)
				}
			})
		}
	}
}

// Each connection is told not to count our reading as use.
func TestNoTouch(t *testing.T) {
	asked := make(chan []string, 10)
	f := newFake(t, map[string]server.Cmd{
		"SCAN": pages([]string{"lock:a"}), "PTTL": reply1(5000), "GETRANGE": bulk("token"),
		"CLIENT": func(c *server.Peer, _ string, args []string) { asked <- args; c.WriteOK() },
	})
	if _, err := f.inspector(t, Config{}).Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	for args := range asked {
		if slices.Equal(args, []string{"no-touch", "on"}) {
			break
		}
	}
}
