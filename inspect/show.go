package inspect

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"dlock/inspect/dialect"
)

// show puts together what is known of one lock.
func (t *tracker) show(tr *track, id ID, replies []reply, v Verdict, now time.Time, interval time.Duration) Lock {
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
	t.showHistory(&l, tr, replies, v, now, interval)
	l.Flags = t.flags(l, tr, replies, now)
	l.Findings = findings(l, v, replies, t.config, now)
	if v.State == Expired {
		l.GoneAt = tr.goneAt
		l.Expiry = Expiry{}
	}
	return l
}

func (t *tracker) copyOf(r reply, v Verdict, nt nodeTrack) Copy {
	s := r.sample
	c := Copy{
		Node: r.node.Name, Error: s.err, ChangedAt: nt.changed, Change: nt.change,
	}
	if r.sampled {
		c.SampledAt, c.RTT = s.sent, s.received.Sub(s.sent)
	}
	if s.presence == present {
		c.Type, c.Expiry = s.kind, s.expiry()
		if s.content == token {
			c.Token, c.HasToken = s.token, true
		}
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
	case o.Reply == Stores && len(v.Tallies) > 0 && v.Tallies[0].Token == o.Token:
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
	entry := dialect.Entry{Key: l.ID.Key}
	for _, r := range replies {
		if r.sampled && r.sample.presence == present && r.sample.kind != "" {
			entry.Type = r.sample.kind
			if r.answers {
				break
			}
		}
	}
	for n, tally := range v.Tallies {
		o, d := ownerOf(l.ID.Key, tally.Token)
		for _, i := range tally.Nodes {
			o.Votes = append(o.Votes, replies[i].node.Name)
		}
		o.Expiry = tally.Expiry
		l.Owners = append(l.Owners, o)
		if n == 0 {
			l.Library, l.Kind, l.Type = d.Library, d.Kind, "string"
		}
	}
	if len(v.Tallies) > 0 {
		return
	}
	if tr.hasOwner && (v.State == Unknown || v.State == Expired) && !anyPresent(replies) {
		o, d := ownerOf(l.ID.Key, tr.lastOwner)
		for _, r := range replies {
			if r.stores(tr.lastOwner) {
				o.Expiry = later(o.Expiry, r.sample.expiry())
			}
		}
		l.Owners = []Owner{o}
		l.Library, l.Kind, l.Type = d.Library, d.Kind, "string"
		l.Expiry = o.Expiry
		if tr.holder == (holder{held: true, token: tr.lastOwner}) {
			l.Expiry = tr.expiry
		}
		return
	}
	d, _ := dialect.Recognise(entry)
	l.Library, l.Kind, l.Type = d.Library, d.Kind, entry.Type
}

func ownerOf(key, value string) (Owner, dialect.Decoded) {
	d, _ := dialect.Recognise(dialect.Text(key, value))
	o := Owner{Token: value, Count: 1}
	if len(d.Holders) > 0 {
		h := d.Holders[0]
		o.Name, o.Host, o.PID, o.Since, o.Count = h.Owner, h.Host, h.PID, h.Since, h.Count
	}
	return o, d
}

// showHistory fills in what earlier samples, idle times and companions tell.
func (t *tracker) showHistory(l *Lock, tr *track, replies []reply, v Verdict, now time.Time, interval time.Duration) {
	if tr.subject != (holder{}) && l.State != Expired {
		l.FullTTL = tr.fullLife
		l.Renewals, l.LastRenewal = tr.renewals, tr.lastRenewal
	}
	// While nobody who answers has it, it may have ended long ago.
	if l.State == Held || l.State == Unknown && v.Agree > 0 && tr.holder.held && tr.holder == tr.subject {
		l.HeldSince, l.HeldIsMinimum = tr.heldSince(now, interval)
	}
	for _, r := range replies {
		if !r.answers || !r.sampled || r.sample.presence != present {
			continue
		}
		s := r.sample
		if s.waiters.Known && (s.waiters.Value > 0 || l.Library == dialect.Dlock) {
			l.Waiters = Known(max(l.Waiters.Value, s.waiters.Value))
		}
		mine := len(v.Tallies) == 0 || r.stores(v.Tallies[0].Token)
		if !mine {
			continue
		}
		if s.fence.Known && (!l.Fence.Known || s.fence.Value > l.Fence.Value) {
			l.Fence = s.fence
		}
		if s.idleAsked {
			if idle := max(0, now.Sub(s.touchedAt)); !l.Idle.Known || idle < l.Idle.Value {
				l.Idle = Known(idle)
			}
		}
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
	if left, ok := l.Valid(now); ok && left < expiringBelow(l.FullTTL, tr.samples) {
		flags = append(flags, Expiring)
	}
	if l.Votes.Of > 1 && l.Votes.Agree == l.Votes.Need && l.Votes.Agree < l.Votes.Of {
		flags = append(flags, Degraded)
	}
	if slices.ContainsFunc(l.Copies, func(c Copy) bool { return c.Answer == AnswerOther }) {
		flags = append(flags, Leftover)
	}
	return flags
}

// quorumLife is the remaining life that the subject's quorum had when it was
// sampled.
func quorumLife(replies []reply, h holder, v Verdict, quorum int) time.Duration {
	var lives []time.Duration
	for _, r := range replies {
		if r.answers && r.sampled && r.sample.presence == present && !r.sample.never && (h.blind || r.stores(h.token)) {
			lives = append(lives, r.sample.life)
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

func sortLocks(locks []Lock) {
	slices.SortFunc(locks, func(a, b Lock) int {
		return cmp.Or(cmp.Compare(a.Trouble(), b.Trouble()), strings.Compare(a.ID.Key, b.ID.Key))
	})
}
