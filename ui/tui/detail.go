package tui

import (
	"slices"
	"time"

	"dlock/inspect"
	"dlock/ui/text"
)

// detailView is one lock in full. It follows the lock by its identity; when
// the lock is gone it keeps what was known last and says so.
type detailView struct {
	id       inspect.ID
	last     inspect.Lock // as it was in the newest snapshot that had it
	known    bool
	missing  bool
	lastSeen time.Time // when it was last there
	scroll   scroller
}

// open turns the view to a lock.
func (v *detailView) open(l inspect.Lock, now time.Time) {
	*v = detailView{id: l.ID, last: l, known: true, lastSeen: now}
}

func (v *detailView) setData(s *inspect.Snapshot, now time.Time) {
	if !v.known {
		return
	}
	for i := range s.Locks {
		if s.Locks[i].ID == v.id {
			v.last, v.missing = s.Locks[i], false
			if v.last.State != inspect.Expired {
				v.lastSeen = now
			}
			return
		}
	}
	v.missing = true
}

// lock is the lock that is shown. One that is missing is shown as gone,
// whatever it was before.
func (v *detailView) lock() inspect.Lock {
	l := v.last
	if v.missing {
		l.State = inspect.Expired
		l.Flags, l.Findings = nil, nil
	}
	return l
}

func (v *detailView) view(sc *scene) []string {
	h, w := sc.lay.body(), sc.lay.w-4
	lines := v.content(sc, w, h)
	v.scroll.set(len(lines), h-2)
	title := "Lock " + sc.g.fit.TruncateMiddle(keyText(v.id.Key), max(8, sc.lay.w-40))
	remark := text.Safe("esc back")
	if v.scroll.total > v.scroll.height {
		remark = itoa(v.scroll.off+1) + "-" + itoa(min(v.scroll.total, v.scroll.off+v.scroll.height)) + " of " + itoa(v.scroll.total) + ", " + sc.g.up + sc.g.down + " scroll"
	} else if sc.lay.w >= 100 {
		remark = "esc back   [ ] previous, next lock"
	}
	return sc.pane(sc.lay.w, h, title, remark, v.scroll.show(lines))
}

const labelWidth = 10

// content is the lock in full, however many lines that takes.
func (v *detailView) content(sc *scene, w, h int) []string {
	l := v.lock()
	var out []string
	add := func(ln *line) { out = append(out, ln.String()) }
	blank := func() { add(newLine(w)) }
	field := func(label text.Safe, st style, value text.Safe) {
		for i, s := range wrap(value, w-labelWidth) {
			ln := newLine(w)
			if i == 0 {
				ln.add(sc.dim, sc.g.fit.Fit(label, labelWidth))
			} else {
				ln.to(labelWidth)
			}
			add(ln.add(st, s))
		}
	}

	// What it is, in one line.
	b := sc.stateBadge(l.State)
	if l.State == inspect.Expired {
		b = sc.rowBadge(&l)
	}
	first := newLine(w).add(sc.dim, sc.g.fit.Fit("STATE", labelWidth)).add(b.style, b.glyph+" "+b.word)
	for _, f := range flagOrder {
		if l.Has(f) && l.State != inspect.Expired {
			fb := sc.flagBadge(f)
			first.add(sc.plain, "  ").add(fb.style, fb.glyph+" "+fb.word)
		}
	}
	what := explain(sc.kit, l, sc.now)
	if v.missing {
		what = "nobody stores it any more; last seen " + coarse(sc.now, v.lastSeen) + " ago"
	}
	if first.used+3+text.Width(what) <= w {
		add(first.add(sc.plain, "   "+what))
	} else {
		add(first)
		field("", sc.plain, what)
	}
	if l.State != inspect.Expired {
		ends := newLine(w).add(sc.dim, sc.g.fit.Fit("ENDS", labelWidth))
		if f, ok := fraction(l, sc.now); ok {
			sc.addBar(ends, sc.bar, f, 12)
			ends.add(sc.plain, "  ")
		}
		add(ends.add(sc.strong, sc.g.fit.Truncate(expiryText(l, sc.now), w-ends.used)))
		field("HELD", sc.plain, join("   ", heldSentence(sc.kit, l, sc.now), renewText(l, sc.now)))
	}
	field("KIND", sc.plain, v.kindText(sc, l))

	for _, f := range l.Findings {
		blank()
		st := sc.weak
		if f.Severity == inspect.High {
			st = sc.alarm
		}
		for i, s := range wrap(cleanText(f.Text), w-labelWidth) {
			ln := newLine(w)
			if i == 0 {
				label := newLine(labelWidth).add(st, severityWord(f.Severity))
				ln.raw(label.String(), labelWidth)
			} else {
				ln.to(labelWidth)
			}
			add(ln.add(sc.strong, s))
		}
		field("  do", sc.plain, cleanText(f.Advice))
	}

	if n := len(l.Copies); n > 1 {
		const boxW, gap = 12, 1
		if n*(boxW+gap) <= w {
			blank()
			for _, s := range sc.quorumStrip(&l, w, boxW, gap, h >= 28) {
				out = append(out, s)
			}
		}
	}
	blank()
	out = append(out, sc.copiesTable(&l, w)...)
	if len(l.Owners) > 0 {
		blank()
		out = append(out, sc.ownersTable(&l, w)...)
	}
	if recent := recentEvents(sc.snap.Events, l.ID.Key, 6); len(recent) > 0 {
		blank()
		for i, e := range recent {
			label := text.Safe("")
			if i == 0 {
				label = "EVENTS"
			}
			ln := newLine(w).add(sc.dim, sc.g.fit.Fit(label, labelWidth)+clock(e.At, sc.fineEvents())+" ")
			ln.add(sc.eventStyle(e.Kind), sc.g.fit.Fit(eventWord(&e), 12))
			node := text.Safe("")
			if e.Node != "" {
				node = text.CleanMax(e.Node, 24) + "  "
			}
			add(ln.add(sc.plain, sc.g.fit.Truncate(node+eventDetail(sc.kit, &e), w-ln.used)))
		}
	}
	return out
}

func severityWord(s inspect.Severity) text.Safe {
	switch s {
	case inspect.High:
		return " HIGH "
	case inspect.Medium:
		return "MEDIUM"
	default:
		return "NOTE"
	}
}

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

func (v *detailView) kindText(sc *scene, l inspect.Lock) text.Safe {
	library := cleanText(l.Library)
	if library == "" || library == "unknown" {
		library = "unknown library"
	}
	parts := []text.Safe{join(" ", library, cleanText(l.Kind))}
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
		parts = append(parts, plural(l.Waiters.Value, "waiter", "waiters"))
	}
	if l.Idle.Known {
		parts = append(parts, "idle "+text.Duration(l.Idle.Value))
	}
	return join("   ", parts...)
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

// ownersTable is one row per token that is stored.
func (sc *scene) ownersTable(l *inspect.Lock, w int) []string {
	var out []string
	for i, o := range l.Owners {
		ln := newLine(w).add(sc.dim, sc.g.fit.Fit(upperOwner(l, i), labelWidth))
		name := text.Safe("(the value names nobody)")
		if o.Name != "" {
			name = cleanKey(o.Name)
		}
		ln.add(sc.strong, sc.g.fit.Truncate(name, 40)).add(sc.plain, "  token "+sc.shortOf(l, o.Token))
		ln.add(sc.plain, "  "+where(l, o))
		if o.Count > 1 {
			ln.add(sc.plain, "  entered "+itoa(o.Count)+" times")
		}
		if !o.Since.IsZero() {
			ln.add(sc.dim, "  asked "+coarse(sc.now, o.Since)+" ago")
		}
		if contested(l) || i > 0 {
			ln.add(sc.dim, "  ends "+ttlText(o.Expiry, sc.now))
		}
		out = append(out, ln.String())
	}
	if len(l.Owners) == 1 {
		for i, s := range wrap("value     "+text.CleanMax(l.Owners[0].Token, 256), w-labelWidth) {
			if i > 2 {
				break
			}
			out = append(out, newLine(w).to(labelWidth).add(sc.dim, s).String())
		}
	}
	return out
}

func upperOwner(l *inspect.Lock, i int) text.Safe {
	if len(l.Owners) == 1 {
		return "OWNER"
	}
	return "OWNER " + text.Clean(string(rune('A'+i%26)))
}

// recentEvents are the newest events of a key, newest first.
func recentEvents(events []inspect.Event, key string, n int) []inspect.Event {
	var out []inspect.Event
	for _, e := range slices.Backward(events) {
		if e.Key == key {
			out = append(out, e)
			if len(out) == n {
				break
			}
		}
	}
	return out
}
