package inspect

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"dlock/demo/lab"
	"dlock/lockcore/node"
)

// fake is a server that answers what a test tells it to.
type fake struct {
	*server.Server
	mu    sync.Mutex
	calls map[string]int
}

func newFake(t *testing.T, commands map[string]server.Cmd) *fake {
	t.Helper()
	s, err := server.NewServer("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{Server: s, calls: map[string]int{}}
	for name, run := range commands {
		if err := s.Register(name, func(c *server.Peer, cmd string, args []string) {
			f.mu.Lock()
			f.calls[name]++
			f.mu.Unlock()
			run(c, cmd, args)
		}); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(s.Close)
	return f
}

func (f *fake) inspector(t *testing.T, c Config) *Inspector {
	return New(open(t, []string{"redis://" + f.Addr().String()}, node.Options{Timeout: 5 * time.Second}), c)
}

func (f *fake) count(command string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[command]
}

// pages answers SCAN with these pages, one after the other.
func pages(pages ...[]string) server.Cmd {
	return func(c *server.Peer, _ string, args []string) {
		at, err := strconv.Atoi(args[0])
		if err != nil || at >= len(pages) {
			c.WriteError("ERR invalid cursor")
			return
		}
		next := at + 1
		if next == len(pages) {
			next = 0
		}
		c.WriteLen(2)
		c.WriteBulk(strconv.Itoa(next))
		c.WriteLen(len(pages[at]))
		for _, name := range pages[at] {
			c.WriteBulk(name)
		}
	}
}

func reply1(n int) server.Cmd { return func(c *server.Peer, _ string, _ []string) { c.WriteInt(n) } }

func bulk(s string) server.Cmd { return func(c *server.Peer, _ string, _ []string) { c.WriteBulk(s) } }

func TestScanPages(t *testing.T) {
	f := newFake(t, map[string]server.Cmd{
		"SCAN":     pages(nil, []string{"lock:a", "lock:b"}, nil, nil, []string{"lock:b", "lock:c", "lock:a"}, nil),
		"PTTL":     reply1(5000),
		"GETRANGE": bulk("token"),
	})
	snap, err := f.inspector(t, Config{}).Look(t.Context())
	if err != nil || !snap.Complete || len(snap.Locks) != 3 || snap.Scan.Keys != 3 || f.count("SCAN") != 6 {
		t.Errorf("%v, complete %v, %d locks, %+v, %d pages", err, snap.Complete, len(snap.Locks), snap.Scan, f.count("SCAN"))
	}
	if f.count("PTTL") != 3 || f.count("GETRANGE") != 3 {
		t.Errorf("%d PTTL, %d GETRANGE for three keys", f.count("PTTL"), f.count("GETRANGE"))
	}
}

// A lock that changes hands between the questions to two nodes is not split:
// nodes that disagree are asked again before that is believed.
func TestDisagreementIsConfirmed(t *testing.T) {
	once := func(first, later server.Cmd) server.Cmd {
		var n atomic.Int32
		return func(c *server.Peer, cmd string, args []string) {
			if n.Add(1) == 1 {
				first(c, cmd, args)
				return
			}
			later(c, cmd, args)
		}
	}
	for _, tt := range []struct {
		name   string
		first  []server.Cmd // PTTL and GETRANGE of n1 at first
		expect State
	}{
		{"handed over", []server.Cmd{reply1(1000), bulk("before")}, Held},
		{"not taken yet", []server.Cmd{reply1(-2), bulk("")}, Held},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var urls []string
			for n := range 2 {
				pttl, value := reply1(9000), bulk("after")
				if n == 0 {
					pttl = once(tt.first[0], pttl)
					if tt.name == "handed over" {
						value = once(tt.first[1], value)
					}
				}
				f := newFake(t, map[string]server.Cmd{"SCAN": pages([]string{"lock:a"}), "PTTL": pttl, "GETRANGE": value})
				urls = append(urls, "redis://"+f.Addr().String())
			}
			i := New(open(t, urls, node.Options{Timeout: 5 * time.Second}), Config{})
			snap, err := i.Look(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if l := lock(t, snap, "lock:a"); l.State != tt.expect || l.Votes.Agree != 2 || l.Owners[0].Token != "after" {
				t.Errorf("%s %+v", l.State, l.Owners)
			}
		})
	}
}

func TestScanCut(t *testing.T) {
	f := newFake(t, map[string]server.Cmd{
		"SCAN":     pages([]string{"lock:a", "lock:b"}, []string{"lock:c", "lock:d"}, []string{"lock:e"}),
		"PTTL":     reply1(5000),
		"GETRANGE": bulk("token"),
	})
	snap, err := f.inspector(t, Config{MaxKeys: 3}).Look(t.Context())
	if err != nil || snap.Complete || !snap.Scan.Cut || len(snap.Locks) != 3 {
		t.Errorf("%v, complete %v, cut %v, %d locks", err, snap.Complete, snap.Scan.Cut, len(snap.Locks))
	}
}

func TestUnchangedValueIsReadOnce(t *testing.T) {
	end := time.Now().Add(time.Hour)
	f := newFake(t, map[string]server.Cmd{
		"SCAN":     pages([]string{"lock:a"}),
		"PTTL":     func(c *server.Peer, _ string, _ []string) { c.WriteInt(int(time.Until(end).Milliseconds())) },
		"GETRANGE": bulk("token"),
	})
	w := watchOf(t, f.inspector(t, Config{Interval: MinInterval}))
	for range 8 {
		w.until("the next", func(Snapshot) bool { return true })
	}
	if f.count("PTTL") < 8 {
		t.Errorf("PTTL was asked %d times", f.count("PTTL"))
	}
	// A machine that stalls between the answer and its arrival may need
	// another reading; one per look is the mistake this is about.
	if n := f.count("GETRANGE"); n > 3 {
		t.Errorf("the value was read %d times", n)
	}
	for _, refused := range []string{"TIME", "ROLE"} {
		if f.count(refused) != 0 {
			t.Errorf("%s", refused)
		}
	}
}

// Nothing that a server answers makes the inspector panic or lie about a lock
// being free.
func TestHostileServer(t *testing.T) {
	status := func(s string) server.Cmd { return func(c *server.Peer, _ string, _ []string) { c.WriteInline(s) } }
	failing := func(s string) server.Cmd { return func(c *server.Peer, _ string, _ []string) { c.WriteError(s) } }
	null := func(c *server.Peer, _ string, _ []string) { c.WriteNull() }
	list := func(items ...string) server.Cmd {
		return func(c *server.Peer, _ string, _ []string) { c.WriteStrings(items) }
	}
	replies := map[string]server.Cmd{
		"negative": reply1(-99), "huge": reply1(1<<63 - 1), "status": status("\x1b[2J"), "text": bulk("\x00\xff"), "null": null,
		"list": list("a", "b", "c"), "empty": list(), "pair": list("99999999999999999999", "-1"), "error": failing("ERR \x1b]0;x\a"), "denied": failing("NOPERM x"),
	}
	for name, r := range replies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, map[string]server.Cmd{
				"SCAN": pages([]string{"lock:a"}), "PTTL": reply1(5000),
				"GETRANGE": r, "GET": r, "TYPE": r, "OBJECT": r, "ZCARD": r, "TIME": r, "ROLE": r, "INFO": r, "CONFIG": r,
			})
			snap, err := f.inspector(t, Config{}).Look(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			// With the value "" or nil, GET says that there is nothing.
			if name != "null" && (len(snap.Locks) != 1 || snap.Locks[0].State != Held) {
				t.Errorf("%+v", snap.Locks)
			}
			everywhere := newFake(t, map[string]server.Cmd{"SCAN": r, "PTTL": r, "GETRANGE": r, "OBJECT": r, "TIME": r})
			snap, err = everywhere.inspector(t, Config{}).Get(t.Context(), "lock:a")
			if len(snap.Locks) != 1 {
				t.Fatalf("%+v %v", snap, err)
			}
			if l := snap.Locks[0]; l.State == Expired {
				t.Errorf("%+v", l)
			}
			snap, _ = everywhere.inspector(t, Config{}).Look(t.Context())
			if snap.Complete {
				t.Errorf("%+v", snap)
			}
		})
	}
}

func TestScanSeveralPatterns(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind lab.Kind) {
		f := newField(t, kind, 1, Config{Match: []string{"lock:*", "mutex:*", "*:x"}})
		f.set("lock:x", "token", time.Minute, 1)
		f.set("mutex:y", "token", time.Minute, 1)
		f.set("other:z", "token", time.Minute, 1)
		snap := f.look()
		var keys []string
		for _, l := range snap.Locks {
			keys = append(keys, l.ID.Key)
		}
		if !slices.Equal(keys, []string{"lock:x", "mutex:y"}) || snap.Scan.Passes != 1 || fmt.Sprint(snap.Scan.Match) != "[lock:* mutex:* *:x]" {
			t.Errorf("%v %+v", keys, snap.Scan)
		}
	})
}

// What a pass has cost the server is its share of the time until the next one.
func TestScanBudget(t *testing.T) {
	start := time.Unix(1000, 0)
	for budget, pause := range map[float64]time.Duration{DefaultScanBudget: 50 * time.Second, 0.5: 2 * time.Second, 1: time.Second} {
		s := scanState{budget: budget, running: true, started: start, spent: time.Second}
		s.finish()
		if got := s.nextDue.Sub(start); got != pause {
			t.Errorf("with a budget of %v the next pass is due after %v, not %v", budget, got, pause)
		}
	}
	if c := (Config{ScanBudget: 7}).withDefaults(); c.ScanBudget != 1 {
		t.Errorf("a budget of %v", c.ScanBudget)
	}
}
