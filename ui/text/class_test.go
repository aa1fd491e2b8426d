package text

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Every rune that is shown as it is must have the same width by itself, beside
// its neighbours, and to a terminal that knows no grapheme clusters; otherwise
// columns shift. The tables are checked against the width library for each
// code point there is.
func TestEveryShownRuneHasOneWidth(t *testing.T) {
	skipIfAmbiguousWide(t)
	shown := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		s := string(r)
		if !utf8.ValidRune(r) || !printable(s) {
			continue
		}
		shown++
		w := ansi.StringWidth(s)
		if w != 1 && w != 2 {
			t.Errorf("%U %q is shown with a width of %d", r, s, w)
		}
		if wc := ansi.StringWidthWc(s); wc != w {
			t.Errorf("%U %q is %d wide as a cluster and %d as a character", r, s, w, wc)
		}
		for _, n := range []string{"a", ":", " ", "文", "한", "क", "ক", "é", "❤", "🔒", s} {
			if got, want := ansi.StringWidth(n+s), ansi.StringWidth(n)+w; got != want {
				t.Errorf("%U %q after %q: together %d wide, apart %d", r, s, n, got, want)
			}
			if got, want := ansi.StringWidth(s+n), ansi.StringWidth(n)+w; got != want {
				t.Errorf("%U %q before %q: together %d wide, apart %d", r, s, n, got, want)
			}
		}
	}
	// Most of Unicode is letters; a table that escapes them would pass above.
	if shown < 130_000 {
		t.Errorf("only %d characters are shown", shown)
	}
}

func TestLoneWidthAgreesWithTheLibrary(t *testing.T) {
	skipIfAmbiguousWide(t)
	var lone []rune
	for r := rune(0); r <= unicode.MaxRune; r++ {
		w := loneWidth(r)
		if w == 0 {
			continue
		}
		if got := ansi.StringWidth(string(r)); got != w {
			t.Errorf("%U is %d wide, want %d", r, got, w)
		}
		lone = append(lone, r)
	}
	// Whether two characters join depends on their kinds, of which a sample
	// of the ranges has every pair.
	for i := 0; i < len(lone); i += 97 {
		for j := 0; j < len(lone); j += 89 {
			pair := string(lone[i]) + string(lone[j])
			if c, _ := ansi.FirstGraphemeCluster(pair, ansi.GraphemeWidth); c != string(lone[i]) {
				t.Fatalf("%q is one cluster", pair)
			}
		}
	}
}

func TestEveryMarkTakesNoCell(t *testing.T) {
	kept := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if classify(r) != mark {
			continue
		}
		kept++
		s := string(r)
		for _, base := range []string{"a", "文", "한", "क", "ب"} {
			if got, want := ansi.StringWidth(base+s), ansi.StringWidth(base); got != want {
				t.Errorf("%q with mark %U is %d wide, without %d", base, r, got, want)
			}
			for _, next := range []string{"a", "文", "한", "क", "ക", "ب"} {
				if got, want := ansi.StringWidth(base+s+next), ansi.StringWidth(base)+ansi.StringWidth(next); got != want {
					t.Errorf("mark %U between %q and %q: %d wide, want %d", r, base, next, got, want)
				}
			}
		}
	}
	if kept < 1000 {
		t.Errorf("only %d marks are kept", kept)
	}
}

func TestNothingHarmfulIsPrintable(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || !printable(string(r)) {
			continue
		}
		if forbidden(r) {
			t.Errorf("%U is shown", r)
		}
		if unicode.Is(unicode.M, r) {
			t.Errorf("%U is a mark and is shown without a letter", r)
		}
	}
}

// forbidden is what must never reach a terminal, written down a second time
// and from other tables than those that classify uses.
func forbidden(r rune) bool {
	return r != ' ' && !unicode.IsPrint(r) ||
		unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp,
			unicode.Bidi_Control, unicode.Join_Control, unicode.Variation_Selector,
			unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point,
			unicode.Regional_Indicator, unicode.Prepended_Concatenation_Mark) ||
		r != ' ' && unicode.Is(unicode.White_Space, r)
}

func TestReadableTextStaysReadable(t *testing.T) {
	for _, s := range []string{
		"lock:orders:42", "lock:注文:42", "ロック:注文", "ﾛｯｸ", "한국어", "\u1112\u1161\u11ab\u1100\u116e\u11a8",
		"каталог", "κλειδί", "Zürich", "Zu\u0308rich", "Tiê\u0301ng Viê\u0323t", "مفتاح", "مِفْتَاح", "מנעול", "שָׁלוֹם",
		"🔒🔒", "😀 ok", "①②", "½", "€", "“quoted”", "a–b", "✓ ❤ ★", "ไทย", "\ufffd",
	} {
		if got := Clean(s); string(got) != s {
			t.Errorf("Clean(%q) = %q, want it unchanged", s, got)
		}
	}
}

func TestMarksNeedALetter(t *testing.T) {
	for in, want := range map[string]Safe{
		"\u0301a":                         `\u0301a`,
		":\u0301":                         `:\u0301`,
		" \u0301":                         ` \u0301`,
		"🔒\u0301":                         `🔒\u0301`,
		"\\\u0301":                        `\\\u0301`,
		"\n\u0301":                        `\n\u0301`,
		"\u200d\u0301":                    `\u200d\u0301`,
		"e\u0301\u200d\u0301":             "e\u0301" + `\u200d\u0301`,
		"1\u20e3":                         `1\u20e3`,
		"e" + strings.Repeat("\u0301", 6): "e" + Safe(strings.Repeat("\u0301", 4)) + `\u0301\u0301`,
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%+q) = %+q, want %+q", in, got, want)
		}
	}
}

func TestHangulOnlyInWholeSyllables(t *testing.T) {
	for in, want := range map[string]Safe{
		"\u1100":                         `\u1100`,
		"\u1161":                         `\u1161`,
		"\u11a8":                         `\u11a8`,
		"\u1100\u1100\u1161":             `\u1100` + "\u1100\u1161",
		"\u1100\uac00":                   `\u1100` + "\uac00",
		"\u1100\u1161\u1161":             "\u1100\u1161" + `\u1161`,
		"\u1100\u1161\u11a8\u11a8":       "\u1100\u1161\u11a8" + `\u11a8`,
		"\uac00\u11a8":                   "\uac00\u11a8",
		"\uac01\u11a8":                   "\uac01" + `\u11a8`,
		"\uac00\u1161":                   "\uac00" + `\u1161`,
		"a\u11a8":                        `a\u11a8`,
		"\u1100\u1161\u0301\u11a8":       "\u1100\u1161\u0301" + `\u11a8`,
		"\u1100\u1161\u1102\u1161\u11ab": "\u1100\u1161\u1102\u1161\u11ab",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%+q) = %+q, want %+q", in, got, want)
		}
	}
}
