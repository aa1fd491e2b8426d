package lockcore

import (
	"time"

	"dlock/lockcore/node"
)

// Bounds of trying again to release a token on a node that did not answer.
const (
	firstGiveBack = 20 * time.Millisecond
	lastGiveBack  = time.Second
	// mostOwed bounds how many tokens are tried again on one node at a time.
	// Whatever is beyond it ends with its TTL.
	mostOwed = 1000
)

// giveBack releases a token on node i, see voter.release for late and limit.
// done is called once, with the first answer. A node that did not answer is asked again in the
// background for as long as the key may live there: nodes that are restarted
// one after the other would otherwise each keep the token that was being
// released, and together lock everybody out until a TTL has passed.
func (l *Locker) giveBack(i int, e *entry, fence int64, late, limit time.Duration, done func(answer)) {
	l.voters[i].release(e, fence, late, limit, func(a answer) {
		done(a)
		if !node.Classify(a.err).Transient() {
			return
		}
		owed := l.voters[i].owed
		if owed.Add(1) > mostOwed {
			owed.Add(-1)
			return
		}
		l.background.Go(func() {
			defer owed.Add(-1)
			l.keepGivingBack(i, e, fence, late)
		})
	})
}

func (l *Locker) keepGivingBack(i int, e *entry, fence int64, late time.Duration) {
	timer := time.NewTimer(firstGiveBack)
	defer timer.Stop()
	over := time.NewTimer(e.ttl)
	defer over.Stop()
	answers := make(chan answer, 1)
	for pause := firstGiveBack; ; pause = min(2*pause, lastGiveBack) {
		select {
		case <-timer.C:
		case <-over.C:
			return
		case <-l.closing:
			return
		}
		l.voters[i].release(e, fence, late, 0, func(a answer) { answers <- a })
		if a := <-answers; !node.Classify(a.err).Transient() {
			return
		}
		timer.Reset(pause)
	}
}
