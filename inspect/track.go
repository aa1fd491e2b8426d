package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// tracker remembers what earlier samples showed, and turns differences into
// events. It does no I/O and reads no clock.
type tracker struct {
	config  Config
	quorum  int
	tracks  map[string]*track
	ring    ring
	past    *past
	steps   int
	last    time.Time // of the last step, zero before the first
	pending []Event   // of the step under way
}

// track is the history of one lock.
type track struct {
	there  bool // some node has had it at some time
	gone   bool
	goneAt time.Time
	nodes  []nodeTrack

	// holder is who held it when that was last known for sure.
	holder    holder
	settled   bool   // that was ever known
	expiry    Expiry // of that holder's quorum, as last seen
	split     bool   // it was split when that was last known for sure
	noTTL     bool
	also      []Hold   // those who hold it beside the holder, as last seen
	lastOwner string   // the token that was first last time, to show when nobody answers
	lastRead  *reading // where it was found; nil when there was none

	// What follows is about the token that has most votes.
	subject     holder
	firstSeen   time.Time
	atLeast     time.Time // it was there at this moment, from idle times
	granted     time.Time // when the quorum was granted, from fence companions
	absentAt    time.Time // it did not have its quorum yet at this moment
	fullLife    time.Duration
	samples     int
	renewals    int
	lastRenewal time.Time
	rhythm      rhythm

	seen    evidence
	waiting int // the last count of waiters

	dispute string // the disagreement of nodes that was last believed
}

// holder is who holds a lock: nobody, somebody whose token is not known, or
// a token.
type holder struct {
	held  bool
	blind bool
	token string
}

// nodeTrack is what one node last told about one lock.
type nodeTrack struct {
	sample sample // its zero value is a node that never answered
	torn   bool
	last   *nodeChange
}

func (n nodeTrack) answered() bool { return n.sample.asked != nil }

// nodeChange is what last happened on one node.
type nodeChange struct {
	kind EventKind
	at   time.Time
}

func newTracker(c Config, quorum int) *tracker {
	return &tracker{config: c, quorum: quorum, tracks: make(map[string]*track), ring: ring{size: c.EventRing}, past: newPast(historyMost)}
}

// extract copies the history of some locks into a tracker of its own.
func (t *tracker) extract(keys []string) *tracker {
	out := newTracker(t.config, t.quorum)
	out.steps, out.last = t.steps, time.Time{}
	for _, key := range keys {
		if tr, ok := t.tracks[key]; ok {
			c := *tr
			c.nodes = slices.Clone(tr.nodes)
			out.tracks[key] = &c
		}
		if one := t.past.of(key); one != nil {
			copied := out.past.open(key)
			copied.stats = one.stats
			copied.ring.events, _ = one.ring.view()
		}
	}
	return out
}

// begin opens a step over all locks and notices if the one before was long
// ago. It goes by the wall clock: the monotonic one may stand still while the
// machine sleeps.
func (t *tracker) begin(now time.Time, interval time.Duration) {
	if t.last.IsZero() {
		return
	}
	if pause := now.Round(0).Sub(t.last.Round(0)); pause > 3*interval+time.Second {
		t.add(Event{At: now, Kind: Gap, Text: "no samples for " + human(pause) + "; what happened meanwhile was not seen"})
	}
}

// end closes the step. It returns the keys that something happened to.
func (t *tracker) end(now time.Time) (changed []string) {
	t.steps++
	t.last = now
	slices.SortStableFunc(t.pending, func(a, b Event) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Key, b.Key))
	})
	for _, e := range t.pending {
		t.ring.add(e)
		if e.Key != "" {
			t.past.add(e)
			changed = append(changed, e.Key)
		}
	}
	t.pending = nil
	return changed
}

func (t *tracker) add(e Event) { t.pending = append(t.pending, e) }

func (t *tracker) events() ([]Event, uint64) { return t.ring.view() }

// dispute returns the disagreement about a key that was last believed.
func (t *tracker) dispute(key string) string {
	if tr, ok := t.tracks[key]; ok {
		return tr.dispute
	}
	return ""
}

// disputeOf puts what the nodes say into one string, "" if they all agree.
func disputeOf(replies []reply) string {
	if agreed(replies) {
		return ""
	}
	var b strings.Builder
	for n, r := range replies {
		if o := r.observe(); o.Reply != Silent {
			fmt.Fprintf(&b, "%d %d", n, o.Reply)
			o.holds(func(h Hold) { fmt.Fprintf(&b, " %q", h.Token) })
			b.WriteByte(';')
		}
	}
	return b.String()
}

// agreed reports whether all nodes that answer say the same.
func agreed(replies []reply) bool {
	var first Observation
	seen := false
	for _, r := range replies {
		o := r.observe()
		switch {
		case o.Reply == Silent:
		case !seen:
			first, seen = o, true
		case !o.same(first):
			return false
		}
	}
	return true
}

// step takes in what the nodes say about one lock, and returns it as it is
// shown. keep is false when nothing is left to remember of it. The key of a lock
// that is over may still be there; it is remembered then, and passed is true
// once it is no longer worth a row.
func (t *tracker) step(id ID, replies []reply, now time.Time, interval time.Duration) (lock Lock, keep, passed bool) {
	tr, old := t.tracks[id.Key]
	if !old {
		tr = &track{nodes: make([]nodeTrack, len(replies))}
		t.tracks[id.Key] = tr
	}
	answers := make([]Observation, len(replies))
	seen := false
	for n, r := range replies {
		answers[n] = r.observe()
		if r.sampled && answers[n].Reply != Free && r.sample.presence != absent {
			seen = true
		}
	}
	v := Judge(answers, t.quorum)
	v.prefer(tr.subject.token)
	if tr.gone && v.State == Unknown && !anyStores(answers) {
		// It was seen to be gone before the nodes fell silent.
		v.State = Expired
	}
	news := tr.news(replies)
	t.change(tr, id.Key, replies, v, now, interval)
	t.remember(tr, replies, v, now)
	tr.there = tr.there || seen
	lock = t.show(tr, id, replies, v, news, now, interval)
	tr.dispute = disputeOf(replies)
	if v.State != Expired || tr.there && now.Sub(tr.goneAt) < t.config.Tombstone {
		return lock, true, false
	}
	if anyPresent(replies) {
		return lock, true, true
	}
	delete(t.tracks, id.Key)
	return lock, false, true
}

func anyStores(answers []Observation) bool {
	return slices.ContainsFunc(answers, func(o Observation) bool { return o.Reply != Silent && o.Reply != Free })
}

// holderOf tells who holds the lock by a verdict. settled is false when the
// verdict leaves that open.
func holderOf(v Verdict) (h holder, settled bool) {
	switch v.State {
	case Held:
		if v.Holders == 0 {
			return holder{held: true, blind: true}, true
		}
		return holder{held: true, token: v.Tallies[0].Token}, true
	case Partial, Expired:
		return holder{}, true
	default:
		return holder{}, false
	}
}

// subjectOf is the token that history is kept about: the first one, whether or
// not it has a quorum.
func subjectOf(v Verdict) (holder, bool) {
	if len(v.Tallies) > 0 {
		return holder{held: true, token: v.Tallies[0].Token}, true
	}
	if h, settled := holderOf(v); settled && h.held {
		return h, true
	}
	return holder{}, false
}

// remember moves the history of a lock on.
func (t *tracker) remember(tr *track, replies []reply, v Verdict, now time.Time) {
	if v.State == Expired {
		if !tr.gone {
			tr.gone, tr.goneAt = true, now
		}
	} else if v.State != Unknown || anyPresent(replies) {
		if tr.gone {
			tr.subject = holder{}
		}
		tr.gone, tr.goneAt = false, time.Time{}
	}
	if s, ok := subjectOf(v); ok {
		if s != tr.subject {
			tr.subject = s
			tr.firstSeen, tr.samples, tr.renewals, tr.fullLife = now, 0, 0, 0
			tr.atLeast, tr.granted, tr.absentAt = time.Time{}, time.Time{}, time.Time{}
			tr.lastRenewal, tr.rhythm = time.Time{}, rhythm{}
			tr.seen.apart = 0
			tr.absentAt = notBefore(replies, s, t.quorum)
		}
		if tr.samples == 0 || tr.news(replies) {
			tr.samples++
		}
		tr.lastOwner, tr.lastRead = s.token, readingOf(replies, s)
		t.rememberAge(tr, replies, now)
		tr.fullLife = max(tr.fullLife, quorumLife(replies, s, v, t.quorum))
	}
	if h, settled := holderOf(v); settled {
		tr.holder, tr.settled, tr.expiry = h, true, v.Expiry
		tr.also = nil
		for n := 1; n < v.Holders; n++ {
			tr.also = append(tr.also, Hold{Token: v.Tallies[n].Token, Expiry: v.Tallies[n].Loss})
		}
	}
	tr.split = v.State == Split || tr.split && v.State == Unknown
	tr.noTTL = v.State != Expired && v.Expiry.Never
	for n, r := range replies {
		if r.answers && r.sampled && r.sample.presence != forbidden {
			tr.nodes[n].sample, tr.nodes[n].torn = r.sample, r.parts != nil && r.parts.torn
		}
	}
}

// readingOf returns a reading that shows the token, nil when there is none.
func readingOf(replies []reply, h holder) *reading {
	if h.blind {
		return nil
	}
	for _, r := range replies {
		if _, _, ok := r.find(h.token); ok {
			return r.sample.got
		}
	}
	return nil
}

func anyPresent(replies []reply) bool {
	return slices.ContainsFunc(replies, func(r reply) bool {
		return r.answers && r.sampled && r.sample.presence == present
	})
}

// rememberAge takes in what idle times and fence companions tell about how
// long the subject has been there.
func (t *tracker) rememberAge(tr *track, replies []reply, now time.Time) {
	if tr.subject.blind {
		return
	}
	touched := kthTime(collect(replies, tr.subject, func(r reply) time.Time {
		if r.sample.touched == nil {
			return time.Time{}
		}
		// Nobody wrote since then, so it was there then. An idle time
		// may be a second too long.
		return r.sample.touchedAt().Add(time.Second)
	}), t.quorum)
	if !touched.IsZero() && touched.Before(now) && (tr.atLeast.IsZero() || touched.Before(tr.atLeast)) {
		tr.atLeast = touched
	}
	if !tr.granted.IsZero() {
		return
	}
	granted := kthTime(collect(replies, tr.subject, func(r reply) time.Time {
		at, _ := r.ours(r.sample.told.unpack().Granted)
		return at
	}), t.quorum)
	// A time that lies ahead is a clock that was set or a lie; a few
	// milliseconds are the inaccuracy of the offset.
	if !granted.IsZero() && !granted.After(now.Add(time.Second)) {
		tr.granted = granted
		if granted.After(now) {
			tr.granted = now
		}
	}
}

// collect takes one time from each answering copy of the subject. Copies that
// do not tell give the zero time.
func collect(replies []reply, h holder, of func(reply) time.Time) []time.Time {
	var out []time.Time
	for _, r := range replies {
		if r.answers && r.has(h) {
			out = append(out, of(r))
		}
	}
	return out
}

// notBefore returns the last moment at which the subject is known not to have
// had a quorum yet, zero when there is none. A copy that may have been there
// all the time counts as one that was.
func notBefore(replies []reply, h holder, quorum int) time.Time {
	times := collect(replies, h, func(r reply) time.Time { return r.sample.absentAt() })
	if quorum < 1 || len(times) < quorum {
		return time.Time{}
	}
	slices.SortFunc(times, time.Time.Compare)
	return times[quorum-1]
}

// kthTime returns the k-th earliest of the times that are known: a moment at
// which k copies were there. It is zero when fewer are known.
func kthTime(times []time.Time, k int) time.Time {
	if k < 1 || len(times) < k {
		return time.Time{}
	}
	known := times[:0:0]
	for _, at := range times {
		if !at.IsZero() {
			known = append(known, at)
		}
	}
	if len(known) < k {
		return time.Time{}
	}
	slices.SortFunc(known, time.Time.Compare)
	return known[k-1]
}
