package tui

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"dlock/inspect"
)

// filterLocks are locks that every term of a filter tells apart.
func filterLocks() []inspect.Lock {
	held := lockOf("lock:orders:eu", "hhh", inspect.Held, time.Minute)
	held.Owners[0].Name, held.Waiters = "worker-7f9c:4411", inspect.Known(3)
	split := lockOf("lock:orders:us", "hof", inspect.Split, time.Minute)
	stuck := lockOf("lock:search", "hhh", inspect.Held, time.Minute, inspect.Stuck, inspect.NoExpiry)
	stuck.Owners[0].Name, stuck.Kind, stuck.Waiters = "cron-01:1", "fair", inspect.Known(0)
	possible := lockOf("lock:maybe", "hfh", inspect.Held, time.Minute)
	possible.Library, possible.Candidates = "redis-py/redsync", []string{"redis-py", "redsync", "redislock"}
	possible.Owners[0].Name, possible.Owners[0].Host = "", "mybox.example.org"
	gone := lockOf("lock:gone", "fff", inspect.Expired, 0)
	expiring := lockOf("注文", "hhh", inspect.Held, time.Second, inspect.Expiring)
	expiring.Owners[0].Name = "mybox:77"
	return []inspect.Lock{held, split, stuck, possible, gone, expiring}
}

func TestFilterTerms(t *testing.T) {
	locks := filterLocks()
	for text, want := range map[string]int{
		"": 6, "orders": 2, "ORDERS": 2, "!orders": 4, "nothing-like-this": 0, "lock:orders": 2, "注文": 1, "orders !us": 1,
		"state:split": 1, "state:stuck": 1, "state:": 6, "!state:held !state:expired": 1, "state:released": 1,
		"flag:no-expiry": 1, "owner:cron": 1, "owner:worker-7F9C": 5, "node:n2": 4, "node:n2 orders": 2, "node:n9": 0,
		"lib:redislock": 1, "library:redislock": 1, "library:dlock": 5, "!library:dlock": 1, "kind:fair": 1, "lib:fair": 0,
		"is:trouble": 2, "is:no-expiry": 1, "is:waiting": 1, "is:mine": 2, "!is:mine": 4, "is:tr": 2, "is:nonsense": 0, "is:": 6,
	} {
		f := parseFilter(text)
		f.self = "mybox.example.org"
		if got := len(arrange(locks, f, byTrouble, false)); got != want {
			t.Errorf("%q lets %d pass, want %d", text, got, want)
		}
	}
	nobody := parseFilter("is:mine")
	if got := len(arrange(locks, nobody, byTrouble, false)); got != 0 || nobody.unknown(nil) == "" {
		t.Errorf("on a machine without a name %d locks are mine, and it says %q", got, nobody.unknown(nil))
	}
}

func TestPresetsGoRound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.SampledFrom([]string{"", "orders", "!x state:held"}).Draw(rt, "words")
		s := word
		seen := map[string]bool{s: true}
		for range len(presets) {
			s = nextPreset(s)
			if seen[s] {
				rt.Fatalf("%q comes twice", s)
			}
			seen[s] = true
		}
		if s = nextPreset(s); s != word {
			rt.Fatalf("after the last preset the filter is %q, not %q", s, word)
		}
	})
	s := loaded(t, 120, 36, Config{Host: "nowhere"})
	s.press("p")
	s.mustShow("filter: is:trouble")
	s.press("p", "p", "p")
	s.mustShow("filter: is:mine", "No lock passes the filter")
	s.press("p")
	s.mustNotShow("filter:")
}
