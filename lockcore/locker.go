package lockcore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"dlock/lockcore/node"
)

// Quorum is how many of n independent nodes must agree: floor(n/2)+1. n counts
// the nodes that are configured, whether or not they can be reached; anything
// else would let two clients that see different halves both win.
func Quorum(n int) int { return n/2 + 1 }

// Locker takes locks on a fixed set of nodes: one Redis, or several
// independent ones that vote (Redlock). It is safe for concurrent use; one per
// process is enough.
type Locker struct {
	voters []voter
	quorum int
	cfg    config

	// background counts every goroutine the Locker started, so that Close
	// can wait for the last late answer to be dealt with.
	background background
	closing    chan struct{}
	closeOnce  sync.Once
}

// New builds a Locker over nodes, which stay the caller's to close, after the
// Locker. All clients of a resource must use the same nodes. A node that is
// listed twice is refused, since its vote would count twice; options that
// cannot work together are refused too.
func New(nodes []*node.Node, opts ...Option) (*Locker, error) {
	cfg := defaults().with(opts)
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		return nil, errors.New("lockcore: no node was given")
	}
	l := &Locker{quorum: Quorum(len(nodes)), cfg: cfg, closing: make(chan struct{})}
	l.background.idle.L = &l.background.mu
	seen := make(map[string]string)
	for _, n := range nodes {
		if other, dup := seen[n.Addr()]; dup {
			return nil, fmt.Errorf("lockcore: nodes %s and %s are the same server, %s; each voter must be a server of its own", other, n.Name(), n.Addr())
		}
		seen[n.Addr()] = n.Name()
		l.voters = append(l.voters, voter{n})
	}
	return l, nil
}

// Quorum is how many nodes must grant a lock.
func (l *Locker) Quorum() int { return l.quorum }

// Close ends what the Locker does in the background and waits for it, at most
// for as long as one command to a node may take. Locks that are still held are
// no longer renewed and their contexts end; their keys end with their TTL, so
// release first what should be free at once. Close is idempotent.
func (l *Locker) Close() error {
	l.closeOnce.Do(func() { close(l.closing) })
	l.background.Wait()
	return nil
}

// TryAcquire asks once. If somebody else holds the lock it returns a
// *NotAcquiredError that says who; if too few nodes answered, a *NoQuorumError.
func (l *Locker) TryAcquire(ctx context.Context, resource string, opts ...Option) (*Lock, error) {
	return l.Acquire(ctx, resource, append(opts[:len(opts):len(opts)], WithWait(0))...)
}

// Acquire takes the lock of a resource, waiting for at most the wait limit
// (see WithWait) or until ctx ends. The error of the last attempt says why it
// was not to be had; if ctx ended, its error is joined. ctx governs the
// acquisition only: the lock stays held when it ends.
func (l *Locker) Acquire(ctx context.Context, resource string, opts ...Option) (*Lock, error) {
	cfg := l.cfg.with(opts)
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := checkResource(resource); err != nil {
		return nil, fmt.Errorf("lockcore: %w", err)
	}

	asked := cfg.now()
	var hint int64
	for try := 0; ; try++ {
		// Checked here rather than in the select below, which could pick
		// another ready case first.
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		select {
		case <-l.closing:
			return nil, ErrClosed
		default:
		}
		a := l.attempt(ctx, cfg, resource, newToken(asked.UnixMicro(), cfg.owner), hint)
		if a.err == nil {
			return l.hold(ctx, cfg, resource, a), nil
		}
		if cause := context.Cause(ctx); cause != nil {
			if errors.Is(a.err, cause) {
				return nil, a.err
			}
			return nil, errors.Join(a.err, cause)
		}
		hint = max(hint, a.highest)
		left := cfg.wait - cfg.now().Sub(asked)
		if left <= 0 || !worthRetrying(a.err) {
			return nil, a.err
		}
		if err := l.pause(ctx, a, min(left, pollPause(try, a.err))); err != nil {
			return nil, errors.Join(a.err, err)
		}
	}
}

// pause waits before the next attempt, also for the leftovers of the last one
// to be gone, since they would be in our own way.
func (l *Locker) pause(ctx context.Context, a *attempt, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	cleanup := a.cleaned
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-l.closing:
			return ErrClosed
		case <-cleanup:
			cleanup = nil
		case <-timer.C:
			if cleanup == nil {
				return nil
			}
			// A node that hangs is not waited for longer than it takes
			// to call it hung.
			timer.Reset(a.cfg.nodeTimeout)
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-l.closing:
				return ErrClosed
			case <-cleanup:
			case <-timer.C:
			}
			return nil
		}
	}
}

// Bounds of the pause between two attempts.
const (
	shortestPause = 10 * time.Millisecond
	longestPause  = 250 * time.Millisecond
)

// pollPause is how long to wait after the given try: doubling, with jitter so
// that contenders who split the votes do not meet again, and no longer than
// the lock that is in the way can live.
func pollPause(try int, err error) time.Duration {
	d := longestPause
	if try < 5 {
		d = min(longestPause, shortestPause<<try)
	}
	d = d/2 + rand.N(d/2+1)
	var held *NotAcquiredError
	if errors.As(err, &held) && held.Remaining >= 0 {
		d = min(d, held.Remaining+time.Millisecond+rand.N(2*time.Millisecond))
	}
	return d
}

// worthRetrying reports whether a failed attempt may go better a little later.
// A refusal that is about who we are or what the node is does not change by
// itself.
func worthRetrying(err error) bool {
	var nq *NoQuorumError
	if !errors.As(err, &nq) {
		return true
	}
	for _, n := range nq.Nodes {
		if node.Classify(n.Err).Transient() {
			return true
		}
	}
	return false
}
