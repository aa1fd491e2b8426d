package tui

import "dlock/ui/text"

// What the views that list things have in common.

// row begins a row of a list: the cursor's mark and look if it is the one under
// the cursor.
func (sc *scene) row(w int, selected bool) *line {
	ln := newLine(w)
	if selected {
		ln.over = &sc.cursor
		return ln.add(sc.plain, sc.g.cursor+" ")
	}
	if sc.stale() || sc.broken != "" {
		ln.over = &sc.dim
	}
	return ln.add(sc.plain, "  ")
}

// chip adds a word that stays an alarm under the cursor.
func (sc *scene) chip(ln *line, st style, s text.Safe) {
	if ln.over == &sc.cursor && (st == sc.alarm || st == sc.warn) {
		ln.over = nil
		ln.add(st, s)
		ln.over = &sc.cursor
		return
	}
	ln.add(st, s)
}

// framed puts a view's content into the main pane: a box, or a rule above it
// where there is no room for one.
func (sc *scene) framed(title, remark text.Safe, content []string) []string {
	h := sc.lay.body()
	if sc.lay.boxed {
		return sc.pane(sc.lay.w, h, title, remark, content)
	}
	return append([]string{sc.rule(sc.lay.w, title, remark)}, fill(content, sc.lay.w, h-1)...)
}

// position is a remark, and which part of the rows can be seen if not all.
func (sc *scene) position(off, height, total int, remark text.Safe) text.Safe {
	if total <= height {
		return remark
	}
	return join("   ", remark, itoa(off+1)+"-"+itoa(min(total, off+height))+" of "+text.Count(total))
}

// paragraphs are sentences in the middle of a pane that has nothing else.
func (sc *scene) paragraphs(w int, sentences []text.Safe) []string {
	out := []string{newLine(w).String()}
	for _, s := range sentences {
		for _, part := range wrap(s, w-4) {
			out = append(out, newLine(w).add(sc.plain, "  "+part).String())
		}
	}
	return out
}

// labelWidth is the column of labels at the left of a page, as its fields have
// it.
const labelWidth = fieldWidth + 1

func (p *page) add(lines ...string) { p.lines = append(p.lines, lines...) }

// block adds lines after an empty one, and nothing if there are none.
func (p *page) block(lines []string) {
	if len(lines) > 0 {
		p.gap()
		p.add(lines...)
	}
}
