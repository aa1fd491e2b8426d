package tui

import (
	"slices"
	"strings"

	"dlock/inspect"
	"dlock/ui/text"
)

// emptiness says why the list of locks has no row, in at most h lines: what was
// looked for and not found, or what keeps us from looking, and what to try.
func (v *locksView) emptiness(sc *scene, w, h int) []string {
	p := &page{sc: sc, w: max(1, w-4)}
	t := target(sc)
	s := sc.snap.Scan
	switch {
	case !sc.loaded && sc.broken != "":
		p.text(sc.strong, "No data: "+sc.broken)
	case !sc.loaded:
		p.text(sc.plain, "Asking the nodes for their locks.")
	case !v.filter.empty() && len(sc.snap.Locks) > 0:
		p.text(sc.strong, join(": ", "No lock passes the filter", v.filter.unknown(t.Nodes))+".")
		p.text(sc.plain, "esc clears it; "+plural(len(sc.snap.Locks), "lock is", "locks are")+" there without it.")
	case t.Up() < len(t.Nodes) && sc.unlisted():
		v.unreached(p, h)
	case s.Passes == 0 && len(s.Match) > 0:
		p.text(sc.strong, "Looking for locks: "+plural(int(min(s.Keys, 1<<30)), "key", "keys")+" found so far that "+verb(int(min(s.Keys, 2)), "matches", "match")+" "+names(s.Match)+".")
		p.text(sc.dim, "They are shown when every node has been asked about them.")
	default:
		v.nothingFound(p)
	}
	out := []string{newLine(w).String()}
	for _, s := range p.lines {
		out = append(out, newLine(w).to(2).raw(s, p.w).String())
	}
	if len(out) > h {
		out = out[:max(0, h)]
	}
	return out
}

// nothingFound is for nodes that answer and have no lock.
func (v *locksView) nothingFound(p *page) {
	sc := p.sc
	s := sc.snap.Scan
	t := target(sc)
	what := "no key matches " + names(s.Match)
	if len(s.Match) == 0 {
		what = "none of the keys asked for is there"
	} else if s.Keys > 0 {
		what = plural(int(min(s.Keys, 1<<30)), "key matches ", "keys match ") + names(s.Match) + " and " + verb(int(min(s.Keys, 2)), "is no lock", "none is a lock")
	}
	p.text(sc.strong, "No lock is held: "+what+".")
	where := "on " + plural(t.Up(), "node", "nodes")
	if t.Up() == 1 && len(t.Nodes) == 1 {
		where = "on " + text.CleanMax(t.Nodes[0].Addr, 80)
	}
	scanned := "Looked through every name " + where
	if s.Passes > 0 {
		scanned += ", " + plural(s.Passes, "pass", "passes") + " so far"
	}
	p.text(sc.plain, scanned+"; a lock appears here as soon as it is taken.")
	if sc.unlisted() || s.Cut {
		p.text(sc.weak, "Not everything could be seen, so there may be locks that are not listed: 2 shows the nodes.")
	}
	p.gap()
	p.text(sc.dim, "If there should be some:")
	for _, tip := range v.tips(sc) {
		for i, part := range wrap(tip, p.w-2) {
			mark := text.Safe("  ")
			if i == 0 {
				mark = sc.g.dot + " "
			}
			p.add(newLine(p.w).add(sc.dim, mark).add(sc.plain, part).String())
		}
	}
}

// tips are what to try when there is no lock where some are expected.
func (v *locksView) tips(sc *scene) []text.Safe {
	var out []text.Safe
	if slices.Equal(sc.snap.Scan.Match, []string{"lock:*"}) {
		out = append(out, "another prefix: --match 'NAME:*', as often as there are prefixes")
	} else {
		out = append(out, "another pattern: --match 'NAME:*'; * alone shows every key that looks like a lock")
	}
	if target(sc).Topology != inspect.Cluster {
		out = append(out, "another database: a URL that ends in /1, /2, and so on")
	}
	for i := range sc.snap.Findings {
		if f := &sc.snap.Findings[i]; f.ID == "forbidden-keys" {
			out = append(out, "permission: "+cleanText(f.Text))
		}
	}
	denied := false
	for _, n := range target(sc).Nodes {
		denied = denied || len(n.Denied) > 0
	}
	if denied {
		out = append(out, "permission: some commands are refused, 2 shows which")
	}
	return append(out, "r looks again now")
}

// unreached is for nodes that cannot be asked: at which stage it fails on each,
// and when it is tried again.
func (v *locksView) unreached(p *page, h int) {
	sc := p.sc
	t := target(sc)
	st := sc.strong
	if quorumLost(t) {
		st = sc.alarm
	}
	switch {
	case pending(t):
		p.text(sc.strong, "Connecting to "+plural(len(t.Nodes), "node", "nodes")+".")
	case t.Up() == 0:
		p.text(st, "No node can be asked, so nothing is known about any lock.")
	default:
		p.text(st, itoa(t.Up())+" of "+plural(len(t.Nodes), "node", "nodes")+" can be asked and "+itoa(t.Quorum)+" are needed, so nothing is known about any lock.")
	}
	p.gap()
	nameW, addrW := 4, 8
	for _, n := range t.Nodes {
		nameW = max(nameW, min(14, text.Width(text.CleanMax(n.Name, 40))))
		addrW = max(addrW, min(p.w/3, text.Width(text.CleanMax(n.Addr, 80))))
	}
	advice := make(map[text.Safe]bool)
	var order []text.Safe
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if len(p.lines) > h-4 && i < len(t.Nodes)-1 {
			p.text(sc.dim, "and "+itoa(len(t.Nodes)-i)+" more; 2 shows them all")
			break
		}
		glyph, gst := sc.nodeGlyph(n.State)
		ln := newLine(p.w).add(sc.plain, sc.g.fit.Fit(text.CleanMax(n.Name, 40), nameW)+" ").add(gst, glyph+" ")
		ln.add(sc.dim, sc.g.fit.FitMiddle(text.CleanMax(n.Addr, 80), addrW)+"  ")
		switch n.State {
		case inspect.NodeUp, inspect.NodeReplica:
			ln.add(sc.plain, "answers")
		case inspect.NodePending:
			ln.add(sc.plain, "connecting")
		default:
			said := cleanText(strings.TrimRight(n.Error, ". "))
			if said == "" {
				said = "no answer"
			}
			try := text.Safe("")
			if n.State == inspect.NodeDown {
				try = "  " + tryText(sc, n)
			}
			ln.add(sc.strong, sc.g.fit.Truncate(said, max(12, p.w-ln.used-text.Width(try)))).add(sc.dim, try)
			if a := stageAdvice(n); a != "" && !advice[a] {
				advice[a] = true
				order = append(order, a)
			}
		}
		p.add(ln.String())
	}
	p.gap()
	for _, a := range order {
		p.text(sc.plain, a)
	}
	p.text(sc.dim, "It goes on trying; r tries all of them now.")
}

// stageAdvice is what to look at, given the stage at which a connection failed.
func stageAdvice(n *inspect.NodeStatus) text.Safe {
	said := strings.ToLower(n.Error)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(said, word) })
	}
	switch {
	case n.State == inspect.NodeDenied && has("noauth", "wrongpass", "auth"):
		return "The password: set DLOCK_PASSWORD, and --user where the server has users."
	case n.State == inspect.NodeDenied:
		return "The permissions: this user needs SCAN and PTTL on the locks' keys."
	case has("no such host", "name", "lookup", "resolve"):
		return "The name: is the host spelled as it should be, and known to this machine's resolver?"
	case has("refused"):
		return "The port: the machine is there and nothing listens on it; is the server running, and on that port?"
	case has("tls", "certificate", "x509"):
		return "TLS: rediss:// for a server that speaks it, redis:// for one that does not; --cacert for its authority."
	case has("timeout", "in time", "deadline", "unreachable", "no route"):
		return "The way there: nothing answers in time; a firewall, another network, or a server that hangs."
	default:
		return ""
	}
}
