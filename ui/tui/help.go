package tui

import (
	"dlock/inspect"
	"dlock/ui/text"
)

// helpView lists the keys of a view, as the key map has them, and what words
// and glyphs mean.
type helpView struct {
	scroll scroller
}

// helpEntry is a line of the help.
type helpEntry struct{ key, text, why text.Safe }

func (v *helpView) view(sc *scene, m keyMap, in view, blocked func(action) text.Safe) []string {
	w, h := sc.lay.w-4, sc.lay.body()
	var lines []string
	if w >= 100 {
		lines = sideBySide(w, v.keyLines(sc, m, in, blocked, w*62/100-2, 2), legend(sc, w-w*62/100))
	} else {
		lines = append(v.keyLines(sc, m, in, blocked, w, 1), newLine(w).String())
		lines = append(lines, legend(sc, w)...)
	}
	v.scroll.set(len(lines), h-2)
	remark := text.Safe("? or esc closes")
	if v.scroll.total > v.scroll.height {
		remark = itoa(v.scroll.off+1) + "-" + itoa(min(v.scroll.total, v.scroll.off+v.scroll.height)) + " of " + itoa(v.scroll.total) + ", " + sc.g.up + sc.g.down + " scroll"
	}
	return sc.pane(sc.lay.w, h, "Help", remark, v.scroll.show(lines))
}

// keyLines lists the bindings by group, in one column or two.
func (v *helpView) keyLines(sc *scene, m keyMap, in view, blocked func(action) text.Safe, w, columns int) []string {
	colW := (w - 2*(columns-1)) / columns
	var blocks [][]string
	for _, g := range groups {
		var block []string
		for _, b := range m {
			if b.group != g || b.label == "" || b.in&in == 0 {
				continue
			}
			if block == nil {
				block = append(block, newLine(colW).add(sc.strong, g).String())
			}
			ln := newLine(colW)
			why := blocked(b.act)
			st := sc.plain
			if why != "" {
				st = sc.dim
			}
			ln.add(sc.key, sc.g.fit.Fit(b.show(&sc.g), 9)).add(st, " "+sc.g.fit.Truncate(b.label, colW-10))
			block = append(block, ln.String())
			if why != "" {
				for _, s := range wrap("not now: "+why, colW-12) {
					block = append(block, newLine(colW).to(12).add(sc.dim, s).String())
				}
			}
		}
		if block != nil {
			blocks = append(blocks, append(block, newLine(colW).String()))
		}
	}
	if columns == 1 {
		var out []string
		for _, b := range blocks {
			out = append(out, b...)
		}
		return out
	}
	total := 0
	for _, b := range blocks {
		total += len(b)
	}
	var left, right []string
	for _, b := range blocks {
		if len(left)+len(b) <= (total+1)/2+2 || len(left) == 0 {
			left = append(left, b...)
		} else {
			right = append(right, b...)
		}
	}
	return sideBySide(w, left, right)
}

// sideBySide joins two blocks of lines with a gap between; the right block
// starts after the width of the left one's first line.
func sideBySide(w int, left, right []string) []string {
	lw := 0
	if len(left) > 0 {
		lw = text.AnsiWidth(left[0])
	}
	rw := 0
	if len(right) > 0 {
		rw = text.AnsiWidth(right[0])
	}
	out := make([]string, max(len(left), len(right)))
	for i := range out {
		l := newLine(w)
		if i < len(left) {
			l.raw(left[i], lw)
		}
		l.to(w - rw)
		if i < len(right) {
			l.raw(right[i], rw)
		}
		out[i] = l.String()
	}
	return out
}

// legend says what glyphs and words mean.
func legend(sc *scene, w int) []string {
	var out []string
	head := func(s text.Safe) { out = append(out, newLine(w).add(sc.strong, s).String()) }
	row := func(st style, glyph, s text.Safe) {
		ln := newLine(w).add(st, glyph)
		out = append(out, ln.to(12).add(sc.plain, sc.g.fit.Truncate(s, max(0, w-12))).String())
	}
	head("VOTES")
	row(sc.calm, sc.g.this, "stores the owner's token")
	row(sc.other, sc.g.other, "stores another token")
	row(sc.dim, sc.g.free, "stores nothing")
	row(sc.weak, sc.g.silent, "does not answer")
	row(sc.weak, sc.g.unknown, "does not let us look")
	out = append(out, newLine(w).String())
	head("STATE, worst first")
	state := func(b badge, s text.Safe) { row(b.style, b.glyph+" "+b.word, s) }
	state(sc.stateBadge(inspect.Split), "several tokens, no majority")
	state(sc.flagBadge(inspect.NoExpiry), "stays until somebody deletes it")
	state(sc.flagBadge(inspect.Stuck), "held longer than it should be")
	state(sc.stateBadge(inspect.Partial), "a minority's leftover")
	state(sc.stateBadge(inspect.Unknown), "silent nodes could decide")
	state(sc.flagBadge(inspect.Expiring), "nearly over and not renewed")
	state(sc.flagBadge(inspect.Leftover), "held, an old copy beside it")
	state(sc.flagBadge(inspect.Degraded), "held, with no vote to spare")
	state(sc.stateBadge(inspect.Held), "a majority stores one token")
	state(sc.stateBadge(inspect.Expired), "just gone")
	out = append(out, newLine(w).String())
	row(sc.plain, sc.g.atLeast+"1m", "at least: it was there before us")
	row(sc.plain, "check", "over by our count; look pending")
	return out
}
