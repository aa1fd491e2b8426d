package cli

import (
	"strings"
	"testing"

	"dlock/inspect"
)

func TestFailOn(t *testing.T) {
	flagged := func(key string, flags ...inspect.Flag) inspect.Lock {
		l := lockOf(key, never, "t", "t", "t")
		l.Flags = flags
		return l
	}
	locks := []inspect.Lock{
		lockOf("lock:split\n", in(1e9), tokenA, tokenB, ""),
		flagged("lock:a", inspect.NoExpiry, inspect.Stuck), flagged("lock:b", inspect.NoExpiry), flagged("lock:c", inspect.NoExpiry), flagged("lock:d", inspect.NoExpiry),
		lockOf("lock:well", in(1e9), "t", "t", "t"),
	}
	whole, gapped := picture(3, locks), picture(3, locks, 2)
	for _, c := range []struct {
		name  string
		words []string
		snap  inspect.Snapshot
		code  int
		said  []string
	}{
		{"nothing asked", nil, whole, exitOK, nil},
		{"none of these", []string{"--fail-on", "expiring,partial,unknown,leftover,degraded,expired"}, whole, exitOK, nil},
		{"a flag", []string{"--fail-on", "stuck"}, whole, exitTrouble, []string{"found 1 lock stuck (lock:a)"}},
		{"a state", []string{"--fail-on", "split"}, whole, exitTrouble, []string{`1 lock split ("lock:split\n")`}},
		{"several", []string{"--fail-on", "split, stuck", "--fail-on=no-expiry"}, whole, exitTrouble, []string{"1 lock split", "1 lock stuck", "4 locks no-expiry (lock:a, lock:b, lock:c, and 1 more)"}},
		{"incomplete", []string{"--fail-on", "leftover"}, gapped, exitIncomplete, []string{"incomplete: n3"}},
		{"incomplete and found", []string{"--fail-on", "stuck"}, gapped, exitTrouble, []string{"incomplete: n3", "1 lock stuck"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, format := range []string{"table", "wide", "json", "jsonl", "keys"} {
				e := invocation{args: append([]string{"ls", "-o", format}, c.words...), fake: &fakeInspector{snapshot: c.snap}}.run(t)
				wantCode(t, e, c.code)
				if c.code == exitOK {
					wantSilentStderr(t, e)
				}
				for _, words := range c.said {
					if !strings.Contains(e.err, words) {
						t.Errorf("stderr lacks %q: %q", words, e.err)
					}
				}
				if !strings.Contains(e.out, "lock:well") {
					t.Errorf("-o %s does not list all locks: %s", format, e.out)
				}
			}
		})
	}
}

func TestWordsAreCompleted(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"__complete", "ls", "--fail-on", "no"}, "no-expiry"},
		{[]string{"__complete", "ls", "--fail-on", "stuck,sp"}, "stuck,split"},
		{[]string{"__complete", "watch", "--event", "node"}, "node-down"},
		{[]string{"__complete", "doctor", "--acl", ""}, "release"},
	} {
		e := invocation{args: c.args}.run(t)
		if e.code != exitOK || !strings.Contains(e.out, c.want+"\n") {
			t.Errorf("%q: code %d, %q", c.args, e.code, e.out)
		}
	}
}
