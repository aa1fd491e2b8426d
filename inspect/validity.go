package inspect

import "time"

// Valid returns how long the first owner can still rely on the lock at the
// given moment: the remaining life of its quorum less what the clocks of
// nodes and client may drift apart meanwhile, 1 % of the full life and 2 ms,
// and not negative. It is known only for a held lock whose expiry is known and
// not Never. Where the full life is not known yet the remaining life stands in
// for it, so that the allowance is then too small rather than missing.
func (l Lock) Valid(now time.Time) (time.Duration, bool) {
	if l.State != Held {
		return 0, false
	}
	left, ok := l.Expiry.Remaining(now)
	if !ok {
		return 0, false
	}
	return max(0, left-drift(max(l.FullTTL, left))), true
}

func drift(full time.Duration) time.Duration { return full/100 + 2*time.Millisecond }
