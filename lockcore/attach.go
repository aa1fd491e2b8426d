package lockcore

import (
	"context"
	"errors"
	"fmt"
)

// Attach goes on with a lock that was acquired elsewhere: by an earlier run of
// this program, or by a process that has handed its token on. It renews the
// lease to a full TTL, which may be longer or shorter than the one before, and
// returns the lock if a quorum confirms that the token holds it; its validity
// counts from before that round. From then on it is a lock like any other: the
// watchdog keeps it, unless WithWatchdog says otherwise, and Release ends it.
// Two handles of one token do not exclude each other, and a shorter TTL makes
// untrue what the other handle says of its validity.
//
// fence is the fencing token of the grant, at least 0. With 0, for one that is
// not known, Lock.Fence is 0 and nodes that have lost the entry are not given
// it back.
//
// It returns a *LostError if the token holds the lock no longer, in which case
// what is left of it on a minority of the nodes is given back; or a
// *NoQuorumError if too few nodes answered: the lock may still be held, and
// trying again makes sense. ctx governs the round only.
func (l *Locker) Attach(ctx context.Context, resource string, token Token, fence int64, opts ...Option) (*Lock, error) {
	if fence < 0 || fence > largestFence {
		return nil, fmt.Errorf("lockcore: %d cannot be the fencing token of a grant", fence)
	}
	k, err := l.unproven(ctx, resource, token, fence, opts)
	if err != nil {
		return nil, err
	}
	if err := k.Extend(ctx); err != nil {
		if errors.Is(err, ErrLost) {
			_ = k.Release(ctx) // it says once more that the lock is lost
		}
		k.ending.end(err)
		return nil, err
	}
	k.start()
	return k, nil
}

// ReleaseToken gives back a lock that was acquired elsewhere, as Lock.Release
// does, without renewing it before: whoever waits for it is handed it. It
// works although ctx is cancelled.
//
// It returns nil once a quorum of nodes has let go; a *LostError if the token
// did not hold the lock any more, in which case nothing of others was touched;
// or a *NotReleasedError, whose Within is the Locker's TTL (see WithTTL), since
// nothing is known of when the lock was renewed.
func (l *Locker) ReleaseToken(ctx context.Context, resource string, token Token, opts ...Option) error {
	k, err := l.unproven(ctx, resource, token, 0, opts)
	if err != nil {
		return err
	}
	return k.Release(ctx)
}

// unproven makes a handle of a token of which it is not known whether it holds
// the lock. Its lease is the longest it could be; nobody may rely on it before
// a round of extend has made one that is confirmed.
func (l *Locker) unproven(ctx context.Context, resource string, token Token, fence int64, opts []Option) (*Lock, error) {
	changed := l.cfg.with(opts)
	cfg := &changed
	if err := l.check(cfg, resource); err != nil {
		return nil, err
	}
	if _, ok := ParseToken(token.String()); !ok {
		return nil, errors.New("lockcore: this is no token that a lock was ever given")
	}
	c := l.newCandidate(cfg, resource, token, fence, make([]chain, len(l.voters)))
	c.fence = fence
	return l.newLock(ctx, c, lease{base: cfg.now(), length: c.validity()}), nil
}
