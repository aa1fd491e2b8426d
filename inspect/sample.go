package inspect

import (
	"strconv"
	"time"
)

// presence says whether a node has a key.
type presence uint8

const (
	absent presence = iota
	present
	forbidden // this user may not ask about the key
)

// trip is one round trip: the moment just before its questions were sent and
// the one just after its answers came. All samples of it share one.
type trip struct{ sent, received time.Time }

func (t *trip) begin() time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.sent
}

func (t *trip) end() time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.received
}

// sample is what one node told about one key at one moment. It is a value and
// never changed once it was handed on. There are as many of it as there are
// nodes times locks, so it is kept small.
type sample struct {
	presence  presence
	never     bool // no expiry
	idleAsked bool // the idle time was confirmed in this very sample
	barred    bool // the value of this very key is off limits
	// idle is the idle time in seconds as it was told in the trip touched;
	// see [sample.touchedAt].
	idle    uint32
	touched *trip
	life    time.Duration // what PTTL said, unless never
	asked   *trip         // that of PTTL
	got     *reading      // nil when nothing was read
	read    *trip         // of our last reading of the value, or of the attempt
	// gap is how long we waited before the last reading that found the same
	// value as the one before.
	gap time.Duration
	// missed is the last trip in which this value is known not to have been
	// there yet; nil when that is not known.
	missed *trip
	told   *told // by companions
}

func (s sample) sent() time.Time     { return s.asked.begin() }
func (s sample) received() time.Time { return s.asked.end() }

// readAt is when the answer to our last reading of the value came.
func (s sample) readAt() time.Time { return s.read.end() }

// absentAt is the last moment at which this value is known not to have been
// there yet; zero when that is not known.
func (s sample) absentAt() time.Time { return s.missed.begin() }

// sharedIntegers is below which number servers keep one object for all keys
// that hold it.
const sharedIntegers = 10_000

// ownsIdleTime reports whether an idle time is the key's own. Servers keep one
// object for all keys that hold the same small number, and with it one idle
// time, which may be as old as the server; so may be that of a value that could
// not be read.
func (s sample) ownsIdleTime() bool {
	if s.presence != present || s.content() == unread {
		return false
	}
	e := s.got.entry
	if e.Type != "string" || len(e.Value) > 4 {
		return true
	}
	n, err := strconv.Atoi(e.Value)
	return err != nil || n < 0 || n >= sharedIntegers || strconv.Itoa(n) != e.Value
}

// touchedAt is when somebody other than us last read or wrote the key, at the
// latest; zero when not known.
func (s sample) touchedAt() time.Time {
	if s.touched == nil {
		return time.Time{}
	}
	return s.touched.sent.Add(-time.Duration(s.idle) * time.Second)
}

func (s sample) content() content {
	if s.got == nil {
		return unread
	}
	return s.got.content
}

// err is why the value or the key could not be read.
func (s sample) err() string {
	if s.got == nil {
		return ""
	}
	return s.got.err
}

// free reports whether nothing is there that keeps anybody from taking the lock.
func (s sample) free() bool {
	return s.presence == absent || s.presence == present && s.content() == known && !s.got.decoded.Anonymous && len(s.got.decoded.Holders) == 0 && !s.got.entry.Cut
}

func (s sample) expiry() Expiry {
	switch {
	case s.presence != present:
		return Expiry{}
	case s.never:
		return Expiry{Never: true}
	default:
		return Expiry{At: s.sent().Add(s.life)}
	}
}

// earliest and latest bound the true moment of expiry: the server worked out
// the remaining life somewhere between sent and received, and cut it to a
// millisecond.
func (s sample) earliest() time.Time { return s.sent().Add(s.life) }
func (s sample) latest() time.Time   { return s.received().Add(s.life + time.Millisecond) }

const (
	// clockSlack is how far the same expiry may seem to move between two
	// samples: timers and scheduling on both sides.
	clockSlack = 5 * time.Millisecond
	// renewalStep is how far an expiry must jump to be called a renewal.
	renewalStep = 50 * time.Millisecond
)

// sameGrant reports whether the second sample is what the first one predicts,
// so that nothing was written in between and the value need not be read again.
// It goes by the ranges in which the two true expiries lie and not by a wide
// tolerance: on a busy lock the next holder's expiry is only some
// milliseconds away from the last one's.
func sameGrant(before, after sample) bool {
	if before.presence != present || after.presence != present || before.never != after.never {
		return false
	}
	if before.never {
		return true
	}
	// Two clocks that NTP slews drift apart by at most half a millisecond
	// per second.
	slack := clockSlack + max(0, after.sent().Sub(before.sent()))/1000
	return !before.earliest().After(after.latest().Add(slack)) && !after.earliest().After(before.latest().Add(slack))
}

// renewed reports whether the expiry was set anew, and later, between two
// samples of one value.
func renewed(before, after sample) bool {
	if before.presence != present || after.presence != present || before.never || after.never {
		return false
	}
	return after.earliest().After(before.latest().Add(renewalStep))
}

// touchedBetween reports whether OBJECT IDLETIME shows that somebody else used
// the key since the sample before. lastTouch is when the key was last used as
// the new idle time tells; the server counts in seconds of its own clock.
func touchedBetween(before sample, lastTouch time.Time) bool {
	last := before.touchedAt()
	if at := before.readAt(); at.After(last) {
		last = at
	}
	return !last.IsZero() && lastTouch.After(last.Add(idleGrain))
}

// idleGrain is how far an idle time can be from the truth: it is the difference
// of two readings of a clock that ticks in seconds and that servers look at ten
// times a second. What was written so soon after our own reading cannot be told
// from it.
const idleGrain = 1200 * time.Millisecond

const (
	// rereadFirst is after how long a value is read for the second time, to
	// find what the idle time could not show after the first. From then on
	// the pause doubles.
	rereadFirst = 2500 * time.Millisecond
	// rereadSlow is the longest pause where only another reading can show
	// that the value has changed: where there is no expiry that would end a
	// mistake, or no idle time.
	rereadSlow = 5 * time.Second
	// rereadMost is the longest pause where the idle time speaks: it is blind
	// only for the moment after our own reading.
	rereadMost = time.Minute
)

// outdated reports whether a value that nothing shows to have changed is to be
// read again all the same. A wrong owner is worse than an idle time that
// others see disturbed. With many keys the pauses grow, so that what is sent
// per second does not.
func outdated(before, s sample, key string, keys int) bool {
	if before.content() == unread {
		return false
	}
	most := rereadMost
	if s.never || !s.idleAsked {
		most = rereadSlow
	}
	stretch := time.Duration(1 + keys/chatty)
	pause := min(max(2*before.gap, rereadFirst*stretch), most*stretch)
	return s.sent().Sub(before.readAt()) >= spread(pause, key)
}

// spread shortens a pause by up to a fifth, by another part for each key, so
// that what was found at once is not read again at once.
func spread(d time.Duration, key string) time.Duration {
	h := uint32(2166136261)
	for i := range len(key) {
		h = (h ^ uint32(key[i])) * 16777619
	}
	return d - d/5*time.Duration(h%1024)/1024
}

// fresher returns the one of two samples of a key that knows its value from a
// later reading, or that is later if one of them has no value.
func fresher(a, b sample) sample {
	later := a.sent().Before(b.sent())
	if a.presence == present && b.presence == present && !a.readAt().Equal(b.readAt()) {
		later = a.readAt().Before(b.readAt())
	}
	if later {
		return b
	}
	return a
}

// sameValue reports whether two samples show the same thing under the key.
func sameValue(a, b sample) bool {
	return a.presence == b.presence && (a.presence != present || a.got.same(b.got) || a.content() == unread && b.content() == unread)
}

// succeeds carries over what the sample before still tells about the value in
// this one.
func (s sample) succeeds(before sample) sample {
	if s.presence != present || before.presence != present || !sameValue(s, before) {
		if before.presence != forbidden {
			s.missed = before.asked
		}
		return s
	}
	s.missed = before.missed
	s.gap = before.gap
	if !before.readAt().IsZero() && s.readAt().After(before.readAt()) {
		s.gap = s.readAt().Sub(before.readAt())
	}
	if s.idleAsked && before.touched != nil && !touchedBetween(before, s.touchedAt()) {
		// The last use was our own reading, or the same as before.
		s.idle, s.touched = before.idle, before.touched
	}
	return s
}
