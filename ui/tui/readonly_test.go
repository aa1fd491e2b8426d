package tui

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"dlock/inspect"
	"dlock/lockcore/node"
)

// looking are all commands that looking may send.
var looking = []string{"HELLO", "AUTH", "SELECT", "PING", "CLIENT", "SCAN", "PTTL", "TYPE", "GET", "OBJECT", "INFO", "ROLE", "TIME", "CONFIG", "EXISTS", "HGETALL", "HLEN", "HSCAN",
	"SMEMBERS", "SCARD", "LRANGE", "LLEN", "ZRANGE", "ZCARD", "MGET", "STRLEN", "GETRANGE", "HMGET", "HGET", "LINDEX", "MEMORY", "COMMAND", "EVAL_RO", "ZSCORE", "SISMEMBER", "SSCAN", "ZSCAN", "SRANDMEMBER", "PEXPIRETIME"}

// TestReadOnlyWritesNothing presses every key in every view, and carries out
// every command, against a server that keeps a record of what it is sent.
func TestReadOnlyWritesNothing(t *testing.T) {
	m := miniredis.RunT(t)
	for key, value := range map[string]string{"lock:a": tokenA, "lock:b": tokenB, "lock:c:d": "someone"} {
		if err := m.Set(key, value); err != nil {
			t.Fatal(err)
		}
		m.SetTTL(key, time.Hour)
	}
	var mu sync.Mutex
	var sent []string
	m.Server().SetPreHook(func(_ *server.Peer, cmd string, args ...string) bool {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, strings.ToUpper(cmd)+" "+strings.Join(args, " "))
		return false
	})
	n, err := node.Open("redis://"+m.Addr(), node.Options{Name: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	in := inspect.New([]*node.Node{n}, inspect.Config{Interval: inspect.MinInterval})

	snap, err := in.Look(t.Context())
	if err != nil || len(snap.Locks) != 3 {
		t.Fatalf("%d locks: %v", len(snap.Locks), err)
	}
	s := newScreen(t, 120, 36, plain, Config{ReadOnly: "--read-only"})
	s.app.world.source = in
	s.now = time.Now()
	keys := everyKey()
	for _, view := range []string{"1", "2", "3", "5", "6", "7", "enter"} {
		for _, first := range []string{"", "m", "M"} {
			s.load(snap)
			s.press("1", "g")
			if first != "" {
				s.press(first)
			}
			s.press(view)
			for _, k := range keys {
				// A key may lead elsewhere: each is pressed in this view, and
				// what follows in whatever it has opened.
				s.press(k, "enter", "tab", "enter", "esc", "esc", view)
				s.view()
			}
			for _, o := range s.app.options("") {
				if o != "save" {
					s.run(s.app.runLine(o))
					s.press("enter", "tab", "enter", "esc", "esc")
				}
			}
		}
	}
	record := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(sent)
	}
	for _, line := range record() {
		name, args, _ := strings.Cut(line, " ")
		if !slices.Contains(looking, name) || name == "CONFIG" && !strings.HasPrefix(strings.ToUpper(args), "GET") {
			t.Errorf("the server was sent %s", line)
		}
	}
	for _, key := range []string{"lock:a", "lock:b", "lock:c:d"} {
		if !m.Exists(key) {
			t.Errorf("%s is gone", key)
		}
	}

	// The record works: without read-only the same keys release.
	s = newScreen(t, 120, 36, plain, Config{})
	s.app.world.source = in
	s.now = time.Now()
	snap, err = in.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.load(snap)
	s.press("X")
	s.mustShow("Force-release")
	s.press(strings.Split(s.app.release.word, "")...)
	s.press("tab", "enter")
	if !slices.ContainsFunc(record(), func(line string) bool { return strings.HasPrefix(line, "EVAL") }) {
		t.Error("a release is not in the record")
	}
}
