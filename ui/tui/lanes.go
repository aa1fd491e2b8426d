package tui

import (
	"time"

	"dlock/ui/text"
)

// A lane is one line of a timeline: what was the case at each moment of a
// window of time, in as many cells as there are.

// stretch is a time in which one thing was the case.
type stretch struct {
	from, to time.Time
	st       style
	glyph    text.Safe // one cell
}

// mark is a moment. Of two in one cell the one that weighs more is shown.
type mark struct {
	at     time.Time
	st     style
	glyph  text.Safe // one cell
	weight int
}

// lane is a label, what was the case, and what happened. Later stretches lie
// over earlier ones.
type lane struct {
	label     text.Safe
	stretches []stretch
	marks     []mark
}

// window is the time that a timeline shows, in a number of cells. A cell
// stands for the time from its begin, included, to the next one's.
type window struct {
	from, to time.Time
	cells    int
}

// cell is where a moment lies: below 0 before the window, cells or more after.
func (w window) cell(t time.Time) int {
	span := w.to.Sub(w.from)
	if span <= 0 || w.cells <= 0 {
		return -1
	}
	d := t.Sub(w.from)
	if d < 0 {
		return -1
	}
	if d >= span {
		if d == span {
			return w.cells - 1
		}
		return w.cells
	}
	return int(float64(d) / float64(span) * float64(w.cells))
}

// draw adds the lane's cells to a line.
func (l *lane) draw(ln *line, w window) {
	if w.cells <= 0 {
		return
	}
	type cell struct {
		st     style
		glyph  text.Safe
		weight int
	}
	cells := make([]cell, w.cells)
	for i := range cells {
		cells[i] = cell{glyph: " ", weight: -1}
	}
	for _, s := range l.stretches {
		from, to := max(0, w.cell(s.from)), min(w.cells-1, w.cell(s.to))
		if s.to.Before(w.from) || s.from.After(w.to) {
			continue
		}
		for i := from; i <= to; i++ {
			cells[i] = cell{s.st, s.glyph, -1}
		}
	}
	for _, m := range l.marks {
		if i := w.cell(m.at); i >= 0 && i < w.cells && m.weight > cells[i].weight {
			cells[i] = cell{m.st, m.glyph, m.weight}
		}
	}
	for _, c := range cells {
		ln.add(c.st, c.glyph)
	}
}

// ruler adds the scale above lanes: how long ago, at some places, with "now" at
// its right end.
func (w window) ruler(ln *line, st style) {
	if w.cells < 10 {
		ln.add(st, blanks(w.cells))
		return
	}
	start := ln.used
	parts := max(1, min(6, w.cells/14))
	for i := range parts {
		at := w.to.Sub(w.from) * time.Duration(parts-i) / time.Duration(parts)
		ln.to(start+w.cells*i/parts).add(st, "-"+spanText(at))
	}
	ln.to(start+w.cells-3).add(st, "now")
}

// spanText is a round length of time, short.
func spanText(d time.Duration) text.Safe {
	d = d.Round(time.Second)
	switch {
	case d < time.Minute:
		return itoa(int(d/time.Second)) + "s"
	case d%time.Minute == 0 && d < time.Hour:
		return itoa(int(d/time.Minute)) + "m"
	default:
		return text.Duration(d)
	}
}

// laneGlyphs are the signs of lanes, each one cell wide.
type laneGlyphs struct{ held, begin, renewed, less, more, stopped text.Safe }

func (g *glyphs) lanes() laneGlyphs {
	if g.ascii {
		return laneGlyphs{held: "=", begin: "[", renewed: "+", less: "v", more: "^", stopped: ":"}
	}
	return laneGlyphs{held: "━", begin: "┣", renewed: "┿", less: "▼", more: "▲", stopped: "░"}
}
