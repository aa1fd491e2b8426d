package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dlock/inspect/dialect"
)

// change compares what the nodes say now with what they last said, and adds
// one event for each thing that happened to the lock as a whole. Nothing is an
// event in the first step: what is there then was there before.
func (t *tracker) change(tr *track, key string, replies []reply, v Verdict, now time.Time, interval time.Duration) {
	c := t.changeNodes(tr, replies, v, now)
	h, settled := holderOf(v)
	before := tr.holder
	event := func(kind EventKind, h holder, text string) {
		t.add(Event{At: now, Kind: kind, Key: key, Token: h.token, Owner: tr.ownerName(replies, h), Text: text})
	}
	if t.steps == 0 {
		return
	}
	votes := func() string { return fmt.Sprintf("%d of %d nodes", v.Agree, len(replies)) }
	taken := false
	gone, came := comings(tr, v)
	switch {
	case !settled:
		if v.State == Split && !tr.split {
			first, _ := subjectOf(v)
			l := Lock{ID: ID{Key: key}, Votes: Votes{Need: t.quorum, Of: len(replies)}}
			t.showOwners(&l, tr, replies, v)
			event(WentSplit, first, splitText(l, replies))
		}
		return
	case before.held && !h.held:
		t.ended(tr, key, replies, before, now, interval)
		text := ""
		if v.Agree > 0 {
			text = votes() + " still " + plural(v.Agree, "stores", "store") + " a token, below the quorum"
		}
		event(endKind(tr.expiry, c.missedAt, c.rtt), before, text)
		for _, g := range tr.also {
			event(endKind(g.Expiry, c.missedAt, c.rtt), holder{held: true, token: g.Token}, text)
		}
		return
	case !h.held:
		return
	case !before.held:
		// A lock whose nodes had not all been heard before was not
		// necessarily free.
		taken = tr.settled || !notBefore(replies, h, t.quorum).IsZero()
		if taken {
			event(Taken, h, votes())
			for _, token := range came {
				if token != h.token {
					event(Taken, holder{held: true, token: token}, "beside others")
				}
			}
		}
	case before.blind != h.blind:
		return
	case len(gone) == 1 && len(came) == 1 && len(tr.also) == 0 && v.Holders == 1:
		t.ended(tr, key, replies, before, now, interval)
		event(HandedOver, h, "from "+nameOr(tr.ownerName(replies, before), "another token"))
		taken = true
	default:
		for _, g := range gone {
			if g.Token == before.token {
				t.ended(tr, key, replies, before, now, interval)
			}
			event(endKind(g.Expiry, c.missedAt, c.rtt), holder{held: true, token: g.Token}, "others hold it still")
		}
		for _, token := range came {
			event(Taken, holder{held: true, token: token}, "beside others")
		}
		if before == h {
			t.changeHeld(tr, replies, v, c, event, h, votes, now, interval)
		}
	}
	if v.Expiry.Never && !tr.noTTL && (taken || tr.settled) {
		event(WentNoTTL, h, "the copies that make the quorum have no expiry")
	}
}

// comings compares who holds a lock with who held it when that was last known.
func comings(tr *track, v Verdict) (gone []Hold, came []string) {
	holds := v.Tallies[:v.Holders]
	had := func(token string) bool {
		return tr.holder.held && !tr.holder.blind && tr.holder.token == token ||
			slices.ContainsFunc(tr.also, func(h Hold) bool { return h.Token == token })
	}
	for _, t := range holds {
		if !had(t.Token) {
			came = append(came, t.Token)
		}
	}
	if len(holds) == 0 {
		return nil, came
	}
	has := func(token string) bool {
		return slices.ContainsFunc(holds, func(t Tally) bool { return t.Token == token })
	}
	if h := tr.holder; h.held && !h.blind && !has(h.token) {
		gone = append(gone, Hold{Token: h.token, Expiry: tr.expiry})
	}
	for _, h := range tr.also {
		if !has(h.Token) {
			gone = append(gone, h)
		}
	}
	return gone, came
}

// ended enters a hold that is over into the lock's statistics, if it was seen
// from its beginning.
func (t *tracker) ended(tr *track, key string, replies []reply, h holder, now time.Time, interval time.Duration) {
	if h != tr.subject {
		return
	}
	since, minimum := tr.heldSince(now, interval)
	if since.IsZero() || minimum || since.After(now) {
		return
	}
	var wait Maybe[time.Duration]
	if r := tr.lastRead; r != nil && r.decoded.Library == dialect.Dlock {
		if one, ok := r.holder(h.token); ok && !one.Since.IsZero() && !one.Since.After(since) {
			wait = Known(since.Sub(one.Since))
		}
	}
	t.past.hold(key, now.Sub(since), wait)
}

// changeHeld is for a lock that is held as before by the same token.
func (t *tracker) changeHeld(tr *track, replies []reply, v Verdict, c nodeChanges, event func(EventKind, holder, string), h holder, votes func() string, now time.Time, interval time.Duration) {
	last := &t.pending
	onNode := func(names []string) {
		if len(names) == 1 {
			(*last)[len(*last)-1].Node = names[0]
		}
	}
	if len(c.lost) > 0 {
		event(LostNode, h, votes()+" left, without "+strings.Join(c.lost, ", "))
		onNode(c.lost)
	}
	if len(c.gained) > 0 {
		event(GainedNode, h, votes()+" now, with "+strings.Join(c.gained, ", "))
		onNode(c.gained)
	}
	// Both must have moved: the quorum's expiry also jumps when a node with
	// an older copy comes back, and single copies jump one after the other
	// when a sample falls into a renewal.
	jumped := !tr.expiry.Never && !v.Expiry.Never && v.Expiry.At.After(tr.expiry.At.Add(renewalStep))
	if c.renewed && jumped && !h.blind {
		tr.renewals++
		tr.lastRenewal = now
		tr.rhythm.beat(now, tr.pause(replies) <= 2*interval+rhythmSlack)
		left, _ := v.Expiry.Remaining(now)
		event(Renewed, h, human(left)+" left")
	}
}

// nodeChanges is what changed on single nodes since their last answers.
type nodeChanges struct {
	lost, gained []string // names: of the first token, where it is the holder's
	renewed      bool
	missedAt     time.Time // when the first answer without the holder's token was asked for
	rtt          time.Duration
}

func (t *tracker) changeNodes(tr *track, replies []reply, v Verdict, now time.Time) nodeChanges {
	var c nodeChanges
	had := tr.holder
	for n, r := range replies {
		if !r.answers || !r.sampled || r.sample.presence == forbidden {
			continue
		}
		nt := &tr.nodes[n]
		if kind := changeOf(*nt, r.sample); kind != "" && t.steps > 0 {
			nt.last = &nodeChange{kind: kind, at: now}
			c.renewed = c.renewed || kind == Renewed
		}
		has := r.has(had)
		if had.held && !has && (c.missedAt.IsZero() || r.sample.sent().Before(c.missedAt)) {
			c.missedAt = r.sample.sent()
			c.rtt = r.sample.received().Sub(r.sample.sent())
		}
		if !had.held || had.blind || !nt.answered() {
			continue
		}
		hadIt := !nt.torn && reply{node: r.node, sampled: true, sample: nt.sample}.stores(had.token)
		switch {
		case hadIt && !has:
			c.lost = append(c.lost, r.node.Name)
		case !hadIt && has:
			c.gained = append(c.gained, r.node.Name)
		}
	}
	if c.missedAt.IsZero() {
		c.missedAt = now
	}
	return c
}

// changeOf names what happened on one node between two answers, "" for
// nothing.
func changeOf(before nodeTrack, s sample) EventKind {
	b := before.sample
	switch {
	case !before.answered():
		if s.presence == present && s.missed != nil {
			return Taken
		}
		return ""
	case b.presence == present && s.presence == absent:
		return endKind(b.expiry(), s.sent(), s.received().Sub(s.sent()))
	case b.presence == absent && s.presence == present:
		return Taken
	case b.presence != present || s.presence != present:
		return ""
	case !sameValue(b, s):
		return valueChange(b.got, s.got)
	case !b.never && s.never:
		return WentNoTTL
	case renewed(b, s):
		return Renewed
	default:
		return ""
	}
}

// endKind tells an end whose time had come from one that came early: the copy
// was missing in an answer that was asked for at the given moment.
func endKind(e Expiry, missedAt time.Time, rtt time.Duration) EventKind {
	if !e.Never && !e.At.IsZero() && !e.At.After(missedAt.Add(renewalStep+rtt)) {
		return Ended
	}
	return Released
}

// valueChange names what happened to a key that holds something else now.
func valueChange(before, after *reading) EventKind {
	if before == nil || after == nil {
		return HandedOver
	}
	without := func(r, other *reading) bool {
		return slices.ContainsFunc(r.decoded.Holders, func(h dialect.Holder) bool { _, ok := other.holder(h.Token); return !ok })
	}
	switch went, came := without(before, after), without(after, before); {
	case came && !went:
		return Taken
	case went && !came:
		return Released
	default:
		return HandedOver
	}
}

// ownerName is what a holder is called, "" when that is not known.
func (tr *track) ownerName(replies []reply, h holder) string {
	if !h.held || h.blind {
		return ""
	}
	for n, r := range replies {
		if one, ok := r.sample.got.holder(h.token); ok {
			return one.Owner
		}
		if one, ok := tr.nodes[n].sample.got.holder(h.token); ok {
			return one.Owner
		}
	}
	if one, ok := tr.lastRead.holder(h.token); ok {
		return one.Owner
	}
	return ""
}

func nameOr(name, fallback string) string {
	if name == "" {
		return fallback
	}
	return name
}

// human writes a duration for a sentence.
func human(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	default:
		text := d.Round(time.Second).String()
		if strings.HasSuffix(text, "m0s") {
			text = strings.TrimSuffix(text, "0s")
		}
		if strings.HasSuffix(text, "h0m") {
			text = strings.TrimSuffix(text, "0m")
		}
		return text
	}
}
