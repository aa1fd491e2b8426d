package lockcore

import (
	"context"
	"time"
)

// Observer is told what a Locker does, for metrics and logs; it is how to
// count attempts, waits, holds, renewals and losses without this package
// depending on a metrics library. Any field may be nil. The functions are
// called from the goroutines that do the work and from several at once, and
// hold them up for as long as they take.
type Observer struct {
	// Acquired is called when an Acquire or TryAcquire has ended.
	Acquired func(Acquisition)
	// Renewed is called after each Extend, the watchdog's too; took is how
	// long it took, err what it returned.
	Renewed func(resource string, took time.Duration, err error)
	// Ended is called once for each lock that was held: cause is
	// ErrReleased or a *LostError, held the time from grant to end.
	Ended func(resource string, held time.Duration, cause error)
}

// Acquisition is how an Acquire ended.
type Acquisition struct {
	Resource string
	// Waited is how long it took.
	Waited time.Duration
	// Attempts counts the tokens it used: 1, and one more each time it gave
	// back what it had because votes were split or nodes out of reach.
	Attempts int
	// Err is what Acquire returned, nil for a grant.
	Err error
}

// WithObserver has an Observer told of what happens.
func WithObserver(o Observer) Option { return func(c *config) { c.observer = o } }

func (o Observer) acquired(a Acquisition) {
	if o.Acquired != nil {
		o.Acquired(a)
	}
}

func (o Observer) renewed(resource string, took time.Duration, err error) {
	if o.Renewed != nil {
		o.Renewed(resource, took, err)
	}
}

// watch has the end of a lock reported.
func (o Observer) watch(k *Lock) {
	if o.Ended == nil {
		return
	}
	context.AfterFunc(k.Context(), func() { o.Ended(k.resource, elapsed(k.granted, k.cfg.now()), k.Err()) })
}
