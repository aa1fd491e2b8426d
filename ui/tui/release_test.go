package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dlock/inspect"
	"dlock/ui/text"
)

// releaseRig drives the dialog's machine by hand.
type releaseRig struct {
	t   testing.TB
	d   *releaseDialog
	now time.Time
	eff effect
}

func openRig(t testing.TB, l inspect.Lock) *releaseRig {
	d, eff := newRelease(l, t0.Add(-time.Hour), t0)
	return &releaseRig{t: t, d: d, now: t0, eff: eff}
}

func (r *releaseRig) wait(d time.Duration) { r.now = r.now.Add(d) }

// key presses a key after everything has been quiet for long enough.
func (r *releaseRig) key(name string) effect {
	r.wait(quiet + time.Millisecond)
	return r.keyNow(name)
}

func (r *releaseRig) keyNow(name string) effect {
	k := key{name: name, at: r.now}
	if len(name) == 1 {
		k.typed = name
	}
	r.eff = r.d.onKey(k)
	return r.eff
}

func (r *releaseRig) typeWord(s string) {
	for _, c := range s {
		r.key(string(c))
	}
}

// answer brings the answer to the read that is awaited.
func (r *releaseRig) answer(s inspect.Snapshot, err error) {
	r.eff = r.d.onRead(r.d.pending, s, err, r.now)
}

func (r *releaseRig) want(step releaseStep) {
	r.t.Helper()
	if r.d.step != step {
		r.t.Fatalf("step %d instead of %d (%s)", r.d.step, step, r.d.why)
	}
}

// fresh is an answer to a fresh read: the lock, as up of five nodes tell it.
func fresh(up int, locks ...inspect.Lock) inspect.Snapshot {
	s := inspect.Snapshot{Locks: locks, Target: inspect.Target{Topology: inspect.Redlock, Quorum: 3}}
	for i := range 5 {
		st := inspect.NodeUp
		if i >= up {
			st = inspect.NodeDown
		}
		s.Target.Nodes = append(s.Target.Nodes, inspect.NodeStatus{Name: fmt.Sprintf("n%d", i+1), State: st})
	}
	return s
}

func heldLock() inspect.Lock {
	return lockOf("lock:search:reindex", "hhhhh", inspect.Held, 20*time.Second)
}

// other is the same lock, held by somebody else by now.
func otherOwner() inspect.Lock {
	l := lockOf("lock:search:reindex", "ooooo", inspect.Held, 20*time.Second)
	for i := range l.Copies {
		l.Copies[i].Answer = inspect.AnswerHeld
	}
	return l
}

// confirming is a rig that has come to the facts.
func confirming(t testing.TB) *releaseRig {
	r := openRig(t, heldLock())
	r.answer(fresh(5, heldLock()), nil)
	r.want(releaseConfirming)
	return r
}

func TestReleaseReadsAfreshBeforeItAsks(t *testing.T) {
	r := openRig(t, heldLock())
	if !r.eff.read {
		t.Fatal("no fresh read was asked for")
	}
	r.want(releaseReading)
	r.typeWord("reindex")
	if eff := r.key("enter"); eff.execute {
		t.Fatal("sent before the fresh read came")
	}
	r.want(releaseReading)
}

func TestReleaseIsRefused(t *testing.T) {
	gone := heldLock()
	gone.State = inspect.Expired
	unreadable := heldLock()
	unreadable.Owners, unreadable.Type = nil, "hash"
	for i := range unreadable.Copies {
		unreadable.Copies[i].Type, unreadable.Copies[i].HasToken = "hash", false
	}
	silent := heldLock()
	silent.Owners, silent.State = nil, inspect.Unknown
	for i := range silent.Copies {
		silent.Copies[i].Answer = inspect.AnswerUnreachable
	}
	for name, c := range map[string]struct {
		snap inspect.Snapshot
		err  error
		says text.Safe
	}{
		"too few nodes":      {fresh(2, heldLock()), nil, "only 2 of 5 nodes answered"},
		"no node":            {fresh(0), errors.New("no node answered"), "only 0 of 5"},
		"read failed":        {inspect.Snapshot{}, errors.New("dial: \x1b[2J"), `the fresh read failed: dial: \x1b[2J`},
		"gone":               {fresh(5, gone), nil, "gone already"},
		"not listed":         {fresh(5), nil, "gone already"},
		"another owner":      {fresh(5, otherOwner()), nil, "the owner changed since you pressed the key: it is now api-2:88"},
		"value not read":     {fresh(5, unreadable), nil, "cannot release this safely: the key is a hash"},
		"only silent stores": {fresh(3, silent), nil, "no node that answers stores it"},
	} {
		t.Run(name, func(t *testing.T) {
			r := openRig(t, heldLock())
			r.answer(c.snap, c.err)
			r.want(releaseRefused)
			if !strings.Contains(string(r.d.why), string(c.says)) {
				t.Fatalf("it says %q, not %q", r.d.why, c.says)
			}
			for _, k := range []string{"tab", "r", "ctrl+d", "right"} {
				if eff := r.key(k); eff.execute {
					t.Fatalf("%s sends something", k)
				}
			}
			if r.key("enter"); r.d.step != releaseClosed {
				t.Fatal("enter does not close it")
			}
		})
	}
}

func TestReleaseNeedsTheWordAndTheButton(t *testing.T) {
	r := confirming(t)
	if r.d.focus != focusCancel {
		t.Fatal("the focus is not on Cancel")
	}
	r.typeWord("reinde")
	r.key("tab")
	if r.d.focus == focusRelease {
		t.Fatal("the button can be reached without the whole word")
	}
	r.typeWord("y")
	if r.d.armed() {
		t.Fatal("armed by a wrong word")
	}
	r.key("backspace")
	r.key("x")
	r.key("tab")
	if r.key("backspace"); r.d.focus != focusCancel {
		t.Fatal("the focus stays on the button though the word is wrong again")
	}
	r.key("ctrl+u")
	r.typeWord("reindex")
	if !r.d.armed() {
		t.Fatal("not armed by the word")
	}
	if eff := r.key("enter"); eff.execute || r.d.step != releaseConfirming {
		t.Fatal("enter on Cancel is a yes, or throws the word away")
	}
	r.key("tab")
	if r.d.focus != focusRelease {
		t.Fatal("tab does not reach the button")
	}
	r.d.onTick(r.now)
	r.answer(fresh(5, heldLock()), nil)
	eff := r.key("enter")
	if !eff.execute || eff.dryRun {
		t.Fatalf("enter on the button does not send: %+v", eff)
	}
	r.want(releaseSending)
	if r.d.plan.Token != tokenA {
		t.Fatalf("the plan is for %q", r.d.plan.Token)
	}
	if eff := r.key("enter"); eff.execute {
		t.Fatal("a second enter sends again")
	}
	if eff := r.key("q"); eff.execute || r.d.note == "" {
		t.Fatal("q while it is on its way says nothing")
	}
	r.key("esc")
	r.want(releaseSending)
	r.d.onResult(eff.id-1, inspect.Result{Outcome: inspect.OutReleased}, nil, r.now)
	r.want(releaseSending) // that answered something else
	r.d.onResult(eff.id, inspect.Result{Outcome: inspect.OutReleased, Freed: true}, errors.New("disk full"), r.now)
	r.want(releaseDone)
	if r.d.auditErr != "disk full" {
		t.Fatalf("audit error %q", r.d.auditErr)
	}
	r.key("esc")
	r.want(releaseClosed)
}

func TestReleaseWordCannotBePasted(t *testing.T) {
	r := confirming(t)
	r.wait(time.Second)
	r.d.onKey(key{typed: "reindex", paste: true, at: r.now})
	if r.d.typed != "" {
		t.Fatal("a paste counts as typing")
	}
	// A terminal without bracketed paste delivers the lot at once.
	r.wait(time.Second)
	for _, c := range "reindex" {
		r.keyNow(string(c))
	}
	r.keyNow("tab")
	if eff := r.keyNow("enter"); eff.execute {
		t.Fatal("a paste with a tab and a newline in it releases")
	}
}

func TestReleaseHearsFastTyping(t *testing.T) {
	r := confirming(t)
	r.wait(quiet)
	for _, c := range "reindex" {
		r.keyNow(string(c))
		r.wait(20 * time.Millisecond)
	}
	if !r.d.armed() {
		t.Fatalf("typed quickly after a pause, %q got through", r.d.typed)
	}
	split := lockOf("lock:search:reindex", "hhoof", inspect.Split, 20*time.Second)
	r = openRig(t, split)
	r.answer(fresh(5, split), nil)
	r.wait(quiet / 2)
	r.keyNow("down") // still too early
	r.wait(quiet)
	r.keyNow("down")
	r.keyNow("up")
	r.keyNow("down")
	r.keyNow("enter")
	r.want(releaseConfirming)
	if r.d.token != tokenB {
		t.Fatalf("chose %q", r.d.token)
	}
}

func TestReleaseCollectsNothingWhileDisarmed(t *testing.T) {
	r := confirming(t)
	r.typeWord("rein")
	r.now = r.now.Add(reread)
	r.d.onTick(r.now)
	r.answer(fresh(2, heldLock()), nil)
	r.typeWord("reindex")
	if r.d.typed != "" {
		t.Fatalf("%q was collected while disarmed", r.d.typed)
	}
	r.now = r.now.Add(reread)
	r.d.onTick(r.now)
	r.answer(fresh(5, heldLock()), nil)
	if r.d.armed() {
		t.Fatal("armed by what was typed while disarmed")
	}
	r.typeWord("reindex")
	if !r.d.armed() {
		t.Fatal("not armed again")
	}
}

func TestReleaseIgnoresKeysInFlight(t *testing.T) {
	r := confirming(t)
	for range 8 { // somebody leans on a key: every 100 ms another
		r.wait(100 * time.Millisecond)
		r.keyNow("r")
	}
	if r.d.typed != "" {
		t.Fatalf("%q got through", r.d.typed)
	}
	r.wait(quietCap)
	r.keyNow("r")
	if r.d.typed != "r" {
		t.Fatal("keys are ignored for longer than the cap")
	}
	r2 := confirming(t)
	r2.wait(100 * time.Millisecond)
	r2.keyNow("esc")
	r2.want(releaseClosed)
}

func TestReleaseDisarms(t *testing.T) {
	split := lockOf("lock:search:reindex", "hhoof", inspect.Split, 20*time.Second)
	gone := heldLock()
	gone.State = inspect.Expired
	for name, c := range map[string]struct {
		snap  inspect.Snapshot
		err   error
		final bool
	}{
		"owner changed": {fresh(5, otherOwner()), nil, true},
		"went split":    {fresh(5, split), nil, true},
		"gone":          {fresh(5, gone), nil, true},
		"nodes lost":    {fresh(2, heldLock()), nil, false},
		"read failed":   {inspect.Snapshot{}, errBoom, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := confirming(t)
			r.typeWord("reindex")
			r.key("tab")
			r.now = r.d.askedAt.Add(reread)
			if eff := r.d.onTick(r.now); !eff.read {
				t.Fatal("an open dialog is not read again")
			}
			r.answer(c.snap, c.err)
			if r.d.armed() || r.d.focus != focusCancel || r.d.disarmed == "" {
				t.Fatal("still armed")
			}
			if eff := r.key("enter"); eff.execute {
				t.Fatal("sent though disarmed")
			}
			if !c.final {
				r = confirming(t)
				r.now = r.now.Add(reread)
				r.d.onTick(r.now)
				r.answer(c.snap, c.err)
			}
			r.now = r.now.Add(reread)
			r.d.step = releaseConfirming
			r.d.onTick(r.now)
			r.answer(fresh(5, heldLock()), nil)
			r.typeWord("reindex")
			if got := r.d.armed(); got == c.final {
				t.Fatalf("armed again: %v", got)
			}
		})
	}
}

func TestReleaseOfOneOfSeveralOwners(t *testing.T) {
	split := lockOf("lock:search:reindex", "hhoof", inspect.Split, 20*time.Second)
	r := openRig(t, split)
	r.answer(fresh(5, split), nil)
	r.want(releaseChoosing)
	r.key("down")
	r.key("down")
	r.key("enter")
	r.want(releaseConfirming)
	if r.d.token != tokenB {
		t.Fatalf("chose %q", r.d.token)
	}
	r.typeWord("reindex")
	r.now = r.now.Add(reread)
	r.d.onTick(r.now)
	r.answer(fresh(5, split), nil)
	if !r.d.armed() {
		t.Fatalf("disarmed though nothing changed: %s", r.d.disarmed)
	}
	r.now = r.now.Add(reread)
	r.d.onTick(r.now)
	r.answer(fresh(5, heldLock()), nil) // the other owner has won
	if r.d.armed() || !r.d.final {
		t.Fatal("still armed though the chosen token is gone")
	}
}

// With a node silent, several tokens may be told of while it could give one of
// them the quorum: which one is meant is asked as for a split.
func TestReleaseAsksWhichTokenWhileAnyCouldHoldIt(t *testing.T) {
	l := lockOf("lock:search:reindex", "hhoou", inspect.Unknown, 20*time.Second)
	r := openRig(t, l)
	if r.d.seen != "" {
		t.Fatal("one of several tokens is taken for the holder's")
	}
	r.answer(fresh(4, l), nil)
	r.want(releaseChoosing)
	r.key("down")
	r.key("enter")
	r.want(releaseConfirming)
	if r.d.token != tokenB {
		t.Fatalf("chose %q", r.d.token)
	}
}

// Nothing arms before everything has been on the screen.
func TestReleaseIsReadToTheEndFirst(t *testing.T) {
	for _, size := range []struct {
		w, h int
		fits bool
	}{{120, 36, true}, {80, 24, true}, {60, 16, false}} {
		s := loaded(t, size.w, size.h, Config{})
		s.press("j", "j", "X")
		s.mustShow("This deletes the key")
		s.press(strings.Split("reindex", "")...)
		if got := s.app.release.armed(); got != size.fits {
			t.Fatalf("%dx%d: armed %v", size.w, size.h, got)
		}
		if size.fits {
			if size.w < 100 {
				s.mustShow("compare-and-delete lock:search:reindex a91f…3c0d")
			} else {
				s.mustShow("EVAL")
			}
			continue
		}
		if s.app.release.typed != "" {
			t.Fatal("letters are collected before the field is there")
		}
		s.mustShow("more lines to read: pgdn")
		for range 9 {
			s.press("pgdown")
			s.mustShow("This deletes the key")
		}
		s.mustShow("compare-and-delete", "Type the last part")
		s.press(strings.Split("reindex", "")...)
		s.press("pgup")
		if !s.app.release.armed() {
			t.Fatalf("%dx%d: not armed after everything was read", size.w, size.h)
		}
	}
}

func TestReleaseDryRunSendsNothing(t *testing.T) {
	r := confirming(t)
	eff := r.key("ctrl+d")
	if !eff.execute || !eff.dryRun {
		t.Fatalf("%+v", eff)
	}
	r.d.onResult(r.d.pending, inspect.Result{Outcome: inspect.OutNotSent, DryRun: true}, nil, r.now)
	r.want(releaseRehearsing)
	r.key("a")
	r.want(releaseConfirming)
	if r.d.typed != "" {
		t.Fatal("the key that went back was typed")
	}
}

func TestReleaseWithOldFactsReadsFirst(t *testing.T) {
	r := confirming(t)
	r.typeWord("reindex")
	r.key("tab")
	r.wait(time.Hour) // the program was suspended
	eff := r.keyNow("enter")
	if eff.execute || !eff.read {
		t.Fatalf("%+v", eff)
	}
	r.answer(fresh(5, heldLock()), nil)
	if eff := r.key("enter"); !eff.execute {
		t.Fatal("it does not send after the fresh read")
	}
}

func TestReleaseIgnoresLateAnswers(t *testing.T) {
	r := openRig(t, heldLock())
	old := r.d.pending
	r.answer(fresh(5, heldLock()), nil)
	r.now = r.now.Add(reread)
	r.d.onTick(r.now)
	r.d.onRead(old, fresh(5, otherOwner()), nil, r.now)
	if r.d.disarmed != "" {
		t.Fatal("an answer to an old question counts")
	}
}

func TestArmWord(t *testing.T) {
	for key, want := range map[string]string{
		"lock:search:reindex": "reindex", "lock:plain": "plain", "single": "single", "a/b": "b", "lock:x:": "x:", "lock:注文": "a91f", "lock:a\x1bb": "a91f",
		"lock:" + strings.Repeat("n", 40): "a91f", "lock:a b": "a91f", "": "a91f", `lock:a\b`: "a91f",
	} {
		l := lockOf(key, "h", inspect.Held, time.Second)
		l.Resource = strings.TrimPrefix(key, "lock:")
		if got, _ := armWord(l, tokenA); got != want {
			t.Errorf("%q: type %q, want %q", key, got, want)
		}
	}
	if got, _ := armWord(lockOf("注", "h", inspect.Held, time.Second), "\x00\x01"); got != "release" {
		t.Errorf("without anything to type: %q", got)
	}
}

// Whatever happens in whatever order, something is sent only with the word
// typed, the focus on the button, facts that are fresh and the token that was
// seen (or chosen).
func TestReleaseNeverSendsUnarmed(t *testing.T) {
	split := lockOf("lock:search:reindex", "hhoof", inspect.Split, 20*time.Second)
	reads := []inspect.Snapshot{fresh(5, heldLock()), fresh(3, heldLock()), fresh(2, heldLock()), fresh(5, otherOwner()), fresh(5, split), fresh(5)}
	keys := []string{"r", "e", "i", "n", "d", "x", "enter", "tab", "esc", "backspace", "ctrl+u", "ctrl+d", "ctrl+y", "down", "q", "pgdown"}
	rapid.Check(t, func(rt *rapid.T) {
		start := rapid.SampledFrom([]inspect.Lock{heldLock(), split}).Draw(rt, "start")
		r := openRig(t, start)
		var lastGood inspect.Snapshot
		for range rapid.IntRange(0, 60).Draw(rt, "n") {
			r.wait(time.Duration(rapid.IntRange(0, 3000).Draw(rt, "ms")) * time.Millisecond)
			before := *r.d
			var eff effect
			switch rapid.IntRange(0, 6).Draw(rt, "what") {
			case 0:
				eff = r.d.onTick(r.now)
			case 1:
				lastGood = rapid.SampledFrom(reads).Draw(rt, "read")
				eff = r.d.onRead(r.d.pending, lastGood, nil, r.now)
			case 2:
				eff = r.d.onRead(r.d.pending, inspect.Snapshot{}, errBoom, r.now)
			case 3:
				r.d.onResult(r.d.pending, inspect.Result{Outcome: inspect.OutReleased}, nil, r.now)
			case 4: // the whole word at human speed
				for _, c := range "reindex" {
					r.key(string(c))
				}
				before, eff = *r.d, effect{}
			default:
				eff = r.keyNow(rapid.SampledFrom(keys).Draw(rt, "key"))
			}
			if !eff.execute || eff.dryRun {
				continue
			}
			switch {
			case !before.armed(), before.focus != focusRelease, before.disarmed != "":
				rt.Fatalf("sent while not armed: %+v", before)
			case r.now.Sub(before.readAt) > freshness:
				rt.Fatalf("sent on facts that are %v old", r.now.Sub(before.readAt))
			case r.d.plan.Token != r.d.token:
				rt.Fatalf("the plan is for another token")
			case !before.chosen && start.State == inspect.Held && r.d.token != tokenA:
				rt.Fatalf("sent for a token nobody saw")
			}
		}
	})
}

func TestAliveHint(t *testing.T) {
	base := heldLock()
	base.FullTTL = 10 * time.Second
	base.HeldSince, base.HeldIsMinimum = ago(time.Hour), true
	renewed := base
	renewed.Renewals, renewed.LastRenewal = 3, ago(4*time.Second)
	quietOne := renewed
	quietOne.LastRenewal = ago(time.Minute)
	forever := base
	forever.Expiry = inspect.Expiry{Never: true}
	idle := forever
	idle.Idle = inspect.Known(time.Hour)
	newcomer := base
	newcomer.HeldSince = ago(2 * time.Second)
	young := base
	young.HeldSince, young.HeldIsMinimum = ago(2*time.Second), false
	for name, c := range map[string]struct {
		l     inspect.Lock
		since time.Time
		want  life
	}{
		"renewed lately":      {renewed, ago(time.Hour), lifeAlive},
		"renewed long ago":    {quietOne, ago(time.Hour), lifeSilent},
		"never renewed":       {base, ago(time.Hour), lifeSilent},
		"just began to look":  {base, ago(time.Second), lifeUnknown},
		"no expiry":           {forever, ago(time.Hour), lifeUnknown},
		"no expiry and idle":  {idle, ago(time.Hour), lifeUnknown},
		"first seen just now": {newcomer, ago(time.Hour), lifeUnknown},
		"just taken":          {young, ago(time.Hour), lifeAlive},
	} {
		if got, says := aliveHint(c.l, c.since, t0); got != c.want {
			t.Errorf("%s: %v (%s), want %v", name, got, says, c.want)
		}
	}
	recent := base
	recent.HeldSince = ago(20 * time.Second)
	if _, says := aliveHint(recent, ago(time.Hour), t0); !strings.Contains(string(says), "no renewal seen in 20s") {
		t.Errorf("a lock that is 20s old: %s", says)
	}
	for _, l := range []inspect.Lock{forever, idle} {
		if _, says := aliveHint(l, ago(time.Hour), t0); !strings.Contains(string(says), "cannot be told from here") {
			t.Errorf("without expiry: %s", says)
		}
	}
}
