package lockcore

import (
	"context"
	"errors"
	"time"
)

// retryPause is how long the keeper waits after a renewal that too few nodes
// answered.
const retryPause = 100 * time.Millisecond

// keep is the watchdog of one lock: it renews at a third of the TTL, retries
// what may go better a little later for as long as the lock is valid, and ends
// the lock when its validity does. It runs until the lock ends, with or
// without renewal, since Done must be closed in time either way.
func (k *Lock) keep() {
	defer close(k.stopped)
	timer := time.NewTimer(k.nextWake())
	defer timer.Stop()
	var failed *NoQuorumError
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-k.locker.closing:
			k.cancel(&LostError{Resource: k.resource, Reason: LossClosed, At: k.cfg.now()})
			return
		case <-timer.C:
		}
		now := k.cfg.now()
		k.mu.Lock()
		current := k.lease
		k.mu.Unlock()
		left := current.remaining(now)
		if left <= 0 {
			lost := k.expiry(now, current)
			if failed != nil {
				lost.Nodes = failed.Nodes
			}
			k.lose(lost)
			return
		}
		if k.cfg.maxHold > 0 && elapsed(k.granted, now) >= k.cfg.maxHold {
			k.lose(&LostError{Resource: k.resource, Reason: LossMaxHold, At: now})
			return
		}
		if k.cfg.watchdog && elapsed(current.base, now) >= k.cfg.ttl/3 {
			if err := k.Extend(context.Background()); err != nil {
				if !errors.As(err, &failed) {
					return // lost for good
				}
				timer.Reset(min(retryPause, k.Remaining()))
				continue
			}
			failed = nil
		}
		timer.Reset(k.nextWake())
	}
}

// nextWake is how long the keeper may sleep.
func (k *Lock) nextWake() time.Duration {
	now := k.cfg.now()
	k.mu.Lock()
	current := k.lease
	k.mu.Unlock()
	wake := current.remaining(now)
	if k.cfg.watchdog {
		wake = min(wake, k.cfg.ttl/3-elapsed(current.base, now))
	}
	if k.cfg.maxHold > 0 {
		wake = min(wake, k.cfg.maxHold-elapsed(k.granted, now))
	}
	return max(0, wake)
}
