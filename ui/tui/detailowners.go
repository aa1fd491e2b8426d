package tui

import (
	"slices"
	"strings"
	"time"

	"dlock/inspect"
	"dlock/inspect/dialect"
	"dlock/ui/text"
)

// How many of each a lock in full lists; the rest is counted.
const (
	mostOwners     = 100
	mostWaiters    = 50
	mostCompanions = 30
	mostEvents     = 8
)

func heldSentence(k *kit, l inspect.Lock, now time.Time) text.Safe {
	switch {
	case l.HeldSince.IsZero():
		return "not known since when"
	case l.HeldIsMinimum && now.Sub(l.HeldSince) < time.Second:
		return "first seen just now"
	case l.HeldIsMinimum:
		return "for at least " + coarse(now, l.HeldSince)
	default:
		return "for " + coarse(now, l.HeldSince) + ", since " + clock(l.HeldSince, false)
	}
}

// kindText is what kind of lock it is, and its numbers.
func kindText(l *inspect.Lock) text.Safe {
	parts := []text.Safe{join(" ", libraryText(l), cleanText(l.Kind))}
	if parts[0] == "?" {
		parts[0] = "unknown library"
	}
	if l.Shared {
		parts[0] += ", may be shared"
	}
	if l.Type != "" {
		parts = append(parts, "type "+cleanText(l.Type))
	}
	if l.ID.DB != 0 {
		parts = append(parts, "database "+itoa(l.ID.DB))
	}
	if l.Fence.Known {
		parts = append(parts, "fence "+text.Clean(formatInt(l.Fence.Value)))
	}
	if l.Waiters.Known {
		parts = append(parts, waitersText(l))
	}
	if l.Idle.Known {
		parts = append(parts, "idle "+text.Duration(l.Idle.Value))
	}
	return join("   ", parts...)
}

func waitersText(l *inspect.Lock) text.Safe {
	if l.WaitersAreProcesses {
		return plural(l.Waiters.Value, "process waits", "processes wait")
	}
	return plural(l.Waiters.Value, "waiter", "waiters")
}

// libraryText is the library as it is named everywhere, with a question mark if
// others write the same; "?" if it is not known.
func libraryText(l *inspect.Lock) text.Safe {
	switch {
	case l.Library == "" || l.Library == dialect.Unknown:
		return "?"
	case l.Confidence == dialect.Possible && l.Library != dialect.Dlock:
		return cleanText(l.Library) + "?"
	default:
		return cleanText(l.Library)
	}
}

// doubtText says how sure it is what library this is, "" if it is certain or
// nothing is known.
func doubtText(l *inspect.Lock) text.Safe {
	switch {
	case len(l.Candidates) > 1 && (l.Library == "" || l.Library == dialect.Unknown):
		return "written alike by " + either(l.Candidates)
	case len(l.Candidates) > 1:
		return "most likely " + cleanText(l.Library) + "; written alike by " + either(l.Candidates)
	case l.Library == "" || l.Library == dialect.Unknown || l.Library == dialect.Dlock:
		return ""
	case l.Confidence == dialect.Possible:
		return "possibly " + cleanText(l.Library) + ", by the form of its value alone"
	case l.Confidence == dialect.Likely:
		return "likely " + cleanText(l.Library) + ", by its name and the form of its value"
	default:
		return ""
	}
}

// either is names for a sentence: "a", "a or b", "a, b or c".
func either(raw []string) text.Safe {
	var out text.Safe
	for i, s := range raw {
		switch {
		case i == 0:
		case i == len(raw)-1:
			out += " or "
		default:
			out += ", "
		}
		out += text.CleanMax(s, 40)
	}
	return out
}

// habitsText is what a library does that one should reckon with.
func habitsText(h dialect.Habits) text.Safe {
	var parts []text.Safe
	if h.Renews > 0 {
		parts = append(parts, "a living holder renews every "+text.Duration(h.Renews))
	}
	if h.Endless {
		parts = append(parts, "locks without expiry as a matter of course")
	}
	if h.Recreates {
		parts = append(parts, "makes a deleted lock again at its next renewal")
	}
	if h.Careless {
		parts = append(parts, "releases without asking whose lock it is")
	}
	if h.Enqueued {
		parts = append(parts, "is taken when work is queued, so its holder may not run")
	}
	if h.Lingers {
		parts = append(parts, "stays on purpose after the work is done")
	}
	return join("; ", parts...)
}

// statsText is what was seen of the lock's holds that are over.
func statsText(s inspect.Stats) text.Safe {
	mean, ok := s.MeanHold()
	if !ok {
		return ""
	}
	out := plural(s.Holds, "hold", "holds") + " from beginning to end, " + text.Duration(mean) + " on average, " + text.Duration(s.Longest) + " at most"
	if wait, ok := s.MeanWait(); ok {
		out += "; waited for " + text.Duration(wait) + " on average, " + text.Duration(s.LongestWait) + " at most"
	}
	return out
}

// ownersTable is one row per token that is stored, with all that it tells.
func (sc *scene) ownersTable(l *inspect.Lock, w int) []string {
	p := &page{sc: sc, w: w}
	for i := range l.Owners {
		if i == mostOwners {
			p.field("", "and "+text.Count(len(l.Owners)-i)+" more owners")
			break
		}
		o := &l.Owners[i]
		name := text.Safe("(the value names nobody)")
		if o.Name != "" {
			name = cleanKey(o.Name)
		}
		ln := newLine(w).add(sc.dim, sc.g.fit.Fit(upperOwner(l, i), labelWidth))
		// A name is cut before what it does is.
		facts := ownerFacts(sc, l, i)
		ln.add(sc.strong, sc.g.fit.Truncate(name, max(24, w-labelWidth-text.Width(facts)-2)))
		if rest := w - ln.used - 2; text.Width(facts) <= rest {
			p.add(ln.add(sc.plain, "  "+facts).String())
		} else {
			p.add(ln.String())
			p.field("", facts)
		}
		if len(l.Owners) == 1 {
			for j, s := range wrap("value "+text.CleanMax(o.Token, 256), w-labelWidth) {
				if j > 2 {
					break
				}
				p.add(newLine(w).to(labelWidth).add(sc.dim, s).String())
			}
		}
	}
	return p.lines
}

// ownerFacts is what is known of an owner beside the name.
func ownerFacts(sc *scene, l *inspect.Lock, i int) text.Safe {
	o := &l.Owners[i]
	parts := []text.Safe{"token " + sc.shortOf(l, o.Token)}
	switch o.Mode {
	case "":
	case "read":
		parts = append(parts, "reader")
	case "write":
		parts = append(parts, "writer")
	default:
		parts = append(parts, cleanText(o.Mode))
	}
	if o.Thread != "" {
		parts = append(parts, "thread "+text.CleanMax(o.Thread, 40))
	}
	parts = append(parts, where(l, *o))
	if o.Count > 1 {
		parts = append(parts, "entered "+text.Count(o.Count)+" times")
	}
	if !o.Since.IsZero() {
		parts = append(parts, "took or asked for it "+since(sc.now, o.Since)+" by its clock")
	}
	if !o.Until.IsZero() {
		if left := o.Until.Sub(sc.now); left > 0 {
			parts = append(parts, "its part ends in "+text.Duration(left)+" by its clock")
		} else {
			parts = append(parts, "its time was over "+coarse(sc.now, o.Until)+" ago by its clock")
		}
	}
	if l.State != inspect.Expired && len(l.Owners) > 1 && o.Until.IsZero() {
		switch {
		case o.Holds:
			parts = append(parts, "ends "+endText(o.Loss, sc.now))
		case len(o.Votes) > 0:
			parts = append(parts, "last copy ends "+endText(o.Expiry, sc.now))
		}
	}
	return join("  ", parts...)
}

// endText is when something ends if nobody renews it, after the word "ends".
func endText(e inspect.Expiry, now time.Time) text.Safe {
	switch left, ok := e.Remaining(now); {
	case e.Never:
		return "never"
	case !ok:
		return "at a time that is not known"
	case left == 0:
		return "now by our count"
	default:
		return "in " + text.Duration(left)
	}
}

func upperOwner(l *inspect.Lock, i int) text.Safe {
	if len(l.Owners) == 1 {
		return "OWNER"
	}
	return "OWNER " + text.Clean(string(rune('A'+i%26)))
}

// waitersTable is who waits, first in line first.
func (sc *scene) waitersTable(l *inspect.Lock, w int) []string {
	if len(l.WaiterList) == 0 {
		return nil
	}
	p := &page{sc: sc, w: w}
	nameW := 12
	for _, x := range l.WaiterList[:min(len(l.WaiterList), mostWaiters)] {
		nameW = max(nameW, min(w/2, text.Width(waiterName(sc.kit, &x))))
	}
	for i := range l.WaiterList {
		if i == mostWaiters {
			break
		}
		x := &l.WaiterList[i]
		ln := newLine(w)
		if i == 0 {
			ln.add(sc.dim, "WAITERS")
		}
		ln.to(labelWidth).add(sc.dim, text.FitRight(itoa(i+1), 3)+"  ").add(sc.plain, sc.g.fit.Fit(waiterName(sc.kit, x), nameW))
		if !x.Since.IsZero() {
			ln.add(sc.plain, "  waits for "+coarse(sc.now, x.Since))
		}
		if !x.Until.IsZero() {
			if left := x.Until.Sub(sc.now); left > 0 {
				ln.add(sc.dim, "  gives up in "+text.Duration(left))
			} else {
				ln.add(sc.dim, "  should have given up "+coarse(sc.now, x.Until)+" ago")
			}
		}
		if x.Owner != "" && x.Token != "" {
			ln.add(sc.dim, "  "+shortToken(sc.kit, x.Token))
		}
		p.add(ln.String())
	}
	if more := max(l.Waiters.Value, len(l.WaiterList)) - len(p.lines); more > 0 {
		p.field("", "and "+text.Count(more)+" more")
	}
	return p.lines
}

func waiterName(k *kit, x *dialect.Waiter) text.Safe {
	if x.Owner != "" {
		return cleanKey(x.Owner)
	}
	return shortToken(k, x.Token)
}

// companionsTable is the keys that stand beside the lock's own.
func (sc *scene) companionsTable(l *inspect.Lock, w int) []string {
	all := l.Companions
	if l.Companion != nil {
		all = append(slices.Clone(all), *l.Companion)
	}
	p := &page{sc: sc, w: w}
	for i := range all {
		if i == mostCompanions {
			p.field("", "and "+text.Count(len(all)-i)+" more")
			break
		}
		c := &all[i]
		ln := newLine(w)
		if i == 0 {
			ln.add(sc.dim, "BESIDE IT")
		}
		ln.to(labelWidth).add(sc.plain, sc.g.fit.Fit(cleanText(string(c.Role)), 8)+" ")
		ln.add(sc.dim, sc.g.fit.Fit(orUnknown(c.Type), 8)+" ").add(sc.plain, sc.g.fit.TruncateMiddle(keyText(c.Key), max(0, w-ln.used)))
		p.add(ln.String())
	}
	return p.lines
}

// latest are the lock's newest events, newest first.
func (sc *scene) latest(l *inspect.Lock, w int) []string {
	events := l.History
	if len(events) == 0 {
		events = eventsOf(sc.snap.Events, l.ID.Key, mostEvents)
	}
	p := &page{sc: sc, w: w}
	for i, e := range slices.Backward(events) {
		if len(p.lines) == mostEvents {
			break
		}
		ln := newLine(w)
		if i == len(events)-1 {
			ln.add(sc.dim, "EVENTS")
		}
		ln.to(labelWidth).add(sc.dim, clock(e.At, sc.fineEvents())+" ")
		ln.add(sc.eventStyle(e.Kind), sc.g.fit.Fit(eventWord(&e), 12))
		node := text.Safe("")
		if e.Node != "" {
			node = text.CleanMax(e.Node, 24)
		}
		p.add(ln.add(sc.plain, sc.g.fit.Truncate(join("  ", node, eventDetail(sc.kit, &e)), w-ln.used)).String())
	}
	return p.lines
}

// eventsOf are the newest events of a key, at most n, oldest first.
func eventsOf(events []inspect.Event, key string, n int) []inspect.Event {
	var out []inspect.Event
	for _, e := range slices.Backward(events) {
		if e.Key == key {
			out = append(out, e)
			if len(out) == n {
				break
			}
		}
	}
	slices.Reverse(out)
	return out
}

// releaseLines are the commands that a release would send, node by node, and
// what it would lead to; or why it is not possible.
func (sc *scene) releaseLines(l *inspect.Lock, w int) []string {
	if l.State == inspect.Expired {
		return nil
	}
	p := &page{sc: sc, w: w}
	if len(l.Owners) > 1 && contested(l) {
		p.field("RELEASE", "X asks which of the tokens is meant; this is what it sends for "+ownerText(sc.kit, l.Owners[0])+":")
	}
	token := ""
	if o, ok := l.Holder(); ok {
		token = o.Token
	}
	plan, err := inspect.PlanRelease(*l, token)
	if err != nil {
		p.field("RELEASE", cleanText(err.Error()))
		return p.lines
	}
	label := text.Safe("RELEASE")
	if len(p.lines) == 0 {
		p.field(label, "what X would send, after it has asked, only where the token is still "+sc.shortOf(l, token)+":")
	}
	for _, g := range groupSteps(plan.Steps) {
		if g.why != "" {
			p.styled(sc.dim, "", listed(g.nodes)+": left alone, "+cleanText(strings.TrimRight(g.why, ". ")))
			continue
		}
		p.styled(sc.strong, "", listed(g.nodes)+":")
		p.field("", commandText(g.command))
	}
	for i, s := range plan.Warnings {
		label = ""
		if i == 0 {
			label = "BEWARE"
		}
		p.field(label, cleanText(s))
	}
	return p.lines
}

// commandText is a command as it can be typed. One that is very long, for its
// key, ends early and says so.
func commandText(command string) text.Safe {
	const most = 4096
	if len(command) <= most {
		return text.Escaped(command)
	}
	return text.Escaped(strings.ToValidUTF8(command[:most], "")) + " (and " + text.Count(len(command)-most) + " more bytes; the dialog of X copies all of it)"
}

// stepGroup is nodes that are sent the same, or nothing for the same reason.
type stepGroup struct {
	nodes        []string
	command, why string
}

// groupSteps puts the steps that say the same together, those that send first.
func groupSteps(steps []inspect.Step) []stepGroup {
	var out []stepGroup
	add := func(s *inspect.Step, g stepGroup) {
		for i := range out {
			if out[i].command == g.command && out[i].why == g.why {
				if !slices.Contains(out[i].nodes, s.Node) {
					out[i].nodes = append(out[i].nodes, s.Node)
				}
				return
			}
		}
		g.nodes = []string{s.Node}
		out = append(out, g)
	}
	for i := range steps {
		if s := &steps[i]; s.Send {
			add(s, stepGroup{command: s.Command})
		}
	}
	for i := range steps {
		if s := &steps[i]; !s.Send {
			why := s.Why
			if why == "" {
				why = "nothing to do there"
			}
			add(s, stepGroup{why: why})
		}
	}
	return out
}
