package tui

import "dlock/ui/text"

// pane draws a box with a title at the left of its upper border and a remark
// at the right. The content's lines must be w-4 cells wide; the result has
// exactly h lines of w cells.
func (k *kit) pane(w, h int, title, remark text.Safe, content []string) []string {
	if w < 4 || h < 2 {
		return fill(nil, w, h)
	}
	out := make([]string, 0, h)
	out = append(out, k.border(w, title, remark, k.g.tl, k.g.tr))
	left, right := k.frame.apply(k.g.vert)+" ", " "+k.frame.apply(k.g.vert)
	for _, c := range fill(content, w-4, h-2) {
		out = append(out, left+c+right)
	}
	out = append(out, newLine(w).add(k.frame, k.g.bl+text.Repeat(k.g.dash, w-2)+k.g.br).String())
	return out
}

// border is the upper border of a pane.
func (k *kit) border(w int, title, remark, left, right text.Safe) string {
	l := newLine(w)
	l.add(k.frame, left+k.g.dash)
	room := w - 5
	if remark != "" && text.Width(remark)+8 > room {
		remark = ""
	}
	rw := 0
	if remark != "" {
		rw = text.Width(remark) + 2
	}
	title = k.g.fit.Truncate(title, room-rw-1)
	if title != "" {
		l.add(k.title, " "+title+" ")
	}
	l.add(k.frame, text.Repeat(k.g.dash, w-2-rw-l.used))
	if remark != "" {
		l.add(k.dim, " "+remark+" ")
	}
	return l.add(k.frame, k.g.dash+right).String()
}

// rule is a horizontal line with a title and a remark, for screens too small
// for boxes.
func (k *kit) rule(w int, title, remark text.Safe) string {
	return k.border(w, title, remark, k.g.dash, k.g.dash)
}

// kit is what everything that draws needs: styles and glyphs.
type kit struct {
	theme
	g glyphs
}
