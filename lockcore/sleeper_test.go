package lockcore_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"dlock/lockcore"
)

// sleeper is the clock of a process that is stopped now and then, alone or
// with its machine. Whoever asks it for the time while it sleeps gets an answer
// when it has woken, so that nothing goes on meanwhile that needs to know.
type sleeper struct {
	asleep barrier

	mu   sync.Mutex
	lag  time.Duration // what its monotonic clock has missed
	naps []nap
}

// nap is a time of sleep.
type nap struct {
	from, to time.Time
	machine  bool // whether the monotonic clock stood still
}

// now is the time by both of the sleeper's clocks.
func (s *sleeper) now() time.Time {
	s.asleep.pass(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	return behind(time.Now(), s.lag)
}

// outside is a moment with a monotonic reading, which fake time has not.
var outside = time.Now()

// behind is the moment t as two clocks tell it, of which the monotonic one has
// missed lag. Nothing but a suspended machine makes the two differ, so the
// inside of a time.Time is changed; TestClocksThatDiffer would notice if that
// were laid out in another way.
func behind(t time.Time, lag time.Duration) time.Time {
	t = outside.Add(t.Round(0).Sub(outside.Round(0)))
	(*struct {
		wall uint64
		ext  int64
		loc  *time.Location
	})(unsafe.Pointer(&t)).ext -= int64(lag)
	return t
}

func TestClocksThatDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := behind(time.Now(), 0)
		to := behind(time.Now().Add(time.Hour), 50*time.Minute)
		if wall, mono := to.Round(0).Sub(from.Round(0)), to.Sub(from); wall != time.Hour || mono != 10*time.Minute {
			t.Errorf("an hour with 50 minutes of sleep: the wall clock saw %v, the monotonic clock %v", wall, mono)
		}
		if !from.Equal(time.Now()) {
			t.Errorf("%v has become %v", time.Now(), from)
		}
	})
}

// slept is to be called when a nap has ended.
func (s *sleeper) slept(n nap) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.naps = append(s.naps, n)
	if n.machine {
		s.lag += n.to.Sub(n.from)
	}
}

// missed is how much of the time since from its monotonic clock has missed.
func (s *sleeper) missed(from time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var missed time.Duration
	for _, n := range s.naps {
		if n.machine && !n.from.Before(from) {
			missed += n.to.Sub(n.from)
		}
	}
	return missed
}

// noticed is when the sleeper must know of something that happens at the
// given moment, at the latest.
func (s *sleeper) noticed(at time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.naps {
		woken := n.to
		if n.machine {
			woken = woken.Add(lockcore.ClockCheck)
		}
		if !n.from.After(at) && woken.After(at) {
			at = woken
		}
	}
	return at
}

// doze stops a client's process for a while, or its whole machine. What is on
// its way then gets no further until it wakes; with deaf, requests arrive, and
// only the answers wait.
func (c *client) doze(d time.Duration, machine, deaf bool) {
	shut := func(l *link) *barrier {
		if deaf {
			return &l.deaf
		}
		return &l.asleep
	}
	n := nap{from: time.Now(), machine: machine}
	c.asleep.close()
	for _, l := range c.links {
		shut(l).close()
	}
	c.w.pause(d)
	n.to = time.Now()
	c.slept(n)
	for _, l := range c.links {
		shut(l).open()
	}
	c.asleep.open()
}

// A holder whose machine was suspended past its lease learns of it soon after
// it wakes, whether or not its lock was being renewed, and not only when the
// timers that stood still go off.
func TestASuspendedHolderLearnsWhenItWakes(t *testing.T) {
	const ttl = 10 * time.Second
	for _, watchdog := range []bool{true, false} {
		for _, machine := range []bool{true, false} {
			t.Run(fmt.Sprintf("watchdog %v machine %v", watchdog, machine), func(t *testing.T) {
				played(t, 3, ttl, func(t *testing.T, b *bubble) {
					c, other := b.actor(0), b.actor(1)
					defer c.close()
					defer other.close()
					h := c.take("job", 0, lockcore.WithWatchdog(watchdog))
					time.Sleep(time.Second)
					next := other.willTake("job")
					c.doze(time.Minute, machine, false)
					woken := time.Now()
					if h.lock.Valid() || h.lock.Remaining() != 0 {
						t.Error("it counts as held after a minute of sleep")
					}
					<-h.lock.Done()
					if took := time.Since(woken); took > lockcore.ClockCheck {
						t.Errorf("told %v after waking", took)
					}
					want := map[bool]lockcore.LossReason{true: lockcore.LossSuspended, false: lockcore.LossExpired}[machine]
					var lost *lockcore.LostError
					if !errors.As(h.lock.Err(), &lost) || lost.Reason != want {
						t.Errorf("told %v, want %q", h.lock.Err(), want)
					}
					(<-next).release()
				})
			})
		}
	}
}

// A sleep that the lease outlasts costs nothing but its time.
func TestAShortSleepDoesNotCostTheLock(t *testing.T) {
	const ttl = 10 * time.Second
	played(t, 3, ttl, func(t *testing.T, b *bubble) {
		c := b.actor(0)
		defer c.close()
		h := c.take("job", 0)
		for range 5 {
			time.Sleep(time.Second)
			c.doze(ttl/2, true, false)
			time.Sleep(lockcore.ClockCheck)
			if left := h.lock.Remaining(); !h.lock.Valid() || left < ttl/2 {
				t.Fatalf("after waking %v are left: %v", left, h.lock.Err())
			}
		}
		h.release()
	})
}
