package tui

import (
	"dlock/inspect"
	"dlock/ui/text"
)

// boxWidth is how wide the boxes of a strip must be for the tokens in them to
// be told apart.
func (sc *scene) boxWidth(l *inspect.Lock) int {
	const least, most = 12, 14
	need := least
	for i := range l.Copies {
		what, _ := copyWords(sc, l, &l.Copies[i])
		need = max(need, text.Width(what)+2+4)
	}
	return min(need, most)
}

// quorumStrip is one box per node, and beside them the count, where it fits.
func (sc *scene) quorumStrip(l *inspect.Lock, w, boxW, gap int, boxed bool) []string {
	n := len(l.Copies)
	rows := 4
	if boxed {
		rows = 6
	}
	lines := make([]*line, rows)
	for i := range lines {
		lines[i] = newLine(w)
	}
	for i := range l.Copies {
		c := &l.Copies[i]
		x := i * (boxW + gap)
		st := sc.answerStyle(c.Answer)
		what, when := copyWords(sc, l, c)
		if c.Answer == inspect.AnswerUnreachable {
			what = "SILENT"
			if !c.SampledAt.IsZero() && when == "-" {
				when = coarse(sc.now, c.SampledAt) + " ago"
			}
		}
		left, hasBar := c.Expiry.Remaining(sc.now)
		hasBar = hasBar && l.FullTTL > 0 && (c.Answer == inspect.AnswerHeld || c.Answer == inspect.AnswerOther)
		bar := func(ln *line, w int) {
			if hasBar {
				sc.addBar(ln, sc.bar, min(1, float64(left)/float64(l.FullTTL)), w)
				return
			}
			ln.add(sc.plain, blanks(w))
		}
		name := sc.g.fit.Truncate(text.CleanMax(c.Node, 40), boxW-2)
		if !boxed {
			lines[0].to(x).add(sc.dim, name)
			lines[1].to(x).add(st, sc.g.fit.Truncate(sc.g.answer(c.Answer)+" "+what, boxW))
			lines[2].to(x).add(sc.plain, sc.g.fit.Truncate(when, boxW))
			bar(lines[3].to(x), boxW-3)
			continue
		}
		in := boxW - 4
		lines[0].to(x+2).add(sc.dim, name)
		lines[1].to(x).add(sc.frame, sc.g.stl+text.Repeat(sc.g.dash, boxW-2)+sc.g.str)
		for j, cell := range []struct {
			st style
			s  text.Safe
		}{{st, sc.g.answer(c.Answer) + " " + what}, {sc.plain, when}} {
			lines[2+j].to(x).add(sc.frame, sc.g.vert+" ").add(cell.st, sc.g.fit.Fit(cell.s, in)).add(sc.frame, " "+sc.g.vert)
		}
		lines[4].to(x).add(sc.frame, sc.g.vert+" ")
		bar(lines[4], in)
		lines[4].add(sc.frame, " "+sc.g.vert)
		lines[5].to(x).add(sc.frame, sc.g.sbl+text.Repeat(sc.g.dash, boxW-2)+sc.g.sbr)
	}
	x := n*(boxW+gap) + 2
	if w-x >= 20 {
		agree, differ, free, silent := answerNames(l)
		for i, s := range []struct {
			label text.Safe
			who   []string
		}{{"agree ", agree}, {"differ", differ}, {"free  ", free}, {"silent", silent}} {
			row := i
			if boxed {
				row = i + 2
			}
			if row >= rows {
				break
			}
			ln := lines[row].to(x)
			if len(s.who) == 0 {
				ln.add(sc.dim, s.label+"  0")
				continue
			}
			ln.add(sc.plain, s.label+"  ").add(sc.strong, itoa(len(s.who))).add(sc.dim, sc.g.fit.Truncate("  "+names(s.who), w-ln.used))
		}
		if boxed {
			lines[0].to(x).add(sc.strong, "quorum "+itoa(l.Votes.Need)+" of "+itoa(l.Votes.Of))
		}
	}
	out := make([]string, rows)
	for i, ln := range lines {
		out[i] = ln.String()
	}
	return out
}

func answerNames(l *inspect.Lock) (agree, differ, free, silent []string) {
	for _, c := range l.Copies {
		switch c.Answer {
		case inspect.AnswerHeld:
			agree = append(agree, c.Node)
		case inspect.AnswerOther:
			differ = append(differ, c.Node)
		case inspect.AnswerFree:
			free = append(free, c.Node)
		default:
			silent = append(silent, c.Node)
		}
	}
	return
}

// copiesTable is one row per node.
func (sc *scene) copiesTable(l *inspect.Lock, w int) []string {
	addr := make(map[string]string)
	for _, n := range target(sc).Nodes {
		addr[n.Name] = n.Addr
	}
	wide := w >= 100
	nodeW := 5
	for _, c := range l.Copies {
		nodeW = max(nodeW, min(12, text.Width(text.CleanMax(c.Node, 40))))
	}
	addrW, tokW := 20, 10
	if wide {
		addrW, tokW = 26, 14
	}
	head := newLine(w).add(sc.dim, text.Fit("NODE", nodeW)+" "+text.Fit("ADDRESS", addrW)+" "+text.Fit("ANSWER", 8)+" "+text.Fit("TOKEN", tokW)+" "+text.FitRight("TTL", 6))
	if wide {
		head.add(sc.dim, "  "+text.FitRight("RTT", 7)+"  "+text.FitRight("SAMPLED", 8))
	}
	head.add(sc.dim, "  LAST CHANGE")
	out := []string{head.String()}
	for i := range l.Copies {
		c := &l.Copies[i]
		st := sc.answerStyle(c.Answer)
		ln := newLine(w).add(sc.plain, sc.g.fit.Fit(text.CleanMax(c.Node, 40), nodeW)+" ")
		ln.add(sc.dim, sc.g.fit.Fit(text.CleanMax(addr[c.Node], 80), addrW)+" ")
		word := text.Safe("silent")
		if c.Answer != inspect.AnswerUnreachable {
			word = cleanText(string(c.Answer))
		}
		ln.add(st, sc.g.fit.Fit(word, 8)).add(sc.plain, " ")
		token, ttl := text.Safe("-"), text.Safe("-")
		if c.Answer == inspect.AnswerHeld || c.Answer == inspect.AnswerOther {
			ttl = ttlText(c.Expiry, sc.now)
			token = "not read"
			if c.HasToken {
				token = sc.shortOf(l, c.Token)
			}
		} else if c.Token != "" {
			token = "was " + sc.tinyOf(l, c.Token)
		}
		ln.add(sc.plain, sc.g.fit.Fit(token, tokW)+" "+text.FitRight(ttl, 6))
		if wide {
			sampled := text.Safe("never")
			if !c.SampledAt.IsZero() {
				sampled = since(sc.now, c.SampledAt)
			}
			r := text.Safe("-")
			if c.RTT > 0 && c.Answer != inspect.AnswerUnreachable {
				r = rtt(inspect.Known(c.RTT))
			}
			ln.add(sc.dim, "  "+text.FitRight(r, 7)+"  "+text.FitRight(sampled, 8))
		}
		change := text.Safe("")
		if c.Change != "" {
			change = clock(c.ChangedAt, false) + " " + cleanText(string(c.Change))
		}
		if c.Error != "" {
			change = join("  ", change, cleanText(c.Error))
		}
		ln.add(sc.plain, "  "+sc.g.fit.Truncate(change, max(0, w-ln.used-2)))
		out = append(out, ln.String())
	}
	return out
}
