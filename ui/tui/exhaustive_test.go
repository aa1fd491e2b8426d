package tui

import (
	"testing"
	"time"

	"dlock/inspect"
)

// step is one thing that can happen to an open dialog.
type dialogStep struct {
	name string
	do   func(d *releaseDialog, now time.Time) effect
	// takes is how long it takes.
	takes time.Duration
}

func dialogKey(name string, takes time.Duration) dialogStep {
	return dialogStep{name, func(d *releaseDialog, now time.Time) effect {
		k := key{name: name, at: now}
		if len(name) == 1 {
			k.typed = name
		}
		return d.onKey(k)
	}, takes}
}

func dialogRead(name string, s inspect.Snapshot, err error) dialogStep {
	return dialogStep{name, func(d *releaseDialog, now time.Time) effect { return d.onRead(d.pending, s, err, now) }, 0}
}

// TestReleaseExhaustively goes through every sequence of events up to a length,
// from the opening of the dialog and from right before its button, and holds
// each release that is sent against a record of its own: what the newest good
// read said, when it came, and what was typed since.
func TestReleaseExhaustively(t *testing.T) {
	word, _ := armWord(heldLock(), tokenA)
	alphabet := []dialogStep{
		{"the word", func(d *releaseDialog, now time.Time) effect {
			for _, c := range word {
				d.onKey(key{name: string(c), typed: string(c), at: now})
			}
			return effect{}
		}, quietCap},
		dialogKey("z", quiet), dialogKey("backspace", quiet), dialogKey("tab", quiet), dialogKey("tab", 0),
		dialogKey("enter", quiet), dialogKey("enter", 0), dialogKey("esc", quiet), dialogKey("ctrl+d", quiet),
		{"time passes", func(d *releaseDialog, now time.Time) effect { return d.onTick(now) }, freshness + time.Second},
		{"the reread is due", func(d *releaseDialog, now time.Time) effect { return d.onTick(now) }, reread},
		dialogRead("same owner", fresh(5, heldLock()), nil), dialogRead("other owner", fresh(5, otherOwner()), nil),
		dialogRead("two owners", fresh(5, lockOf("lock:search:reindex", "hhoof", inspect.Split, time.Minute)), nil),
		dialogRead("gone", fresh(5), nil), dialogRead("no quorum", fresh(2, heldLock()), nil), dialogRead("failed", inspect.Snapshot{}, errBoom),
		{"an answer", func(d *releaseDialog, now time.Time) effect {
			d.onResult(d.pending, inspect.Result{Outcome: inspect.OutReleased}, nil, now)
			return effect{}
		}, 0},
	}
	ready := []int{11, 0, 3} // read, typed, tab: one enter away from sending
	explored, sent := 0, 0
	var explore func(d releaseDialog, now time.Time, changed bool, depth int, path []string)
	explore = func(d releaseDialog, now time.Time, changed bool, depth int, path []string) {
		if depth == 0 || d.step == releaseClosed {
			return
		}
		for _, s := range alphabet {
			next, at := d, now.Add(s.takes)
			awaited := next.pending != 0 && (next.step == releaseReading || next.step == releaseConfirming || next.step == releaseChoosing)
			before := next
			e := s.do(&next, at)
			explored++
			seen := changed || awaited && before.step == releaseConfirming && (s.name == "other owner" || s.name == "two owners" || s.name == "gone")
			if e.execute && !e.dryRun {
				sent++
				switch {
				case changed:
					t.Fatalf("%q, %s: sent though the owner had changed meanwhile", path, s.name)
				case s.name != "enter":
					t.Fatalf("%q: %s sends", path, s.name)
				case before.typed != word || before.focus != focusRelease:
					t.Fatalf("%q, %s: sent with %q typed and the focus on %d", path, s.name, before.typed, before.focus)
				case at.Sub(before.readAt) > freshness:
					t.Fatalf("%q, %s: sent on facts %v old", path, s.name, at.Sub(before.readAt))
				case at.Sub(before.focused) < settle:
					t.Fatalf("%q, %s: sent %v after the focus came to the button", path, s.name, at.Sub(before.focused))
				case next.plan.Token != tokenA || next.plan.ID.Key != "lock:search:reindex":
					t.Fatalf("%q, %s: sent for %q", path, s.name, next.plan.Token)
				}
			}
			if next.final && next.armed() {
				t.Fatalf("%q, %s: armed though it can never be again", path, s.name)
			}
			explore(next, at, seen, depth-1, append(path[:len(path):len(path)], s.name))
		}
	}
	depth := 4
	if testing.Short() {
		depth = 3
	}
	d, _ := newRelease(heldLock(), t0.Add(-time.Hour), t0)
	explore(*d, t0, false, depth, nil)
	now := t0
	for _, i := range ready {
		now = now.Add(alphabet[i].takes)
		alphabet[i].do(d, now)
	}
	if !d.armed() || d.focus != focusRelease {
		t.Fatal("the dialog is not ready")
	}
	explore(*d, now, false, depth, []string{"ready"})
	t.Logf("%d events, %d releases", explored, sent)
	if sent == 0 {
		t.Fatal("nothing was ever sent")
	}
}
