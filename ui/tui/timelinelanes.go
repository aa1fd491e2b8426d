package tui

import (
	"slices"
	"time"

	"dlock/inspect"
	"dlock/ui/text"
)

// How the marks of a timeline outweigh one another.
const (
	weighRenewal = iota
	weighVote
	weighExpiry
	weighEnd
	weighBegin
	weighOperator
)

// lane is the lock's whole story in one lane, with a letter for each owner.
func (s *story) lane(sc *scene, letters *letters, win window) lane {
	out := lane{label: keyText(s.id.Key)}
	g := sc.g.lanes()
	holds := s.holds(sc.since)
	s.background(sc, &out, holds)
	for i := range holds {
		h := &holds[i]
		if h.until(sc.now).Before(win.from) {
			continue
		}
		out.stretches = append(out.stretches, stretch{h.from, h.until(sc.now), sc.calm, g.held})
		out.marks = append(out.marks, mark{later(h.from, win.from), sc.strong, letters.of(sc.kit, h), weighBegin})
	}
	s.foreground(sc, &out)
	s.marks(sc, &out, func(*inspect.Event) bool { return true })
	return out
}

// ownerLanes is the lock's story with a lane for each owner, in the order in
// which they first held it.
func (s *story) ownerLanes(sc *scene, win window) []lane {
	var out []lane
	g := sc.g.lanes()
	holds := s.holds(sc.since)
	at := make(map[string]int)
	for i := range holds {
		h := &holds[i]
		if h.until(sc.now).Before(win.from) {
			continue
		}
		who := h.who()
		n, ok := at[who]
		if !ok {
			n = len(out)
			at[who] = n
			l := lane{label: h.label(sc.kit)}
			s.background(sc, &l, holds)
			s.marks(sc, &l, func(e *inspect.Event) bool { return !ofNobody(e) && whoOf(e) == who })
			out = append(out, l)
		}
		out[n].stretches = append(out[n].stretches, stretch{h.from, h.until(sc.now), sc.calm, g.held})
		if !h.early {
			out[n].marks = append(out[n].marks, mark{h.from, sc.strong, g.begin, weighBegin})
		}
	}
	whole := lane{label: "(the lock as a whole)"}
	if len(out) == 0 {
		s.background(sc, &whole, holds)
	}
	s.foreground(sc, &whole)
	s.marks(sc, &whole, ofNobody)
	if len(whole.stretches)+len(whole.marks) > 0 {
		out = append(out, whole)
	}
	return out
}

// until is when a hold ended, or now.
func (h *hold) until(now time.Time) time.Time {
	if h.to.IsZero() {
		return now
	}
	return h.to
}

// who tells owners apart: by name, or by token where there is none.
func (h *hold) who() string {
	if h.owner != "" {
		return h.owner
	}
	return "\x00" + h.token
}

// whoOf is who of the owner in an event.
func whoOf(e *inspect.Event) string { return (&hold{token: e.Token, owner: e.Owner}).who() }

// ofNobody reports whether an event is about the lock rather than one owner.
func ofNobody(e *inspect.Event) bool {
	return e.Kind == inspect.WentSplit || e.Kind == inspect.Operator
}

func (h *hold) label(k *kit) text.Safe {
	switch {
	case h.owner != "":
		return cleanKey(h.owner)
	case h.token != "":
		return "token " + shortToken(k, h.token)
	default:
		return "(nobody by name)"
	}
}

// background shows where the lock is known to have been free, or held by
// another.
func (s *story) background(sc *scene, l *lane, holds []hold) {
	if len(holds) == 0 && len(s.events) == 0 {
		return // nothing is known of what was before
	}
	from := sc.since
	if !s.complete && len(s.events) > 0 {
		from = later(from, s.events[0].At)
	}
	if len(holds) > 0 && holds[0].early {
		from = holds[0].from
	}
	to := sc.now
	if at, ok := s.untold(sc); ok {
		to = later(from, at)
	}
	l.stretches = append(l.stretches, stretch{from, to, sc.dim, sc.g.dot})
}

// foreground shows what is neither held nor free at present: a split, or that
// nobody can tell.
func (s *story) foreground(sc *scene, l *lane) {
	if at, ok := s.untold(sc); ok {
		l.stretches = append(l.stretches, stretch{at, sc.now, sc.weak, sc.g.unknown})
	}
	if s.lock == nil {
		return
	}
	switch s.lock.State {
	case inspect.Split:
		from := sampledAt(s.lock)
		for i := range s.events {
			if s.events[i].Kind == inspect.WentSplit {
				from = s.events[i].At
			}
		}
		l.stretches = append(l.stretches, stretch{from, sc.now, sc.other, sc.g.other})
	case inspect.Partial:
		l.stretches = append(l.stretches, stretch{sampledAt(s.lock), sc.now, sc.weak, sc.g.partial})
	}
}

// untold is since when nobody can tell who has the lock, if that is so now. What
// was free when it was last seen may have been taken since.
func (s *story) untold(sc *scene) (time.Time, bool) {
	if s.lock != nil && s.lock.State == inspect.Unknown {
		return untoldSince(s.lock, sc.since), true
	}
	if s.lock == nil || s.lock.State == inspect.Expired {
		return quorumLostSince(target(sc))
	}
	return time.Time{}, false
}

// quorumLostSince is when the nodes that answer became too few, if they are.
func quorumLostSince(t inspect.Target) (time.Time, bool) {
	if !quorumLost(t) {
		return time.Time{}, false
	}
	var fell []time.Time
	for i := range t.Nodes {
		if n := &t.Nodes[i]; n.State != inspect.NodeUp && n.State != inspect.NodeReplica {
			fell = append(fell, n.Since)
		}
	}
	slices.SortFunc(fell, time.Time.Compare)
	return fell[len(t.Nodes)-t.Quorum], true
}

// untoldSince is since when nobody has been able to tell who has a lock: since
// the last of the nodes that do not tell was heard, or since watching began.
func untoldSince(l *inspect.Lock, since time.Time) time.Time {
	at := since
	for i := range l.Copies {
		if c := &l.Copies[i]; c.Answer == inspect.AnswerUnreachable {
			at = later(at, c.SampledAt)
		}
	}
	return at
}

// marks adds what happened beside holds that begin.
func (s *story) marks(sc *scene, l *lane, of func(*inspect.Event) bool) {
	g := sc.g.lanes()
	for i := range s.events {
		e := &s.events[i]
		if !of(e) {
			continue
		}
		add := func(st style, glyph text.Safe, weight int) {
			l.marks = append(l.marks, mark{e.At, st, glyph, weight})
		}
		switch e.Kind {
		case inspect.Renewed:
			add(sc.calm, g.renewed, weighRenewal)
		case inspect.LostNode:
			add(sc.weak, g.less, weighVote)
		case inspect.GainedNode:
			add(sc.plain, g.more, weighVote)
		case inspect.WentNoTTL:
			add(sc.weak, sc.g.noExpiry, weighExpiry)
		case inspect.Ended:
			add(sc.weak, "!", weighEnd)
		case inspect.WentSplit:
			add(sc.other, sc.g.other, weighEnd)
		case inspect.Operator:
			add(sc.alarm, "X", weighOperator)
		}
	}
}

// nodeLanes are lanes for the nodes that were silent in the window, and one for
// the moments up to which nothing had been watched for a while.
func nodeLanes(sc *scene, events []inspect.Event, win window) []lane {
	var out []lane
	for _, n := range target(sc).Nodes {
		l := lane{label: "node " + text.CleanMax(n.Name, 24) + " silent"}
		for _, s := range silences(&n, events, sc.since, sc.now) {
			if s.to.After(win.from) {
				l.stretches = append(l.stretches, stretch{s.from, s.to, sc.weak, sc.g.silent})
			}
		}
		if len(l.stretches) > 0 {
			out = append(out, l)
		}
	}
	gaps := lane{label: "not watched until"}
	for i := range events {
		if e := &events[i]; e.Kind == inspect.Gap && e.At.After(win.from) {
			gaps.marks = append(gaps.marks, mark{e.At, sc.weak, sc.g.unknown, weighEnd})
		}
	}
	if len(gaps.marks) > 0 {
		out = append(out, gaps)
	}
	return out
}

// span is a stretch of time.
type span struct{ from, to time.Time }

// silences are the times since watching began in which a node did not answer.
func silences(n *inspect.NodeStatus, events []inspect.Event, since, now time.Time) []span {
	var out []span
	var fell time.Time
	for i := range events {
		e := &events[i]
		switch {
		case e.Node != n.Name:
		case e.Kind == inspect.NodeFell:
			fell = e.At
		case e.Kind == inspect.NodeWentUp && !fell.IsZero():
			out = append(out, span{fell, e.At})
			fell = time.Time{}
		}
	}
	if n.State != inspect.NodeDown && n.State != inspect.NodeDenied {
		return out
	}
	if fell.IsZero() {
		fell = n.Since
	}
	return append(out, span{later(since, fell), now})
}

// letters gives owners a letter each, in the order in which they are drawn.
type letters struct {
	by    map[string]text.Safe
	names []text.Safe
}

func newLetters() *letters { return &letters{by: make(map[string]text.Safe)} }

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWYZabcdefghijklmnopqrstuvwyz" // without X and x

// of is the owner's letter; those beyond the alphabet share a star.
func (l *letters) of(k *kit, h *hold) text.Safe {
	who := h.who()
	if s, ok := l.by[who]; ok {
		return s
	}
	s := text.Safe("*")
	if n := len(l.names); n < len(alphabet) {
		s = text.Clean(alphabet[n : n+1])
		l.names = append(l.names, s+" "+k.g.fit.Truncate(h.label(k), 28))
	}
	l.by[who] = s
	return s
}

// legend says whose letters they are, as many as fit.
func (l *letters) legend(w int) text.Safe {
	var out text.Safe
	for i, name := range l.names {
		rest := text.Safe("")
		if left := len(l.names) - i - 1; left > 0 {
			rest = "   and " + itoa(left) + " more"
		}
		next := join("   ", out, name)
		if text.Width(next)+text.Width(rest) > w {
			return join("   ", out, "and "+itoa(len(l.names)-i)+" more")
		}
		out = next
	}
	return out
}

// laneLegend says what the signs of a timeline mean, the more usual ones first.
func (sc *scene) laneLegend(w int) string {
	g := sc.g.lanes()
	ln := newLine(w).add(sc.plain, " ")
	for _, s := range []struct {
		st          style
		glyph, what text.Safe
	}{
		{sc.calm, g.held, "held"}, {sc.calm, g.renewed, "renewed"}, {sc.dim, sc.g.dot, "free"}, {sc.weak, "!", "expired"}, {sc.other, sc.g.other, "split"},
		{sc.weak, sc.g.unknown, "not known"}, {sc.weak, sc.g.silent, "no answer"}, {sc.strong, "X", "released by force"}, {sc.weak, g.less, "a vote less"}, {sc.plain, g.more, "a vote more"}, {sc.weak, sc.g.noExpiry, "no expiry"},
	} {
		if ln.used+text.Width(s.glyph+s.what)+4 > w {
			break
		}
		ln.add(s.st, s.glyph).add(sc.dim, " "+s.what+"   ")
	}
	return ln.String()
}
