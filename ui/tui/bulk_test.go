package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dlock/inspect"
)

// several are n healthy locks of one owner.
func several(n int) []inspect.Lock {
	var locks []inspect.Lock
	for i := range n {
		locks = append(locks, lockOf(fmt.Sprintf("lock:batch:%02d", i), "hhhhh", inspect.Held, 20*time.Second))
	}
	return locks
}

// taken is a lock as its next owner has it.
func taken(l inspect.Lock) inspect.Lock {
	next := lockOf(l.ID.Key, "ooooo", inspect.Held, 20*time.Second)
	for i := range next.Copies {
		next.Copies[i].Answer = inspect.AnswerHeld
	}
	return next
}

func noToken(inspect.ID) string { return "" }

// listing is a dialog of n locks that shows what would be done.
func listing(t testing.TB, n int) (*bulkDialog, time.Time) {
	d, e := newBulk("marked locks", several(n), noToken, ago(time.Hour), t0)
	if !e.read {
		t.Fatal("it does not read afresh")
	}
	d.onRead(e.id, fresh(5, several(n)...), nil, t0)
	if d.step != bulkListing {
		t.Fatalf("step %d", d.step)
	}
	d.drawn = true
	return d, t0
}

// arm types the word and puts the focus on the button, at human speed.
func arm(d *bulkDialog, now time.Time) time.Time {
	now = now.Add(quietCap)
	for _, c := range d.word {
		now = now.Add(50 * time.Millisecond)
		d.onKey(key{name: string(c), typed: string(c), at: now})
	}
	d.onKey(key{name: "tab", at: now})
	return now.Add(settle)
}

func TestBulkListsEverythingBeforeItSends(t *testing.T) {
	locks := several(4)
	split := lockOf("lock:batch:90", "hhoof", inspect.Split, time.Minute)
	gone := lockOf("lock:batch:91", "fffff", inspect.Expired, 0)
	d, e := newBulk("6 marked locks", append(slices.Clone(locks), split, gone), noToken, ago(time.Hour), t0)
	if got := d.keys(); len(got) != 6 || got[4] != "lock:batch:90" {
		t.Fatalf("reads %q", got)
	}
	d.onRead(e.id, fresh(5, locks[0], taken(locks[1]), locks[2], locks[3], split), nil, t0)
	if d.count() != 3 || d.word != "release 3" {
		t.Fatalf("%d would be released, the word is %q", d.count(), d.word)
	}
	sc := drawnOn(t, 120, 36)
	all := strings.Join(d.lines(sc, 100, 40), "\n")
	for _, want := range []string{"lock:batch:00", "owner changed", "several owners", "the lock is gone", "if still a91f", "release 3"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not listed:\n%s", want, all)
		}
	}
}

// drawnOn is a scene without colours.
func drawnOn(t testing.TB, w, h int) *scene {
	s := newScreen(t, w, h, plain, Config{})
	s.load(incident())
	return s.app.scene()
}

func TestBulkMustBeReadToItsEnd(t *testing.T) {
	d, now := listing(t, 60)
	d.drawn = false
	sc := drawnOn(t, 80, 24)
	d.lines(sc, 76, 18)
	if !d.unread {
		t.Fatal("60 locks fit on a screen of 24 lines")
	}
	now = now.Add(quietCap)
	for _, c := range d.word {
		d.onKey(key{name: string(c), typed: string(c), at: now})
	}
	if d.typed != "" || d.armed() {
		t.Fatal("it can be armed before the list has been seen")
	}
	d.onKey(key{name: "end", at: now})
	now = arm(d, now)
	if !d.armed() {
		t.Fatalf("not armed: %q", d.typed)
	}
	if e := d.onKey(key{name: "enter", at: now}); len(e.send) != bulkAtOnce {
		t.Fatalf("%d are sent at once", len(e.send))
	}
}

func TestBulkFollowsEveryOwner(t *testing.T) {
	d, now := listing(t, 3)
	now = arm(d, now)
	if !d.armed() {
		t.Fatal("not armed")
	}
	e := d.onTick(now.Add(reread))
	if !e.read {
		t.Fatal("an open dialog does not look again")
	}
	locks := several(3)
	d.onRead(e.id, fresh(5, locks[0], taken(locks[1]), locks[2]), nil, now)
	if d.armed() || d.typed != "" || d.count() != 2 || d.word != "release 2" {
		t.Fatalf("after one owner changed: armed %v, typed %q, the word is %q", d.armed(), d.typed, d.word)
	}
	// Also if it changes back it is another hold.
	e = d.onTick(now.Add(2 * reread))
	d.onRead(e.id, fresh(5, locks...), nil, now)
	if d.count() != 2 {
		t.Fatal("a lock that had another owner meanwhile is taken for the same")
	}
}

func TestBulkIsStoppedAndGoesOn(t *testing.T) {
	d, now := listing(t, 10)
	now = arm(d, now)
	e := d.onKey(key{name: "enter", at: now})
	sent := len(e.send)
	d.onKey(key{name: "esc", at: now})
	for _, s := range e.send {
		if more := d.onResult(s.id, inspect.Result{Outcome: inspect.OutReleased}, nil, now); len(more.send) != 0 {
			t.Fatal("it goes on after it was stopped")
		}
	}
	if d.step != bulkDone {
		t.Fatalf("step %d", d.step)
	}
	settled := 0
	for _, it := range d.items {
		if it.settled() {
			settled++
		}
	}
	if settled != sent || !strings.Contains(string(d.summary()), "6 not released") {
		t.Fatalf("%d of %d settled: %s", settled, sent, d.summary())
	}
}

// However keys, reads and answers come, what is sent was listed, is what was
// marked, and is sent once.
func TestBulkNeverSendsWhatWasNotListed(t *testing.T) {
	locks := several(6)
	keys := []string{"r", "e", "l", " ", "6", "enter", "tab", "esc", "backspace", "ctrl+u", "ctrl+y", "down", "end", "q", "pgdown"}
	rapid.Check(t, func(rt *rapid.T) {
		d, e := newBulk("marked locks", locks, noToken, ago(time.Hour), t0)
		sc := drawnOn(t, 120, 36)
		now := t0
		sent := map[string]int{}
		var flying []bulkSend
		check := func(before bulkDialog, e bulkEffect) {
			for _, s := range e.send {
				sent[s.plan.ID.Key]++
				flying = append(flying, s)
				switch {
				case before.step == bulkListing && (!before.drawn || before.unread || before.typed != before.word || before.focus != focusRelease):
					rt.Fatal("sent without the word and the button")
				case before.step == bulkListing && now.Sub(before.readAt) > freshness:
					rt.Fatal("sent on old facts")
				case before.step != bulkListing && before.step != bulkSending:
					rt.Fatalf("sent in step %d", before.step)
				case s.plan.Token != tokenA:
					rt.Fatal("sent for a token nobody marked")
				case sent[s.plan.ID.Key] > 1:
					rt.Fatal("sent twice")
				}
			}
			if len(flying) > bulkAtOnce {
				rt.Fatalf("%d on their way at once", len(flying))
			}
		}
		for range rapid.IntRange(0, 50).Draw(rt, "n") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(rt, "ms")) * time.Millisecond)
			before := *d
			switch rapid.IntRange(0, 6).Draw(rt, "what") {
			case 0:
				e = d.onTick(now)
			case 1:
				s := fresh(rapid.IntRange(1, 5).Draw(rt, "up"))
				for _, l := range locks {
					switch rapid.IntRange(0, 5).Draw(rt, "lock") {
					case 0:
						s.Locks = append(s.Locks, taken(l))
					case 1:
					default:
						s.Locks = append(s.Locks, l)
					}
				}
				d.onRead(d.pending, s, nil, now)
				e = bulkEffect{}
			case 2:
				d.lines(sc, 100, rapid.IntRange(8, 40).Draw(rt, "room"))
				e = bulkEffect{}
			case 3:
				if len(flying) > 0 {
					s := flying[0]
					flying = flying[1:]
					e = d.onResult(s.id, inspect.Result{Outcome: inspect.OutReleased}, nil, now)
				}
			case 4:
				now = arm(d, now)
				continue
			default:
				name := rapid.SampledFrom(keys).Draw(rt, "key")
				k := key{name: name, at: now}
				if len(name) == 1 {
					k.typed = name
				}
				e = d.onKey(k)
			}
			check(before, e)
			if d.step == bulkDone && len(flying) > 0 {
				rt.Fatal("done while some are on their way")
			}
		}
	})
}

func TestMarksAndBulkReleaseFromTheScreen(t *testing.T) {
	var audited []string
	s := newScreen(t, 120, 36, plain, Config{Operator: "ana", Audit: func(r inspect.Result) error { audited = append(audited, r.Plan.ID.Key); return nil }})
	snap := fresh(5, several(6)...)
	snap.Complete, snap.Interval, snap.At = true, time.Second, t0
	s.source.snap = snap
	s.load(snap)
	s.press("m", "m", "j", "m")
	s.mustShow("3 MARKED", " *●")
	shuffled := snap
	shuffled.Locks = slices.Clone(snap.Locks)
	slices.Reverse(shuffled.Locks)
	s.load(shuffled)
	if s.app.marks.len() != 3 || !s.app.marks.has(inspect.ID{Key: "lock:batch:03"}) {
		t.Fatalf("marked after a shuffle: %v", s.app.marks)
	}
	s.source.result = inspect.Result{Outcome: inspect.OutReleased, Freed: true}
	s.press("X")
	s.mustShow("Force-release 3 marked locks", "lock:batch:03", "release 3")
	s.press(strings.Split("release 3", "")...)
	s.press("tab", "enter")
	if len(s.source.executed) != 3 || len(audited) != 3 {
		t.Fatalf("%d executed, %d recorded", len(s.source.executed), len(audited))
	}
	s.mustShow("3 released.", "Recorded in the audit file as operator ana")
	s.press("enter")
	if s.app.bulk != nil || s.app.marks.len() != 0 {
		t.Fatalf("%d are marked still", s.app.marks.len())
	}

	// Some that are not done stay marked.
	s.press("M")
	s.mustShow("6 MARKED")
	s.source.result = inspect.Result{Outcome: inspect.OutNotReached}
	s.press("X")
	s.mustShow("Force-release 6 marked locks")
	s.press(strings.Split("release 6", "")...)
	s.press("tab", "enter")
	s.mustShow("6 not released. They stay marked; X goes on.")
	s.press("esc")
	s.mustShow("6 MARKED")
	s.press("esc")
	s.mustNotShow("MARKED")
}

func TestMarkIsAboutOneHold(t *testing.T) {
	s := newScreen(t, 120, 36, plain, Config{})
	locks := several(2)
	snap := fresh(5, locks...)
	snap.Complete = true
	s.load(snap)
	s.press("m", "m")
	snap.Locks = []inspect.Lock{taken(locks[0]), locks[1]}
	s.source.snap = snap
	s.load(snap)
	s.press("X")
	s.mustShow("left alone: the owner changed", "release 1")
	s.press("esc")
	snap.Locks = locks[1:]
	s.load(snap)
	if s.app.marks.len() != 1 {
		t.Fatalf("%d marks, though one lock is gone", s.app.marks.len())
	}
	snap.Complete, snap.Locks = false, nil
	s.load(snap)
	if s.app.marks.len() != 1 {
		t.Fatal("a lock that could not be seen lost its mark")
	}
}

func TestBulkOfOneOwner(t *testing.T) {
	s := newScreen(t, 120, 36, plain, Config{})
	snap := fresh(5, append(several(3), taken(lockOf("lock:z", "h", inspect.Held, time.Minute)))...)
	s.source.snap = snap
	s.load(snap)
	s.typeLine("release owner")
	s.mustShow("Force-release 3 locks of worker-7f9c:4411")
	if n := len(s.app.bulk.items); n != 3 {
		t.Errorf("%d locks of one owner", n)
	}
	s.press("esc", "7", "X")
	s.mustShow("Force-release 3 locks of worker-7f9c:4411")
}

func TestBulkTakesNoMoreThanCanBeRead(t *testing.T) {
	s := newScreen(t, 120, 36, plain, Config{})
	s.load(lots(maxBulk + 1))
	s.press("M", "X")
	s.mustShow("at most 1000 locks are released at a time")
	if s.app.asking() {
		t.Fatal("the dialog opens")
	}
}
