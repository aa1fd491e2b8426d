package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"github.com/spf13/cobra"

	"dlock/inspect"
	"dlock/ui/text"
)

// hostile draws strings of the bytes that make trouble.
func hostile() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{
			"lock:", "a", "-", "--", "\x1b[31m", "\x9b", "\u009b", "\u202e", "\u2028", "\n", "\x00", "\x7f", `"`, `'`, `\`, `\x41`, "\xff", "注", "🔒", "\u0301", "\u200d", " ", "😀",
		}), 0, 12), func(s []string) string { return strings.Join(s, "") }),
	)
}

func anyExpiry(t *rapid.T) inspect.Expiry {
	switch rapid.IntRange(0, 3).Draw(t, "expiry") {
	case 0:
		return inspect.Expiry{}
	case 1:
		return never
	default:
		return in(time.Duration(rapid.Int64Range(-1e9, 1e18).Draw(t, "ttl")))
	}
}

func anyMaybe[T any](t *rapid.T, g *rapid.Generator[T]) inspect.Maybe[T] {
	if rapid.Bool().Draw(t, "known") {
		return inspect.Known(g.Draw(t, "value"))
	}
	return inspect.Maybe[T]{}
}

func anyLock(t *rapid.T) inspect.Lock {
	nodes := rapid.IntRange(1, 5).Draw(t, "nodes")
	l := inspect.Lock{
		ID: inspect.ID{Key: hostile().Draw(t, "key")}, Resource: hostile().Draw(t, "resource"),
		Library: hostile().Draw(t, "library"), Kind: hostile().Draw(t, "kind"), Type: hostile().Draw(t, "type"),
		State:  rapid.SampledFrom([]inspect.State{inspect.Held, inspect.Split, inspect.Partial, inspect.Unknown, inspect.Expired}).Draw(t, "state"),
		Flags:  rapid.SliceOfDistinct(rapid.SampledFrom([]inspect.Flag{inspect.NoExpiry, inspect.Stuck, inspect.Expiring, inspect.Degraded, inspect.Leftover}), func(f inspect.Flag) inspect.Flag { return f }).Draw(t, "flags"),
		Votes:  inspect.Votes{Need: nodes/2 + 1, Of: nodes, Agree: rapid.IntRange(0, nodes).Draw(t, "agree")},
		Expiry: anyExpiry(t), Renewals: rapid.IntRange(0, 3).Draw(t, "renewals"),
		Fence: anyMaybe(t, rapid.Int64()), Waiters: anyMaybe(t, rapid.IntRange(0, 9)),
		Idle:    anyMaybe(t, rapid.Map(rapid.Int64Range(0, 1e18), func(n int64) time.Duration { return time.Duration(n) })),
		FullTTL: time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "full")),
	}
	if rapid.Bool().Draw(t, "held since") {
		l.HeldSince = fixedNow.Add(-time.Duration(rapid.Int64Range(-1e9, 1e18).Draw(t, "held")))
		l.HeldIsMinimum = rapid.Bool().Draw(t, "minimum")
	}
	for range rapid.IntRange(0, 3).Draw(t, "owners") {
		l.Owners = append(l.Owners, inspect.Owner{
			Token: hostile().Draw(t, "token"), Name: hostile().Draw(t, "owner"), Host: hostile().Draw(t, "host"),
			PID: rapid.IntRange(0, 9).Draw(t, "pid"), Count: rapid.IntRange(0, 3).Draw(t, "count"), Votes: []string{"n1"}, Expiry: anyExpiry(t),
		})
	}
	for range nodes {
		l.Copies = append(l.Copies, inspect.Copy{
			Node: "n", Token: hostile().Draw(t, "token"), HasToken: rapid.Bool().Draw(t, "has"), Expiry: anyExpiry(t), Error: hostile().Draw(t, "error"),
			Answer: rapid.SampledFrom([]inspect.Answer{inspect.AnswerHeld, inspect.AnswerOther, inspect.AnswerFree, inspect.AnswerUnreachable, inspect.AnswerDenied}).Draw(t, "answer"),
		})
	}
	if rapid.Bool().Draw(t, "finding") {
		l.Findings = []inspect.Finding{{ID: "x", Severity: inspect.Low, Text: hostile().Draw(t, "text"), Advice: hostile().Draw(t, "advice")}}
	}
	return l
}

func anySnapshot(t *rapid.T) inspect.Snapshot {
	s := picture(3, nil)
	for range rapid.IntRange(0, 4).Draw(t, "locks") {
		s.Locks = append(s.Locks, anyLock(t))
	}
	s.Target.Nodes[1].Error = hostile().Draw(t, "error")
	s.Target.Nodes[1].State = rapid.SampledFrom([]inspect.NodeState{inspect.NodeUp, inspect.NodeDown, inspect.NodeDenied, inspect.NodePending}).Draw(t, "state")
	return s
}

func inert(s string) (rune, bool) {
	for _, r := range stripColour(s) {
		if r != '\n' && !unicode.IsPrint(r) {
			return r, false
		}
	}
	return 0, true
}

// Whatever stands in Redis, no byte of it acts on the terminal, no line is
// wider than the terminal, and the JSON says the same bytes.
func TestNothingFromRedisGetsThrough(t *testing.T) {
	root := publishedSchema(t)
	rapid.Check(t, func(rt *rapid.T) {
		s := anySnapshot(rt)
		l := look{width: rapid.IntRange(1, 200).Draw(rt, "width"), colour: rapid.Bool().Draw(rt, "colour"), ascii: rapid.Bool().Draw(rt, "ascii")}
		var narrow, wide, full bytes.Buffer
		if err := lockTable(l, s).write(&narrow, l); err != nil {
			rt.Fatal(err)
		}
		for line := range strings.Lines(narrow.String()) {
			if w := text.Width(text.Safe(strings.TrimSuffix(stripColour(line), "\n"))); w > l.width {
				rt.Fatalf("%d cells on a terminal of %d: %q", w, l.width, line)
			}
		}
		if n := strings.Count(narrow.String(), "\n"); n != len(s.Locks)+1 {
			rt.Fatalf("%d lines for %d locks", n, len(s.Locks))
		}
		if err := wideTable(look{}, s).write(&wide, look{}); err != nil {
			rt.Fatal(err)
		}
		var human strings.Builder
		for _, lock := range s.Locks {
			l.describe(&human, s, lock)
			if !strings.Contains(wide.String(), string(quoted(lock.ID.Key))) {
				rt.Fatalf("the wide table cuts %q", lock.ID.Key)
			}
		}
		if err := writeJSON(&full, newDocument(s, s.Locks), true); err != nil {
			rt.Fatal(err)
		}
		for name, out := range map[string]string{"table": narrow.String(), "wide": wide.String(), "get": human.String(), "json": full.String(), "talk": silent(s).sentence} {
			if r, ok := inert(out); !ok {
				rt.Fatalf("%s prints %U", name, r)
			}
		}
		var doc any
		if err := json.Unmarshal(full.Bytes(), &doc); err != nil {
			rt.Fatal(err)
		}
		if faults := root.check(root, "$", doc); len(faults) > 0 {
			rt.Fatal(faults)
		}
		var typed jsonDocumentForTest
		if err := json.Unmarshal(full.Bytes(), &typed); err != nil {
			rt.Fatal(err)
		}
		for i, got := range typed.Locks {
			key := got.Key
			if got.KeyB64 != nil {
				raw, err := base64.StdEncoding.DecodeString(*got.KeyB64)
				if err != nil {
					rt.Fatal(err)
				}
				key = string(raw)
			}
			if key != s.Locks[i].ID.Key {
				rt.Fatalf("key %q became %q", s.Locks[i].ID.Key, key)
			}
		}
	})
}

type jsonDocumentForTest struct {
	Locks []struct {
		Key    string
		KeyB64 *string `json:"key_b64"`
	}
}

// What is printed for a key means that key when it is given as an argument.
func TestQuotedKeysCanBePastedBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		key := hostile().Filter(func(s string) bool { return s != "" && !hasCredentials(s) }).Draw(rt, "key")
		read := func(args ...string) (keys []string) {
			c := &cobra.Command{Use: "x", RunE: func(c *cobra.Command, args []string) (err error) {
				keys, err = keyArgs(c, args)
				return err
			}}
			c.SilenceErrors, c.SilenceUsage = true, true
			c.SetArgs(args)
			if err := c.Execute(); err != nil {
				rt.Fatalf("%q: %v", args, err)
			}
			return keys
		}
		if got := read(string(quoted(key))); len(got) != 1 || got[0] != key {
			rt.Fatalf("%q prints as %s, which means %q", key, quoted(key), got)
		}
		if got := read("--", key); len(got) != 1 || got[0] != key {
			rt.Fatalf("%q after -- means %q", key, got)
		}
	})
}

func TestNoSecretOutlivesTheRedactor(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		secret := rapid.StringMatching(`[A-Z0-9!#%&*]{4,12}`).Draw(rt, "secret")
		text := rapid.String().Draw(rt, "before") + secret + rapid.String().Draw(rt, "after")
		r := newRedactor([]string{"redis://h"}, secret)
		if got := r.Redact(text); strings.Contains(got, secret) {
			rt.Fatalf("%q stays in %q", secret, got)
		}
	})
}

func TestShortSecretsAreReplacedAsWords(t *testing.T) {
	r := newRedactor(nil, "e")
	for _, c := range []struct{ in, want string }{
		{"connection refused", "connection refused"},
		{"AUTH e failed", "AUTH [hidden] failed"},
		{"'e'", "'[hidden]'"},
		{"e", "[hidden]"},
		{"ee e ee", "ee [hidden] ee"},
		{"", ""},
	} {
		if got := r.Redact(c.in); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

// Redacting makes a copy: snapshots are shared with whoever else got them.
func TestRedactingLeavesTheSnapshotAlone(t *testing.T) {
	s := picture(2, []inspect.Lock{lockOf("lock:a", in(1e9), "t", "!")}, 1)
	s.Target.Nodes[1].Error = "AUTH hunter22 refused"
	s.Locks[0].Copies[1].Error = "AUTH hunter22 refused"
	s.Locks[0].Findings = []inspect.Finding{{Text: "hunter22"}}
	s.Events = []inspect.Event{{Text: "hunter22"}}
	clean := newRedactor(nil, "hunter22").snapshot(s)
	for _, got := range []string{clean.Target.Nodes[1].Error, clean.Locks[0].Copies[1].Error, clean.Locks[0].Findings[0].Text, clean.Events[0].Text} {
		if strings.Contains(got, "hunter22") || !strings.Contains(got, "[hidden]") {
			t.Errorf("%q", got)
		}
	}
	for _, was := range []string{s.Target.Nodes[1].Error, s.Locks[0].Copies[1].Error, s.Locks[0].Findings[0].Text, s.Events[0].Text} {
		if !strings.Contains(was, "hunter22") {
			t.Errorf("the original was changed: %q", was)
		}
	}
	if untouched := newRedactor(nil, "other").snapshot(s); &untouched.Locks[0] != &s.Locks[0] {
		t.Error("a snapshot without a secret was copied")
	}
}

func TestWrapKeepsTheWords(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		prose := text.Clean(hostile().Draw(rt, "prose") + " " + strings.Join(rapid.SliceOf(rapid.StringMatching(`[a-z]{1,15}`)).Draw(rt, "words"), " "))
		cells := rapid.IntRange(-5, 100).Draw(rt, "cells")
		lines := text.Wrap(prose, cells)
		var joined []string
		for _, l := range lines {
			joined = append(joined, string(l))
			if cells >= 20 && text.Width(l) > cells && strings.Contains(string(l), " ") {
				rt.Fatalf("%d cells, not %d: %q", text.Width(l), cells, l)
			}
		}
		if got, want := strings.Fields(strings.Join(joined, " ")), strings.Fields(string(prose)); strings.Join(got, " ") != strings.Join(want, " ") {
			rt.Fatalf("%q became %q", want, got)
		}
	})
}
