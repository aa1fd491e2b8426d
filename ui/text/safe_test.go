package text

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// hostile are pieces that break terminals, columns or parsers.
var hostile = []string{
	"lock:", "orders", ":", "/", "42", " ", "\"", "'", "\\", "\\x1b", "\\u202e", "\\U0001f512", "\\n",
	"\x1b[2J", "\x1b[31m", "\x1b]0;owned\x07", "\x1b]52;c;AAAA\x07", "\x1bc", "\x1b", "[", "m",
	"\r", "\n", "\t", "\b", "\a", "\x00", "\x7f", "\x9b", "\xc2", "\xe2\x80", "\xff", "\xed\xa0\x80",
	"\u009b", "\u0085", "\u202e", "\u2066", "\u200e", "\u061c", "\u2028", "\u2029", "\u200b", "\u200d", "\u00ad",
	"\ufeff", "\u00a0", "\u3000", "\u2800", "\u3164", "\ufe0f", "\ufe0e", "\U000e0041", "\U000e0100", "\ue000", "\U0010ffff",
	"注文", "ロック", "ｶ", "ﾞ", "한", "가", "\u1100", "\u1161", "\u11a8", "مفتاح", "מנעול", "é", "e\u0301", "\u0301", "\u0323",
	"क", "\u094d", "ष", "\u093e", "\u0d4e", "น\u0e49\u0e33", "🔒", "❤", "👩", "👍", "\U0001f3fd", "\U0001f1e9", "\U0001f1ea", "①", "…", "\ufffd",
}

// hostileText generates strings of hostile pieces and of random bytes.
func hostileText() *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom(hostile),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 4), func(b []byte) string { return string(b) }),
		rapid.StringN(0, 4, -1),
	), 0, 12), func(p []string) string { return strings.Join(p, "") })
}

// unclean is the inverse of Clean, by the standard library's reading of Go's
// escapes.
func unclean(t interface{ Fatalf(string, ...any) }, s Safe) string {
	var out []byte
	for rest := string(s); rest != ""; {
		c, multibyte, tail, err := strconv.UnquoteChar(rest, 0)
		if err != nil {
			t.Fatalf("%q has an escape that Go does not know, at %q", s, rest)
		}
		if c < utf8.RuneSelf || !multibyte {
			out = append(out, byte(c))
		} else {
			out = utf8.AppendRune(out, c)
		}
		rest = tail
	}
	return string(out)
}

// requireSafe fails unless s keeps the promise of the type.
func requireSafe(t interface{ Fatalf(string, ...any) }, s Safe) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == 0x7f {
			t.Fatalf("%q has the control byte %#x", s, c)
		}
	}
	if !utf8.ValidString(string(s)) {
		t.Fatalf("%q is not UTF-8", s)
	}
	for _, r := range string(s) {
		if forbidden(r) {
			t.Fatalf("%q has %U", s, r)
		}
	}
	if w := ansi.StringWidth(string(s)); Width(s) != w {
		t.Fatalf("%q: Width is %d, the renderer counts %d", s, Width(s), w)
	}
}

func checkClean(t interface{ Fatalf(string, ...any) }, b string) {
	s := Clean(b)
	requireSafe(t, s)
	if back := unclean(t, s); back != b {
		t.Fatalf("%q was cleaned to %q, which reads %q", b, s, back)
	}
	a := Fitter{ASCII: true}.Clean(b)
	requireSafe(t, a)
	if asciiPrefix(string(a)) != len(a) {
		t.Fatalf("%q is not ASCII", a)
	}
	if back := unclean(t, a); back != b {
		t.Fatalf("%q was cleaned to %q, which reads %q", b, a, back)
	}
	requireSafe(t, Escaped(b))
}

func TestCleanTable(t *testing.T) {
	for in, want := range map[string]Safe{
		"":                       "",
		"lock:orders:42":         "lock:orders:42",
		`a\b`:                    `a\\b`,
		"x\x1b[31mRED\nsecond\t": `x\x1b[31mRED\nsecond\t`,
		"\r\x00\x07\x08\x7f":     `\r\x00\x07\x08\x7f`,
		"\x9b":                   `\x9b`,
		"\u009b":                 `\u009b`,
		"\xed\xa0\x80":           `\xed\xa0\x80`,
		"注\xe6\x96文":             `注\xe6\x96文`,
		"\u202egnp.exe":          `\u202egnp.exe`,
		"a\u2028b\u2029c":        `a\u2028b\u2029c`,
		"a\u00a0b\u3000c":        `a\u00a0b\u3000c`,
		"a\u00adb\u200bc":        `a\u00adb\u200bc`,
		"\U000e0041":             `\U000e0041`,
		"\ue000":                 `\ue000`,
		"\U0010ffff":             `\U0010ffff`,
		"👩\u200d👧":               `👩\u200d👧`,
		"❤\ufe0f":                `❤\ufe0f`,
		"👍\U0001f3fd":            `👍\U0001f3fd`,
		"\U0001f1e9\U0001f1ea":   `\U0001f1e9\U0001f1ea`,
		"क\u094dष":               `क\u094dष`,
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%+q) = %+q, want %+q", in, got, want)
		}
	}
}

func TestCleanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkClean(t, hostileText().Draw(t, "bytes")) })
}

func TestWidthOfJoinedTextIsTheSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := Clean(hostileText().Draw(t, "a")), Clean(hostileText().Draw(t, "b"))
		if Width(a+b) != Width(a)+Width(b) || ansi.StringWidth(string(a+b)) != Width(a+b) {
			t.Fatalf("%q + %q: %d together, %d + %d apart", a, b, Width(a+b), Width(a), Width(b))
		}
		requireSafe(t, a+b)
	})
}

func TestCleanMax(t *testing.T) {
	skipIfAmbiguousWide(t)
	for _, c := range []struct {
		in   string
		max  int
		want Safe
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "abc… (+1 bytes)"},
		{"abcd", 0, "… (+4 bytes)"},
		{"abcd", -1, "… (+4 bytes)"},
		{"", 0, ""},
		{"a注文", 3, "a… (+6 bytes)"},
		{"a注文", 4, "a注… (+3 bytes)"},
		{"\x96\x96\x96\x96\x96\x96", 4, `\x96\x96\x96\x96… (+2 bytes)`},
		{"ab\xe6\x96", 3, `ab\xe6… (+1 bytes)`},
		{"e\u0301x", 1, "e… (+3 bytes)"},
		{strings.Repeat("a", 65536), 4, "aaaa… (+65532 bytes)"},
	} {
		if got := CleanMax(c.in, c.max); got != c.want {
			t.Errorf("CleanMax(%+.20q, %d) = %+q, want %+q", c.in, c.max, got, c.want)
		}
	}
	if got := (Fitter{ASCII: true}).CleanMax("é注文", 2); got != `\u00e9~ (+6 bytes)` {
		t.Errorf("in ASCII mode: %q", got)
	}
}

func TestCleanMaxCutsWhatCleanShows(t *testing.T) {
	mark := string(Fitter{}.ellipsis()) + " (+"
	rapid.Check(t, func(t *rapid.T) {
		b := hostileText().Draw(t, "bytes")
		n := rapid.IntRange(-1, len(b)+2).Draw(t, "max")
		got := CleanMax(b, n)
		requireSafe(t, got)
		if len(b) <= max(0, n) {
			if got != Clean(b) {
				t.Fatalf("CleanMax(%q, %d) = %q although it fits", b, n, got)
			}
			return
		}
		i := strings.LastIndex(string(got), mark)
		if i < 0 {
			t.Fatalf("CleanMax(%q, %d) = %q does not say that it is cut", b, n, got)
		}
		shown := unclean(t, got[:i])
		rest, err := strconv.Atoi(strings.TrimSuffix(string(got[i+len(mark):]), " bytes)"))
		if err != nil || !strings.HasPrefix(b, shown) || len(shown)+rest != len(b) || len(shown) > max(0, n) || len(shown) < n-3 {
			t.Fatalf("CleanMax(%q, %d) = %q", b, n, got)
		}
	})
}

func TestCleanMaxCostsWhatItShows(t *testing.T) {
	big := strings.Repeat("\x1b", 1<<20)
	if got := len(CleanMax(big, 10)); got > 100 {
		t.Errorf("%d bytes for 10", got)
	}
	// One rune of four bytes is decoded at the cut, no more.
	if allocated := testing.AllocsPerRun(10, func() { CleanMax(big, 10) }); allocated > 10 {
		t.Errorf("%v allocations", allocated)
	}
}

func TestEscapedKeepsBackslashes(t *testing.T) {
	if got := Escaped(`SET "a\nb" 'x'`); got != `SET "a\nb" 'x'` {
		t.Errorf("got %q", got)
	}
	if got := Escaped("a\\n\x1b[2J"); got != `a\n\x1b[2J` {
		t.Errorf("got %q", got)
	}
}

func TestRepeatAndJoin(t *testing.T) {
	if Repeat("─", 3) != "───" || Repeat("x", 0) != "" || Repeat("x", -1) != "" {
		t.Error("Repeat")
	}
	if Join(nil, ", ") != "" || Join([]Safe{"a"}, ", ") != "a" || Join([]Safe{"a", "b", ""}, ", ") != "a, b, " {
		t.Error("Join")
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Add(strings.Join(hostile, ""))
	f.Fuzz(func(t *testing.T, b string) { checkClean(t, b) })
}
