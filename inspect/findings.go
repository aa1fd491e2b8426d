package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dlock/inspect/dialect"
)

// findings says what is worth attention about a lock, worst first.
func findings(l Lock, v Verdict, replies []reply, e evidence, c Config, now time.Time) []Finding {
	if l.State == Expired {
		return nil
	}
	var out []Finding
	add := func(id string, s Severity, text, advice string) {
		out = append(out, Finding{ID: id, Severity: s, Text: text, Advice: advice})
	}
	wrong, what := wrongType(replies)
	untold := untoldBy(l)
	// Where nothing but such keys was seen and all nodes tell, what the key is
	// explains the state too.
	onlyWrong := len(wrong) > 0 && len(v.Tallies) == 0 && len(untold) == 0
	switch {
	case onlyWrong:
	case l.State == Split:
		add("split", High, splitText(l, replies), splitAdvice(l, now))
	case l.State == Unknown && len(untold) == 0:
		names, what := noToken(replies)
		add("unknown", Medium,
			fmt.Sprintf("%s, and %s: what is not a token that all nodes share cannot be compared.", seenText(l, replies), quorumOf(len(names), what, l.Votes)),
			"Find out which program this key belongs to before you rely on the lock.")
	case l.Contested():
		add("unknown", High, contestedText(l, v, replies, untold), untoldAdvice(l, now))
	case l.State == Unknown:
		add("unknown", High, unknownText(l, untold, now), untoldAdvice(l, now))
	case l.State == Partial:
		add("partial", Medium,
			fmt.Sprintf("%s, and %d of %d are needed, so nobody holds it: an attempt to take it failed, or nodes lost their data.", storedBy(l), l.Votes.Need, l.Votes.Of),
			goesAway(l.Expiry, now))
	}
	if l.Has(NoExpiry) {
		noExpiry(l, len(v.Tallies) == 0 && len(wrong) > 0, add)
	} else if names := copiesWithout(l); len(names) > 0 {
		add("no-expiry-copy", Low,
			fmt.Sprintf("The %s on %s %s no expiry, while the quorum has one.", plural(len(names), "copy", "copies"), list(names), plural(len(names), "has", "have")),
			"It will be left over when the lock ends; release that token then.")
	}
	if l.Has(Stuck) {
		add("stuck", Medium, stuckText(l, c, now), "Ask its holder before you release it: a lock that is renewed has a live client, which will not notice that it lost the lock before its next renewal.")
	}
	if l.Has(Degraded) {
		add("degraded", Medium,
			fmt.Sprintf("Exactly %d of %d nodes %s it, which is the quorum: one vote less ends it.", l.Votes.Agree, l.Votes.Of, plural(l.Votes.Agree, "stores", "store")),
			"Bring the missing nodes back; its holder gets their votes at the next renewal or the next lock.")
	}
	if l.Has(Leftover) {
		add("leftover", Low, leftoverText(l, now), leftoverAdvice(l))
	}
	if names, why := unreadable(l, replies); len(names) > 0 {
		add("unreadable", Low,
			fmt.Sprintf("The value could not be read on %s (%s), so %s not tell who holds it.", list(names), why, plural(len(names), "that node does", "these nodes do")),
			"Allow the user GETRANGE or GET on the lock's keys to see holders and to compare votes.")
	}
	if len(wrong) > 0 {
		severity := Low
		if onlyWrong && l.State != Held {
			severity = Medium
		}
		add("wrong-type", severity,
			fmt.Sprintf("On %s there is %s under the key, where a lock has a token.", list(wrong), what),
			"It belongs to a library that dlock does not know, or is no lock; dlock shows it and does not release it.")
	}
	out = append(out, lockFindings(l, replies, e, now)...)
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

func noExpiry(l Lock, noToken bool, add func(string, Severity, string, string)) {
	text := "It has no expiry: it stays until somebody deletes it."
	if l.Idle.Known && l.Idle.Value >= idleGrain {
		text = fmt.Sprintf("It has no expiry and nobody has used it for %s: it stays until somebody deletes it.", human(l.Idle.Value))
	}
	severity := High
	advice := "Some libraries lock without expiry on purpose: find out whether its holder is alive, and release it if not, since nothing else will."
	switch {
	case noToken:
		advice = "Find out which program it belongs to, and remove it with that."
	case len(l.Owners) == 0:
		advice = "Find out whose it is: without its value dlock cannot tell, and cannot release it safely."
	case l.Library == dialect.Dlock:
		advice = "dlock always sets an expiry, so something removed it: release the lock if its holder is gone."
	case l.Habits.Endless:
		severity = Medium
		advice = fmt.Sprintf("%s locks without expiry as a matter of course: find out whether its holder is alive, and release it if not, since nothing else will.", l.Library)
	}
	add("no-expiry", severity, text, advice)
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
		return fmt.Sprintf("Only %s %s it", outOf(o.Votes, l.Votes.Of), plural(len(o.Votes), "stores", "store"))
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

// seenText says which node has what of several things.
func seenText(l Lock, replies []reply) string {
	var parts []string
	for n, o := range l.Owners {
		if n == 3 {
			more := len(l.Owners) - n
			parts = append(parts, fmt.Sprintf("%d more %s elsewhere", more, plural(more, "token", "tokens")))
			break
		}
		parts = append(parts, called(l, n)+" on "+list(o.Votes))
	}
	if names, what := noToken(replies); len(names) > 0 {
		parts = append(parts, what+" on "+list(names))
	}
	return "The nodes disagree: " + strings.Join(parts, ", ")
}

// called names one of several owners.
func called(l Lock, n int) string {
	name := l.Owners[n].Name
	switch {
	case name != "" && n == 0:
		return "a token of " + name
	case name != "":
		return "another of " + name
	case n == 0:
		return "one token"
	default:
		return "another"
	}
}

func splitText(l Lock, replies []reply) string {
	return seenText(l, replies) + fmt.Sprintf("; none has the %d of %d that are needed, so nobody holds it.", l.Votes.Need, l.Votes.Of)
}

// contestedText says who has what, and who could still have a quorum.
func contestedText(l Lock, v Verdict, replies []reply, untold []string) string {
	wrong, what := noToken(replies)
	var could []string
	for _, o := range l.Owners {
		if len(o.Votes)+len(untold) >= l.Votes.Need {
			could = append(could, "the one on "+list(o.Votes))
		}
	}
	if len(could) == len(l.Owners) && len(could) > 1 {
		could = []string{"each of these tokens"}
	}
	if len(wrong) > 0 && len(wrong)+len(untold) >= l.Votes.Need {
		could = append(could, what)
	}
	return seenText(l, replies) + fmt.Sprintf("; %s %s not tell, and with %s %s could have the %d of %d that are needed.",
		list(untold), plural(len(untold), "does", "do"), plural(len(untold), "it", "them"), either(could), l.Votes.Need, l.Votes.Of)
}

// quorumOf says that what is no token, or cannot be told from others, reaches
// the quorum.
func quorumOf(n int, what string, v Votes) string {
	return fmt.Sprintf("%s is on %d of %d nodes", what, n, v.Of)
}

func splitAdvice(l Lock, now time.Time) string {
	end := Expiry{}
	stays := false // something that dlock does not release
	for _, c := range l.Copies {
		if c.Answer != AnswerHeld && c.Answer != AnswerOther {
			continue
		}
		end = later(end, c.Expiry)
		stays = stays || c.Expiry.Never && !c.HasToken
	}
	if stays {
		return "Nobody can take it while this lasts, and what is no token has no expiry and is not released by dlock: find out which program it belongs to."
	}
	if end.Never {
		return "Nobody can take it while this lasts, and a copy without expiry will not go away: release the token whose holder is gone."
	}
	left, _ := end.Remaining(now)
	return fmt.Sprintf("Clients that compete will try again; if nothing renews it, all copies are gone in %s.", human(left))
}

// untoldBy lists the nodes that do not tell what they store.
func untoldBy(l Lock) []string {
	var names []string
	for _, c := range l.Copies {
		switch c.Answer {
		case AnswerUnreachable, AnswerDenied, AnswerPending:
			names = append(names, c.Node)
		}
	}
	return names
}

func unknownText(l Lock, untold []string, now time.Time) string {
	do := plural(len(untold), "does", "do")
	if l.Votes.Agree == 0 {
		text := fmt.Sprintf("%s %s not tell, and %d of %d nodes %s: it may be held or free.",
			list(untold), do, l.Votes.Need, l.Votes.Of, plural(l.Votes.Need, "decides", "decide"))
		if ranOut(l, now) {
			text = strings.TrimSuffix(text, ".") + "; every copy that was seen has run out by the clock, unless it was renewed where we cannot see."
		}
		return text
	}
	return fmt.Sprintf("%d of %d nodes %s it and %s %s not tell: with %s it may be held by up to %d.",
		l.Votes.Agree, l.Votes.Of, plural(l.Votes.Agree, "stores", "store"), list(untold), do, plural(len(untold), "it", "them"), l.Votes.Agree+len(untold))
}

// ranOut reports whether all copies that were ever seen have ended if nobody
// has renewed them.
func ranOut(l Lock, now time.Time) bool {
	seen := false
	for _, c := range l.Copies {
		if !c.Expiry.IsKnown() {
			continue
		}
		seen = true
		if c.Expiry.Never || c.Expiry.At.After(now) {
			return false
		}
	}
	return seen
}

func untoldAdvice(l Lock, now time.Time) string {
	refuses, silent := false, false
	for _, c := range l.Copies {
		refuses = refuses || c.Answer == AnswerDenied
		silent = silent || c.Answer == AnswerUnreachable
	}
	wait := ", or wait until every copy has expired"
	if ranOut(l, now) {
		wait = ", or ask its holder"
	}
	switch {
	case silent:
		return "Do not take it for free before these nodes answer: bring them back" + wait + "."
	case refuses:
		return "Do not take it for free: allow the user to read the lock's keys there" + wait + "."
	default:
		return "Do not take it for free: these nodes are about to be asked."
	}
}

func stuckText(l Lock, c Config, now time.Time) string {
	least := ""
	if l.HeldIsMinimum {
		least = "at least "
	}
	text := fmt.Sprintf("Held for %s%s, longer than %s", least, human(now.Sub(l.HeldSince)), human(c.StuckAfter))
	switch {
	case l.Renewals > 0:
		text += fmt.Sprintf("; %d %s seen, the last %s ago", l.Renewals, plural(l.Renewals, "renewal", "renewals"), human(now.Sub(l.LastRenewal)))
	case l.Idle.Known:
		text += fmt.Sprintf("; no renewal seen, not used by anybody for %s", human(l.Idle.Value))
	default:
		text += "; no renewal seen"
	}
	return text + "."
}

// leftovers lists the nodes that keep something beside what the holders of a
// held lock have.
func leftovers(l Lock) []string {
	holders := l.Holders()
	idle := func(token string) bool {
		return !slices.ContainsFunc(holders, func(o Owner) bool { return o.Token == token })
	}
	var names []string
	for _, c := range l.Copies {
		switch {
		case c.Answer == AnswerOther && !c.HasToken, c.Answer == AnswerOther && len(c.Parts) > 0:
		case c.Answer != AnswerHeld && c.Answer != AnswerOther || !c.HasToken || len(holders) == 0:
			continue
		case c.Tokens == nil && !idle(c.Token), c.Tokens != nil && !slices.ContainsFunc(c.Tokens, idle):
			continue
		}
		names = append(names, c.Node)
	}
	return names
}

func leftoverText(l Lock, now time.Time) string {
	names := leftovers(l)
	end := Expiry{}
	for _, c := range l.Copies {
		if slices.Contains(names, c.Node) {
			end = later(end, c.Expiry)
		}
	}
	text := fmt.Sprintf("%s %s something else beside the majority's token", list(names), plural(len(names), "keeps", "keep"))
	if end.Never {
		return text + ", without expiry."
	}
	if left, ok := end.Remaining(now); ok {
		return text + ", for " + human(left) + " more at most."
	}
	return text + "."
}

func leftoverAdvice(l Lock) string {
	for _, c := range l.Copies {
		if c.Answer == AnswerOther && !c.HasToken {
			if c.Expiry.Never {
				return "It is no second holder; what is no token is not released by dlock and stays until its program removes it."
			}
			return "It is no second holder: it ends with its expiry."
		}
	}
	return "It is no second holder: it ends with its expiry, or release that token."
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

// noToken lists the nodes that have something under the key that cannot be
// compared with what others have, and says what it is.
func noToken(replies []reply) (names []string, what string) {
	for _, r := range replies {
		reply := r.observe().Reply
		if reply != Foreign && (reply != Separate || len(replies) == 1) {
			continue
		}
		names = append(names, r.node.Name)
		got := r.sample.got
		switch {
		case what != "":
		case reply == Separate:
			what = "a token that is another one on each node"
		case isWrong(got):
			what = wrongWhat(got)
		default:
			what = "a " + got.decoded.Kind + " that names no holders"
		}
	}
	return names, what
}

// wrongType lists the nodes that have something under the key that no known
// library writes as a lock.
func wrongType(replies []reply) (names []string, what string) {
	for _, r := range replies {
		if r.observe().Reply != Foreign || !isWrong(r.sample.got) {
			continue
		}
		names = append(names, r.node.Name)
		if what == "" {
			what = wrongWhat(r.sample.got)
		}
	}
	return names, what
}

func isWrong(r *reading) bool {
	return r.content != known || r.decoded.Library == dialect.Unknown || r.decoded.Kind == ""
}

func wrongWhat(r *reading) string {
	switch kind := r.kind(); {
	case kind == "string" && r.content == foreign:
		return "a string of more than 4096 bytes"
	case kind == "":
		return "a key that is no string"
	default:
		return "a " + kind
	}
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

// either joins alternatives.
func either(what []string) string {
	if len(what) < 2 {
		return list(what)
	}
	return strings.Join(what[:len(what)-1], ", ") + " or " + what[len(what)-1]
}

// plural chooses the form of a word.
func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
