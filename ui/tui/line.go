package tui

import (
	"strings"

	"dlock/ui/text"
)

// line builds one line of a screen, of an exact width. What does not fit is
// cut; what is missing is filled with blanks.
type line struct {
	sb    strings.Builder
	used  int
	width int
	// over, when set, replaces every style: the row under the cursor, a
	// stale table.
	over *style
	// last is the style that is open at the end of what there is. A run
	// of pieces of one style costs one pair of sequences, which is most of
	// what a row costs on a slow line.
	last style
}

func newLine(width int) *line { return &line{width: max(0, width)} }

// add appends s, cut at the end of the line.
func (l *line) add(st style, s text.Safe) *line {
	room := l.width - l.used
	if room <= 0 || s == "" {
		return l
	}
	w := text.Width(s)
	if w > room {
		s = cut(s, room)
		w = text.Width(s)
	}
	if l.over != nil {
		st = *l.over
	}
	l.turn(st)
	l.sb.WriteString(string(s))
	l.used += w
	return l
}

// cut is the head of s in at most room cells. Text that is lost leaves a mark;
// blanks and rules do not.
func cut(s text.Safe, room int) text.Safe {
	head := prefix(s, room)
	if strings.Trim(string(s[len(head):]), " ─-━") == "" {
		return head
	}
	return prefix(s, room-1) + ellipsis
}

const ellipsis text.Safe = "…"

// turn ends the open style, unless it is this one, and begins this one.
func (l *line) turn(st style) {
	if st == l.last {
		return
	}
	l.sb.WriteString(l.last.close)
	l.sb.WriteString(st.open)
	l.last = st
}

// piece is what there is, with nothing left open and not filled.
func (l *line) piece() string {
	l.turn(style{})
	return l.sb.String()
}

// raw appends a piece that is styled already and has w cells. The caller
// answers for w.
func (l *line) raw(s string, w int) *line {
	if l.used+w <= l.width {
		l.turn(style{})
		l.sb.WriteString(s)
		l.used += w
	}
	return l
}

// to fills with blanks up to column x.
func (l *line) to(x int) *line {
	return l.add(style{}, blanks(min(x, l.width)-l.used))
}

// String is the line, filled to its width.
func (l *line) String() string {
	l.to(l.width)
	return l.piece()
}

// ends is a line with something at its left and something at its right end;
// the right part goes first when both do not fit.
func ends(width int, left, right *line) string {
	l := newLine(width)
	lw, rw := left.used, right.used
	if lw+rw+1 > width {
		// cut the left part, keep the right one if a little of both fits
		if rw+12 > width {
			return l.raw(text.PadStyled(left.piece(), width), width).String()
		}
		lw = width - rw - 1
		return l.raw(text.PadStyled(left.piece(), lw), lw).to(width-rw).raw(right.piece(), rw).String()
	}
	return l.raw(left.piece(), lw).to(width-rw).raw(right.piece(), rw).String()
}

// fill returns exactly h lines, the given ones cut or filled with empty ones.
func fill(lines []string, width, h int) []string {
	h = max(0, h)
	if len(lines) > h {
		return lines[:h]
	}
	if len(lines) < h {
		empty := newLine(width).String()
		for len(lines) < h {
			lines = append(lines, empty)
		}
	}
	return lines
}
