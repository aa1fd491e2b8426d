package inspect

import (
	"context"
	"time"
)

// Watch looks again and again until ctx ends, and calls emit with a Snapshot
// after each look: first as soon as the nodes answered, but no later than the
// slowest one's timeout, then once per interval and at once after
// [Inspector.Refresh]. A node that hangs or is down does not hold up the
// others: it is tried again with growing pauses, and its last known copies are
// shown as unreachable. emit is called from one goroutine, and the next look
// waits for it. Watch returns ctx's error as soon as ctx ends, also while a node
// hangs, or [ErrWatching] at once.
//
// Locks that were found just now are left out of a Snapshot until every node
// that answers was asked about them, so that a scan under way shows no lock in
// a state that only comes from not having asked.
func (i *Inspector) Watch(ctx context.Context, emit func(Snapshot)) error {
	s := newSession(i)
	s.rows.kept = true
	i.mu.Lock()
	if i.live != nil {
		i.mu.Unlock()
		return ErrWatching
	}
	i.live = s
	i.mu.Unlock()
	defer func() {
		i.mu.Lock()
		i.live = nil
		i.mu.Unlock()
	}()

	for {
		start := i.now()
		interval := i.currentInterval()
		s.round(ctx, interval)
		if err := ctx.Err(); err != nil {
			return err
		}
		s.correctAll()
		emit(s.compose(nil, true))
		if err := s.pause(ctx, start); err != nil {
			return err
		}
	}
}

// round is one look at all nodes that are worth asking.
func (s *session) round(ctx context.Context, interval time.Duration) {
	now := s.inspector.now()
	s.correctAll()
	s.followServers(ctx)
	q := s.ask(now, interval)
	for n, m := range s.members {
		if m.waits(now) {
			m.owe(q.rest[n])
			continue
		}
		share := s.inspector.config.ScanBudget
		if s.rotation.on {
			share /= 2 // the other half is for those whose turn it is
		}
		m.scan.budget = share
		if m.scanned.passes == 0 {
			share = min(1, share*firstHaste)
		}
		limit := slice{wall: interval / 4, server: time.Duration(float64(interval) * share)}
		j := job{scan: &m.scan, limit: limit, keys: q.keys[n], before: m.samples, learn: true}
		if s.rotation.on {
			j.rest, j.total = append(m.owed, q.rest[n]...), q.total
			if m.askedAfresh() {
				j.rest = q.all[n]
			}
		}
		m.owed, m.behind = nil, false
		if m.fresh {
			m.fresh = false
			j.fresh = s.freshKeys()
		}
		s.launch(ctx, m, j)
	}
	deadline := func() (<-chan time.Time, func()) {
		d := interval / 4
		for _, m := range s.members {
			if m.busy && m.failures == 0 {
				d = max(d, m.probe.node.Timeout())
			}
		}
		t := time.NewTimer(d + grace)
		return t.C, func() { t.Stop() }
	}
	at, stop := deadline()
	s.settle(ctx, at)
	stop()
	s.confirm(ctx, deadline)
}

// pause waits for the next look, and takes in late reports meanwhile.
func (s *session) pause(ctx context.Context, start time.Time) error {
	i := s.inspector
	for {
		// A look that took longer than the interval is followed by a
		// short rest all the same.
		interval := i.currentInterval()
		wait := max(interval/10, interval-i.now().Sub(start))
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
			return nil
		case <-i.changed:
		case <-i.refresh:
			timer.Stop()
			s.tryEverything()
			return nil
		case <-i.nudge:
			timer.Stop()
			return nil
		case r := <-s.reports:
			s.absorb(ctx, r)
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		timer.Stop()
	}
}

// tryEverything lets the next round ask what it would otherwise leave for
// later.
func (s *session) tryEverything() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inspector.deployment.hurry()
	for _, m := range s.members {
		m.fresh = true
		if m.busy {
			m.eager = true
			continue
		}
		m.status.NextTry = time.Time{}
		m.probe.forget()
		m.scan.nextDue = time.Time{}
	}
}

// note adds an event to a running Watch, to be seen in its next snapshot.
func (i *Inspector) note(e Event) {
	live := i.running()
	if live == nil {
		return
	}
	live.mu.Lock()
	live.tracker.add(e)
	live.mu.Unlock()
	i.Refresh()
}

// renewalPeriod is how often the holder of this token was seen to renew it, 0
// when that is not known.
func (i *Inspector) renewalPeriod(key, value string) time.Duration {
	live := i.running()
	if live == nil {
		return 0
	}
	live.mu.Lock()
	defer live.mu.Unlock()
	tr, ok := live.tracker.tracks[key]
	if !ok || tr.subject != (holder{held: true, token: value}) || tr.renewals == 0 {
		return 0
	}
	if p := tr.rhythm.period(); p > 0 {
		return p
	}
	// One renewal tells no period; it is not longer than the life.
	return tr.fullLife
}
