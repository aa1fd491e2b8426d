package lockcore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dlock/lockcore/node"
)

// errNodeTimeout stands for a node whose answer was not waited for any longer.
var errNodeTimeout = context.DeadlineExceeded

// candidate is one token on its way to a grant: one epoch of an Acquire. An
// Acquire that gives back what it has, because its votes are split with an
// older one's, goes on with a new candidate and the old ticket; votes of one
// token never count for another.
type candidate struct {
	locker   *Locker
	cfg      *config
	resource string
	token    Token
	entry    *entry
	least    int64   // smallest fencing token worth having
	chains   []chain // per node; shared by the epochs of one Acquire and the Lock it ends in

	box     mailbox
	decided atomic.Bool // the others have granted; nobody reads the box any more
	ballots []ballot    // per node
	window  time.Duration
	fence   int64

	replicas int // that confirmed, with WithReplicas
}

// ballot is what is known of one node's view of one token.
type ballot struct {
	asked    time.Time // when it was first asked
	base     time.Time // when the newest request that it answered was sent
	answered bool      // whether it has answered the newest request
	inFlight bool
	lost     bool // a request was sent and never answered: it may arrive yet
	queued   bool // it knows us as a waiter
	granted  bool
	vote     vote // the newest answer; its fence is that of the grant if there is one
}

// since is the moment from which a grant on this node counts: it was made, by
// an answer or by hand-over, after the newest request that the node answered
// had been sent. A later request of ours that went unanswered proves nothing.
func (b *ballot) since() time.Time {
	if b.base.IsZero() {
		return b.asked
	}
	return b.base
}

// event is news from one node.
type event struct {
	node   int
	pushed bool // a hand-over told by the node, not an answer
	sent   time.Time
	vote   vote
}

// mailbox holds news until the Acquire's goroutine reads it. Posting never
// blocks, so the goroutine that hears for everybody is not held up.
type mailbox struct {
	mu     sync.Mutex
	news   []event
	signal chan struct{}
}

func (m *mailbox) post(e event) {
	m.mu.Lock()
	m.news = append(m.news, e)
	m.mu.Unlock()
	select {
	case m.signal <- struct{}{}:
	default:
	}
}

// take empties the mailbox. What it returned the last time may be handed back
// as a buffer.
func (m *mailbox) take(buffer []event) []event {
	m.mu.Lock()
	defer m.mu.Unlock()
	news := m.news
	m.news = buffer[:0]
	return news
}

func (l *Locker) newCandidate(cfg *config, resource string, token Token, least int64, chains []chain) *candidate {
	return &candidate{
		locker: l, cfg: cfg, resource: resource, token: token, least: least, chains: chains,
		entry:   newEntry(cfg, l.quarantine, Key(cfg.prefix, resource), token, l.ear.channel),
		box:     mailbox{signal: make(chan struct{}, 1), news: make([]event, 0, len(l.voters))},
		ballots: make([]ballot, len(l.voters)),
		window:  max(shortestWindow, cfg.ttl),
	}
}

// ask sends an acquire to every node that has none in flight.
func (c *candidate) ask(ctx context.Context) {
	limit := c.cfg.nodeTimeout
	if end, ok := ctx.Deadline(); ok {
		limit = max(0, min(limit, time.Until(end)))
	}
	now := c.cfg.now()
	// The seed is taken anew each time: one from when the wait began may be
	// older than what a node in quarantine has forgotten.
	least := max(c.least, c.cfg.seed())
	var queueing, passing []any // what is asked of nodes that will queue us, and of others
	for i, v := range c.locker.voters {
		b := &c.ballots[i]
		b.answered = false
		if b.inFlight {
			continue
		}
		b.inFlight = true
		if b.asked.IsZero() {
			b.asked = now
		}
		var request []any
		if c.cfg.wait > 0 && c.locker.ear.ready[i].Load() {
			if queueing == nil {
				queueing = c.entry.request(least, c.window)
			}
			request, b.queued = queueing, true
		} else {
			if passing == nil {
				passing = c.entry.request(least, 0)
			}
			request = passing
		}
		c.chains[i].then(func(done func()) {
			sent := c.cfg.now()
			v.acquire(request, limit, func(got vote) {
				e := event{node: i, sent: sent, vote: got}
				c.box.post(e)
				if c.decided.Load() {
					c.noteUnborn(e)
				}
				done()
			})
		})
	}
}

// apply takes news in.
func (c *candidate) apply(e event) {
	b := &c.ballots[e.node]
	if e.pushed {
		if e.vote.fence > b.vote.fence || !b.granted {
			b.granted = true
			b.vote.fence, b.vote.err = e.vote.fence, nil
		}
		return
	}
	b.inFlight, b.answered = false, true
	b.lost = b.lost || e.vote.twice
	if e.vote.err != nil {
		b.lost = b.lost || !e.vote.unsent && node.Classify(e.vote.err).Unanswered()
		if !b.granted { // a grant that was told stands
			b.vote = e.vote
		}
		return
	}
	if c.cfg.mutant.lateBase {
		e.sent = c.cfg.now()
	}
	if e.sent.After(b.base) {
		b.base = e.sent
	}
	if b.granted && e.vote.verdict == refused && e.vote.fence < b.vote.fence {
		// Hand-over and answer come on different connections: this one was
		// given before the node handed over to us.
		return
	}
	b.granted = e.vote.verdict == granted
	b.vote = e.vote
	if b.vote.verdict != unborn && b.vote.longest > 0 {
		c.locker.sawMarker(b.vote.longest)
	}
}

// decide ends the vote once a quorum has granted. Nodes without a marker are
// seen to whether their answers have come already or are still to come.
func (c *candidate) decide() {
	c.decided.Store(true)
	for i := range c.ballots {
		c.noteUnborn(event{node: i, vote: c.ballots[i].vote})
	}
	c.box.mu.Lock()
	defer c.box.mu.Unlock()
	for _, e := range c.box.news {
		c.noteUnborn(e)
	}
}

func (c *candidate) noteUnborn(e event) {
	if !e.pushed && e.vote.err == nil && e.vote.verdict == unborn {
		c.locker.sawUnborn(e.node, c.cfg)
	}
}

// counting lists the nodes whose grants are still worth something now.
func (c *candidate) counting(now time.Time) []int {
	var nodes []int
	for i := range c.ballots {
		b := &c.ballots[i]
		if b.granted && (lease{base: b.since(), length: c.validity()}).remaining(now) > 0 {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

func (c *candidate) validity() time.Duration { return c.cfg.ttl - c.cfg.allowance() }

// win makes the grants of a quorum a lease. The lease counts from the quorum's
// own moments: of all that granted, the quorum that was asked last.
func (c *candidate) win(ctx context.Context, nodes []int) (lease, error) {
	if err := c.agree(ctx, nodes); err != nil {
		return lease{}, err
	}
	if c.cfg.replicas > 0 {
		c.replicas = c.locker.awaitReplicas(ctx, c, nodes)
	}
	bases := make([]time.Time, len(nodes))
	for i, n := range nodes {
		bases[i] = c.ballots[n].since()
	}
	slices.SortFunc(bases, func(a, b time.Time) int { return b.Compare(a) })
	won := lease{base: bases[c.locker.quorum-1], length: c.validity()}
	if left := won.remaining(c.cfg.now()); left <= 0 {
		return lease{}, &expiredError{resource: c.resource, ttl: c.cfg.ttl, took: c.cfg.ttl - left}
	}
	return won, nil
}

// agree makes the grant's fencing token. It is the largest counter among the
// nodes that granted, and it counts only once a quorum of nodes has stored it
// while carrying our entry: then any two grants share a node on which the
// later one started from at least the earlier one's number, so that numbers
// grow from grant to grant, with no clock involved. Nodes that granted a
// smaller number are raised first, in one more round trip.
func (c *candidate) agree(ctx context.Context, nodes []int) error {
	l := c.locker
	c.fence = 0
	for _, i := range nodes {
		c.fence = max(c.fence, c.ballots[i].vote.fence)
	}
	fence := c.fence
	stored := 0
	for _, i := range nodes {
		if c.ballots[i].vote.fence == fence {
			stored++
		}
	}
	if stored >= l.quorum || c.cfg.mutant.noRaise {
		return nil
	}
	type raised struct {
		node int
		ok   bool
		err  error
	}
	raises, raising := make(chan raised, len(nodes)), 0
	for _, i := range nodes {
		if c.ballots[i].vote.fence == fence {
			continue
		}
		raising++
		c.chains[i].then(func(done func()) {
			l.voters[i].raise(c.entry, fence, func(ok bool, err error) {
				raises <- raised{i, ok, err}
				done()
			})
		})
	}
	timer := time.NewTimer(c.cfg.nodeTimeout)
	defer timer.Stop()
	var failed []NodeError
	for stored < l.quorum {
		if raising == 0 {
			return &NoQuorumError{Resource: c.resource, Need: l.quorum, Reached: stored, Of: len(l.voters), Nodes: failed}
		}
		select {
		case o := <-raises:
			raising--
			if o.ok {
				stored++
				c.ballots[o.node].vote.fence = fence
				continue
			}
			if o.err == nil {
				o.err = fmt.Errorf("the entry was gone again")
			}
			failed = append(failed, NodeError{l.voters[o.node].Name(), o.err})
		case <-timer.C:
			return &NoQuorumError{Resource: c.resource, Need: l.quorum, Reached: stored, Of: len(l.voters), Nodes: failed}
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-l.closing:
			return ErrClosed
		}
	}
	return nil
}

// abandon gives back whatever this token has or may yet get, on each node
// behind what was sent there before, without waiting. Waiters further back
// are served by it.
func (c *candidate) abandon() {
	c.locker.ear.forget(c.entry.token)
	for i := range c.locker.voters {
		b := &c.ballots[i]
		if b.asked.IsZero() {
			continue
		}
		if !b.inFlight && !b.lost && !b.queued && !b.granted && b.vote.err == nil {
			continue // the node has said that it stores nothing of ours
		}
		c.chains[i].then(func(done func()) {
			c.locker.giveBack(i, c.entry, 0, c.late(i), 0, func(answer) { done() })
		})
	}
}

// late is how long an acquire of this token may still be on its way to node i:
// 0 if each was answered. The run must have ended and the node's chain must
// have come to the caller's turn.
func (c *candidate) late(i int) time.Duration {
	b := &c.ballots[i]
	if !b.lost {
		if !b.inFlight {
			return 0
		}
		if v := c.lastVote(i); v != nil && (v.err == nil || v.unsent) {
			return 0
		}
	}
	return c.tombstone()
}

// raiseOn is the fencing token that a release leaves behind on node i, 0 where
// the node has it already. It is asked when late is.
func (c *candidate) raiseOn(i int) int64 {
	b := &c.ballots[i]
	if b.granted && b.vote.fence >= c.fence {
		return 0
	}
	if b.inFlight {
		// A node that the quorum did not need has granted meanwhile.
		if v := c.lastVote(i); v != nil && v.err == nil && v.verdict == granted && v.fence >= c.fence {
			return 0
		}
	}
	return c.fence
}

// lastVote is the answer to the request to node i that was in flight when the
// run ended; nil if there was none.
func (c *candidate) lastVote(i int) *vote {
	c.box.mu.Lock()
	defer c.box.mu.Unlock()
	for j := range c.box.news {
		if e := &c.box.news[j]; e.node == i && !e.pushed {
			return &e.vote
		}
	}
	return nil
}

// tombstone is how long a node refuses a token that was released before its
// acquire arrived.
func (c *candidate) tombstone() time.Duration { return max(2*c.cfg.ttl, 30*time.Second) }

// situation is what a round of answers amounts to.
type situation struct {
	silent  []NodeError // nodes that did not answer or may not vote
	unborn  []int
	refused int // nodes that are somebody else's
	granted int
	older   bool  // an owner we are refused for asked before us, or is no client of ours
	foreign bool  // that owner has no ticket
	ahead   int64 // waiters before us
	left    time.Duration
	queued  int // nodes that will hand over to us
}

// look sums up what is known. A node that has not answered yet counts as
// silent if the time for it is over.
func (c *candidate) look(now time.Time, timedOut bool) situation {
	s := situation{granted: len(c.counting(now)), left: -1}
	for i := range c.ballots {
		b := &c.ballots[i]
		name := c.locker.voters[i].Name()
		if b.granted {
			continue
		}
		switch {
		case b.inFlight && !b.answered:
			if timedOut {
				s.silent = append(s.silent, NodeError{name, errNodeTimeout})
			}
			continue
		case b.vote.err != nil:
			s.silent = append(s.silent, NodeError{name, b.vote.err})
			continue
		}
		switch b.vote.verdict {
		case unborn:
			s.unborn = append(s.unborn, i)
			s.silent = append(s.silent, NodeError{name, &QuarantineError{}})
		case quarantined:
			s.silent = append(s.silent, NodeError{name, &QuarantineError{Left: b.vote.left}})
		default:
			s.refused++
			s.left = max(s.left, b.vote.left)
			if s.refused == 1 {
				s.ahead = b.vote.ahead
			}
			s.ahead = min(s.ahead, b.vote.ahead)
			if b.queued {
				s.queued++
			}
			t, ours := ParseToken(b.vote.found)
			s.foreign = s.foreign || !ours
			s.older = s.older || !ours || t.Ticket < c.token.Ticket
		}
	}
	return s
}

// refusal says why a round failed: for want of nodes if so many are silent
// that the others could not decide, else because somebody is in the way.
func (c *candidate) refusal(s situation) error {
	l := c.locker
	if len(s.silent) > len(l.voters)-l.quorum {
		return &NoQuorumError{Resource: c.resource, Need: l.quorum, Reached: s.granted + s.refused, Of: len(l.voters), Nodes: s.silent}
	}
	worst := &NotAcquiredError{Resource: c.resource, Votes: s.granted, Need: l.quorum, Of: len(l.voters)}
	votes := make(map[string]int)
	for i := range c.ballots {
		b := &c.ballots[i]
		if b.granted || b.vote.err != nil || b.vote.verdict != refused || !b.answered {
			continue
		}
		votes[b.vote.found]++
		if worst.Holder == "" || votes[b.vote.found] > votes[worst.Holder] {
			worst.Holder = b.vote.found
		}
	}
	for i := range c.ballots {
		b := &c.ballots[i]
		if b.granted || b.vote.err != nil || b.vote.verdict != refused || b.vote.found != worst.Holder {
			continue
		}
		if b.vote.left < 0 || worst.Remaining < 0 {
			worst.Remaining = -1
		} else {
			worst.Remaining = max(worst.Remaining, b.vote.left)
		}
	}
	if t, ok := ParseToken(worst.Holder); ok {
		worst.Owner = t.Owner
	}
	return worst
}

// Times of the safety net under the hand-over.
const (
	// shortestWindow is the least time for which a node keeps a waiter that
	// does not ask again.
	shortestWindow = time.Second
	pollPeriod     = 250 * time.Millisecond
	// verifyPeriod is how soon a waiter that was handed some nodes, but no
	// quorum, asks what became of the others.
	verifyPeriod = 8 * time.Millisecond
)

// nextPoll is how long to wait before asking again. Only who is next in line
// asks often: the others ask the less often the further back they stand, so
// that a thousand waiters cost a node no more than a few. A grant that is
// handed over counts from the last time of asking, so nobody waits for more
// than a third of the TTL.
func (c *candidate) nextPoll(s situation, try int) time.Duration {
	period := min(pollPeriod+pollPeriod*time.Duration(s.ahead)/8, c.cfg.ttl/3)
	period = period*9/10 + rand.N(period/5+1)
	if s.queued < c.locker.quorum || s.foreign || len(s.unborn) > 0 {
		// Nobody will hand over to us: not yet queued, or the holder is no
		// client of ours.
		period = min(period, pollPause(try))
	}
	if s.ahead == 0 && s.left >= 0 {
		period = min(period, s.left+time.Millisecond+rand.N(2*time.Millisecond))
	}
	return period
}

// Bounds of the pause between two attempts that nobody hands over to.
const (
	shortestPause = 10 * time.Millisecond
	longestPause  = 250 * time.Millisecond
)

// pollPause doubles from try to try, with jitter so that contenders who split
// the votes do not meet again.
func pollPause(try int) time.Duration {
	d := longestPause
	if try < 5 {
		d = min(longestPause, shortestPause<<try)
	}
	return d/2 + rand.N(d/2+1)
}

// worthRetrying reports whether nodes that were silent may answer a little
// later. A refusal that is about who we are or what the node is does not
// change by itself.
func worthRetrying(silent []NodeError) bool {
	for _, n := range silent {
		if _, waits := n.Err.(*QuarantineError); waits || node.Classify(n.Err).Transient() {
			return true
		}
	}
	return len(silent) == 0
}
