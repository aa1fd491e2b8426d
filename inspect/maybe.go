package inspect

import "time"

// Maybe is a value that may not be known. Its zero value is "not known",
// which is a different thing from the zero of T and must be shown as such.
type Maybe[T any] struct {
	Value T
	Known bool
}

// Known wraps a value that is known.
func Known[T any](v T) Maybe[T] { return Maybe[T]{Value: v, Known: true} }

// Expiry tells when a key ends if nobody renews it. The zero value means that
// this is not known; Never means that the key has no time to live at all.
// At is on this process's clock, computed from the moment before the question
// was sent, so it errs to the early side by at most one round trip.
type Expiry struct {
	At    time.Time
	Never bool
}

// IsKnown reports whether anything is known about the expiry.
func (e Expiry) IsKnown() bool { return e.Never || !e.At.IsZero() }

// Remaining returns how long the key still lives at the given moment. It is
// not negative. The result is known only for an expiry that is known and not
// Never.
func (e Expiry) Remaining(now time.Time) (time.Duration, bool) {
	if e.Never || e.At.IsZero() {
		return 0, false
	}
	return max(0, e.At.Sub(now)), true
}

// Before reports whether e ends earlier than other; a key without expiry ends
// after every other, and an unknown expiry before every other.
func (e Expiry) Before(other Expiry) bool {
	switch {
	case e.Never:
		return false
	case other.Never:
		return true
	default:
		return e.At.Before(other.At)
	}
}
