package lockcore

import "time"

// lease is a promise of validity: it runs for length from base. base is the
// moment before the request was first sent whose answer granted it.
type lease struct {
	base   time.Time
	length time.Duration
}

// remaining is how much of the lease is left; 0 or less means that it is over.
func (l lease) remaining(now time.Time) time.Duration {
	return l.length - elapsed(l.base, now)
}

// elapsed is the time between two moments by whichever clock saw more of it.
// The monotonic clock stands still while the machine is suspended and the
// nodes' TTLs do not; the wall clock can be set back. Taking the larger of the
// two errs on the safe side of both.
func elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

// slept is how much more time the wall clock saw pass than the monotonic
// clock: the machine was suspended for that long, or its clock was set forward.
func slept(from, to time.Time) time.Duration {
	return to.Round(0).Sub(from.Round(0)) - to.Sub(from)
}

// suspended reports whether the wall clock saw more than a second more, so that
// a lease which is over ended in a sleep rather than under our eyes.
func suspended(from, to time.Time) bool { return slept(from, to) > time.Second }
