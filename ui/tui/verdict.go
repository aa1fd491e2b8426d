package tui

import (
	"strings"
	"time"

	"dlock/inspect"
	"dlock/ui/text"
)

// Sentences: what a state, a quorum or a node's absence means, in words. All
// pure.

// explain says in one sentence what the lock's state means.
func explain(k *kit, l inspect.Lock, now time.Time) text.Safe {
	if c := l.Companion; c != nil {
		return "no lock, but the " + cleanText(string(c.Role)) + " of " + keyText(c.Of) + ", which is not there"
	}
	if s := foreignText(&l); s != "" {
		return s
	}
	of, need, agree := itoa(l.Votes.Of), itoa(l.Votes.Need), itoa(l.Votes.Agree)
	if l.Votes.Of == 1 {
		switch l.State {
		case inspect.Held:
			return "the server stores one token"
		case inspect.Expired:
			return "nobody holds it: the key is gone"
		case inspect.Unknown:
			return "the server does not answer, so nobody can tell whether it is held"
		}
	}
	switch l.State {
	case inspect.Held:
		return agree + " of " + of + " nodes " + verb(l.Votes.Agree, "stores", "store") + " one token, " + need + " needed"
	case inspect.Split:
		return "no owner holds a majority; several clients may believe they do"
	case inspect.Partial:
		return "a leftover, not an owner: " + agree + " of " + of + " nodes " + verb(l.Votes.Agree, "stores", "store") + " it and the others cannot lift it to " + need
	case inspect.Unknown:
		if contested(&l) {
			return "several tokens, and a node that does not answer could give one of them the " + need + " of " + of + " it needs"
		}
		if l.Votes.Agree == 0 {
			return itoa(l.Votes.Unreachable) + " of " + of + " nodes " + verb(l.Votes.Unreachable, "does", "do") + " not answer, so nobody can tell whether it is held"
		}
		silent := "the " + itoa(l.Votes.Unreachable) + " that do not answer could decide"
		if l.Votes.Unreachable == 1 {
			silent = "the one that does not answer could decide"
		}
		return agree + " of " + of + " nodes " + verb(l.Votes.Agree, "stores", "store") + " it, " + need + " needed; " + silent
	default:
		s := text.Safe("nobody holds it")
		if !l.GoneAt.IsZero() {
			s += ": gone for " + coarse(now, l.GoneAt)
		}
		return s
	}
}

// foreignText says why a lock that every node tells of has no owner: its value
// is no token, or cannot be read. It is "" for every other lock.
func foreignText(l *inspect.Lock) text.Safe {
	if l.State == inspect.Expired || len(l.Owners) > 0 {
		return ""
	}
	var s text.Safe
	for i := range l.Copies {
		c := &l.Copies[i]
		switch {
		case c.Answer == inspect.AnswerFree:
		case c.Answer != inspect.AnswerHeld && c.Answer != inspect.AnswerOther:
			return "" // this one may know better
		case c.Type != "" && c.Type != "string":
			return "the key is a " + cleanText(c.Type) + " (another library's lock?): dlock shows it and does not release it"
		case !c.HasToken && c.Error != "" && s == "":
			s = "its value cannot be read (" + cleanText(c.Error) + "): dlock shows it and does not release it"
		}
	}
	return s
}

// expiryText says when the lock ends, and how much of that is safe, as it
// stands after the word "ends".
func expiryText(l inspect.Lock, now time.Time) text.Safe {
	if l.State == inspect.Expired {
		return "over"
	}
	if l.Expiry.Never {
		return "never: it stays until somebody deletes it"
	}
	d, ok := l.Expiry.Remaining(now)
	if !ok {
		return "not known"
	}
	if d == 0 {
		return "due now by our count; the next look tells"
	}
	s := "in " + text.Duration(d) + " if nobody renews it"
	if l.State != inspect.Held {
		return s + " (its last copy)"
	}
	if safe, ok := l.Valid(now); ok {
		s += ", safe for " + text.Duration(safe)
	}
	return s
}

// renewText says what is known about renewals.
func renewText(l inspect.Lock, now time.Time) text.Safe {
	if l.Renewals == 0 {
		return "no renewal seen"
	}
	if l.Renewals == 1 {
		return "renewed once, " + age(now, l.LastRenewal) + " ago"
	}
	return "renewed " + text.Count(l.Renewals) + " times, last " + age(now, l.LastRenewal) + " ago"
}

// quorumLost reports whether too few nodes answer for any lock to be taken.
// Behind one URL of a cluster or of sentinels there is no vote to lose.
func quorumLost(t inspect.Target) bool {
	if len(t.Nodes) == 0 || pending(t) {
		return false
	}
	switch t.Topology {
	case inspect.Cluster, inspect.Sentinel:
		return false
	}
	return t.Up() < t.Quorum
}

// pending reports whether a node has not been asked yet.
func pending(t inspect.Target) bool {
	for _, n := range t.Nodes {
		if n.State == inspect.NodePending {
			return true
		}
	}
	return false
}

// quorumText says how far the deployment is from losing its quorum.
func quorumText(t inspect.Target) text.Safe {
	n, up := len(t.Nodes), t.Up()
	switch {
	case n == 0:
		return "no node is configured"
	case t.Topology == inspect.Cluster:
		return itoa(up) + " of " + plural(n, "shard answers", "shards answer") + "; a lock lives on one of them and is lost with it"
	case n == 1 && up == 1:
		return "one server: a lock is lost if it fails before its replica has it"
	case up < t.Quorum && refusalText(t) != "":
		return refusalText(t)
	case n == 1:
		return "NO ANSWER: the only node is silent; no lock can be taken or proven held"
	case pending(t) && up < t.Quorum:
		return itoa(up) + " of " + itoa(n) + " nodes have answered so far, " + itoa(t.Quorum) + " needed"
	case up < t.Quorum:
		return "NO QUORUM: " + itoa(up) + " of " + itoa(n) + " nodes " + answers(up) + ", " + itoa(t.Quorum) + " needed; no lock can be taken or proven held"
	case up == t.Quorum:
		return itoa(up) + " of " + itoa(n) + " nodes answer, " + itoa(t.Quorum) + " needed: one more lost and no lock can be taken"
	default:
		return itoa(up) + " of " + itoa(n) + " nodes answer, " + itoa(t.Quorum) + " needed: can lose " + itoa(up-t.Quorum) + " more before no lock can be taken"
	}
}

// refusalText says which nodes are there and do not let us look, and what to
// do about it; "" if none is like that.
func refusalText(t inspect.Target) text.Safe {
	var who []string
	var why text.Safe
	for i := range t.Nodes {
		if n := &t.Nodes[i]; n.State == inspect.NodeDenied {
			who = append(who, n.Name)
			if why == "" {
				why = cleanText(strings.TrimRight(n.Error, ". "))
			}
		}
	}
	if len(who) == 0 {
		return ""
	}
	s := listed(who) + " " + verb(len(who), "refuses", "refuse") + " us"
	if why != "" {
		s += ": " + why
	}
	return s + "; " + refusalAdvice
}

// refusalAdvice is what to do about a node that does not let us look.
const refusalAdvice text.Safe = "set DLOCK_PASSWORD, and --user where the server has users"

func verb(n int, one, many text.Safe) text.Safe {
	if n == 1 {
		return one
	}
	return many
}

// listed is names for a sentence: "n1", "n1 and n2", "n1, n2 and n3".
func listed(raw []string) text.Safe {
	var out text.Safe
	for i, s := range raw {
		switch {
		case i == 0:
		case i == len(raw)-1:
			out += " and "
		default:
			out += ", "
		}
		out += text.CleanMax(s, 40)
	}
	return out
}

func answers(n int) text.Safe { return verb(n, "answers", "answer") }

// life is what the evidence says about a holder.
type life int

const (
	lifeUnknown life = iota // not watched long enough
	lifeAlive
	lifeSilent
)

// aliveHint weighs whether the holder still runs. It is never certain: a
// renewal shows that its watchdog ran, and silence shows nothing by itself.
func aliveHint(l inspect.Lock, watchedSince, now time.Time) (life, text.Safe) {
	full := l.FullTTL
	if full <= 0 {
		full = 10 * time.Second
	}
	// Nobody has watched the lock for longer than it has been there.
	if l.HeldSince.After(watchedSince) {
		watchedSince = l.HeldSince
	}
	switch {
	case l.Expiry.Never:
		s := text.Safe("a lock without expiry is never renewed: whether its holder lives cannot be told from here")
		if l.Idle.Known && l.Idle.Value >= time.Minute {
			s += "; nobody has touched the key for " + text.Duration(l.Idle.Value)
		}
		return lifeUnknown, s
	case !l.LastRenewal.IsZero() && now.Sub(l.LastRenewal) <= full:
		return lifeAlive, "renewed " + age(now, l.LastRenewal) + " ago: the holder is probably ALIVE"
	case !l.LastRenewal.IsZero():
		return lifeSilent, "no sign of life: last renewed " + age(now, l.LastRenewal) + " ago"
	case !l.HeldIsMinimum && !l.HeldSince.IsZero() && now.Sub(l.HeldSince) <= full:
		return lifeAlive, "taken " + age(now, l.HeldSince) + " ago: the holder is probably ALIVE"
	case watchedSince.IsZero() || l.HeldSince.IsZero() || now.Sub(watchedSince) < full/2:
		return lifeUnknown, "not watched long enough to tell whether the holder lives"
	default:
		return lifeSilent, "no renewal seen in " + coarse(now, watchedSince) + ": no sign of life, but it may never renew"
	}
}
