package lockcore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"dlock/lockcore/node"
)

// Lock is one grant. It is safe for concurrent use. It ends once: by Release,
// or because it was lost, and then Done is closed.
type Lock struct {
	locker    *Locker
	cfg       *config
	resource  string
	candidate *candidate // as it was when it won
	granted   time.Time

	ending ending

	alarm    alarm
	phase    uint8 // when within the period it is renewed
	replicas int

	// extending serialises rounds of extend, so that an older round cannot
	// overwrite the lease of a newer one: whoever has put a value in may
	// extend. It is a channel, since waiting for it must end with a context.
	extending chan struct{}

	mu       sync.Mutex
	lease    lease
	lastSent time.Time // when a TTL was last sent, whether or not it was granted
	renewals int
	failed   []NodeError // why the newest renewal failed, if it did

	released    atomic.Bool // from before the first release is sent
	releaseOnce sync.Once
	releaseErr  error
}

// hold turns a candidate that won into a Lock and has it tended.
func (l *Locker) hold(ctx context.Context, c *candidate, won lease) *Lock {
	k := l.newLock(ctx, c, won)
	k.start()
	return k
}

// newLock makes a Lock of a token and the lease it has. Nothing tends it yet.
func (l *Locker) newLock(ctx context.Context, c *candidate, won lease) *Lock {
	k := &Lock{
		locker: l, cfg: c.cfg, resource: c.resource, candidate: c,
		granted: c.cfg.now(), lease: won, lastSent: c.cfg.now(),
		extending: make(chan struct{}, 1),
	}
	k.alarm, k.phase = alarm{lock: k, index: -1}, c.token.UUID[15]
	k.replicas = c.replicas
	k.ending.values = ctx
	return k
}

// start has a lock tended until it ends.
func (k *Lock) start() {
	// Hand-overs to this token on further nodes are more votes for it, and
	// no news.
	k.locker.ear.listen(k.candidate.entry.token, func(int, int64) {})
	k.cfg.observer.watch(k)
	k.wakeAfter(0)
}

// Resource is the name that was locked.
func (k *Lock) Resource() string { return k.resource }

// Key is the Redis key that holds the lock.
func (k *Lock) Key() string { return k.candidate.entry.keys[0] }

// Token is the value stored under the key, as Token.String writes it. It is no
// secret: whoever may read the key sees it.
func (k *Lock) Token() Token { return k.candidate.token }

// Fence is the fencing token: larger than that of every earlier grant of this
// resource. Send it along with each write; storage that refuses a write whose
// number is smaller than the largest it has seen is safe from a holder that
// was paused past its lease.
func (k *Lock) Fence() int64 { return k.candidate.fence }

// Context ends when the lock does, with its cause: ErrReleased or a
// *LostError, for context.Cause. It carries the values of the context given to
// Acquire, but ends neither with that one nor at its deadline.
func (k *Lock) Context() context.Context { return k.ending.context() }

// Done is closed when the lock has ended, at the latest when its validity is
// over by this process's clock, whether or not any node can be reached. A
// process that was paused learns of it only after it wakes, after a suspend of
// the machine within a quarter of a second; that is what fencing is for.
func (k *Lock) Done() <-chan struct{} { return k.Context().Done() }

// Err is nil while the lock is held, then ErrReleased or a *LostError.
func (k *Lock) Err() error { return k.ending.cause() }

// Valid reports whether the lock is held at this moment, by the clock and not
// by whether a timer has fired yet.
func (k *Lock) Valid() bool { return k.Err() == nil && k.Remaining() > 0 }

// Remaining is how long the lock stays valid if it is not renewed, and no
// longer than WithMaxHold allows; never negative.
func (k *Lock) Remaining() time.Duration {
	now := k.cfg.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	left := k.lease.remaining(now)
	if k.cfg.maxHold > 0 {
		left = min(left, k.cfg.maxHold-elapsed(k.granted, now))
	}
	return max(0, left)
}

// Renewals counts the successful extensions so far.
func (k *Lock) Renewals() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.renewals
}

// Extend renews the lease to a full TTL from now; with the watchdog on there is
// no need to. It returns nil if a quorum confirmed it, a *LostError if the lock
// is lost (it has then ended), or a *NoQuorumError if too few nodes answered in
// time; the lock is then still held for Remaining, and trying again makes sense.
// If ctx ends first, that is joined to the *NoQuorumError. After Release it
// returns ErrReleased.
func (k *Lock) Extend(ctx context.Context) error {
	started := k.cfg.now()
	err := k.extend(ctx)
	k.cfg.observer.renewed(k.resource, k.cfg.now().Sub(started), err)
	return err
}

func (k *Lock) extend(ctx context.Context) error {
	select {
	case k.extending <- struct{}{}:
	case <-ctx.Done():
		return errors.Join(k.unreached(make([]*answer, len(k.locker.voters))), context.Cause(ctx))
	}
	defer func() { <-k.extending }()
	if err := k.Err(); err != nil {
		return err
	}
	started := k.cfg.now()
	k.mu.Lock()
	current := k.lease
	k.lastSent = started
	k.mu.Unlock()
	left := current.remaining(started)
	if left <= 0 {
		return k.lose(k.expiry(started, current))
	}

	l := k.locker
	answers := k.extendAll()
	timer := time.NewTimer(min(k.cfg.nodeTimeout, left))
	defer timer.Stop()
	round := tally{got: make([]*answer, len(l.voters))}
	for round.ours < l.quorum {
		select {
		case a := <-answers:
			round.add(a)
			if lost := k.gone(round); lost != nil {
				return k.lose(lost)
			}
			if all(round.got) && round.ours < l.quorum {
				return k.unreached(round.got)
			}
		case <-timer.C:
			return k.unreached(round.got)
		case <-ctx.Done():
			return errors.Join(k.unreached(round.got), context.Cause(ctx))
		}
	}

	// The new lease counts from before this round was sent. It may only
	// follow a lease that had not ended: otherwise somebody may have held
	// the lock in between.
	now := k.cfg.now()
	if current.remaining(now) <= 0 {
		return k.lose(k.expiry(now, current))
	}
	k.mu.Lock()
	k.lease = lease{base: started, length: k.cfg.ttl - k.cfg.allowance()}
	k.renewals++
	k.mu.Unlock()
	l.background.Go(func() { k.putBack(round.got, answers) })
	return nil
}

// putBack restores the entry on nodes that lost it, so that a quorum does not
// wear away node by node while the lock is held. It runs only after a round
// in which a quorum confirmed the lock: it was never lost, so nobody can have
// been granted it in between, and a node on which somebody was shows a larger
// fencing token and is left alone.
func (k *Lock) putBack(got []*answer, answers <-chan indexedAnswer) {
	for i := range got {
		if got[i] != nil {
			k.putBackOn(i, *got[i])
		}
	}
	for !all(got) {
		a := <-answers
		got[a.node] = &a.answer
		k.putBackOn(a.node, a.answer)
	}
}

func (k *Lock) putBackOn(i int, a answer) {
	if a.err != nil || a.standing != isMissing || a.fence > k.Fence() {
		return
	}
	k.candidate.chains[i].then(func(done func()) {
		if !k.lasting() {
			done() // a release may have been sent before it was our turn
			return
		}
		k.locker.voters[i].extend(k.candidate.entry, k.Fence(), true, func(a answer) {
			if node.Classify(a.err).Unanswered() {
				// On another connection the release may be faster: it must
				// leave a mark for this one to run into.
				k.candidate.ballots[i].lost = true
			}
			done()
		})
	})
}

// lasting reports whether the lock is to go on: also when its Locker was closed
// without releasing it, for somebody else who has the token.
func (k *Lock) lasting() bool {
	var lost *LostError
	return !k.released.Load() && (k.Err() == nil || errors.As(k.Err(), &lost) && lost.Reason == LossClosed)
}

// Release gives the lock back: on every node the key is deleted if it still
// holds this grant's token. The end of ctx neither prevents it nor cuts it short:
// it waits for a quorum, at most for the node timeout or for a node's own
// command timeout, whichever is longer. The lock's context ends before anything
// is sent. Nodes that are not reached are tried again in the background, for a
// TTL or until the Locker is closed.
//
// It returns nil once a quorum of nodes has let go; a *LostError if the lock
// had been lost before, in which case nothing of others was touched; or a
// *NotReleasedError if so few nodes could be reached that others stay locked
// out until the TTL ends. Calling it again returns the same result.
func (k *Lock) Release(ctx context.Context) error {
	k.releaseOnce.Do(func() { k.releaseErr = k.release(ctx) })
	return k.releaseErr
}

func (k *Lock) release(ctx context.Context) error {
	// A lock whose validity is over was lost even if the keeper's timer
	// has not fired yet.
	now := k.cfg.now()
	k.mu.Lock()
	current := k.lease
	k.mu.Unlock()
	if current.remaining(now) <= 0 {
		k.lose(k.expiry(now, current))
	}
	k.released.Store(true)
	k.ending.end(ErrReleased)
	k.locker.schedule.clear(&k.alarm)
	// No renewal may be in flight when the delete is sent.
	k.extending <- struct{}{}
	defer func() { <-k.extending }()

	l := k.locker
	limit := max(k.cfg.nodeTimeout, l.slowest())
	answers := k.releaseAll(limit)
	// A quorum that lets go ends the wait, so nodes that hang do not hold it
	// up; where there is none, nothing is won by giving up on requests that
	// are under way.
	var timer *time.Timer // not needed where the answer is there at once
	round := tally{got: make([]*answer, len(l.voters))}
	for waiting := true; waiting && round.ours < l.quorum; waiting = waiting && !all(round.got) {
		select {
		case a := <-answers:
			round.add(a)
			continue
		default:
		}
		if timer == nil {
			timer = time.NewTimer(limit)
			defer timer.Stop()
		}
		select {
		case a := <-answers:
			round.add(a)
		case <-timer.C:
			waiting = false
		}
	}

	var lost *LostError
	if errors.As(k.Err(), &lost) {
		return lost
	}
	if round.ours >= l.quorum {
		return nil
	}
	if lost := k.gone(round); lost != nil {
		return lost
	}
	if silent := k.silent(round.got); len(silent) > len(l.voters)-l.quorum {
		now := k.cfg.now()
		k.mu.Lock()
		within := max(0, k.cfg.ttl-elapsed(k.lastSent, now))
		k.mu.Unlock()
		return &NotReleasedError{Resource: k.resource, Within: within, Nodes: silent}
	}
	return nil
}

type indexedAnswer struct {
	node   int
	answer answer
}

// extendAll extends on every node, on each behind this grant's acquire.
func (k *Lock) extendAll() <-chan indexedAnswer {
	answers := make(chan indexedAnswer, len(k.locker.voters))
	for i, v := range k.locker.voters {
		k.candidate.chains[i].then(func(done func()) {
			done() // nothing has to wait for an extend: it changes only what is ours
			v.extend(k.candidate.entry, k.Fence(), false, func(a answer) { answers <- indexedAnswer{i, a} })
		})
	}
	return answers
}

// releaseAll releases on every node, on each behind whatever may still set
// the key. The caller will wait for limit.
func (k *Lock) releaseAll(limit time.Duration) <-chan indexedAnswer {
	answers := make(chan indexedAnswer, len(k.locker.voters))
	var left atomic.Int32
	left.Store(int32(len(k.locker.voters)))
	for i := range k.locker.voters {
		k.candidate.chains[i].then(func(done func()) {
			k.locker.giveBack(i, k.candidate.entry, k.candidate.raiseOn(i), k.candidate.late(i), limit, func(a answer) {
				answers <- indexedAnswer{i, a}
				if left.Add(-1) == 0 {
					// Not before: news of a hand-over that comes late would
					// be answered with one more release, after which this
					// one finds the lock gone.
					k.locker.ear.forget(k.candidate.entry.token)
				}
				done()
			})
		})
	}
	return answers
}

// slowest is the longest that a command to any node may take.
func (l *Locker) slowest() time.Duration {
	var d time.Duration
	for _, v := range l.voters {
		d = max(d, v.Timeout())
	}
	return d
}

// tally is what the nodes have answered so far in one round.
type tally struct {
	got    []*answer // by node, nil until it has answered
	ours   int       // that had the entry
	no     int       // that did not
	holder string    // what one of those had instead
}

func (t *tally) add(a indexedAnswer) {
	t.got[a.node] = &a.answer
	switch {
	case a.answer.err != nil:
	case a.answer.standing == isOurs:
		t.ours++
	default:
		t.no++
		if a.answer.standing == isOthers {
			t.holder = a.answer.found
		}
	}
}

// gone says that the lock is lost if so many nodes do not have it that the
// others are no quorum; else nil.
func (k *Lock) gone(t tally) *LostError {
	if t.no <= len(t.got)-k.locker.quorum {
		return nil
	}
	reason := LossGone
	if t.holder != "" {
		reason = LossTaken
	}
	return &LostError{Resource: k.resource, Reason: reason, Holder: t.holder, At: k.cfg.now()}
}

// lose ends the lock with a cause and returns the cause it has ended with,
// which is an earlier one if there was one.
func (k *Lock) lose(err *LostError) error {
	k.ending.end(err)
	k.locker.schedule.clear(&k.alarm)
	return k.Err()
}

// expiry is the cause of a lease that ended.
func (k *Lock) expiry(now time.Time, over lease) *LostError {
	reason := LossExpired
	if suspended(over.base, now) {
		reason = LossSuspended
	}
	return &LostError{Resource: k.resource, Reason: reason, At: now}
}

// silent lists the nodes that did not answer, with their reasons.
func (k *Lock) silent(got []*answer) []NodeError {
	var silent []NodeError
	for i, a := range got {
		switch {
		case a == nil:
			silent = append(silent, NodeError{k.locker.voters[i].Name(), errNodeTimeout})
		case a.err != nil:
			silent = append(silent, NodeError{k.locker.voters[i].Name(), a.err})
		}
	}
	return silent
}

func (k *Lock) unreached(got []*answer) *NoQuorumError {
	silent := k.silent(got)
	return &NoQuorumError{Resource: k.resource, Need: k.locker.quorum, Reached: len(got) - len(silent), Of: len(got), Nodes: silent}
}

func all(got []*answer) bool {
	for _, a := range got {
		if a == nil {
			return false
		}
	}
	return true
}
