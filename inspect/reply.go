package inspect

import (
	"slices"
	"time"

	"dlock/inspect/dialect"
)

// reply is what one node says about one lock, with all that is known of it.
type reply struct {
	node    *NodeStatus
	answers bool // what it says holds at present
	sampled bool // it has been asked about this key at least once
	// sample is that of the lock's key; of a lock with several keys it is the
	// one that speaks for them, see [parts.sum].
	sample sample
	parts  *parts // nil for a lock with one key
}

// observe boils a reply down to what a verdict needs.
func (r reply) observe() Observation {
	s := r.sample
	if !r.answers || !r.sampled || s.presence == forbidden {
		return Observation{Reply: Silent}
	}
	if s.presence == absent {
		return Observation{Reply: Free}
	}
	o := Observation{Expiry: s.expiry()}
	switch {
	case s.content() == unread:
		o.Reply = Blind
		return o
	case s.content() == foreign:
		o.Reply = Foreign
		return o
	}
	o.Reply, o.Cut = Stores, s.got.entry.Cut
	n := 0
	for h, end := range r.holders() {
		if n++; n == 1 {
			o.Token, o.Expiry = h.Token, end
		} else {
			o.Others = append(o.Others, Hold{Token: h.Token, Expiry: end})
		}
	}
	switch d := &s.got.decoded; {
	case n == 0 && d.Anonymous:
		o.Reply = Foreign
	case n == 0 && o.Cut:
		o.Reply = Blind
	case n == 0:
		return Observation{Reply: Free}
	case d.Separate:
		o.Reply = Separate
	case r.parts != nil && r.parts.torn:
		o.Reply = Torn
		for _, other := range r.parts.others {
			o.Others = append(o.Others, Hold{Token: other, Expiry: o.Expiry})
		}
	default:
		o.Shared = shared(d)
	}
	return o
}

// shared reports whether the lock may have several holders at present.
func shared(d *dialect.Decoded) bool {
	switch d.Kind {
	case dialect.Semaphore, dialect.Counter:
		return true
	case dialect.ReadWrite:
		return !slices.ContainsFunc(d.Holders, func(h dialect.Holder) bool { return h.Mode == "write" })
	default:
		return false
	}
}

// holders calls yield with each holder whose part had not lapsed when the key
// was sampled, and when it ends: with the key, or before where the entry says
// so and the node's clock is known.
func (r reply) holders() func(yield func(dialect.Holder, Expiry) bool) {
	return func(yield func(dialect.Holder, Expiry) bool) {
		s := r.sample
		if !r.sampled || s.presence != present || s.content() != known {
			return
		}
		end := s.expiry()
		for _, h := range s.got.decoded.Holders {
			e := end
			if until, ok := r.ours(h.Until); ok {
				if !until.After(s.sent()) {
					continue
				}
				if own := (Expiry{At: until}); own.Before(e) {
					e = own
				}
			}
			if !yield(h, e) {
				return
			}
		}
	}
}

// ours turns a moment by the node's clock into one by ours, where that is
// possible.
func (r reply) ours(at time.Time) (time.Time, bool) {
	if at.IsZero() || !r.node.ClockOffset.Known {
		return time.Time{}, false
	}
	return at.Add(-r.node.ClockOffset.Value), true
}

// find returns the part that a token has in the node's last word, and when it
// ends.
func (r reply) find(token string) (dialect.Holder, Expiry, bool) {
	for h, end := range r.holders() {
		if h.Token == token {
			return h, end, true
		}
	}
	return dialect.Holder{}, Expiry{}, false
}

// stores reports whether the node's last word is that it has this token.
func (r reply) stores(token string) bool {
	if r.parts != nil && r.parts.torn {
		return false
	}
	_, _, ok := r.find(token)
	return ok
}

// has reports whether the node's last word is that it has what the holder has:
// the token, or anything where that is not known.
func (r reply) has(h holder) bool {
	return r.sampled && r.sample.presence == present && (h.blind || r.stores(h.token))
}
