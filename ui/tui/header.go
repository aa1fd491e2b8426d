package tui

import (
	"time"

	"dlock/inspect"
	"dlock/ui/text"
)

// header draws the lines above every view: what is looked at and how old it
// is, how many locks are in which trouble, and which nodes answer.
func (sc *scene) header() []string {
	lines := []string{sc.headline()}
	switch sc.lay.header {
	case 2:
		lines = append(lines, sc.countsAndNodes())
	case 3:
		lines = append(lines, sc.countsLine(), sc.nodesLine())
	}
	return lines
}

func (sc *scene) headline() string {
	w := sc.lay.w
	right := newLine(w)
	sc.liveness(right)
	right.add(sc.plain, " ")

	left := newLine(w)
	left.add(sc.brand, " dlock ").add(sc.plain, " ")
	tags := newLine(w)
	if sc.env != "" {
		tags.add(sc.plain, " ").add(sc.tag(sc.envColor), " "+cleanText(sc.env)+" ")
	}
	if n := sc.marks.len(); n > 0 {
		tags.add(sc.plain, " ").add(sc.notice, " "+text.Count(n)+" MARKED ")
	}
	if sc.readOnly != "" && sc.replay == nil {
		tags.add(sc.plain, " ").add(sc.notice, " READ-ONLY ")
	}
	if quorumLost(target(sc)) && sc.lay.header == 1 {
		tags.add(sc.plain, " ").add(sc.alarm, noQuorumTag(target(sc)))
	}
	title := cleanText(sc.title)
	left.add(sc.strong, sc.g.fit.Truncate(title, max(8, w-left.used-tags.used-right.used-2)))
	left.raw(tags.piece(), tags.used)
	return ends(w, left, right)
}

func target(sc *scene) inspect.Target {
	if !sc.loaded {
		return inspect.Target{}
	}
	return sc.snap.Target
}

func noQuorumTag(t inspect.Target) text.Safe {
	if len(t.Nodes) == 1 && t.Nodes[0].State == inspect.NodeDenied {
		return " REFUSED "
	}
	if len(t.Nodes) == 1 {
		return " NO ANSWER "
	}
	return " NO QUORUM "
}

// liveness says whether what is shown is now, was now, or stands still.
func (sc *scene) liveness(l *line) {
	switch {
	case !sc.loaded && sc.broken != "":
		l.add(sc.warn, " NO DATA ")
		return
	case !sc.loaded:
		l.add(sc.strong, "WAITING").add(sc.dim, " for the first answer")
		return
	case sc.replay != nil:
		sc.replayed(l)
		return
	case sc.paused:
		l.add(sc.warn, " PAUSED ").add(sc.plain, " "+coarse(sc.wall, sc.pausedAt))
		if sc.waiting > 0 {
			l.add(sc.plain, ", "+plural(sc.waiting, "change", "changes")+" waiting")
		}
		return
	}
	switch {
	case !answered(sc.snap):
		l.add(sc.warn, " NO ANSWER ").add(sc.plain, " for "+coarse(sc.now, sc.since))
	case sc.broken != "":
		l.add(sc.warn, " STOPPED ").add(sc.plain, " data "+coarse(sc.now, dataAt(sc.snap))+" old")
		return
	case sc.stale():
		l.add(sc.warn, " STALE ").add(sc.plain, " data "+coarse(sc.now, dataAt(sc.snap))+" old")
	default:
		l.add(sc.strong, "LIVE")
		l.add(sc.dim, " "+coarse(sc.now, dataAt(sc.snap))+" old")
	}
	if sc.snap.Interval > 0 {
		if sc.lay.w >= 100 {
			l.add(sc.dim, "  every "+intervalText(sc.snap.Interval))
		} else {
			l.add(sc.dim, "  "+intervalText(sc.snap.Interval))
		}
	}
}

// replayed says what moment of a recording is shown, and whether it moves.
func (sc *scene) replayed(l *line) {
	p := sc.replay
	l.add(sc.notice, " REPLAY ").add(sc.strong, " "+momentText(sc.now))
	switch {
	case p.Playing:
		l.add(sc.plain, "  "+speedText(p.Speed))
	case !p.Moment.Before(p.To):
		l.add(sc.plain, "  end")
	default:
		l.add(sc.plain, "  stands still")
	}
	if sc.lay.w >= 120 {
		l.add(sc.dim, "  of "+momentText(p.From)+" to "+momentText(p.To))
	}
}

// momentText is a moment of a recording, which may be of any day.
func momentText(t time.Time) text.Safe { return text.Clean(t.Format("Jan _2 15:04:05")) }

func intervalText(d time.Duration) text.Safe {
	if d%time.Second == 0 {
		return itoa(int(d/time.Second)) + "s"
	}
	return text.Clean(d.String())
}

// addCounts adds the numbers of locks, worst first. Where the line is short
// the healthy end is left out, never the bad one.
func (sc *scene) addCounts(l *line) {
	if !sc.loaded {
		if sc.broken != "" {
			l.add(sc.weak, sc.broken)
		} else {
			l.add(sc.dim, "reading")
		}
		return
	}
	l.add(sc.strong, plural(sc.counts.locks, "lock", "locks"))
	for _, c := range sc.counts.by {
		word := text.Count(c.n) + " " + c.badge.word
		chip := c.badge.style == sc.alarm || c.badge.style == sc.warn
		if chip {
			word = " " + word + " "
		}
		gap := text.Safe("  ")
		if chip {
			gap = " "
		}
		if l.used+text.Width(gap+word) > l.width {
			return
		}
		l.add(sc.plain, gap).add(c.badge.style, word)
	}
	if sc.counts.gone > 0 && l.used+12 < l.width {
		l.add(sc.dim, "  "+text.Count(sc.counts.gone)+" just gone")
	}
}

func (sc *scene) countsLine() string {
	left := newLine(sc.lay.w).add(sc.plain, " ")
	sc.addCounts(left)
	// What is at the right end gives way to the counts.
	for detail := 2; detail > 0; detail-- {
		right := newLine(sc.lay.w)
		if sc.loaded && sc.counts.waiting > 0 {
			right.add(sc.plain, plural(sc.counts.waiting, "waiter", "waiters")+"  ")
		}
		if sc.loaded {
			sc.addScan(right, detail == 2)
		}
		if left.used+2+right.used <= sc.lay.w {
			return ends(sc.lay.w, left, right)
		}
	}
	return left.String()
}

func (sc *scene) addScan(l *line, long bool) {
	p := sc.snap.Scan
	missing := sc.unlisted()
	switch {
	case !long && p.Passes > 0 && !p.Cut && !missing:
	case !long:
		l.add(sc.weak, "incomplete ")
	case p.Passes == 0:
		l.add(sc.strong, "first scan: "+text.Count(p.Keys)+" keys so far ")
	case p.Cut:
		l.add(sc.weak, "scan cut short at "+text.Count(p.Keys)+" keys ")
	case missing:
		l.add(sc.weak, "incomplete: locks may exist that are not listed ")
	case !sc.snap.Complete && len(sc.silentNodes()) > 0:
		l.add(sc.dim, "leftovers on "+listed(sc.silentNodes())+" are not seen ")
	default:
		l.add(sc.dim, text.Count(p.Keys)+" keys match "+names(p.Match)+" ")
	}
}

// unlisted reports whether locks may be held that no node tells of: whoever
// holds one is known to a quorum, so a few silent nodes hide nothing but
// leftovers. A cluster's nodes do not stand in for one another.
func (sc *scene) unlisted() bool {
	t := sc.snap.Target
	if t.Topology == inspect.Cluster {
		return !sc.snap.Complete
	}
	return t.Up() < t.Quorum
}

// silentNodes are the nodes whose locks are not known.
func (sc *scene) silentNodes() []string {
	var out []string
	for _, n := range sc.snap.Target.Nodes {
		if n.State != inspect.NodeUp && n.State != inspect.NodeReplica {
			out = append(out, n.Name)
		}
	}
	return out
}

// nodesLine names each node with its round trip, or how long it has been
// silent; with less detail the more there are.
func (sc *scene) nodesLine() string {
	l := newLine(sc.lay.w).add(sc.plain, " ")
	if !sc.loaded {
		return l.String()
	}
	t := sc.snap.Target
	sc.addQuorum(l, false)
	for detail := 2; detail >= 0; detail-- {
		try := newLine(sc.lay.w - l.used)
		need := 0
		for i := range t.Nodes {
			need += sc.addNode(try, &t.Nodes[i], detail)
		}
		if need <= sc.lay.w-l.used {
			return l.raw(try.piece(), try.used).String()
		}
	}
	return l.String()
}

// addQuorum adds how many nodes answer and how many are needed.
func (sc *scene) addQuorum(l *line, short bool) {
	t := sc.snap.Target
	if quorumLost(t) {
		l.add(sc.alarm, noQuorumTag(t)).add(sc.plain, " ")
	}
	up := itoa(t.Up()) + "/" + itoa(len(t.Nodes))
	if short {
		l.add(sc.strong, up)
		return
	}
	l.add(sc.plain, "nodes ").add(sc.strong, up+" up")
	if len(t.Nodes) > 1 && t.Topology != inspect.Cluster {
		l.add(sc.plain, ", quorum "+itoa(t.Quorum))
	}
}

// addNode adds one node and returns how wide it is, whether or not it fitted.
func (sc *scene) addNode(l *line, n *inspect.NodeStatus, detail int) int {
	glyph, st := sc.nodeGlyph(n.State)
	pieces := newLine(80)
	switch detail {
	case 0:
		pieces.add(st, glyph)
	default:
		pieces.add(sc.plain, "   "+text.CleanMax(n.Name, 24)+" ").add(st, glyph)
	}
	if detail == 2 {
		switch n.State {
		case inspect.NodeUp:
			pieces.add(sc.dim, " "+rtt(n.RTT))
		case inspect.NodePending:
			pieces.add(sc.dim, " asking")
		default:
			pieces.add(st, " "+nodeWord(n.State)).add(sc.plain, " "+coarse(sc.now, n.Since))
		}
	}
	l.raw(pieces.piece(), pieces.used)
	return pieces.used
}

func (sc *scene) nodeGlyph(s inspect.NodeState) (text.Safe, style) {
	switch s {
	case inspect.NodeUp:
		return sc.g.this, sc.calm
	case inspect.NodeReplica:
		return sc.g.leftover, sc.weak
	case inspect.NodeDown:
		return sc.g.silent, sc.weak
	case inspect.NodeDenied:
		return sc.g.unknown, sc.weak
	default:
		return sc.g.dot, sc.dim
	}
}

func nodeWord(s inspect.NodeState) text.Safe {
	switch s {
	case inspect.NodeUp:
		return "UP"
	case inspect.NodeDown:
		return "DOWN"
	case inspect.NodeDenied:
		return "DENIED"
	case inspect.NodeReplica:
		return "REPLICA"
	default:
		return "ASKING"
	}
}

// countsAndNodes is both on one line, for screens with a header of two.
func (sc *scene) countsAndNodes() string {
	right := newLine(sc.lay.w)
	if sc.loaded {
		nodes := sc.snap.Target.Nodes
		if len(nodes) <= maxStrip {
			for i := range nodes {
				sc.addNode(right, &nodes[i], 0)
			}
			right.add(sc.plain, " ")
		}
		sc.addQuorum(right, true)
		right.add(sc.plain, " up ")
	}
	left := newLine(max(0, sc.lay.w-right.used-1))
	left.add(sc.plain, " ")
	sc.addCounts(left)
	return ends(sc.lay.w, left, right)
}
