package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// resetStyle ends every colour and attribute.
const resetStyle = "\x1b[0m"

// AnsiWidth returns how many cells an already styled line takes: Safe text
// between SGR sequences (colours and attributes), which take none.
func AnsiWidth(s string) int {
	width := 0
	for s != "" {
		size, w, kind := piece(s)
		if kind != sgrPiece {
			width += w
		}
		s = s[size:]
	}
	return width
}

// PadStyled returns an already styled line in exactly w cells: cut at the right
// without an ellipsis, or followed by spaces, which take on a style that the
// line leaves open. The result leaves none open. A wide character that would be
// cut in half becomes a space. Control bytes other than those of an SGR
// sequence, which Safe text has none of, become a question mark.
func PadStyled(s string, w int) string { return cutStyled(s, 0, max(0, w)) }

// Overlay returns the frame, a list of styled lines, with the box put over it
// so that the box's first character stands in column x of line y, counted from
// 0. The box is as wide as its widest line. What does not lie on the frame is
// cut off; x and y may be negative. Every line keeps its width exactly: a wide
// character that the box covers half of leaves a space. Neither argument is
// changed, and no style runs from one into the other.
func Overlay(frame []string, box []string, x, y int) []string {
	out := make([]string, len(frame))
	copy(out, frame)
	boxWidth := 0
	for _, line := range box {
		boxWidth = max(boxWidth, AnsiWidth(line))
	}
	for i, line := range box {
		row := y + i
		if row < 0 || row >= len(out) {
			continue
		}
		width := AnsiWidth(out[row])
		from, to := max(0, x), min(x+boxWidth, width)
		if from >= to {
			continue
		}
		out[row] = cutStyled(out[row], 0, from) +
			cutStyled(line, from-x, to-x) +
			cutStyled(out[row], to, width)
	}
	return out
}

// pieceKind says what a styled line is made of.
type pieceKind uint8

const (
	textPiece pieceKind = iota
	sgrPiece
	badPiece // may not be written; stands for one cell
)

// piece returns the size in bytes, the width and the kind of what s, which must
// not be empty, begins with.
func piece(s string) (size, width int, kind pieceKind) {
	if n := sgrLength(s); n > 0 {
		return n, 0, sgrPiece
	}
	if s[0] < ' ' || s[0] == 0x7F {
		return 1, 1, badPiece
	}
	size, width = cluster(s)
	if size > 1 {
		for i := 0; i < size; {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 || unicode.IsControl(r) {
				return max(i, n), 1, badPiece
			}
			i += n
		}
	} else if s[0] >= utf8.RuneSelf {
		return 1, 1, badPiece
	}
	return size, width, textPiece
}

// sgrLength returns the length of the SGR sequence that s begins with, 0 if it
// begins with none.
func sgrLength(s string) int {
	if len(s) < 3 || s[0] != 0x1B || s[1] != '[' {
		return 0
	}
	for i := 2; i < len(s); i++ {
		switch c := s[i]; {
		case c == 'm':
			return i + 1
		case c != ';' && c != ':' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}

// isReset reports whether an SGR sequence does nothing but end all styles.
func isReset(sgr string) bool { return strings.Trim(sgr[2:len(sgr)-1], "0;") == "" }

// cutStyled returns the cells from (included) to to (not included) of a styled
// line in the styles they have there, followed by spaces where the line ends
// earlier. The result has exactly to-from cells and leaves no style open.
func cutStyled(s string, from, to int) string {
	if from >= to {
		return ""
	}
	var (
		out     strings.Builder
		style   strings.Builder // the sequences in force
		column  int
		started bool
	)
	out.Grow(min(len(s), 8*(to-from)) + 16)
	start := func() {
		if !started {
			started = true
			out.WriteString(style.String())
		}
	}
	for i := 0; i < len(s); {
		size, width, kind := piece(s[i:])
		this := s[i : i+size]
		i += size
		if kind == sgrPiece {
			reset := isReset(this)
			if column >= to && !(reset && style.Len() > 0) {
				continue // styles nothing that is kept
			}
			if reset {
				style.Reset()
			} else {
				style.WriteString(this)
			}
			if started {
				out.WriteString(this)
			}
			continue
		}
		begin := column
		column += width
		if column <= from {
			continue
		}
		if begin >= to {
			break
		}
		start()
		switch {
		case begin < from || column > to:
			out.WriteString(spaces(min(column, to) - max(begin, from)))
		case kind == badPiece:
			out.WriteByte('?')
		default:
			out.WriteString(this)
		}
	}
	if column < to {
		start()
		out.WriteString(spaces(to - max(column, from)))
	}
	if style.Len() > 0 {
		out.WriteString(resetStyle)
	}
	return out.String()
}
