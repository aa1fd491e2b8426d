package text

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// ellipsisRune stands for what was cut off; where it has not exactly one cell
// a tilde does.
const ellipsisRune = "…"

var ambiguousWide = ansi.StringWidth(ellipsisRune) != 1

// AmbiguousWide reports whether this process was told (by
// RUNEWIDTH_EASTASIAN=1) that characters of ambiguous width, such as … and █
// and the lines of boxes, take two cells. The ASCII glyphs are then the ones to
// use; this package's own ellipsis, bars and sparklines do so by themselves.
func AmbiguousWide() bool { return ambiguousWide }

// Width returns how many cells s takes, by grapheme cluster.
func Width(s Safe) int {
	width := 0
	for rest := string(s); rest != ""; {
		if n := asciiPrefix(rest); n > 0 {
			width += n
			rest = rest[n:]
			continue
		}
		size, w := cluster(rest)
		width += w
		rest = rest[size:]
	}
	return width
}

// cluster returns the bytes and cells of the first grapheme cluster of s, which
// must not be empty.
func cluster(s string) (size, width int) {
	if s[0] >= ' ' && s[0] <= '~' && (len(s) == 1 || s[1] >= ' ' && s[1] <= '~') {
		return 1, 1
	}
	// The segmentation of the library costs ten times as much as this and
	// agrees wherever two runes follow each other that never join.
	if r, n := utf8.DecodeRuneInString(s); !ambiguousWide {
		if w := loneWidth(r); w > 0 {
			if n == len(s) {
				return n, w
			}
			if next, _ := utf8.DecodeRuneInString(s[n:]); loneWidth(next) > 0 {
				return n, w
			}
		}
	}
	c, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	return len(c), w
}

// loneWidth returns the width of a common character that never joins another
// of this kind, 0 for any other rune.
func loneWidth(r rune) int {
	switch {
	case ' ' <= r && r <= '~',
		0xC0 <= r && r <= 0x24F,    // Latin
		0x0400 <= r && r <= 0x0481, // Cyrillic
		0x2500 <= r && r <= 0x259F: // lines and blocks
		return 1
	case 0x4E00 <= r && r <= 0x9FFF, // Han
		0x3041 <= r && r <= 0x3096, 0x30A1 <= r && r <= 0x30FA, // Kana
		syllableFirst <= r && r <= syllableLast: // Hangul
		return 2
	default:
		return 0
	}
}

// unit is cluster, except that an escape as Clean writes it is one piece: half
// an escape would be read as other text.
func unit(s string) (size, width int) {
	if s[0] != '\\' || len(s) == 1 {
		return cluster(s)
	}
	n := 2
	switch s[1] {
	case '\\', 'n', 'r', 't':
	case 'x':
		n = 4
	case 'u':
		n = 6
	case 'U':
		n = 10
	default:
		return cluster(s)
	}
	if len(s) < n {
		return cluster(s)
	}
	for _, c := range []byte(s[2:n]) {
		if strings.IndexByte(hexDigits, c) < 0 {
			return cluster(s)
		}
	}
	return n, n
}

// head returns the longest start of s that takes at most w cells, as its length
// in bytes and its width.
func head(s string, w int) (size, width int) {
	for size < len(s) {
		n, cells := unit(s[size:])
		if width+cells > w {
			break
		}
		size += n
		width += cells
	}
	return size, width
}

// tail returns where the longest end of s that takes at most w cells begins,
// and its width; total is the width of s.
func tail(s string, w, total int) (start, width int) {
	width = total
	for start < len(s) && width > w {
		n, cells := unit(s[start:])
		start += n
		width -= cells
	}
	return start, width
}

const blanks = "                                                                                                                                "

// spaces returns n spaces, none if n is negative.
func spaces(n int) string {
	if n <= len(blanks) {
		return blanks[:max(0, n)]
	}
	return strings.Repeat(" ", n)
}
