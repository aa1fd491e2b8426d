package lockcore

import (
	"context"
	"errors"
	"time"
)

// retryPause is how long the watchdog waits after a renewal that too few nodes
// answered.
const retryPause = 100 * time.Millisecond

// tend is the watchdog of one lock, called when its alarm rings: it renews at
// a third of the TTL, retries what may go better a little later for as long as
// the lock is valid, and ends the lock when its validity does. Locks that are
// not renewed are woken too, since Done must be closed in time either way.
func (k *Lock) tend() {
	if k.Err() != nil {
		return
	}
	select {
	case <-k.locker.closing:
		k.close()
		return
	default:
	}
	now := k.cfg.now()
	k.mu.Lock()
	current, failed := k.lease, k.failed
	k.mu.Unlock()
	if current.remaining(now) <= 0 {
		lost := k.expiry(now, current)
		lost.Nodes = failed
		k.lose(lost)
		return
	}
	if k.cfg.maxHold > 0 && elapsed(k.granted, now) >= k.cfg.maxHold {
		k.lose(&LostError{Resource: k.resource, Reason: LossMaxHold, At: now})
		return
	}
	pause := time.Duration(0)
	if k.cfg.watchdog && elapsed(current.base, now) >= k.renewAfter() {
		err := k.Extend(context.Background())
		var few *NoQuorumError
		switch {
		case errors.As(err, &few):
			pause = retryPause
			failed = few.Nodes
		case err != nil:
			return // it has ended
		default:
			failed = nil
		}
		k.mu.Lock()
		k.failed = failed
		k.mu.Unlock()
	}
	k.wakeAfter(max(pause, 0))
}

// wakeAfter sets the alarm for when something is due next, not before pause is
// over unless the lock ends first.
func (k *Lock) wakeAfter(pause time.Duration) {
	now := k.cfg.now()
	k.mu.Lock()
	current := k.lease
	k.mu.Unlock()
	wake := current.remaining(now)
	if k.cfg.watchdog {
		wake = min(wake, max(pause, k.renewAfter()-elapsed(current.base, now)))
	}
	if k.cfg.maxHold > 0 {
		wake = min(wake, k.cfg.maxHold-elapsed(k.granted, now))
	}
	// Set only while the lock lasts: whoever ends it clears the alarm
	// afterwards.
	k.locker.schedule.set(&k.alarm, now.Add(max(0, wake)))
	if k.Err() != nil {
		k.locker.schedule.clear(&k.alarm)
	}
}

// renewAfter is a third of the TTL, and for each lock up to a fifth less, so
// that locks which were taken together are not renewed together for ever.
func (k *Lock) renewAfter() time.Duration {
	third := k.cfg.ttl / 3
	return third - third/5*time.Duration(k.phase)/256
}

// close ends the lock because its Locker is closed.
func (k *Lock) close() {
	k.lose(&LostError{Resource: k.resource, Reason: LossClosed, At: k.cfg.now()})
}
