package inspect

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"dlock/inspect/dialect"
)

// show puts together what is known of one lock.
func (t *tracker) show(tr *track, id ID, replies []reply, v Verdict, news bool, now time.Time, interval time.Duration) Lock {
	l := Lock{
		ID:       id,
		Resource: strings.TrimPrefix(id.Key, t.config.Prefix),
		State:    v.State,
		Expiry:   v.Expiry,
		Votes:    Votes{Need: t.quorum, Agree: v.Agree, Of: len(replies)},
	}
	if l.Resource == "" {
		l.Resource = id.Key
	}
	l.Copies = make([]Copy, len(replies))
	for n, r := range replies {
		l.Copies[n] = t.copyOf(r, v, tr.nodes[n])
		if a := l.Copies[n].Answer; a == AnswerUnreachable || a == AnswerDenied {
			l.Votes.Unreachable++
		}
	}
	t.showOwners(&l, tr, replies, v)
	t.showCompanions(&l, replies, v)
	t.showHistory(&l, tr, replies, v, now, interval)
	l.Flags = t.flags(l, tr, replies, now)
	l.Findings = findings(l, v, replies, tr.gather(l, news, now), t.config, now)
	if v.State == Expired {
		l.GoneAt = tr.goneAt
		l.Expiry = Expiry{}
	}
	return l
}

func (t *tracker) copyOf(r reply, v Verdict, nt nodeTrack) Copy {
	s := r.sample
	first := ""
	if len(v.Tallies) > 0 {
		first = v.Tallies[0].Token
	}
	c := Copy{Node: r.node.Name, Error: s.err()}
	if nt.last != nil {
		c.Change, c.ChangedAt = nt.last.kind, nt.last.at
	}
	if r.sampled {
		c.SampledAt, c.RTT = s.sent(), s.received().Sub(s.sent())
	}
	if s.presence == present {
		c.Type, c.Expiry = s.got.kind(), s.expiry()
		if s.content() == known {
			c.Entry, c.read = &s.got.entry, s.got
		}
		for h := range r.holders() {
			switch {
			case !c.HasToken:
				c.Token, c.HasToken = h.Token, true
				continue
			case c.Tokens == nil:
				c.Tokens = []string{c.Token}
			}
			c.Tokens = append(c.Tokens, h.Token)
			if h.Token == first {
				c.Token = first
			}
		}
	}
	if r.parts != nil {
		c.Parts = r.parts.seen
	}
	single := t.quorum == 1
	switch o := r.observe(); {
	case !r.answers && r.node.State == NodeDenied:
		c.Answer, c.Error = AnswerDenied, r.node.Error
	case !r.answers:
		c.Answer, c.Error = AnswerUnreachable, r.node.Error
	case !r.sampled:
		c.Answer, c.Error = AnswerPending, "not asked about this key yet"
	case o.Reply == Silent:
		c.Answer = AnswerDenied
	case o.Reply == Free:
		c.Answer = AnswerFree
	case o.Reply == Torn:
		c.Answer = AnswerOther
	case len(v.Tallies) > 0 && r.stores(first):
		c.Answer = AnswerHeld
	case o.Reply == Stores:
		c.Answer = AnswerOther
	case single:
		// Whoever it is, on one server he is the holder.
		c.Answer = AnswerHeld
	case o.Reply == Blind:
		c.Answer = AnswerDenied
	default:
		c.Answer = AnswerOther
	}
	return c
}

// showOwners lists who the nodes name, and says what kind of lock it is. When
// no node names anybody, the owner that was seen last stands there without
// votes.
func (t *tracker) showOwners(l *Lock, tr *track, replies []reply, v Verdict) {
	for n, tally := range v.Tallies {
		var o Owner
		for _, r := range replies {
			if h, _, ok := r.find(tally.Token); ok && r.answers {
				o = ownerOf(h)
				if n == 0 && l.Library == "" {
					l.describe(r.sample.got)
				}
				break
			}
		}
		o.Token, o.Expiry, o.Loss, o.Holds = tally.Token, tally.Expiry, tally.Loss, n < v.Holders
		for _, i := range tally.Nodes {
			o.Votes = append(o.Votes, replies[i].node.Name)
		}
		l.Owners = append(l.Owners, o)
	}
	if len(v.Tallies) > 0 {
		if l.Library == "" {
			l.describe(anyReading(replies))
		}
		return
	}
	if h, ok := tr.lastRead.holder(tr.lastOwner); ok && (v.State == Unknown || v.State == Expired) && !anyHolds(replies) {
		o := ownerOf(h)
		for _, r := range replies {
			if _, end, ok := r.find(o.Token); ok {
				o.Expiry = later(o.Expiry, end)
			}
		}
		l.Owners = []Owner{o}
		l.describe(tr.lastRead)
		l.Expiry = o.Expiry
		if tr.holder == (holder{held: true, token: o.Token}) {
			l.Expiry = tr.expiry
		}
		return
	}
	l.describe(anyReading(replies))
}

// anyHolds reports whether some node that answers has something under the key
// that is not known to have lapsed.
func anyHolds(replies []reply) bool {
	return slices.ContainsFunc(replies, func(r reply) bool {
		reply := r.observe().Reply
		return reply != Silent && reply != Free
	})
}

// anyReading picks the reading that says what kind of lock it is where nobody
// holds it: that of a node that answers, if there is one.
func anyReading(replies []reply) *reading {
	var best *reading
	for _, r := range replies {
		if !r.sampled || r.sample.presence != present || r.sample.got.kind() == "" {
			continue
		}
		if r.answers {
			return r.sample.got
		}
		best = r.sample.got
	}
	return best
}

// describe says what kind of lock a reading shows.
func (l *Lock) describe(r *reading) {
	if r == nil {
		l.Library = dialect.Unknown
		return
	}
	d := &r.decoded
	l.Library, l.Kind, l.Type = d.Library, d.Kind, r.entry.Type
	if l.Library == "" {
		l.Library = dialect.Unknown
	}
	l.Candidates, l.Confidence, l.Habits = d.Candidates, d.Confidence, d.Habits
	l.Shared, l.Anonymous = shared(d), d.Anonymous && r.content == known
}

func ownerOf(h dialect.Holder) Owner {
	return Owner{
		Token: h.Token, Name: h.Owner, Host: h.Host, PID: h.PID, Thread: h.Thread, Mode: h.Mode,
		Since: h.Since, Until: h.Until, Count: max(1, h.Count),
	}
}

// showCompanions fills in what companions tell on the nodes that answer.
func (t *tracker) showCompanions(l *Lock, replies []reply, v Verdict) {
	for _, r := range replies {
		s := r.sample
		if !r.answers || !r.sampled || s.presence != present || s.told == nil {
			continue
		}
		x := s.told.unpack()
		if x.WaitingKnown && x.Waiting >= 0 && (!l.Waiters.Known || x.Waiting > l.Waiters.Value || len(x.Waiters) > len(l.WaiterList)) {
			l.Waiters = Known(max(l.Waiters.Value, x.Waiting))
			l.WaiterList, l.WaitersAreProcesses = x.Waiters, x.WaitingProcesses
		}
		mine := len(v.Tallies) == 0 || r.stores(v.Tallies[0].Token)
		if mine && x.FenceKnown && (!l.Fence.Known || x.Fence > l.Fence.Value) {
			l.Fence = Known(x.Fence)
		}
	}
}

// showHistory fills in what earlier samples and idle times tell.
func (t *tracker) showHistory(l *Lock, tr *track, replies []reply, v Verdict, now time.Time, interval time.Duration) {
	if tr.subject != (holder{}) && l.State != Expired {
		l.FullTTL = tr.fullLife
		l.Renewals, l.LastRenewal = tr.renewals, tr.lastRenewal
		l.RenewalPeriod = tr.rhythm.period()
	}
	// While nobody who answers has it, it may have ended long ago.
	if l.State == Held || l.State == Unknown && v.Agree > 0 && tr.holder.held && tr.holder == tr.subject {
		l.HeldSince, l.HeldIsMinimum = tr.heldSince(now, interval)
	}
	for _, r := range replies {
		s := r.sample
		if !r.answers || !r.sampled || s.presence != present || !s.idleAsked {
			continue
		}
		if len(v.Tallies) > 0 && !r.stores(v.Tallies[0].Token) {
			continue
		}
		if idle := max(0, now.Sub(s.touchedAt())); !l.Idle.Known || idle < l.Idle.Value {
			l.Idle = Known(idle)
		}
	}
	if story := t.past.of(l.ID.Key); story != nil {
		l.History, _ = story.ring.view()
		l.Stats = story.stats
	}
}

// heldSince is when the subject got the lock, by the best evidence there is.
func (tr *track) heldSince(now time.Time, interval time.Duration) (since time.Time, minimum bool) {
	if tr.subject.blind {
		// Without the token it may have changed hands at any time.
		return time.Time{}, false
	}
	if !tr.granted.IsZero() {
		return tr.granted, false
	}
	if !tr.absentAt.IsZero() && tr.firstSeen.Sub(tr.absentAt) <= 3*interval {
		return tr.firstSeen, false
	}
	since = tr.firstSeen
	if !tr.atLeast.IsZero() && tr.atLeast.Before(since) {
		since = tr.atLeast
	}
	if !since.Before(now) {
		return time.Time{}, false
	}
	return since, true
}

const (
	// expiringMost is how little safe time may be left of any lock before
	// it is flagged, expiringLeast what is used for a lock that was seen
	// only once.
	expiringMost  = 2 * time.Second
	expiringLeast = time.Second
)

// expiringBelow is the safe time below which a lock is flagged. A tenth of the
// full life leaves locks alone whose watchdog renews at a third or at half of
// it, which would otherwise blink with each renewal. After one sample the full
// life is not known, and only an end that is truly near is worth a remark.
func expiringBelow(full time.Duration, samples int) time.Duration {
	if samples < 2 {
		return expiringLeast
	}
	return min(expiringMost, full/10)
}

func (t *tracker) flags(l Lock, tr *track, replies []reply, now time.Time) []Flag {
	var flags []Flag
	if l.State == Expired {
		return nil
	}
	if l.Expiry.Never {
		flags = append(flags, NoExpiry)
	}
	if l.State != Held {
		return flags
	}
	if !l.HeldSince.IsZero() && now.Sub(l.HeldSince) >= t.config.StuckAfter {
		flags = append(flags, Stuck)
	}
	// Whether it was renewed since the nodes were asked is not known, so what
	// counts is what was left then.
	if left, ok := l.Valid(lastAsked(replies, now)); ok && left < expiringBelow(l.FullTTL, tr.samples) {
		flags = append(flags, Expiring)
	}
	if l.Votes.Of > 1 && l.Votes.Agree == l.Votes.Need && l.Votes.Agree < l.Votes.Of {
		flags = append(flags, Degraded)
	}
	if len(leftovers(l)) > 0 {
		flags = append(flags, Leftover)
	}
	return flags
}

// lastAsked is when a node that answers was last asked about the lock, and not
// later than now.
func lastAsked(replies []reply, now time.Time) time.Time {
	var last time.Time
	for _, r := range replies {
		if at := r.sample.received(); r.answers && r.sampled && at.After(last) {
			last = at
		}
	}
	if last.IsZero() || last.After(now) {
		return now
	}
	return last
}

// quorumLife is the remaining life that the subject's quorum had when it was
// sampled.
func quorumLife(replies []reply, h holder, v Verdict, quorum int) time.Duration {
	var lives []time.Duration
	for _, r := range replies {
		if !r.answers || !r.has(h) {
			continue
		}
		end := r.sample.expiry()
		if !h.blind {
			_, end, _ = r.find(h.token)
		}
		if !end.Never {
			lives = append(lives, max(0, end.At.Sub(r.sample.sent())))
		}
	}
	k := 1
	if v.State == Held {
		k = quorum
	}
	if len(lives) < k {
		return 0
	}
	slices.Sort(lives)
	return lives[len(lives)-k]
}

// compareLocks compares by trouble, then key.
func compareLocks(a, b *Lock) int {
	return cmp.Or(cmp.Compare(a.Trouble(), b.Trouble()), strings.Compare(a.ID.Key, b.ID.Key))
}

// sortLocks sorts as compareLocks compares. Locks are large, so it is their
// numbers that are moved about.
func sortLocks(locks []Lock) {
	ranks, order := make([]int, len(locks)), make([]int, len(locks))
	for n := range locks {
		ranks[n], order[n] = locks[n].Trouble(), n
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(ranks[a], ranks[b]), strings.Compare(locks[a].ID.Key, locks[b].ID.Key))
	})
	sorted := make([]Lock, len(locks))
	for n, from := range order {
		sorted[n] = locks[from]
	}
	copy(locks, sorted)
}
