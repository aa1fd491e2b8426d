package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dlock/demo/lab"
)

// Each exit code comes out of a situation as it occurs, on nodes.
func TestEveryExitCode(t *testing.T) {
	whole, few, none := newSite(t, lab.Embedded, 3), newSite(t, lab.Embedded, 3), newSite(t, lab.Embedded, 3)
	whole.do([]int{1, 2, 3}, "SET", "lock:a", "token-of-a", "PX", 600_000)
	whole.do([]int{1, 2, 3}, "SET", "lock:forever", "token-f")
	few.do([]int{1, 2, 3}, "SET", "lock:a", "token-of-a", "PX", 600_000)
	kill := func(s *site, nodes ...int) {
		for _, n := range nodes {
			if err := s.lab.Nodes()[n].Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	kill(few, 1, 2)
	kill(none, 0, 1, 2)
	script := filepath.Join(t.TempDir(), "script.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	interrupted := func(args ...string) func() int {
		return func() int {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return Main(ctx, args, []string{"DLOCK_NODES=" + strings.Join(whole.urls, " "), "DLOCK_AUDIT=none"}, strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
		}
	}
	on := func(s *site, args ...string) func() int { return func() int { return s.run(args...).code } }

	produced := make(map[int]bool)
	for _, c := range []struct {
		code int
		what string
		do   func() int
	}{
		{exitOK, "ls", on(whole, "ls")},
		{exitOK, "acquire", on(whole, "acquire", "free")},
		{exitOK, "watch for a while", on(whole, "watch", "--for", "2s")},
		{exitOK, "run", on(whole, "run", "job", "--", os.Args[0], "-test.run=^$")},
		{exitFailure, "release without a record", on(whole, "release", "lock:a", "--token", "token-of-a", "--audit", t.TempDir())},
		{exitUsage, "an option that is none", on(whole, "ls", "--nodes")},
		{exitUsage, "a live view without a terminal", on(whole)},
		{exitNotAcquired, "acquire what is held", on(whole, "acquire", "a")},
		{exitNotAcquired, "run under what is held", on(whole, "run", "a", "--", "true")},
		{exitNotThere, "get what is not there", on(whole, "get", "lock:nowhere")},
		{exitNotThere, "release of another token", on(whole, "release", "lock:a", "--token", "another")},
		{exitNotThere, "release of what is not there", on(whole, "release", "lock:nowhere", "--token", "another")},
		{exitNotThere, "unlock of what is not held", on(whole, "unlock", "nowhere", "--token", "6f1c1e1e-0d3c-4c1a-9a57-2f6a2f0c9b11/1796118050123456/web-9:1")},
		{exitNoQuorum, "acquire with one of three nodes", on(few, "acquire", "free")},
		{exitNoNode, "ls without a node", on(none, "ls")},
		{exitNoNode, "get without a node", on(none, "get", "lock:a")},
		{exitNoNode, "watch without a node", on(none, "watch")},
		{exitNoNode, "doctor without a node", on(none, "doctor")},
		{exitNoNode, "release without a node", on(none, "release", "lock:a", "--token", "token-of-a")},
		{exitNoNode, "acquire without a node", on(none, "acquire", "free")},
		{exitRefused, "release in read-only mode", on(whole, "--read-only", "release", "lock:a", "--token", "token-of-a")},
		{exitRefused, "acquire in read-only mode", on(whole, "--read-only", "acquire", "free")},
		{exitIncomplete, "ls with a node down", on(few, "ls")},
		{exitIncomplete, "get with a node down", on(few, "get", "lock:a")},
		{exitTrouble, "ls --fail-on", on(whole, "ls", "--fail-on", "no-expiry")},
		{exitTrouble, "doctor", on(whole, "doctor")},
		{exitCannotRun, "run what cannot be run", on(whole, "run", "job", "--", script)},
		{exitNoCommand, "run what is not there", on(whole, "run", "job", "--", "no-such-command-at-all")},
		{exitInterrupted, "ls, interrupted", interrupted("ls")},
		{exitInterrupted, "release, interrupted", interrupted("release", "lock:a", "--token", "token-of-a")},
		{exitBrokenPipe, "ls without a reader", func() int {
			return Main(t.Context(), []string{"ls"}, []string{"DLOCK_NODES=" + strings.Join(whole.urls, " ")}, strings.NewReader(""),
				&brokenWriter{fmt.Errorf("write: %w", syscall.EPIPE)}, &bytes.Buffer{})
		}},
	} {
		t.Run(fmt.Sprintf("%d/%s", c.code, c.what), func(t *testing.T) {
			if c.code == exitNotAcquired && strings.Contains(c.what, "run") || c.code == exitCannotRun {
				if _, err := exec.LookPath("true"); err != nil {
					t.Skip("there is no command true, and no mode of a file, on this system")
				}
			}
			if got := c.do(); got != c.code {
				t.Errorf("exit code %d, want %d", got, c.code)
			}
		})
		produced[c.code] = true
	}
	for code := range 10 {
		if !produced[code] {
			t.Errorf("no situation ends with %d", code)
		}
	}
	for _, code := range []int{exitCannotRun, exitNoCommand, exitInterrupted, exitBrokenPipe} {
		if !produced[code] || !strings.Contains(exitCodesHelp, fmt.Sprintf("\n  %d  ", code)) {
			t.Errorf("%d is not produced, or the help does not name it", code)
		}
	}
	// Nothing of all this has touched the locks.
	if whole.stored(1, "lock:a") != "token-of-a" || few.stored(1, "lock:a") != "token-of-a" {
		t.Error("a lock was released")
	}
}

// The code that needs a person soonest wins.
func TestWorse(t *testing.T) {
	order := []int{exitOK, exitIncomplete, exitNotThere, exitRefused, exitNoNode, exitFailure}
	for i, a := range order {
		for j, b := range order {
			if got := worse(a, b); got != order[max(i, j)] {
				t.Errorf("of %d and %d it is %d", a, b, got)
			}
		}
	}
}
