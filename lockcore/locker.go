package lockcore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
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

	ear      *ear
	schedule schedule
	// quarantine says that nodes which lost their data must stay out for a
	// while. Of a single node there is nobody else to ask, and durable ones
	// do not forget.
	quarantine bool
	// longest is the longest TTL seen on any node's marker, in ns; 0 if no
	// marker was ever seen.
	longest atomic.Int64
	// unborn are the nodes without a marker that will be given one soon.
	unbornMu sync.Mutex
	unborn   map[int]bool
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
	l := &Locker{quorum: Quorum(len(nodes)), cfg: cfg, closing: make(chan struct{}), unborn: make(map[int]bool)}
	l.background.idle.L = &l.background.mu
	l.schedule = schedule{background: &l.background, closing: l.closing, now: cfg.now, earlier: make(chan struct{}, 1)}
	l.ear = newEar(cfg.prefix, len(nodes))
	l.quarantine = len(nodes) > 1 && !cfg.durable && !cfg.mutant.noQuarantine
	seen := make(map[string]string)
	for i, n := range nodes {
		if n == nil {
			return nil, fmt.Errorf("lockcore: node %d is nil", i+1)
		}
		if other, dup := seen[n.Addr()]; dup {
			return nil, fmt.Errorf("lockcore: nodes %s and %s are the same server, %s; each voter must be a server of its own", other, n.Name(), n.Addr())
		}
		seen[n.Addr()] = n.Name()
		if n.Topology() == node.Cluster && len(nodes) > 1 {
			return nil, fmt.Errorf("lockcore: %s is a cluster and cannot vote among others; give it alone, or independent servers", n.Name())
		}
		v := voter{Node: n, run: new(runID), owed: new(atomic.Int64), alone: len(nodes) == 1}
		if l.quarantine {
			n.OnConnect(v.run.checkIn(NodeKey(cfg.prefix)))
		}
		v.lane = newLane(v, &l.background)
		l.voters = append(l.voters, v)
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
	cfg := &l.cfg
	if len(opts) > 0 {
		changed := l.cfg.with(opts)
		cfg = &changed
	}
	asked := cfg.now()
	k, attempts, err := l.acquire(ctx, cfg, resource)
	cfg.observer.acquired(Acquisition{Resource: resource, Waited: cfg.now().Sub(asked), Attempts: attempts, Err: err})
	return k, err
}

// acquire is Acquire; it also tells how many tokens were used.
func (l *Locker) acquire(ctx context.Context, cfg *config, resource string) (k *Lock, attempts int, err error) {
	if err := l.check(cfg, resource); err != nil {
		return nil, attempts, err
	}

	if cfg.wait > 0 {
		l.open()
	}
	asked := cfg.now()
	until := asked.Add(cfg.wait)
	ticket := asked.UnixMicro()
	chains := make([]chain, len(l.voters))
	for i := range chains {
		chains[i].loose = cfg.mutant.noChain
	}
	token := newToken(ticket, cfg.owner)
	least := cfg.seed()
	var last error
	for yields := 0; ; {
		// Checked here rather than in a select, which could pick another
		// ready case first.
		if err := context.Cause(ctx); err != nil {
			return nil, attempts, joined(last, err)
		}
		select {
		case <-l.closing:
			return nil, attempts, joined(last, ErrClosed)
		default:
		}
		attempts++
		c := l.newCandidate(cfg, resource, token, least, chains)
		won, end, err := c.run(ctx, until, last)
		if end == held {
			return l.hold(ctx, c, won), attempts, nil
		}
		c.abandon()
		if end == failed || cfg.wait == 0 {
			return nil, attempts, err
		}
		last = err
		least = max(least, c.highest()+1)
		var pause time.Duration
		switch end {
		case rejoin:
			// A waiter that reaches too few nodes must not stay first in
			// line on those few.
			pause = shortestPause + rand.N(longestPause)
		case yield:
			if yields > 0 {
				pause = pollPause(yields)
			}
			yields++
		}
		if pause = min(pause, until.Sub(cfg.now())); pause > 0 {
			if err := l.sleep(ctx, pause); err != nil {
				return nil, attempts, joined(last, err)
			}
		}
		if cfg.now().After(until) {
			return nil, attempts, last
		}
		if end == rejoin {
			ticket = cfg.now().UnixMicro()
		}
		if !cfg.mutant.noEpoch {
			token = newToken(ticket, cfg.owner)
		}
	}
}

// check says what is wrong with a request before anything is sent.
func (l *Locker) check(cfg *config, resource string) error {
	if cfg != &l.cfg { // which New has looked at
		if err := cfg.validate(); err != nil {
			return err
		}
		if cfg.prefix != l.cfg.prefix || cfg.durable != l.cfg.durable {
			return errors.New("lockcore: the prefix and whether nodes are durable are those of the whole Locker; give these options to New")
		}
	}
	if err := checkResource(resource); err != nil {
		return fmt.Errorf("lockcore: %w", err)
	}
	if l.voters[0].Topology() == node.Cluster && !sharesSlot(Key(cfg.prefix, resource)) {
		return fmt.Errorf("lockcore: on a cluster a resource name with a '}' needs a hash tag, such as {orders}:42, so that what belongs to the lock stays on one shard")
	}
	return nil
}

// joined adds why an acquisition was ended to why it had not succeeded, if
// anything is known of that.
func joined(reason, end error) error {
	if reason == nil || errors.Is(reason, end) {
		return end
	}
	return errors.Join(reason, end)
}

func (l *Locker) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.closing:
		return ErrClosed
	}
}

// sawMarker takes note of a node's marker: this deployment has been used, and
// with locks of up to this TTL.
func (l *Locker) sawMarker(longest time.Duration) {
	for {
		known := l.longest.Load()
		if int64(longest) <= known || l.longest.CompareAndSwap(known, int64(longest)) {
			return
		}
	}
}

// sawUnborn has a node that has no marker given one after a while, if nobody has
// done so until then, whatever became of the request that found it: a node that
// has lost its data would otherwise stay out for as long as the others decide
// without it. Until then it may just be the next that another client marks as
// new, and must not be put into quarantine instead.
func (l *Locker) sawUnborn(i int, cfg *config) {
	l.unbornMu.Lock()
	defer l.unbornMu.Unlock()
	if l.unborn[i] {
		return
	}
	l.unborn[i] = true
	l.background.Go(func() {
		grace := time.NewTimer(birthGrace)
		defer grace.Stop()
		select {
		case <-grace.C:
		case <-l.closing:
			return
		}
		l.voters[i].bear(NodeKey(cfg.prefix), false, max(cfg.ttl, time.Duration(l.longest.Load())), func() {
			l.unbornMu.Lock()
			defer l.unbornMu.Unlock()
			delete(l.unborn, i)
		})
	})
}

// birthGrace is how long making the markers of a new deployment may take.
const birthGrace = 200 * time.Millisecond

// bear marks the nodes of a new deployment: a quorum has no marker, no node has
// one, and none was ever seen, so that nothing can have been forgotten. A node
// that lost its marker while others have theirs stays out until the longest lock
// it may have forgotten is over, see sawUnborn.
//
// A quorum rather than all nodes, so that a new deployment with a node down can
// be used at once. What this gives up is the case in which a quorum of nodes
// loses its data at one moment while every other node is unreachable and the
// client has just been started: more failures than a quorum can stand anyway.
//
// Each marker is made in its node's chain, so that what is asked there next
// finds it. A holder who lacks one node because it was asked too soon would lack
// it until the next renewal, and waiters would be granted it in the meantime.
func (l *Locker) bear(cfg *config, chains []chain, nodes []int) <-chan struct{} {
	longest := max(cfg.ttl, time.Duration(l.longest.Load()))
	done := make(chan struct{})
	var left atomic.Int64
	left.Store(int64(len(nodes)))
	for _, i := range nodes {
		chains[i].then(func(next func()) {
			l.voters[i].bear(NodeKey(cfg.prefix), true, longest, func() {
				next()
				if left.Add(-1) == 0 {
					close(done)
				}
			})
		})
	}
	return done
}
