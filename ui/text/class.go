package text

import (
	"unicode"
	"unicode/utf8"
)

// maxMarks bounds the marks on one letter: four are enough for pointed Hebrew
// and for Vietnamese, and stacks that grow into the neighbouring rows need more.
const maxMarks = 4

// Conjoining Hangul letters of modern Korean. A leading consonant, a vowel and
// an optional trailing consonant form one syllable, two cells wide.
const (
	jamoLFirst, jamoLLast       = 0x1100, 0x1112
	jamoVFirst, jamoVLast       = 0x1161, 0x1175
	jamoTFirst, jamoTLast       = 0x11A8, 0x11C2
	syllableFirst, syllableLast = 0xAC00, 0xD7A3
	syllablesPerVowel           = 28
)

// troublesome lists printable characters that are escaped nevertheless. Each
// row is invisible, or joins its neighbours in a way that makes the width of a
// text differ from the sum of its parts, or has no agreed width.
var troublesome = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034F, Hi: 0x034F, Stride: 1}, // combining grapheme joiner: invisible
		{Lo: 0x094D, Hi: 0x094D, Stride: 1}, // viramas fuse the letters beside them
		{Lo: 0x09CD, Hi: 0x09CD, Stride: 1},
		{Lo: 0x0ACD, Hi: 0x0ACD, Stride: 1},
		{Lo: 0x0B4D, Hi: 0x0B4D, Stride: 1},
		{Lo: 0x0C4D, Hi: 0x0C4D, Stride: 1},
		{Lo: 0x0D4D, Hi: 0x0D4D, Stride: 1},
		{Lo: 0x0D4E, Hi: 0x0D4E, Stride: 1}, // prepended to the next letter
		{Lo: 0x0E33, Hi: 0x0E33, Stride: 1}, // Thai and Lao AM: letters that extend a cluster
		{Lo: 0x0EB3, Hi: 0x0EB3, Stride: 1},
		{Lo: 0x1039, Hi: 0x1039, Stride: 1}, // virama
		{Lo: 0x1100, Hi: 0x11FF, Stride: 1}, // Hangul letters outside the modern syllable form
		{Lo: 0x17B4, Hi: 0x17B5, Stride: 1}, // invisible Khmer vowels
		{Lo: 0x17D2, Hi: 0x17D2, Stride: 1}, // virama
		{Lo: 0x180B, Hi: 0x180F, Stride: 1}, // Mongolian variation selectors
		{Lo: 0x1A60, Hi: 0x1A60, Stride: 1}, // viramas
		{Lo: 0x1BAB, Hi: 0x1BAB, Stride: 1},
		{Lo: 0x2630, Hi: 0x2637, Stride: 1}, // one cell until Unicode 16, then two
		{Lo: 0x268A, Hi: 0x268F, Stride: 1},
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // blank braille pattern
		{Lo: 0x3164, Hi: 0x3164, Stride: 1}, // Hangul filler
		{Lo: 0x3248, Hi: 0x324F, Stride: 1}, // circled numbers: one cell or two
		{Lo: 0xA960, Hi: 0xA97C, Stride: 1}, // archaic Hangul letters
		{Lo: 0xAAF6, Hi: 0xAAF6, Stride: 1}, // virama
		{Lo: 0xD7B0, Hi: 0xD7FB, Stride: 1}, // archaic Hangul letters
		{Lo: 0xFE00, Hi: 0xFE0F, Stride: 1}, // variation selectors
		{Lo: 0xFF9E, Hi: 0xFFA0, Stride: 1}, // half-width voicing marks, half-width filler
	},
	R32: []unicode.Range32{
		{Lo: 0x10A3F, Hi: 0x10A3F, Stride: 1}, // viramas and prepended letters
		{Lo: 0x11133, Hi: 0x11133, Stride: 1},
		{Lo: 0x111C2, Hi: 0x111C3, Stride: 1},
		{Lo: 0x1193E, Hi: 0x1193F, Stride: 1},
		{Lo: 0x11941, Hi: 0x11941, Stride: 1},
		{Lo: 0x11A47, Hi: 0x11A47, Stride: 1},
		{Lo: 0x11A84, Hi: 0x11A89, Stride: 1},
		{Lo: 0x11A99, Hi: 0x11A99, Stride: 1},
		{Lo: 0x11D46, Hi: 0x11D46, Stride: 1},
		{Lo: 0x11F02, Hi: 0x11F02, Stride: 1},
		{Lo: 0x11F42, Hi: 0x11F42, Stride: 1},
		{Lo: 0x16FE4, Hi: 0x16FE4, Stride: 1}, // Khitan filler
		{Lo: 0x1D159, Hi: 0x1D159, Stride: 1}, // null notehead
		{Lo: 0x1D300, Hi: 0x1D356, Stride: 1}, // one cell until Unicode 16, then two
		{Lo: 0x1D360, Hi: 0x1D376, Stride: 1},
		{Lo: 0x1F1E6, Hi: 0x1F1FF, Stride: 1}, // regional indicators
		{Lo: 0x1F3FB, Hi: 0x1F3FF, Stride: 1}, // emoji modifiers
		{Lo: 0xE0100, Hi: 0xE01EF, Stride: 1}, // variation selectors
	},
}

// class is what a rune is to a line of text.
type class uint8

const (
	foreign class = iota // to be escaped
	plain                // stands alone, carries no mark
	letter               // stands alone, can carry marks
	mark                 // needs a letter before it
	leadJamo
	vowelJamo
	tailJamo
	openSyllable // a Hangul syllable that a tail can complete
)

// classify judges one rune on its own. The common scripts come first because
// a table of names is cleaned several times a second.
func classify(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return letter
		case ' ' <= r && r <= '~':
			return plain
		}
		return foreign
	case 0x4E00 <= r && r <= 0x9FFF, // Han
		0xC0 <= r && r <= 0xD6, 0xD8 <= r && r <= 0xF6, 0xF8 <= r && r <= 0x24F, // Latin
		0x0400 <= r && r <= 0x0481, 0x048A <= r && r <= 0x052F, // Cyrillic
		0x05D0 <= r && r <= 0x05EA, 0x0620 <= r && r <= 0x064A, // Hebrew, Arabic
		0x3041 <= r && r <= 0x3096, 0x30A1 <= r && r <= 0x30FA: // Kana
		return letter
	case syllableFirst <= r && r <= syllableLast:
		if (r-syllableFirst)%syllablesPerVowel == 0 {
			return openSyllable
		}
		return letter
	case jamoLFirst <= r && r <= jamoLLast:
		return leadJamo
	case jamoVFirst <= r && r <= jamoVLast:
		return vowelJamo
	case jamoTFirst <= r && r <= jamoTLast:
		return tailJamo
	case unicode.Is(troublesome, r):
		return foreign
	case unicode.In(r, unicode.L, unicode.N):
		return letter
	case unicode.Is(unicode.Mn, r):
		return mark
	case unicode.In(r, unicode.P, unicode.S):
		return plain
	default:
		// Other categories: controls, format characters, separators,
		// private use, surrogates, unassigned, spacing and enclosing marks.
		return foreign
	}
}

// reader walks over a text and says of each rune whether it may be shown. Its
// zero value is the beginning of a line.
type reader struct {
	before class // what the last rune was, foreign after one that was escaped
	marks  int   // how many marks the last letter carries
}

// next looks at the first rune of s, which must not be empty. It returns the
// rune, the bytes it takes and whether it may be shown as it is; a byte that is
// not UTF-8 is utf8.RuneError with size 1.
func (rd *reader) next(s string) (r rune, size int, ok bool) {
	r, size = utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		*rd = reader{}
		return r, size, false
	}
	switch c := classify(r); c {
	case plain, letter, openSyllable:
		*rd = reader{before: c}
		return r, size, true
	case mark:
		if (rd.before == letter || rd.before == openSyllable) && rd.marks < maxMarks {
			// A mark closes a syllable to further Hangul letters, which
			// would not join it any more.
			*rd = reader{before: letter, marks: rd.marks + 1}
			return r, size, true
		}
	case leadJamo:
		// Alone it would merge with whatever Hangul comes after it, in this
		// text or the next, so it is shown only as part of a syllable.
		if v, _ := utf8.DecodeRuneInString(s[size:]); jamoVFirst <= v && v <= jamoVLast {
			*rd = reader{before: c}
			return r, size, true
		}
	case vowelJamo:
		if rd.before == leadJamo {
			*rd = reader{before: openSyllable}
			return r, size, true
		}
	case tailJamo:
		if rd.before == openSyllable {
			*rd = reader{before: letter}
			return r, size, true
		}
	}
	*rd = reader{}
	return r, size, false
}

// printable reports whether every rune of s may be shown as it is.
func printable(s string) bool {
	var rd reader
	for i := asciiPrefix(s); i < len(s); {
		_, size, ok := rd.next(s[i:])
		if !ok {
			return false
		}
		i += size
	}
	return true
}

// asciiPrefix returns how many bytes at the start of s are printable ASCII and
// certainly not the base of a mark.
func asciiPrefix(s string) int {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' {
			return max(0, i-1)
		}
	}
	return len(s)
}
