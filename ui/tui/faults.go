package tui

import (
	"dlock/demo"
	"dlock/demo/lab"
	"dlock/ui/text"
)

// fault is what can be done to a node of the demo.
type fault int

const (
	faultNone fault = iota
	faultKill
	faultRevive
	faultWipe
	faultPause
	faultResume
)

// faultMenu is the menu that breaks a node: first what, then which.
type faultMenu struct {
	op string // "", "k", "w" or "p"
}

// faultChosen is what a key in the menu leads to.
type faultChosen struct {
	closed bool
	fault  fault
	node   string
	note   text.Safe
}

func (m *faultMenu) onKey(k key, s *demo.Status) faultChosen {
	if k.name == "esc" || k.name == "q" || k.name == "F" {
		return faultChosen{closed: true}
	}
	if m.op == "" {
		switch k.name {
		case "k", "w", "p":
			m.op = k.name
		}
		return faultChosen{}
	}
	if len(k.name) != 1 || k.name < "1" || k.name > "9" || s == nil {
		return faultChosen{}
	}
	i := int(k.name[0] - '1')
	if i >= len(s.Nodes) {
		return faultChosen{}
	}
	n := s.Nodes[i]
	switch m.op {
	case "k":
		if n.State == lab.Down {
			return faultChosen{closed: true, fault: faultRevive, node: n.Name}
		}
		return faultChosen{closed: true, fault: faultKill, node: n.Name}
	case "w":
		return faultChosen{closed: true, fault: faultWipe, node: n.Name}
	}
	switch n.State {
	case lab.Paused:
		return faultChosen{closed: true, fault: faultResume, node: n.Name}
	case lab.Down:
		return faultChosen{closed: true, note: text.CleanMax(n.Name, 40) + " is down; F k brings it back"}
	}
	return faultChosen{closed: true, fault: faultPause, node: n.Name}
}

// view draws the menu over the screen below.
func (m *faultMenu) view(sc *scene, below []string) []string {
	w := min(60, sc.lay.w-8)
	p := &page{sc: sc, w: w}
	row := func(key, what text.Safe) {
		p.lines = append(p.lines, newLine(w).add(sc.key, "  "+key).add(sc.plain, "  "+sc.g.fit.Truncate(what, max(0, w-6))).String())
	}
	var title text.Safe
	switch m.op {
	case "":
		title = "Break a node"
		row("k", "kill it, or bring a killed one back with its data")
		row("w", "restart it empty: it forgets every lock")
		row("p", "freeze it, or let a frozen one go on")
	case "k":
		title = "Kill or bring back which node?"
	case "w":
		title = "Restart which node empty?"
	case "p":
		title = "Freeze or let go which node?"
	}
	if m.op != "" && sc.lab != nil {
		for i, n := range sc.lab.Nodes {
			if i == 9 {
				break
			}
			row(itoa(i+1), text.CleanMax(n.Name, 24)+"  is "+labWord(n.State)+": "+m.does(n.State))
		}
	}
	box := sc.pane(w+4, len(p.lines)+2, title, "esc closes", p.lines)
	x, y := (sc.lay.w-w-4)/2, max(0, sc.lay.h-2-len(box))
	out := text.Overlay(below, box, x, y)
	if len(out) > 0 {
		if m.op == "" {
			out[len(out)-1] = sc.hints([]hint{{"k", "kill / bring back", 3}, {"w", "wipe", 2}, {"p", "freeze / go on", 2}, {"esc", "close", 4}})
		} else {
			out[len(out)-1] = sc.hints([]hint{{"1-9", "the node", 3}, {"esc", "close", 4}})
		}
	}
	return out
}

// does says what choosing a node in a state leads to.
func (m *faultMenu) does(s lab.State) text.Safe {
	switch {
	case m.op == "w":
		return "start it again empty"
	case m.op == "k" && s == lab.Down:
		return "bring it back with its data"
	case m.op == "k" && s == lab.Paused:
		return "kill it (p lets it go on)"
	case m.op == "k":
		return "kill it"
	case s == lab.Down:
		return "nothing to freeze"
	case s == lab.Paused:
		return "let it go on"
	default:
		return "freeze it"
	}
}

func labWord(s lab.State) text.Safe {
	switch s {
	case lab.Up:
		return "up"
	case lab.Down:
		return "KILLED"
	case lab.Paused:
		return "FROZEN"
	default:
		return cleanText(string(s))
	}
}
