package tui

import (
	"dlock/inspect"
	"dlock/ui/text"
)

// previewPanes draws what stands below the table.
func (sc *scene) previewPanes(l *inspect.Lock) []string {
	h, w := sc.lay.preview, sc.lay.w
	if !sc.lay.boxed {
		return sc.previewLines(l, h)
	}
	if !sc.lay.events {
		return sc.pane(w, h, sc.previewTitle(l), "enter: in full", sc.cutOff(sc.preview(l, w-4, h-2), w-4, h-2))
	}
	lw := w * 55 / 100
	rw := w - lw
	left := sc.pane(lw, h, sc.previewTitle(l), "enter: in full", sc.cutOff(sc.preview(l, lw-4, h-2), lw-4, h-2))
	right := sc.pane(rw, h, "Events", "3: all", sc.newestEvents(rw-4, h-2))
	for i := range left {
		left[i] += right[i]
	}
	return left
}

// cutOff leaves the first h lines, and says so if there are more.
func (sc *scene) cutOff(lines []string, w, h int) []string {
	if len(lines) <= h || h < 1 {
		return lines
	}
	lines = lines[:h]
	lines[h-1] = newLine(w).add(sc.dim, sc.g.fit.Truncate(sc.kit.ellipsis()+" enter shows the rest", w)).String()
	return lines
}

func (sc *scene) previewTitle(l *inspect.Lock) text.Safe {
	if l == nil {
		return "No lock selected"
	}
	return sc.g.fit.TruncateMiddle(keyText(l.ID.Key), max(8, sc.lay.w*2/5))
}

// preview is a lock in a few lines: what its state means, each node's copy,
// who claims it, what is wrong and what to do.
func (sc *scene) preview(l *inspect.Lock, w, h int) []string {
	if l == nil {
		return nil
	}
	var out []string
	b := sc.rowBadge(l)
	first := newLine(w).add(b.style, " "+b.word+" ").add(sc.plain, " ")
	rest := wrap(explain(sc.kit, *l, sc.now), w-first.used)
	if len(rest) > 0 {
		first.add(sc.plain, rest[0])
	}
	indent := text.Width(b.word) + 3
	out = append(out, first.String())
	for _, s := range rest[min(1, len(rest)):] {
		out = append(out, newLine(w).to(indent).add(sc.plain, s).String())
	}
	if n := len(l.Copies); n > 1 && n*9 <= w && h >= 7 {
		out = append(out, sc.copiesColumns(l, w, 9)...)
	}
	if h >= 8 {
		out = append(out, newLine(w).String())
	}
	for i, o := range l.Owners {
		if i == 2 && len(l.Owners) > 3 {
			out = append(out, newLine(w).add(sc.dim, "and "+itoa(len(l.Owners)-2)+" more owners").String())
			break
		}
		ln := newLine(w).add(sc.dim, sc.g.fit.Fit(ownerLabel(l, i), 8)).add(sc.strong, ownerText(sc.kit, o))
		if o.Name != "" {
			ln.add(sc.dim, "  "+sc.shortOf(l, o.Token))
		}
		ln.add(sc.plain, "  "+where(l, o))
		if i == 0 && !l.HeldSince.IsZero() {
			ln.add(sc.plain, "  for "+heldFor(sc.kit, *l, sc.now))
		}
		out = append(out, ln.String())
	}
	if l.State != inspect.Expired {
		out = append(out, newLine(w).add(sc.dim, sc.g.fit.Fit("ends", 8)).add(sc.plain, expiryShort(*l, sc)).String())
	}
	for _, f := range l.Findings {
		for i, s := range wrap(cleanText(f.Text)+" "+cleanText(f.Advice), w-8) {
			ln := newLine(w)
			if i == 0 {
				ln.add(sc.weak, sc.g.fit.Fit("note", 8))
			} else {
				ln.to(8)
			}
			out = append(out, ln.add(sc.plain, s).String())
		}
	}
	return out
}

func expiryShort(l inspect.Lock, sc *scene) text.Safe {
	s := expiryText(l, sc.now)
	if l.Renewals > 0 {
		s += "; " + renewText(l, sc.now)
	}
	return s
}

// ownerLabel is "owner", or with several a letter to tell them by.
func ownerLabel(l *inspect.Lock, i int) text.Safe {
	if len(l.Owners) == 1 {
		return "owner"
	}
	return "owner " + text.Clean(string(rune('A'+i%26)))
}

// copiesColumns is one narrow column per node: its name and answer, the
// token, the time to live.
func (sc *scene) copiesColumns(l *inspect.Lock, w, colW int) []string {
	a, b, c := newLine(w), newLine(w), newLine(w)
	for i := range l.Copies {
		cp := &l.Copies[i]
		st := sc.answerStyle(cp.Answer)
		x := i * colW
		a.to(x).add(sc.plain, sc.g.fit.Truncate(text.CleanMax(cp.Node, 24), colW-3)+" ").add(st, sc.g.answer(cp.Answer))
		second, third := copyWords(sc, l, cp)
		b.to(x).add(st, sc.g.fit.Truncate(second, colW-1))
		c.to(x).add(sc.dim, sc.g.fit.Truncate(third, colW-1))
	}
	return []string{a.String(), b.String(), c.String()}
}

// copyWords is a copy in two short words: what the node has, and until when.
func copyWords(sc *scene, l *inspect.Lock, c *inspect.Copy) (what, when text.Safe) {
	switch c.Answer {
	case inspect.AnswerHeld, inspect.AnswerOther:
		what = "a value"
		if c.HasToken {
			what = sc.tinyOf(l, c.Token)
		} else if c.Type != "" {
			what = cleanText(c.Type)
		}
		return what, ttlText(c.Expiry, sc.now)
	case inspect.AnswerFree:
		return "free", "-"
	case inspect.AnswerDenied:
		return "denied", "-"
	case inspect.AnswerPending:
		return "asking", "-"
	default:
		when = "-"
		if c.Token != "" {
			when = "was " + sc.tinyOf(l, c.Token)
		}
		return "silent", when
	}
}

// previewLines is the preview of a small screen: a rule and two lines.
func (sc *scene) previewLines(l *inspect.Lock, h int) []string {
	w := sc.lay.w
	out := []string{sc.rule(w, sc.previewTitle(l), "")}
	if l == nil {
		return fill(out, w, h)
	}
	first := newLine(w).add(sc.plain, " ")
	for i := range l.Copies {
		c := &l.Copies[i]
		what, when := copyWords(sc, l, c)
		if c.Answer == inspect.AnswerUnreachable && when != "-" {
			what = when
		}
		piece := text.CleanMax(c.Node, 12) + " "
		if first.used+text.Width(piece)+text.Width(what)+4 > w {
			break
		}
		st := sc.answerStyle(c.Answer)
		first.add(sc.plain, piece).add(st, sc.g.answer(c.Answer)+" "+what).add(sc.plain, "  ")
	}
	out = append(out, first.String())
	st := sc.dim
	if len(l.Findings) > 0 {
		st = sc.weak
	}
	parts := sc.previewText(l)
	for i, s := range parts {
		if len(out) == h-1 && i < len(parts)-1 { // the last line there is
			s = sc.g.fit.Truncate(s+" "+parts[i+1], w-2)
		}
		out = append(out, newLine(w).add(sc.plain, " ").add(st, s).String())
	}
	return fill(out, w, h)
}

// previewText is what a small screen says about a lock, in lines.
func (sc *scene) previewText(l *inspect.Lock) []text.Safe {
	w := sc.lay.w - 2
	if len(l.Findings) > 0 {
		return wrap(cleanText(l.Findings[0].Text)+" "+cleanText(l.Findings[0].Advice), w)
	}
	s := explain(sc.kit, *l, sc.now)
	if l.State != inspect.Expired {
		s += "; ends " + expiryShort(*l, sc)
	}
	return wrap(s, w)
}

// newestEvents lists what happened last, newest first, in two lines each
// where one does not do.
func (sc *scene) newestEvents(w, h int) []string {
	var out []string
	events := sc.snap.Events
	for i := len(events) - 1; i >= 0 && len(out) < h; i-- {
		e := &events[i]
		ln := newLine(w).add(sc.dim, clock(e.At, false)+" ").add(sc.eventStyle(e.Kind), sc.g.fit.Fit(eventWord(e), 11)).add(sc.plain, " ")
		ln.add(sc.plain, sc.g.fit.TruncateMiddle(eventSubject(e), w-ln.used))
		out = append(out, ln.String())
		if e.Key == "" && e.Node == "" {
			continue // its text is all there is to say
		}
		if detail := eventDetail(sc.kit, e); detail != "" && len(out) < h && h >= 8 && notable(e.Kind) {
			out = append(out, newLine(w).to(9).add(sc.dim, sc.g.fit.Truncate(detail, w-9)).String())
		}
	}
	if len(out) == 0 {
		out = append(out, newLine(w).add(sc.dim, "nothing has happened since dlock began to watch").String())
	}
	return out
}
