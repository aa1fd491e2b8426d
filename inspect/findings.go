package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dlock/inspect/dialect"
)

// findings says what is worth attention about a lock, worst first.
func findings(l Lock, v Verdict, replies []reply, c Config, now time.Time) []Finding {
	if l.State == Expired {
		return nil
	}
	var out []Finding
	add := func(id string, s Severity, text, advice string) {
		out = append(out, Finding{ID: id, Severity: s, Text: text, Advice: advice})
	}
	switch l.State {
	case Split:
		add("split", High, splitText(v, replies), splitAdvice(l, now))
	case Unknown:
		if l.Votes.Unreachable == 0 {
			add("unknown", Medium, unknownText(l), "Take it for held: no other client gets a quorum while these copies last.")
		} else {
			add("unknown", High, unknownText(l), "Do not take it for free before these nodes answer: bring them back, or wait until every copy has expired.")
		}
	case Partial:
		add("partial", Medium,
			fmt.Sprintf("%s, and %d of %d are needed, so nobody holds it: an attempt to take it failed, or nodes lost their data.", storedBy(l), l.Votes.Need, l.Votes.Of),
			goesAway(l.Expiry, now))
	}
	if l.Has(NoExpiry) {
		noExpiry(l, add)
	} else if names := copiesWithout(l); len(names) > 0 {
		add("no-expiry-copy", Low,
			fmt.Sprintf("The copy on %s has no expiry, while the quorum has one.", list(names)),
			"It will be left over when the lock ends; release that token then.")
	}
	if l.Has(Stuck) {
		add("stuck", Medium, stuckText(l, c, now), "Ask its holder before you release it: a lock that is renewed has a live client, which will not notice that it lost the lock before its next renewal.")
	}
	if l.Has(Degraded) {
		add("degraded", Medium,
			fmt.Sprintf("Exactly %d of %d nodes store it, which is the quorum: one vote less ends it.", l.Votes.Agree, l.Votes.Of),
			"Bring the missing nodes back; its holder gets their votes at the next renewal or the next lock.")
	}
	if l.Has(Leftover) {
		add("leftover", Low, leftoverText(l, now), "It is no second holder: it ends with its expiry, or release that token.")
	}
	if names, why := unreadable(l, replies); len(names) > 0 {
		add("unreadable", Low,
			fmt.Sprintf("The value could not be read on %s (%s), so that node does not tell who holds it.", list(names), why),
			"Allow the user GETRANGE or GET on the lock's keys to see holders and to compare votes.")
	}
	if names, what := noToken(replies); len(names) > 0 {
		add("wrong-type", Low,
			fmt.Sprintf("On %s there is %s under the key, where a lock has a token.", list(names), what),
			"It belongs to a library that dlock does not know, or is no lock; dlock does not release it.")
	}
	slices.SortStableFunc(out, func(a, b Finding) int { return rank(a.Severity) - rank(b.Severity) })
	return out
}

func rank(s Severity) int {
	switch s {
	case High:
		return 0
	case Medium:
		return 1
	default:
		return 2
	}
}

func noExpiry(l Lock, add func(string, Severity, string, string)) {
	text := "It has no expiry: it stays until somebody deletes it."
	if l.Idle.Known && l.Idle.Value >= idleGrain {
		text = fmt.Sprintf("It has no expiry and nobody has used it for %s: it stays until somebody deletes it.", human(l.Idle.Value))
	}
	if l.Library == dialect.Dlock {
		add("no-expiry", High, text, "dlock always sets an expiry, so something removed it: release the lock if its holder is gone.")
		return
	}
	add("no-expiry", High, text, "Some libraries lock without expiry on purpose: find out whether its holder is alive, and release it if not, since nothing else will.")
}

func copiesWithout(l Lock) []string {
	var names []string
	if l.State != Held {
		return nil
	}
	for _, c := range l.Copies {
		if c.Answer == AnswerHeld && c.Expiry.Never {
			names = append(names, c.Node)
		}
	}
	return names
}

func storedBy(l Lock) string {
	if o, ok := l.Holder(); ok {
		verb := "stores"
		if len(o.Votes) > 1 {
			verb = "store"
		}
		return fmt.Sprintf("Only %s %s it", outOf(o.Votes, l.Votes.Of), verb)
	}
	var names []string
	for _, c := range l.Copies {
		if c.Answer == AnswerOther || c.Answer == AnswerDenied && c.Expiry.IsKnown() {
			names = append(names, c.Node)
		}
	}
	return fmt.Sprintf("There is something under the key on only %s", outOf(names, l.Votes.Of))
}

func outOf(names []string, of int) string {
	return fmt.Sprintf("%d of %d nodes (%s)", len(names), of, strings.Join(names, ", "))
}

func splitText(v Verdict, replies []reply) string {
	var parts []string
	for n, tally := range v.Tallies {
		if n == 3 {
			parts = append(parts, fmt.Sprintf("%d more tokens elsewhere", len(v.Tallies)-n))
			break
		}
		names := make([]string, 0, len(tally.Nodes))
		for _, i := range tally.Nodes {
			names = append(names, replies[i].node.Name)
		}
		what := "one token"
		if n > 0 {
			what = "another"
		}
		parts = append(parts, what+" on "+list(names))
	}
	if names, what := noToken(replies); len(names) > 0 {
		parts = append(parts, what+" on "+list(names))
	}
	var silent []string
	for _, r := range replies {
		if o := r.observe(); o.Reply == Silent || o.Reply == Blind {
			silent = append(silent, r.node.Name)
		}
	}
	text := "The nodes disagree: " + strings.Join(parts, ", ") + "; "
	need := len(replies)/2 + 1
	if len(silent) > 0 && v.Agree+len(silent) >= need {
		return text + fmt.Sprintf("at most %d of %d for one of them, if %s still has it.", v.Agree+len(silent), len(replies), list(silent))
	}
	return text + fmt.Sprintf("none has the %d of %d that are needed, so nobody holds it.", need, len(replies))
}

func splitAdvice(l Lock, now time.Time) string {
	end := Expiry{}
	for _, o := range l.Owners {
		end = later(end, o.Expiry)
	}
	if end.Never {
		return "Nobody can take it while this lasts, and a copy without expiry will not go away: release the token whose holder is gone."
	}
	left, _ := end.Remaining(now)
	return fmt.Sprintf("Clients that compete will try again; if nothing renews it, all copies are gone in %s.", human(left))
}

func unknownText(l Lock) string {
	var silent []string
	seen := 0
	for _, c := range l.Copies {
		switch c.Answer {
		case AnswerUnreachable, AnswerDenied:
			silent = append(silent, c.Node)
		case AnswerHeld, AnswerOther:
			seen++
		}
	}
	if len(silent) == 0 {
		return fmt.Sprintf("%d of %d nodes have something under the key that cannot be compared, so whether one client holds them all is not known.", seen, l.Votes.Of)
	}
	verb := "does"
	if len(silent) > 1 {
		verb = "do"
	}
	if l.Votes.Agree == 0 {
		return fmt.Sprintf("%s %s not tell, and %d of %d nodes decide: it may be held or free.", list(silent), verb, l.Votes.Need, l.Votes.Of)
	}
	return fmt.Sprintf("%d of %d nodes store it and %s %s not tell: with them it may be held by up to %d.",
		l.Votes.Agree, l.Votes.Of, list(silent), verb, l.Votes.Agree+len(silent))
}

func stuckText(l Lock, c Config, now time.Time) string {
	least := ""
	if l.HeldIsMinimum {
		least = "at least "
	}
	text := fmt.Sprintf("Held for %s%s, longer than %s", least, human(now.Sub(l.HeldSince)), human(c.StuckAfter))
	switch {
	case l.Renewals > 0:
		text += fmt.Sprintf("; %d renewals seen, the last %s ago", l.Renewals, human(now.Sub(l.LastRenewal)))
	case l.Idle.Known:
		text += fmt.Sprintf("; no renewal seen, not used by anybody for %s", human(l.Idle.Value))
	default:
		text += "; no renewal seen"
	}
	return text + "."
}

func leftoverText(l Lock, now time.Time) string {
	var names []string
	end := Expiry{}
	for _, c := range l.Copies {
		if c.Answer == AnswerOther {
			names = append(names, c.Node)
			end = later(end, c.Expiry)
		}
	}
	text := fmt.Sprintf("%s keeps something else beside the majority's token", list(names))
	if end.Never {
		return text + ", without expiry."
	}
	if left, ok := end.Remaining(now); ok {
		return text + ", for " + human(left) + " more at most."
	}
	return text + "."
}

func goesAway(e Expiry, now time.Time) string {
	if e.Never {
		return "It has no expiry, so it will not go away: release that token if its holder is gone."
	}
	if left, ok := e.Remaining(now); ok {
		return fmt.Sprintf("It goes away by itself in %s if nothing renews it.", human(left))
	}
	return "It goes away when its copies expire."
}

// unreadable lists the nodes that have the key and could not be made to tell
// its value, with the first one's reason.
func unreadable(l Lock, replies []reply) (names []string, why string) {
	for n, r := range replies {
		if r.observe().Reply == Blind {
			names = append(names, r.node.Name)
			if why == "" {
				why = nameOr(l.Copies[n].Error, "refused")
			}
		}
	}
	return names, why
}

// noToken lists the nodes that have something under the key that is no token.
func noToken(replies []reply) (names []string, what string) {
	for _, r := range replies {
		if r.observe().Reply != Foreign {
			continue
		}
		names = append(names, r.node.Name)
		switch {
		case what != "":
		case r.sample.kind == "string":
			what = "a string of more than 4096 bytes"
		case r.sample.kind == "":
			what = "a key that is no string"
		default:
			what = "a " + r.sample.kind
		}
	}
	return names, what
}

func list(names []string) string {
	switch len(names) {
	case 0:
		return "no node"
	case 1:
		return names[0]
	default:
		return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
	}
}
