package inspect

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"dlock/lockcore/node"
)

const (
	// confirmRounds is how often keys on which the nodes newly disagree are
	// asked for once more before the disagreement is believed, and
	// confirmKeys how many of them. Nodes are not asked at the very same
	// instant, and a lock that changes hands between two of the questions
	// would otherwise look split.
	confirmRounds = 2
	confirmKeys   = 1000
	// grace is added to a node's timeout when a round waits for it, so that
	// its failure is in the round that it belongs to.
	grace = 50 * time.Millisecond
	// refreshMost is how many values are read again at once because a person
	// wants to be sure; of more locks it is those on top.
	refreshMost = 4000

	firstBackoff = time.Second
	maxBackoff   = 30 * time.Second
)

// session is what one Look, Get or Watch knows. Its methods are called by one
// goroutine, which hands jobs to others and takes in their reports; mu guards
// what a Get may read and correct beside a running Watch. When its context ends
// it is left as it is: a job that is still out then finds room for its report,
// touches nothing that anybody else writes, and ends within its node's timeout
// or when the node is closed.
type session struct {
	inspector *Inspector
	layout    *layout
	members   []*member // one per probe of the layout, in its order
	nobody    []*member // stands for the server of keys that none serves
	launched  int       // members so far
	reports   chan report
	passes    bool             // names are looked for
	plain     bool             // see job.plain
	aside     func([]sighting) // takes companions that were found, instead of fold

	mu      sync.Mutex // guards samples, known, folds and tracker
	known   map[string]struct{}
	overrun bool // names were left out for want of room
	tracker *tracker
	folds   folds
	shown   []Lock // of the last snapshot
	// news are the keys of which something is new since then. Only where rows
	// are kept is it complete.
	news map[string]struct{}
	rows rows

	rotation rotation
}

// member is one node in a session.
type member struct {
	id       int // no other of the session has or had it
	probe    *probe
	samples  map[string]sample
	dropped  []string          // to be deleted from samples when the job is over
	inbox    map[string]sample // what a Get has read beside this session
	fresh    bool              // the next round reads values in any case
	pace     pace
	owed     []string  // whose turn came while the node was busy
	behind   bool      // there were too many of those
	scan     scanState // the job's while the node is busy
	scanned  scanned
	status   NodeStatus
	busy     bool
	failures int    // in a row
	refusal  string // the word of a server that is there and does not serve at present
	// eager is set when a refresh was wanted while the node was busy: if
	// that question fails, the next one does not wait.
	eager bool
	// moved tells of the server whose place this one took, and was what that
	// was at the end; "" if it took none.
	moved string
	was   NodeState
}

// scanned is how far a node's scan was when it last reported.
type scanned struct {
	names, passes int
	cut           bool
	began         time.Time // of the last pass that was not cut
}

func newSession(i *Inspector) *session {
	s := &session{
		inspector: i,
		reports:   make(chan report),
		known:     make(map[string]struct{}),
		tracker:   newTracker(i.config, i.quorum),
		folds:     newFolds(),
	}
	s.nobody = []*member{{status: NodeStatus{Name: "no server", State: NodeDown, Since: i.now(), Error: "no server of the cluster serves the slot of this key"}}}
	s.adopt(i.deployment.present())
	return s
}

// answers reports whether what the node last told is its word at present.
func (m *member) answers() bool {
	switch m.status.State {
	case NodeUp, NodeReplica:
		return true
	case NodeDenied:
		// It may refuse to list names and still answer about keys.
		return m.failures == 0
	default:
		return false
	}
}

// launch starts a job on a node that is not busy.
func (s *session) launch(ctx context.Context, m *member, j job) {
	if m.busy {
		return
	}
	m.busy = true
	if m.failures > 0 {
		m.probe.forget()
		m.scan.abandon()
	}
	s.passes = s.passes || j.scan != nil
	if j.mine == nil {
		j.mine = s.minds(m)
	}
	go func() {
		r := m.probe.look(ctx, j)
		r.member = m.id
		select {
		case s.reports <- r:
		case <-ctx.Done():
		}
	}()
}

// settle takes in reports until no node that is waited for is busy, or until
// the deadline fires, or ctx ends. Without a deadline it waits for all nodes.
func (s *session) settle(ctx context.Context, deadline <-chan time.Time) {
	for s.waiting(deadline != nil) {
		select {
		case r := <-s.reports:
			s.absorb(ctx, r)
		case <-deadline:
			return
		case <-ctx.Done():
			return
		}
	}
}

// waiting reports whether a round has to wait. With a deadline it does not
// wait for nodes that were down before: they would slow every round.
func (s *session) waiting(bounded bool) bool {
	for _, m := range s.members {
		if m.busy && !(bounded && m.failures > 0) {
			return true
		}
	}
	return false
}

// absorb takes in one report.
func (s *session) absorb(ctx context.Context, r report) {
	at := slices.IndexFunc(s.members, func(m *member) bool { return m.id == r.member })
	if at < 0 {
		return // it is no longer part of the deployment
	}
	m := s.members[at]
	m.busy = false
	m.scanned = scanned{names: m.scan.names, passes: m.scan.passes, cut: m.scan.cut, began: m.scan.began}
	if r.err != nil {
		if ctx.Err() == nil {
			s.failed(m, r.err)
		}
		return
	}
	now := s.inspector.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range m.dropped {
		delete(m.samples, key)
	}
	m.dropped = nil
	if s.aside != nil {
		s.aside(r.sights)
	} else {
		s.fold(r.sights, now)
	}
	m.pace.learn(r.keys, r.rest)
	for key, sample := range r.samples {
		if _, ok := s.known[key]; !ok && s.passes && sample.presence == absent {
			// Dropped while the question was under way.
			continue
		}
		if !s.admit(key) {
			continue
		}
		sample = s.share(m, key, sample)
		if sample.got != nil && sample.got.entry.Key == key {
			key = sample.got.entry.Key // one copy of the name for all nodes
		}
		m.samples[key] = sample
		s.mark(key)
	}
	for _, key := range r.others {
		if s.admit(key) {
			s.mark(key)
		}
	}
	s.correct(m)
	m.failures, m.eager, m.refusal = 0, false, ""
	st := &m.status
	f := m.probe.known()
	st.Role, st.Version, st.Eviction, st.Replicas, st.ReplicaLag = f.role, f.version, f.eviction, f.replicas, f.lag
	st.ClockOffset = Maybe[time.Duration]{}
	if f.clock.known {
		st.ClockOffset = Known(f.clock.offset())
	}
	st.RTT, st.Commands, st.LookTime = r.cost.rtt, r.cost.commands, r.cost.wire
	st.SampledAt, st.NextTry, st.Denied = now, time.Time{}, m.probe.denied()
	refusal := ""
	if s.passes {
		refusal = m.probe.refusal("SCAN")
	}
	switch {
	case refusal != "":
		s.become(m, NodeDenied, refusal, now)
	case f.role == "replica":
		s.become(m, NodeReplica, "", now)
	default:
		s.become(m, NodeUp, "", now)
	}
}

// share makes a sample use the reading that another node's sample of the key
// already has, if it is the same.
func (s *session) share(m *member, key string, one sample) sample {
	if one.got == nil || m.samples[key].got == one.got {
		return one
	}
	for _, other := range s.members {
		if got := other.samples[key].got; other != m && got.equal(one.got) {
			one.got = got
			break
		}
	}
	return one
}

// failed records that a look at a node came to nothing.
func (s *session) failed(m *member, err error) {
	now := s.inspector.now()
	m.failures++
	m.scan.abandon()
	state := NodeDown
	m.refusal = ""
	var ne *nodeError
	if errors.As(err, &ne) {
		switch node.Classify(ne.err) {
		case node.NotServing:
			m.refusal = node.Explain(ne.err)
		case node.Unauthorized, node.Forbidden:
			state = NodeDenied
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m.status.NextTry = now.Add(backoff(m.failures, rand.Float64()))
	if m.eager {
		m.status.NextTry = now
	}
	s.inspector.deployment.doubt()
	m.eager = false
	m.status.RTT = Maybe[time.Duration]{}
	s.become(m, state, err.Error(), now)
}

// become sets a node's state and leaves the event for the next snapshot. The
// first state of a node is not an event.
func (s *session) become(m *member, state NodeState, why string, now time.Time) {
	old := m.status.State
	m.status.Error = why
	if state == old {
		return
	}
	m.status.State, m.status.Since = state, now
	if old == NodePending {
		if m.moved == "" {
			return
		}
		old = m.was // it took another one's place
	}
	up := func(x NodeState) bool { return x == NodeUp || x == NodeReplica }
	switch {
	case up(state) && m.moved != "":
		s.tracker.add(Event{At: now, Kind: NodeWentUp, Node: m.status.Name, Text: m.moved})
		m.moved = ""
	case up(state) && !up(old):
		s.tracker.add(Event{At: now, Kind: NodeWentUp, Node: m.status.Name, Text: "answers again"})
	case !up(state) && up(old):
		s.tracker.add(Event{At: now, Kind: NodeFell, Node: m.status.Name, Text: why})
	}
}

// backoff is the pause before a node is tried again after so many failures in
// a row: doubling from one second to thirty, spread by a fifth either way so
// that several watchers do not come back all at once. r is in [0, 1).
func backoff(failures int, r float64) time.Duration {
	d := maxBackoff
	if failures < 1 {
		failures = 1
	}
	if shift := failures - 1; shift < 5 {
		d = firstBackoff << shift
	}
	return time.Duration(float64(d) * (0.8 + 0.4*r))
}

// confirm asks again for keys that a node was not asked for yet, because
// another node told of them, and for those on which nodes newly disagree.
// deadline makes a channel that bounds one round, nil for none.
func (s *session) confirm(ctx context.Context, deadline func() (<-chan time.Time, func())) {
	for range confirmRounds {
		missing, disputed := s.doubtful()
		again := make(map[string]struct{}, len(disputed))
		for _, key := range disputed {
			again[key] = struct{}{}
		}
		fresh := func(key string) bool { _, ok := again[key]; return ok }
		asked := false
		for n, m := range s.members {
			keys := missing[n]
			if s.layout.owners == nil {
				keys = append(keys, disputed...)
			}
			if len(keys) > 0 && m.answers() && !m.busy && ctx.Err() == nil {
				s.launch(ctx, m, job{keys: keys, before: m.samples, fresh: fresh, plain: s.plain})
				asked = true
			}
		}
		if !asked {
			return
		}
		if deadline == nil {
			s.settle(ctx, nil)
			continue
		}
		at, stop := deadline()
		s.settle(ctx, at)
		stop()
	}
}

// doubtful lists the keys that confirm is for: what each node was not asked
// about, and what all are to be asked about again. A key that was not asked
// about everywhere is not in dispute yet.
func (s *session) doubtful() (missing [][]string, disputed []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	missing = make([][]string, len(s.members))
	news := s.known
	if s.rows.kept && s.rows.of != nil {
		news = s.news
	}
	for key := range news {
		if _, known := s.known[key]; !known {
			continue
		}
		disagree, unasked := false, false
		var first *sample
		base, voters := s.voters(key)
		for n, m := range voters {
			n += base
			if !m.answers() || m.busy {
				continue
			}
			one, ok := m.samples[key]
			switch {
			case !ok:
				unasked = true
				missing[n] = append(missing[n], key)
			case first == nil:
				first = &one
			case !sameValue(*first, one):
				disagree = true
			}
		}
		switch {
		case unasked:
		case s.folds.hides(key):
		case disagree && len(disputed) < confirmKeys && s.tracker.dispute(key) != disputeOf(s.replies(key)):
			disputed = append(disputed, key)
		}
	}
	return missing, disputed
}

// replies lists what each node says about a key.
func (s *session) replies(key string) []reply {
	_, voters := s.voters(key)
	out := make([]reply, len(voters))
	others := s.folds.parts[key]
	for n, m := range voters {
		r := reply{node: &m.status, answers: m.answers()}
		r.sample, r.sampled = m.samples[key]
		if len(others) > 0 && r.sampled {
			keys := append([]string{key}, others...)
			samples := make([]sample, len(keys))
			for i, k := range keys {
				// In a cluster another server may have it.
				_, at := s.voters(k)
				var ok bool
				samples[i], ok = at[n].samples[k]
				r.sampled = r.sampled && ok
				if !at[n].answers() {
					samples[i].presence = forbidden
				}
			}
			r.sample, r.parts = sumParts(keys, samples)
		}
		out[n] = r
	}
	return out
}

// learnFrom takes over what a running Watch knows of some keys.
func (s *session) learnFrom(live *session, keys []string) {
	if live == nil {
		return
	}
	live.mu.Lock()
	defer live.mu.Unlock()
	for _, m := range live.members {
		mine := s.at(m.probe)
		if mine == nil {
			continue
		}
		for _, key := range keys {
			if one, ok := m.samples[key]; ok {
				mine.samples[key] = one
			}
		}
	}
	s.tracker = live.tracker.extract(keys)
	for _, key := range keys {
		s.folds.companions[key] = slices.Clone(live.folds.companions[key])
	}
}

// teach leaves what this session has read for a running Watch to take over, and
// reports whether any of it is news there.
func (s *session) teach(live *session, keys []string) (news bool) {
	if live == nil {
		return false
	}
	live.mu.Lock()
	defer live.mu.Unlock()
	for _, m := range s.members {
		to := live.at(m.probe)
		if !m.answers() || to == nil {
			continue
		}
		for _, key := range keys {
			one, ok := m.samples[key]
			if _, listed := live.known[key]; !ok || !listed {
				continue
			}
			if to.inbox == nil {
				to.inbox = make(map[string]sample)
			}
			to.inbox[key] = one
			news = news || !sameValue(to.samples[key], one)
		}
	}
	return news
}

// correct takes over what a Get has read of a node beside this session. The
// node must not be busy: its job may not see samples change.
func (s *session) correct(m *member) {
	for key, one := range m.inbox {
		if _, listed := s.known[key]; !listed {
			continue
		}
		if mine, ok := m.samples[key]; ok {
			one = fresher(mine, one)
		}
		m.samples[key] = one
		s.mark(key)
	}
	m.inbox = nil
}

// correctAll does so for all nodes that are not busy.
func (s *session) correctAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		if !m.busy {
			s.correct(m)
		}
	}
}

// freshKeys says whose values a refresh reads: all, or those on top of the list
// if there are very many.
func (s *session) freshKeys() func(key string) bool {
	if len(s.known) <= refreshMost || len(s.shown) == 0 {
		return func(string) bool { return true }
	}
	top := make(map[string]struct{}, refreshMost)
	s.onScreen(func(key string) { top[key] = struct{}{} })
	return func(key string) bool { _, ok := top[key]; return ok }
}

// early reports whether a lock that was not shown before cannot be judged yet
// because a node that answers, or is about to for the first time, was not asked
// about it. Such a node is asked with its next job at the latest.
func (s *session) early(key string, replies []reply) bool {
	if _, shown := s.tracker.tracks[key]; shown {
		return false
	}
	starting := false
	_, voters := s.voters(key)
	for n, r := range replies {
		if r.answers && !r.sampled {
			return true
		}
		starting = starting || r.node.State == NodePending && voters[n].busy
	}
	if !starting {
		return false
	}
	answers := make([]Observation, len(replies))
	for n, r := range replies {
		answers[n] = r.observe()
	}
	return Judge(answers, s.inspector.quorum).State != Held
}

// compose puts the picture together and moves history on. With keys it is
// about these and no others. Locks that are gone are part of it if they were
// asked for or if tombstones are wanted.
func (s *session) compose(keys []string, tombstones bool) Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.inspector
	now := i.now()
	snap := Snapshot{
		Seq:      i.seq.Add(1),
		At:       now,
		Complete: true,
		Interval: i.currentInterval(),
		Target:   Target{Topology: i.topology, Quorum: i.quorum},
	}
	if s.passes {
		snap.Scan = s.progress()
		snap.Complete = !snap.Scan.Cut
	}
	s.sweep()
	work, all := s.begin(now, snap.Interval)
	counts, barred := s.rows.counts, s.rows.barred
	var over []string // to be forgotten; they still count in this snapshot
	listed := func(key string) {
		s.rows.clear(key)
		if _, part := s.folds.partOf[key]; part && keys == nil {
			return
		}
		if _, known := s.known[key]; !known && keys == nil {
			return
		}
		replies := s.replies(key)
		if o, ok := s.folds.orphans[key]; ok {
			row, isLock, gone := s.orphaned(key, o, replies, now)
			switch {
			case isLock:
				delete(s.folds.orphans, key)
			case row != nil:
				snap.Locks = append(snap.Locks, *row)
				return
			case !gone:
				return
			case keys == nil:
				s.drop(key)
				return
			}
		}
		if s.lacking(key, replies) {
			s.mark(key)
		}
		if keys == nil && s.early(key, replies) {
			s.mark(key)
			snap.Scan.Pending++
			return
		}
		base, _ := s.voters(key)
		row := s.rows.enter(key, base, replies)
		disputed := s.tracker.dispute(key)
		lock, keep, passed := s.tracker.step(ID{DB: i.db, Key: key}, replies, now, snap.Interval)
		if d := s.tracker.dispute(key); d != "" && d != disputed {
			s.rotation.hurry(key)
		}
		if !passed {
			due, ask := s.tracker.nextChange(lock, now)
			s.rows.schedule(row, due, ask)
		}
		if !keep && keys == nil {
			over = append(over, key)
			return
		}
		lock.Companions = s.companionsOf(key)
		if lock.State != Expired || tombstones && !passed || keys != nil {
			snap.Locks = append(snap.Locks, lock)
		}
	}
	s.tracker.begin(now, snap.Interval)
	if keys != nil {
		for _, key := range keys {
			listed(key)
		}
	} else {
		for key := range work {
			listed(key)
		}
	}
	for _, key := range s.tracker.end(now) {
		s.mark(key) // its history is to be shown
	}
	sortLocks(snap.Locks)
	if !all && keys == nil {
		snap.Locks = merge(s.shown, work, snap.Locks)
	}
	var longest time.Duration
	for n := range snap.Locks {
		longest = max(longest, snap.Locks[n].FullTTL)
	}
	for n, m := range s.members {
		st := m.status
		if m.answers() && st.State != NodeDenied {
			st.Locks = Known(counts[n])
		}
		snap.Target.Nodes = append(snap.Target.Nodes, st)
		if st.State != NodeUp && st.State != NodeReplica || s.passes && m.scanned.passes == 0 || barred[n] > 0 {
			snap.Complete = false
		}
	}
	if s.layout.uncovered() > 0 {
		snap.Complete = false
	}
	snap.Findings = s.nodeFindings(snap.Target, barred, longest, now)
	for _, key := range over {
		s.drop(key)
	}
	if snap.Scan.Pending > 0 {
		snap.Complete = false
	}
	s.shown = snap.Locks
	if keys == nil {
		snap.Events, snap.EventsDropped = s.tracker.events()
	}
	return snap
}

// lacking reports whether a node was not asked about a key yet and is about to be.
func (s *session) lacking(key string, replies []reply) bool {
	_, voters := s.voters(key)
	for n, r := range replies {
		if !r.sampled && (r.answers || voters[n].busy) {
			return true
		}
	}
	return false
}

// drop forgets a key, and with a lock its other keys.
func (s *session) drop(key string) {
	s.rows.clear(key)
	for _, part := range s.folds.parts[key] {
		delete(s.folds.partOf, part)
		s.drop(part)
	}
	delete(s.folds.parts, key)
	delete(s.folds.orphans, key)
	delete(s.known, key)
	for _, m := range s.members {
		if m.busy {
			m.dropped = append(m.dropped, key)
		} else {
			delete(m.samples, key)
		}
	}
}

func (s *session) progress() Progress {
	p := Progress{Match: s.inspector.config.Match, Cut: s.overrun, Oldest: s.rotation.oldest}
	passes := -1
	for _, m := range s.members {
		p.Keys = max(p.Keys, int64(m.scanned.names))
		p.Cut = p.Cut || m.scanned.cut
		if m.answers() && m.status.State != NodeDenied && (passes < 0 || m.scanned.passes < passes) {
			passes = m.scanned.passes
		}
	}
	p.Passes = max(0, passes)
	return p
}
