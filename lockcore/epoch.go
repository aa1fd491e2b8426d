package lockcore

import (
	"context"
	"errors"
	"time"
)

// outcome is how one candidate's run ended.
type outcome int

const (
	held   outcome = iota
	failed         // there is no point in going on, or no time
	yield          // give back, and go on with the same ticket
	rejoin         // give back, and go on with a new ticket
)

// run asks the nodes until a quorum has granted, by answer or by hand-over,
// until this epoch has to be given up, or until the wait is over. last is why
// earlier epochs did not succeed.
func (c *candidate) run(ctx context.Context, until time.Time, last error) (lease, outcome, error) {
	l := c.locker
	c.listen()
	c.ask(ctx)
	waits := waits{until: until}
	defer waits.stop()
	waits.set(c.cfg.nodeTimeout)
	var news []event
	open := true // an answer of this round may still come
	try, unreached := 0, 0
	births := 0
	for {
		timedOut := false
		switch waits.next(ctx, c) {
		case newsCame:
			pushed := false
			news = c.box.take(news)
			for _, e := range news {
				c.apply(e)
				pushed = pushed || e.pushed
			}
			if nodes := c.counting(c.cfg.now()); len(nodes) >= l.quorum {
				won, err := c.win(ctx, nodes)
				switch {
				case err == nil:
					c.decide()
					return won, held, nil
				case context.Cause(ctx) != nil || errors.Is(err, ErrClosed):
					return lease{}, failed, joined(last, err)
				default:
					return lease{}, yield, err
				}
			}
			if pushed && !open {
				waits.set(verifyPeriod)
			}
			if !open || !c.complete() {
				continue
			}
		case stepOver:
			if open {
				if c.cfg.mutant.silenceIsConsent && c.consent() {
					continue
				}
				timedOut = true
				break
			}
			// Answers that came late are answers: what counts is whether a
			// quorum has not been heard of at all since it was last asked.
			if c.reached() < l.quorum {
				if unreached++; unreached >= 2 {
					return lease{}, rejoin, last
				}
			} else {
				unreached = 0
			}
			open = true
			waits.set(c.cfg.nodeTimeout)
			c.ask(ctx)
			continue
		case waitOver:
			if last == nil || !open {
				last = c.refusal(c.look(c.cfg.now(), true))
			}
			return lease{}, failed, last
		case contextEnded:
			if s := c.look(c.cfg.now(), false); s.refused > 0 && (last == nil || !open) {
				last = c.refusal(s)
			}
			return lease{}, failed, joined(last, context.Cause(ctx))
		case lockerClosed:
			return lease{}, failed, joined(last, ErrClosed)
		}

		// A round is over. What does it amount to?
		open = false
		s := c.look(c.cfg.now(), timedOut)
		if len(s.unborn) > 0 {
			var marked <-chan struct{} // for a node that forgot, nobody knows when
			if len(s.unborn) >= l.quorum && c.marked() == 0 && l.longest.Load() == 0 {
				marked = l.bear(c.cfg, c.chains, c.unmarked())
			} else {
				for _, i := range s.unborn {
					l.sawUnborn(i, c.cfg)
				}
			}
			if s.granted+s.refused < l.quorum && births < mostBirths {
				// Ask again once the markers are there, which may be others':
				// then we vote, or we can say that it is quarantine.
				births++
				wait := time.NewTimer(birthPause)
				select {
				case <-marked:
				case <-wait.C:
				case <-ctx.Done():
				case <-l.closing:
				}
				wait.Stop()
				open = true
				waits.set(c.cfg.nodeTimeout)
				c.ask(ctx)
				continue
			}
		}
		last = c.refusal(s)
		if took := c.lapsed(); took > 0 {
			last = &expiredError{resource: c.resource, ttl: c.cfg.ttl, took: took}
			return lease{}, yield, last
		}
		if c.cfg.wait == 0 {
			return lease{}, failed, last
		}
		if len(s.silent) > len(l.voters)-l.quorum && !worthRetrying(s.silent) {
			return lease{}, failed, last
		}
		if s.granted > 0 && s.older {
			return lease{}, yield, last
		}
		waits.set(c.nextPoll(s, try))
		try++
	}
}

// happening is what ends a wait of a run.
type happening int

const (
	newsCame happening = iota
	stepOver           // the time for answers, or the pause before asking again
	waitOver
	contextEnded
	lockerClosed
)

// waits is what a run waits for besides news. Its timers are made when they are
// first needed: answers that are there at once need none.
type waits struct {
	until time.Time     // when the wait is over
	first time.Duration // of step, while there is none yet
	step  *time.Timer
	over  *time.Timer
}

// set has stepOver happen once, d from now.
func (w *waits) set(d time.Duration) {
	if w.step == nil {
		w.first = d
		return
	}
	w.step.Reset(d)
}

func (w *waits) next(ctx context.Context, c *candidate) happening {
	select {
	case <-c.box.signal:
		return newsCame
	default:
	}
	if w.step == nil {
		w.step = time.NewTimer(w.first)
	}
	var over <-chan time.Time
	if c.cfg.wait > 0 {
		if w.over == nil {
			w.over = time.NewTimer(w.until.Sub(c.cfg.now()))
		}
		over = w.over.C
	}
	select {
	case <-c.box.signal:
		return newsCame
	case <-w.step.C:
		return stepOver
	case <-over:
		return waitOver
	case <-ctx.Done():
		return contextEnded
	case <-c.locker.closing:
		return lockerClosed
	}
}

func (w *waits) stop() {
	for _, t := range []*time.Timer{w.step, w.over} {
		if t != nil {
			t.Stop()
		}
	}
}

// How often, and how long, an attempt waits for markers to be made: together for
// longer than birthGrace, so that also one that asks only once brings nodes
// that forgot on their way back.
const (
	mostBirths = 30
	birthPause = 10 * time.Millisecond
)

// listen has hand-overs to this token delivered.
func (c *candidate) listen() {
	c.locker.ear.listen(c.entry.token, func(node int, fence int64) {
		c.box.post(event{node: node, pushed: true, vote: vote{verdict: granted, fence: fence}})
	})
}

// complete reports whether a round needs no more answers: all have come, or,
// where there is no second round, so many nodes are somebody else's that the
// others cannot help. Nodes that cannot be reached do not end it early: how
// many the others are is worth the wait. Nor do nodes without a marker: whether
// they are new or have forgotten is for the others to say.
func (c *candidate) complete() bool {
	taken, missing := 0, 0
	for i := range c.ballots {
		switch b := &c.ballots[i]; {
		case b.inFlight:
			missing++
		case !b.granted && b.vote.err == nil && b.vote.verdict != unborn:
			taken++
		}
	}
	return missing == 0 || c.cfg.wait == 0 && taken > len(c.ballots)-c.locker.quorum
}

// reached counts the nodes that have answered since they were last asked.
func (c *candidate) reached() int {
	n := 0
	for i := range c.ballots {
		if b := &c.ballots[i]; b.granted || b.answered && b.vote.err == nil {
			n++
		}
	}
	return n
}

// lapsed reports how long a quorum took to grant if it did, but so late that
// nothing is left of the grants; else 0.
func (c *candidate) lapsed() time.Duration {
	now := c.cfg.now()
	granted, took := 0, time.Duration(0)
	for i := range c.ballots {
		if b := &c.ballots[i]; b.granted {
			granted++
			took = max(took, elapsed(b.since(), now))
		}
	}
	if granted < c.locker.quorum || len(c.counting(now)) >= c.locker.quorum {
		return 0
	}
	return took
}

// marked counts the nodes that answered and have a marker.
func (c *candidate) marked() int {
	n := 0
	for i := range c.ballots {
		if b := &c.ballots[i]; b.answered && b.vote.err == nil && b.vote.verdict != unborn {
			n++
		}
	}
	return n
}

// unmarked lists the nodes that are not known to have a marker, also those whose
// answer is still to come: a new deployment's are marked together, since once
// most of them vote nobody waits for what the others say. A node that has a
// marker keeps it.
func (c *candidate) unmarked() []int {
	var nodes []int
	for i := range c.ballots {
		if b := &c.ballots[i]; !b.answered || b.vote.err == nil && b.vote.verdict == unborn {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

// highest is the largest fencing token that a node has told of.
func (c *candidate) highest() int64 {
	var most int64
	for i := range c.ballots {
		most = max(most, c.ballots[i].vote.fence)
	}
	return most
}
