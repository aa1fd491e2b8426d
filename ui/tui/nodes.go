package tui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"dlock/inspect"
	"dlock/ui/text"
)

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }

// nodesView is the table of nodes, what their number means for the quorum, and
// what about them can lose locks.
type nodesView struct {
	list   list[string]
	scroll scroller
	agree  []agreement // parallel to list.ids
}

// agreement is how a node's answers compare with the verdicts.
type agreement struct {
	agree, differ int
	missing       int // locks that are held and that it does not have
}

func (v *nodesView) setData(s *inspect.Snapshot) {
	ids := make([]string, len(s.Target.Nodes))
	for i, n := range s.Target.Nodes {
		ids[i] = n.Name
	}
	v.list.set(ids)
	v.agree = compareNodes(s)
}

// compareNodes counts for each node the locks on which it says what the others
// say.
func compareNodes(s *inspect.Snapshot) []agreement {
	out := make([]agreement, len(s.Target.Nodes))
	if s.Target.Topology == inspect.Cluster {
		return out // a lock is on one of its nodes only
	}
	for i := range s.Locks {
		l := &s.Locks[i]
		if l.State == inspect.Expired {
			continue
		}
		for j := range l.Copies {
			if j >= len(out) {
				break
			}
			switch l.Copies[j].Answer {
			case inspect.AnswerHeld:
				out[j].agree++
			case inspect.AnswerOther:
				out[j].differ++
			case inspect.AnswerFree:
				if l.State == inspect.Held {
					out[j].missing++
				}
			}
		}
	}
	return out
}

func (v *nodesView) setSize(l layout) {
	// The rest of the pane needs some lines as well; with many nodes the
	// table scrolls.
	v.list.setHeight(max(1, l.body()-l.chrome()-8))
}

func (v *nodesView) navigate(a action) bool { return v.list.navigate(a) }

func (v *nodesView) selected(s *inspect.Snapshot) (inspect.NodeStatus, bool) {
	name, ok := v.list.selected()
	if !ok || v.list.cur >= len(s.Target.Nodes) {
		return inspect.NodeStatus{}, false
	}
	n := s.Target.Nodes[v.list.cur]
	return n, n.Name == name
}

func (v *nodesView) view(sc *scene) []string {
	h, w := sc.lay.body()-sc.lay.chrome(), sc.lay.inner()
	t := target(sc)
	out := v.table(sc, w)
	p := &page{sc: sc, w: w - 4}
	st := sc.strong
	if quorumLost(t) {
		st = sc.alarm
	}
	p.text(st, quorumText(t))
	if n, ok := v.selected(sc.snap); ok {
		p.text(sc.plain, nodeSentence(sc, &n))
		if s := nodeFacts(&n); s != "" {
			p.text(sc.dim, s)
		}
		if len(n.Denied) > 0 {
			p.text(sc.plain, text.CleanMax(n.Name, 40)+" does not permit us "+names(n.Denied)+", so what these tell is not shown")
		}
	}
	cost := probeCost(sc, w-4)
	room := h - len(out) - 1 - len(p.lines) - 1 - len(cost)
	if found := v.findings(sc, w-4, room-1); len(found) > 0 {
		p.gap()
		p.add(found...)
	}
	p.block(cost)
	out = append(out, newLine(w).String())
	for _, s := range p.lines {
		out = append(out, newLine(w).to(2).raw(s, w-4).String())
	}
	title := "Nodes " + itoa(t.Up()) + "/" + itoa(len(t.Nodes)) + " up"
	return sc.framed(title, sc.position(v.list.off, v.list.height, len(v.list.ids), "each node has its own deadline and its own retry"), out)
}

// findings says what is found about the nodes in at most h lines: what is about
// the one under the cursor first; if there is no room for all of it, what is
// about the others in a line each.
func (v *nodesView) findings(sc *scene, w, h int) []string {
	if h < 1 {
		return nil
	}
	name, _ := v.list.selected()
	var mine, others []*inspect.NodeFinding
	for i := range sc.snap.Findings {
		f := &sc.snap.Findings[i]
		if slices.Contains(f.Nodes, name) {
			mine = append(mine, f)
		} else {
			others = append(others, f)
		}
	}
	var out []string
	all := slices.Concat(mine, others)
	for _, f := range all {
		out = append(out, sc.finding(w, &f.Finding, "")...)
	}
	if len(out) <= h {
		return out
	}
	out = nil
	left := len(all)
	// Each finding that is still to come gets a line, or one for all.
	for _, f := range all {
		left--
		reserve := min(1, left)
		full := sc.finding(w, &f.Finding, "")
		switch {
		case slices.Contains(f.Nodes, name) && len(out)+len(full)+reserve <= h:
			out = append(out, full...)
		case len(out)+1+reserve <= h:
			st, word := sc.severity(f.Severity)
			out = append(out, newLine(w).add(st, word).to(labelWidth).add(sc.plain, sc.g.fit.Truncate(cleanText(f.Text), max(0, w-labelWidth))).String())
		default:
			return append(out, newLine(w).to(labelWidth).add(sc.dim, "and "+plural(left+1, "more finding", "more findings")).String())
		}
	}
	return out
}

// nodeColumn is one column of the table of nodes.
type nodeColumn struct {
	title text.Safe
	width int
	right bool
	cell  func(i int, n *inspect.NodeStatus) (style, text.Safe)
}

// columns chooses what of the nodes is shown in a width; the last one gets what
// the others leave.
func (v *nodesView) columns(sc *scene, w int) []nodeColumn {
	t := target(sc)
	nodeW, addrW := 4, 8
	for i := range t.Nodes {
		nodeW = max(nodeW, min(14, text.Width(text.CleanMax(t.Nodes[i].Name, 40))))
		addrW = max(addrW, min(26, text.Width(text.CleanMax(t.Nodes[i].Addr, 80))))
	}
	silent := func(n *inspect.NodeStatus) bool {
		return n.State == inspect.NodeDown || n.State == inspect.NodePending
	}
	count := func(title text.Safe, width int, st style, f func(i int) int) nodeColumn {
		return nodeColumn{title, width, true, func(i int, n *inspect.NodeStatus) (style, text.Safe) {
			switch {
			case silent(n) || i >= len(v.agree):
				return sc.dim, "?"
			case f(i) == 0:
				return sc.dim, "0"
			default:
				return st, text.Count(f(i))
			}
		}}
	}
	cols := []nodeColumn{
		{"NODE", nodeW, false, func(_ int, n *inspect.NodeStatus) (style, text.Safe) { return sc.plain, text.CleanMax(n.Name, 40) }},
		{"ADDRESS", addrW, false, func(_ int, n *inspect.NodeStatus) (style, text.Safe) { return sc.plain, text.CleanMax(n.Addr, 80) }},
		{"STATE", 9, false, func(_ int, n *inspect.NodeStatus) (style, text.Safe) {
			glyph, st := sc.nodeGlyph(n.State)
			return st, glyph + " " + nodeWord(n.State)
		}},
		{"SINCE", 6, true, func(_ int, n *inspect.NodeStatus) (style, text.Safe) { return sc.dim, coarse(sc.now, n.Since) }},
		{"RTT", 6, true, func(_ int, n *inspect.NodeStatus) (style, text.Safe) {
			if silent(n) {
				return sc.dim, "-"
			}
			return sc.plain, rtt(n.RTT)
		}},
		{"CLOCK", 7, true, func(_ int, n *inspect.NodeStatus) (style, text.Safe) {
			if silent(n) {
				return sc.dim, "?"
			}
			return sc.about(n, "clock-offset", "clock-jump"), offset(n.ClockOffset)
		}},
		{"LOCKS", 6, true, func(_ int, n *inspect.NodeStatus) (style, text.Safe) {
			if silent(n) || !n.Locks.Known {
				return sc.dim, "?"
			}
			return sc.plain, text.Count(n.Locks.Value)
		}},
	}
	if w < 94 {
		if w < 70 {
			cols[1].width = min(addrW, max(8, w-47-nodeW))
		}
		return cols
	}
	if len(t.Nodes) > 1 && t.Topology != inspect.Cluster {
		cols = append(cols,
			count("AGREE", 6, sc.plain, func(i int) int { return v.agree[i].agree }),
			count("DIFFER", 6, sc.weak, func(i int) int { return v.agree[i].differ }),
			count("MISSING", 7, sc.weak, func(i int) int { return v.agree[i].missing }))
	}
	cols = append(cols, nodeColumn{"ROLE", 7, false, func(_ int, n *inspect.NodeStatus) (style, text.Safe) {
		return sc.about(n, "replica-voter", "same-server", "cluster-shard"), orUnknown(n.Role)
	}})
	if w >= 120 || len(t.Nodes) == 1 || t.Topology == inspect.Cluster {
		cols = append(cols, nodeColumn{"REPLICAS", 8, true, func(_ int, n *inspect.NodeStatus) (style, text.Safe) {
			if !n.Replicas.Known {
				return sc.dim, "?"
			}
			return sc.about(n, "no-replicas"), itoa(n.Replicas.Value)
		}}, nodeColumn{"LAG", 6, true, func(_ int, n *inspect.NodeStatus) (style, text.Safe) {
			if !n.ReplicaLag.Known || n.Replicas.Value == 0 {
				return sc.dim, "-"
			}
			return sc.plain, text.Duration(n.ReplicaLag.Value)
		}})
	}
	return append(cols, nodeColumn{"VERSION", 8, false, func(_ int, n *inspect.NodeStatus) (style, text.Safe) {
		return sc.about(n, "old-version", "restarted"), orUnknown(n.Version)
	}}, nodeColumn{"EVICTION", 0, false, func(_ int, n *inspect.NodeStatus) (style, text.Safe) {
		return sc.about(n, "eviction", "out-of-memory"), orUnknown(n.Eviction)
	}})
}

// about is the look of what one of these findings about the node is about.
func (sc *scene) about(n *inspect.NodeStatus, ids ...string) style {
	for i := range sc.snap.Findings {
		if f := &sc.snap.Findings[i]; slices.Contains(ids, f.ID) && slices.Contains(f.Nodes, n.Name) {
			return sc.weak
		}
	}
	return sc.plain
}

func (v *nodesView) table(sc *scene, w int) []string {
	t := target(sc)
	cols := v.columns(sc, w)
	head := newLine(w).add(sc.plain, "  ")
	for _, c := range cols {
		switch {
		case c.width == 0:
			head.add(sc.dim, c.title)
		case c.right:
			head.add(sc.dim, text.FitRight(c.title, c.width)).add(sc.plain, " ")
		default:
			head.add(sc.dim, text.Fit(c.title, c.width)).add(sc.plain, " ")
		}
	}
	out := []string{head.String()}
	from, to := v.list.window()
	for i := from; i < to && i < len(t.Nodes); i++ {
		ln := sc.row(w, i == v.list.cur)
		for _, c := range cols {
			st, s := c.cell(i, &t.Nodes[i])
			switch {
			case c.width == 0:
				s = sc.g.fit.Truncate(s, max(0, w-ln.used))
			case c.right:
				s = sc.g.fit.FitRight(s, c.width)
			case c.title == "ADDRESS":
				s = sc.g.fit.FitMiddle(s, c.width)
			default:
				s = sc.g.fit.Fit(s, c.width)
			}
			ln.add(st, s).add(sc.plain, " ")
		}
		out = append(out, ln.String())
	}
	return out
}

func orUnknown(s string) text.Safe {
	if s == "" {
		return "?"
	}
	return cleanText(s)
}

// nodeSentence says how the node under the cursor stands: of one that does not
// answer, why and when it is asked again.
func nodeSentence(sc *scene, n *inspect.NodeStatus) text.Safe {
	name := text.CleanMax(n.Name, 40)
	switch n.State {
	case inspect.NodeDown:
		s := name + " has not answered for " + coarse(sc.now, n.Since)
		if n.Error != "" {
			s += ": " + cleanText(n.Error)
		}
		return join("; ", s, tryText(sc, n), "r tries now")
	case inspect.NodeDenied:
		return name + " is there and refuses us: " + cleanText(strings.TrimRight(n.Error, ". ")) + "; " + refusalAdvice
	case inspect.NodePending:
		return name + " has not been asked yet"
	}
	s := name + " has answered for " + coarse(sc.now, n.Since)
	if n.Error != "" {
		s += ": " + cleanText(n.Error)
	}
	return s
}

// tryText is when a silent node is asked again.
func tryText(sc *scene, n *inspect.NodeStatus) text.Safe {
	switch d := n.NextTry.Sub(sc.now); {
	case n.NextTry.IsZero():
		return ""
	case d >= time.Second:
		return "next try in " + itoa(int(d/time.Second)) + "s"
	default:
		return "trying now"
	}
}

// nodeFacts says how many replicas a node has, "" if it has none.
func nodeFacts(n *inspect.NodeStatus) text.Safe {
	if !n.Replicas.Known || n.Replicas.Value < 1 {
		return ""
	}
	s := plural(n.Replicas.Value, "replica follows it", "replicas follow it")
	if n.ReplicaLag.Known {
		s += ", the last of them " + text.Duration(n.ReplicaLag.Value) + " behind"
	}
	return s
}

// probeCost says what looking costs each node, in two lines.
func probeCost(sc *scene, w int) []string {
	commands, took := newLine(w), newLine(w)
	const label = 26
	commands.add(sc.dim, text.Fit("LOOKING  commands a look", label))
	took.add(sc.dim, text.Fit("         time on the wire", label))
	some := false
	for _, n := range target(sc).Nodes {
		const cell = 10
		if commands.used+cell > w {
			break
		}
		some = some || n.Commands > 0
		name := sc.g.fit.Truncate(text.CleanMax(n.Name, 24), 4)
		c, d := text.Safe("-"), text.Safe("-")
		if n.Commands > 0 {
			c, d = text.Count(n.Commands), text.Latency(n.LookTime)
		}
		commands.add(sc.dim, text.FitRight(name, 4)+" ").add(sc.plain, text.Fit(c, cell-5))
		took.add(sc.plain, text.FitRight(d, cell-1)+" ")
	}
	if !some {
		return nil
	}
	return []string{commands.String(), took.String()}
}
