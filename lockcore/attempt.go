package lockcore

import (
	"context"
	"sync"
	"time"
)

// errNodeTimeout stands for a node whose answer was not waited for any longer.
var errNodeTimeout = context.DeadlineExceeded

// attempt is one try to get a lock: one token, sent to all nodes at once.
//
// The algorithm is Redlock as described in the Redis documentation (ask all
// nodes in parallel, a majority within the validity time wins, on failure
// release everywhere), with fencing tokens added: see agree.
type attempt struct {
	cfg     config
	entry   entry
	token   Token
	started time.Time

	// settled[i] is closed once node i has answered the acquire or will
	// never do so. Whatever is sent to a node later for this token waits
	// for it: a release that overtook its own acquire on another
	// connection would leave a key behind that nobody owns.
	settled []chan struct{}

	mu    sync.Mutex
	votes []*vote // nil until the node has settled

	lease   lease
	fence   int64
	highest int64 // largest counter seen, for the next attempt to beat
	err     error
	// cleaned is closed when a failed attempt's leftovers are gone.
	cleaned chan struct{}
}

type indexedVote struct {
	node int
	vote vote
}

// attempt tries once and returns with err set unless the lock is held.
func (l *Locker) attempt(ctx context.Context, cfg config, resource string, token Token, hint int64) *attempt {
	key := Key(cfg.prefix, resource)
	a := &attempt{
		cfg:   cfg,
		token: token,
		entry: entry{
			key: key, fenceKey: CompanionKey(cfg.prefix, FenceCompanion, key),
			token: token.String(), ttl: cfg.ttl, companionLife: cfg.companionLife(),
		},
		settled: make([]chan struct{}, len(l.voters)),
		votes:   make([]*vote, len(l.voters)),
	}
	wanted := max(cfg.seed(), hint+1)
	answers := make(chan indexedVote, len(l.voters))
	a.started = cfg.now()
	for i, v := range l.voters {
		a.settled[i] = make(chan struct{})
		l.background.Go(func() {
			// Not the caller's context: a late answer must still be
			// read, so that a grant nobody waits for is given back.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), v.Timeout())
			defer cancel()
			got := v.acquire(ctx, a.entry, wanted)
			a.mu.Lock()
			a.votes[i] = &got
			a.mu.Unlock()
			close(a.settled[i])
			answers <- indexedVote{i, got}
		})
	}

	got := make([]*vote, len(l.voters))
	err := l.collect(ctx, cfg, resource, answers, got)
	if err == nil {
		err = l.agree(ctx, a, resource, got)
	}
	for _, v := range got {
		if v != nil && v.err == nil {
			a.highest = max(a.highest, v.fence)
		}
	}
	if err == nil {
		a.lease = lease{base: a.started, length: cfg.ttl - cfg.allowance()}
		if left := a.lease.remaining(cfg.now()); left <= 0 {
			err = &expiredError{resource: resource, ttl: cfg.ttl, took: cfg.ttl - left}
		}
	}
	if err != nil {
		a.err = err
		a.giveBack(ctx, l)
	}
	return a
}

// collect reads answers into got until a quorum has granted, a quorum has
// become impossible, the node timeout is over or ctx ends.
func (l *Locker) collect(ctx context.Context, cfg config, resource string, answers <-chan indexedVote, got []*vote) error {
	timer := time.NewTimer(cfg.nodeTimeout)
	defer timer.Stop()
	granted, no := 0, 0
	for granted < l.quorum && no <= len(l.voters)-l.quorum {
		select {
		case a := <-answers:
			got[a.node] = &a.vote
			if a.vote.granted {
				granted++
			} else {
				no++
			}
		case <-timer.C:
			return l.refusal(resource, got, true)
		case <-ctx.Done():
			if no == 0 {
				return context.Cause(ctx) // nothing else is known
			}
			return l.refusal(resource, got, false)
		case <-l.closing:
			return ErrClosed
		}
	}
	if granted >= l.quorum {
		return nil
	}
	return l.refusal(resource, got, false)
}

// agree makes the grant's fencing token. It is the largest counter among the
// nodes that granted, and it counts only once a quorum of nodes has stored it
// while carrying our entry: then any two grants share a node on which the
// later one started from at least the earlier one's number, so that numbers
// grow from grant to grant, with no clock involved. Nodes that granted a
// smaller number are raised first, in one more round trip.
func (l *Locker) agree(ctx context.Context, a *attempt, resource string, got []*vote) error {
	for _, v := range got {
		if v != nil && v.granted {
			a.fence = max(a.fence, v.fence)
		}
	}
	type outcome struct {
		node int
		ok   bool
		err  error
	}
	outcomes := make(chan outcome, len(l.voters))
	stored, raising := 0, 0
	for i, v := range got {
		switch {
		case v == nil || !v.granted:
		case v.fence == a.fence:
			stored++
		default:
			raising++
			l.background.Go(func() {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.voters[i].Timeout())
				defer cancel()
				ok, err := l.voters[i].raise(ctx, a.entry, a.fence)
				outcomes <- outcome{i, ok, err}
			})
		}
	}
	timer := time.NewTimer(a.cfg.nodeTimeout)
	defer timer.Stop()
	failed := make([]NodeError, 0, raising)
	for stored < l.quorum {
		if raising == 0 {
			return &NoQuorumError{Resource: resource, Need: l.quorum, Reached: stored, Of: len(l.voters), Nodes: failed}
		}
		select {
		case o := <-outcomes:
			raising--
			switch {
			case o.ok:
				stored++
			case o.err == nil:
				o.err = ErrLost
				fallthrough
			default:
				failed = append(failed, NodeError{l.voters[o.node].Name(), o.err})
			}
		case <-timer.C:
			return &NoQuorumError{Resource: resource, Need: l.quorum, Reached: stored, Of: len(l.voters), Nodes: failed}
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-l.closing:
			return ErrClosed
		}
	}
	return nil
}

// giveBack releases a failed attempt on every node that may carry it, each
// behind its own acquire, without waiting.
func (a *attempt) giveBack(ctx context.Context, l *Locker) {
	a.cleaned = make(chan struct{})
	var pending sync.WaitGroup
	for i, v := range l.voters {
		pending.Add(1)
		l.background.Go(func() {
			defer pending.Done()
			<-a.settled[i]
			a.mu.Lock()
			got := a.votes[i]
			a.mu.Unlock()
			if got.err == nil && !got.granted && !got.retried {
				return // the node has said that it stores nothing of ours
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), v.Timeout())
			defer cancel()
			v.release(ctx, a.entry, 0)
		})
	}
	l.background.Go(func() {
		pending.Wait()
		close(a.cleaned)
	})
}

// refusal says why an attempt failed: for want of nodes if so many are silent
// that the others could not decide, else because somebody is in the way.
func (l *Locker) refusal(resource string, got []*vote, timedOut bool) error {
	var silent []NodeError
	granted := 0
	holders := make(map[string]int)
	worst := &NotAcquiredError{Resource: resource, Need: l.quorum, Of: len(l.voters)}
	for i, v := range got {
		switch {
		case v == nil && timedOut:
			silent = append(silent, NodeError{l.voters[i].Name(), errNodeTimeout})
		case v == nil:
		case v.err != nil:
			silent = append(silent, NodeError{l.voters[i].Name(), v.err})
		case v.granted:
			granted++
		default:
			holders[v.found]++
			if holders[v.found] > holders[worst.Holder] || worst.Holder == "" {
				worst.Holder = v.found
			}
		}
	}
	if len(silent) > len(l.voters)-l.quorum {
		return &NoQuorumError{Resource: resource, Need: l.quorum, Reached: len(l.voters) - len(silent), Of: len(l.voters), Nodes: silent}
	}
	worst.Votes = granted
	for _, v := range got {
		if v == nil || v.err != nil || v.granted || v.found != worst.Holder {
			continue
		}
		if v.left < 0 || worst.Remaining < 0 {
			worst.Remaining = -1
		} else {
			worst.Remaining = max(worst.Remaining, v.left)
		}
	}
	if t, ok := ParseToken(worst.Holder); ok {
		worst.Owner = t.Owner
	}
	return worst
}
