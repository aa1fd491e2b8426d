package tui

import (
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
}

func (v *nodesView) setData(s *inspect.Snapshot) {
	ids := make([]string, len(s.Target.Nodes))
	for i, n := range s.Target.Nodes {
		ids[i] = n.Name
	}
	v.list.set(ids)
}

func (v *nodesView) setSize(l layout) {
	// The rest of the pane needs some lines as well; with many nodes the
	// table scrolls.
	v.list.setHeight(max(1, l.body()-l.chrome()-6))
}

func (v *nodesView) selected(s *inspect.Snapshot) (inspect.NodeStatus, bool) {
	name, ok := v.list.selected()
	if !ok || v.list.cur >= len(s.Target.Nodes) {
		return inspect.NodeStatus{}, false
	}
	n := s.Target.Nodes[v.list.cur]
	return n, n.Name == name
}

func (v *nodesView) view(sc *scene) []string {
	h, w := sc.lay.body(), sc.lay.inner()
	t := target(sc)
	var out []string
	out = append(out, v.table(sc, w)...)
	add := func(st style, s text.Safe) {
		for _, part := range wrap(s, w-4) {
			out = append(out, newLine(w).add(sc.plain, "  ").add(st, part).String())
		}
	}
	out = append(out, newLine(w).String())
	st := sc.strong
	if quorumLost(t) {
		st = sc.alarm
	}
	add(st, quorumText(t))
	if n, ok := v.selected(sc.snap); ok {
		if s := nodeSentence(sc, &n); s != "" {
			out = append(out, newLine(w).String())
			add(sc.plain, s)
		}
	}
	if warnings := nodeWarnings(t); len(warnings) > 0 {
		out = append(out, newLine(w).String())
		for _, s := range warnings {
			parts := wrap(s, w-6)
			for i, part := range parts {
				ln := newLine(w)
				if i == 0 {
					ln.add(sc.weak, "  ! ")
				} else {
					ln.to(4)
				}
				out = append(out, ln.add(sc.plain, part).String())
			}
		}
	}
	if s := probeCost(t); s != "" {
		out = append(out, newLine(w).String())
		add(sc.dim, s)
	}
	title := "Nodes " + itoa(t.Up()) + "/" + itoa(len(t.Nodes)) + " up"
	remark := text.Safe("each node has its own deadline and its own retry")
	if !sc.lay.boxed {
		return append([]string{sc.rule(w, title, "")}, fill(out, w, h-1)...)
	}
	return sc.pane(sc.lay.w, h, title, remark, out)
}

func (v *nodesView) table(sc *scene, w int) []string {
	t := target(sc)
	wide := w >= 94
	nodeW, addrW := 4, 21
	for _, n := range t.Nodes {
		nodeW = max(nodeW, min(14, text.Width(text.CleanMax(n.Name, 40))))
	}
	if wide {
		addrW = 26
	}
	if w < 70 {
		addrW = max(8, w-48)
	}
	head := newLine(w).add(sc.dim, "  "+text.Fit("NODE", nodeW)+" "+text.Fit("ADDRESS", addrW)+" "+text.Fit("STATE", 9)+" "+text.FitRight("SINCE", 6)+" "+text.FitRight("RTT", 6)+"  "+text.FitRight("CLOCK", 7)+" "+text.FitRight("LOCKS", 6))
	if wide {
		head.add(sc.dim, "  "+text.Fit("ROLE", 8)+" "+text.Fit("VERSION", 8)+" EVICTION")
	}
	out := []string{head.String()}
	from, to := v.list.window()
	for i := from; i < to && i < len(t.Nodes); i++ {
		n := &t.Nodes[i]
		ln := newLine(w)
		if i == v.list.cur {
			ln.over = &sc.cursor
			ln.add(sc.plain, sc.g.cursor+" ")
		} else {
			ln.add(sc.plain, "  ")
		}
		glyph, st := sc.nodeGlyph(n.State)
		ln.add(sc.plain, sc.g.fit.Fit(text.CleanMax(n.Name, 40), nodeW)+" ")
		ln.add(sc.plain, sc.g.fit.FitMiddle(text.CleanMax(n.Addr, 80), addrW)+" ")
		ln.add(st, sc.g.fit.Fit(glyph+" "+nodeWord(n.State), 9)).add(sc.plain, " ")
		ln.add(sc.dim, text.FitRight(coarse(sc.now, n.Since), 6)+" ")
		locks := text.Safe("?")
		if n.Locks.Known {
			locks = text.Count(n.Locks.Value)
		}
		r, clk := rtt(n.RTT), offset(n.ClockOffset)
		if n.State == inspect.NodeDown || n.State == inspect.NodePending {
			r, clk, locks = "-", "?", "?"
		}
		ln.add(sc.plain, text.FitRight(r, 6)+"  ")
		cst := sc.plain
		if clockIsOff(n) {
			cst = sc.weak
		}
		ln.add(cst, text.FitRight(clk, 7)).add(sc.plain, " "+text.FitRight(locks, 6))
		if wide {
			ln.add(sc.plain, "  "+sc.g.fit.Fit(orUnknown(n.Role), 8)+" "+sc.g.fit.Fit(orUnknown(n.Version), 8)+" ")
			est := sc.plain
			if evicts(n) {
				est = sc.weak
			}
			ln.add(est, sc.g.fit.Truncate(orUnknown(n.Eviction), w-ln.used))
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

// farOff is the clock difference at which the judgement of a lock's remaining
// time begins to suffer.
const farOff = 200 * time.Millisecond

func clockIsOff(n *inspect.NodeStatus) bool {
	return n.ClockOffset.Known && (n.ClockOffset.Value > farOff || n.ClockOffset.Value < -farOff)
}

func evicts(n *inspect.NodeStatus) bool { return n.Eviction != "" && n.Eviction != "noeviction" }

// nodeSentence says why the node under the cursor does not answer and when it
// is asked again.
func nodeSentence(sc *scene, n *inspect.NodeStatus) text.Safe {
	name := text.CleanMax(n.Name, 40)
	switch n.State {
	case inspect.NodeDown:
		s := name + " has not answered for " + coarse(sc.now, n.Since)
		if n.Error != "" {
			s += ": " + cleanText(n.Error)
		}
		if !n.NextTry.IsZero() {
			if d := n.NextTry.Sub(sc.now); d >= time.Second {
				s += "; next try in " + itoa(int(d/time.Second)) + "s, r tries now"
			} else {
				s += "; trying now"
			}
		}
		return s
	case inspect.NodeDenied:
		return name + " is there and refuses us: " + cleanText(strings.TrimRight(n.Error, ". ")) + "; " + refusalAdvice
	case inspect.NodePending:
		return name + " has not been asked yet"
	}
	if n.Error != "" {
		return name + ": " + cleanText(n.Error)
	}
	return ""
}

// nodeWarnings lists what about the nodes can lose locks or mislead.
func nodeWarnings(t inspect.Target) []text.Safe {
	var out []text.Safe
	for i := range t.Nodes {
		n := &t.Nodes[i]
		name := text.CleanMax(n.Name, 40)
		if n.State == inspect.NodeDown || n.State == inspect.NodeDenied {
			s := name + " " + nodeWord(n.State)
			if n.Error != "" {
				s += ": " + cleanText(n.Error)
			}
			out = append(out, s)
		}
		if n.State == inspect.NodeReplica || n.Role == "replica" || n.Role == "slave" {
			out = append(out, name+" is a replica: a lock that only its master has is lost on failover, so it should not vote")
		}
		if evicts(n) {
			out = append(out, name+" evicts keys ("+cleanText(n.Eviction)+"): a lock can vanish before its time; set noeviction")
		}
		if clockIsOff(n) {
			out = append(out, name+" has a clock "+offset(n.ClockOffset)+" from ours: a steady difference is harmless, a jump ends locks early or late")
		}
		if len(n.Denied) > 0 {
			out = append(out, name+" does not permit us "+names(n.Denied)+", so some columns stay empty")
		}
	}
	return out
}

// probeCost says what looking costs, on the node that is asked most.
func probeCost(t inspect.Target) text.Safe {
	most, longest := 0, time.Duration(0)
	for _, n := range t.Nodes {
		most = max(most, n.Commands)
		longest = max(longest, n.LookTime)
	}
	if most == 0 {
		return ""
	}
	return "the last look cost each node at most " + plural(most, "command", "commands") + " and took " + rtt(inspect.Known(longest)) + " on the wire"
}
