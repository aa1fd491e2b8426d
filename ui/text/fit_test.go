package text

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

func TestFitTable(t *testing.T) {
	skipIfAmbiguousWide(t)
	for _, c := range []struct {
		s                  Safe
		w                  int
		fit, right, middle Safe
	}{
		{"", 0, "", "", ""},
		{"abc", 0, "", "", ""},
		{"abc", -5, "", "", ""},
		{"", 3, "   ", "   ", "   "},
		{"abc", 1, "…", "…", "…"},
		{"abc", 2, "a…", "a…", "a…"},
		{"abc", 3, "abc", "abc", "abc"},
		{"abc", 5, "abc  ", "  abc", "abc  "},
		{"注文票", 6, "注文票", "注文票", "注文票"},
		{"注文票", 5, "注文…", "注文…", "注…票"},
		{"注文票", 4, "注… ", " 注…", "注… "},
		{"注文票", 2, "… ", " …", "… "},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…", "e\u0301…", "e\u0301…"},
		{"lock:orders:1234567890:eu-west", 20, "lock:orders:1234567…", "lock:orders:1234567…", "lock:orders…:eu-west"},
		{"lock:orders:1234567890:eu-west", 21, "lock:orders:12345678…", "lock:orders:12345678…", "lock:orders:…:eu-west"},
		{"lock:a-very-long-name:42", 16, "lock:a-very-lon…", "lock:a-very-lon…", "lock:a-very-…:42"},
		{"lock:aaaaaaaaaaaaaaaaaaaa", 11, "lock:aaaaa…", "lock:aaaaa…", "lock:…aaaaa"},
		{"lock:aaaaaaaaaaaaaa:bb:", 11, "lock:aaaaa…", "lock:aaaaa…", "lock:a…:bb:"},
	} {
		if got := Fit(c.s, c.w); got != c.fit {
			t.Errorf("Fit(%q, %d) = %q, want %q", c.s, c.w, got, c.fit)
		}
		if got := FitRight(c.s, c.w); got != c.right {
			t.Errorf("FitRight(%q, %d) = %q, want %q", c.s, c.w, got, c.right)
		}
		if got := FitMiddle(c.s, c.w); got != c.middle {
			t.Errorf("FitMiddle(%q, %d) = %q, want %q", c.s, c.w, got, c.middle)
		}
		if got, want := Truncate(c.s, c.w), Safe(strings.TrimRight(string(c.fit), " ")); got != want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", c.s, c.w, got, want)
		}
		if got, want := TruncateMiddle(c.s, c.w), Safe(strings.TrimRight(string(c.middle), " ")); got != want {
			t.Errorf("TruncateMiddle(%q, %d) = %q, want %q", c.s, c.w, got, want)
		}
	}
}

func TestFitDoesNotCutEscapes(t *testing.T) {
	skipIfAmbiguousWide(t)
	for _, c := range []struct {
		in   string
		w    int
		want Safe
	}{
		{"ab\u202ecd", 6, "ab…   "},
		{"ab\u202ecd", 9, `ab\u202e…`},
		{"a\nbcd", 3, "a… "},
		{`a\b`, 3, "a… "},
		{"a\U000e0041b", 11, "a…         "},
		{"a\x00b", 5, "a…   "},
	} {
		if got := Fit(Clean(c.in), c.w); got != c.want {
			t.Errorf("Fit(Clean(%+q), %d) = %q, want %q", c.in, c.w, got, c.want)
		}
	}
	if got := FitMiddle(Clean("aaaaaaaaaa\u202e"), 8); got != "aaaaaaa…" {
		t.Errorf("FitMiddle cut an escape: %q", got)
	}
	// What only looks like the beginning of an escape is ordinary text.
	for _, s := range []Safe{`C:\users`, `\`, `a\x`, `\xZZ`, `\u12`} {
		for w := range 12 {
			if got := Width(Fit(s, w)); got != w {
				t.Errorf("Fit(%q, %d) has %d cells", s, w, got)
			}
		}
	}
}

func TestFitterASCII(t *testing.T) {
	f := Fitter{ASCII: true}
	if got := f.Fit("abcdef", 4); got != "abc~" {
		t.Errorf("Fit: %q", got)
	}
	if got := f.FitMiddle("lock:aaaaaaaaa:42", 9); got != "lock:~:42" {
		t.Errorf("FitMiddle: %q", got)
	}
}

func checkFit(t interface{ Fatalf(string, ...any) }, b string, w int, ascii bool) {
	f := Fitter{ASCII: ascii}
	s := f.Clean(b)
	want := max(0, w)
	exact := map[string]Safe{
		"Fit": f.Fit(s, w), "FitRight": f.FitRight(s, w), "FitMiddle": f.FitMiddle(s, w),
	}
	for name, got := range exact {
		requireSafe(t, got)
		if n := ansi.StringWidth(string(got)); n != want {
			t.Fatalf("%s(%q, %d) = %q has %d cells", name, s, w, got, n)
		}
	}
	atMost := map[string]Safe{"Truncate": f.Truncate(s, w), "TruncateMiddle": f.TruncateMiddle(s, w)}
	for name, got := range atMost {
		requireSafe(t, got)
		if n := ansi.StringWidth(string(got)); n > want {
			t.Fatalf("%s(%q, %d) = %q has %d cells", name, s, w, got, n)
		}
		if Width(s) <= want && got != s {
			t.Fatalf("%s(%q, %d) = %q although it fits", name, s, w, got)
		}
		if Width(s) > want && want > 0 {
			// What is kept is a beginning and an end of the text, and
			// reads the same as it does there.
			begin, end, found := strings.Cut(string(got), string(f.ellipsis()))
			if found && !strings.Contains(string(s), string(f.ellipsis())) {
				if !strings.HasPrefix(string(s), begin) || !strings.HasSuffix(string(s), end) {
					t.Fatalf("%s(%q, %d) = %q", name, s, w, got)
				}
				if !strings.HasPrefix(b, unclean(t, Safe(begin))) || !strings.HasSuffix(b, unclean(t, Safe(end))) {
					t.Fatalf("%s(%q, %d) = %q splits an escape", name, s, w, got)
				}
			} else if !found {
				t.Fatalf("%s(%q, %d) = %q does not show that it is cut", name, s, w, got)
			}
		}
	}
}

func TestFitProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkFit(t, hostileText().Draw(t, "bytes"), rapid.IntRange(-2, 60).Draw(t, "w"), rapid.Bool().Draw(t, "ascii"))
	})
}

func FuzzFit(f *testing.F) {
	for i, s := range hostile {
		f.Add(s+s, i%7, i%2 == 0)
	}
	f.Add(strings.Join(hostile, ""), 40, false)
	f.Fuzz(func(t *testing.T, b string, w int, ascii bool) {
		if w > 1000 {
			w %= 1000
		}
		checkFit(t, b, w, ascii)
	})
}
