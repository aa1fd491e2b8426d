package text

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

func TestPadStyledTable(t *testing.T) {
	for _, c := range []struct {
		in   string
		w    int
		want string
	}{
		{"", 0, ""},
		{"abc", -1, ""},
		{"", 2, "  "},
		{"abc", 3, "abc"},
		{"abc", 5, "abc  "},
		{"abc", 2, "ab"},
		{"\x1b[1mabc\x1b[0m", 5, "\x1b[1mabc\x1b[0m  "},
		{"\x1b[1mabc\x1b[0m", 3, "\x1b[1mabc\x1b[0m"},
		{"\x1b[1mabc\x1b[m", 3, "\x1b[1mabc\x1b[m"},
		{"\x1b[1mabc\x1b[0m", 2, "\x1b[1mab\x1b[0m"},
		{"\x1b[7mabc", 5, "\x1b[7mabc  \x1b[0m"}, // an open style fills the row
		{"a\x1b[1mb\x1b[0m\x1b[31mc\x1b[0m", 2, "a\x1b[1mb\x1b[0m"},
		{"abc\x1b[1mdef\x1b[0m", 3, "abc"},
		{"注文", 3, "注 "},
		{"\x1b[38;2;1;2;3m注文\x1b[0m", 3, "\x1b[38;2;1;2;3m注 \x1b[0m"},
		{"\x1b[4:3mab", 2, "\x1b[4:3mab\x1b[0m"},
		// Nothing but colours passes.
		{"\x1b[2Jab", 8, "?[2Jab  "},
		{"\x1b]0;x\x07", 7, "?]0;x? "},
		{"a\nb\r\x9b\u009b\x7f", 8, "a?b???? "},
		{"\x1b", 2, "? "},
		{"\x1b[", 3, "?[ "},
		{"\x1b[1", 4, "?[1 "},
		{"\x1b[?25l", 6, "?[?25l"},
	} {
		if got := PadStyled(c.in, c.w); got != c.want {
			t.Errorf("PadStyled(%q, %d) = %q, want %q", c.in, c.w, got, c.want)
		}
	}
}

func TestOverlayTable(t *testing.T) {
	for _, c := range []struct {
		name       string
		frame, box []string
		x, y       int
		want       []string
	}{
		{"inside", []string{"......", "......", "......"}, []string{"ab", "cd"}, 2, 1, []string{"......", "..ab..", "..cd.."}},
		{"ragged box", []string{"......", "......"}, []string{"abc", "d"}, 1, 0, []string{".abc..", ".d  .."}},
		{"beyond every edge", []string{"....", "...."}, []string{"abcdef", "ghijkl", "mnopqr"}, -1, -1, []string{"hijk", "nopq"}},
		{"beside the frame", []string{"...."}, []string{"ab"}, 4, 0, []string{"...."}},
		{"left of the frame", []string{"...."}, []string{"ab"}, -2, 0, []string{"...."}},
		{"empty box", []string{"...."}, nil, 0, 0, []string{"...."}},
		{"empty frame", nil, []string{"ab"}, 0, 0, []string{}},
		{"wide characters cut at both edges", []string{"注文注文"}, []string{"abc"}, 1, 0, []string{" abc注文"}},
		{"wide characters cut at the right", []string{"注文注文"}, []string{"abc"}, 2, 0, []string{"注abc 文"}},
		{"wide characters of the box cut", []string{"..."}, []string{"注文"}, -1, 0, []string{" 文"}},
		{"styles end and return", []string{"\x1b[7m......\x1b[0m"}, []string{"\x1b[1mab\x1b[0m"}, 2, 0,
			[]string{"\x1b[7m..\x1b[0m\x1b[1mab\x1b[0m\x1b[7m..\x1b[0m"}},
		{"a style that ended does not return", []string{"\x1b[1m..\x1b[0m...."}, []string{"ab"}, 3, 0,
			[]string{"\x1b[1m..\x1b[0m.ab."}},
		{"an open style of the box stays in the box", []string{"...."}, []string{"\x1b[31ma"}, 1, 0, []string{".\x1b[31ma\x1b[0m.."}},
		{"a style covered by the box still returns", []string{"..\x1b[31m..\x1b[1m.."}, []string{"ab"}, 3, 0,
			[]string{"..\x1b[31m.\x1b[0mab\x1b[31m\x1b[1m.\x1b[0m"}},
	} {
		frame, box := slices.Clone(c.frame), slices.Clone(c.box)
		if got := Overlay(frame, box, c.x, c.y); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if !slices.Equal(frame, c.frame) || !slices.Equal(box, c.box) {
			t.Errorf("%s: the arguments were changed", c.name)
		}
	}
}

var sgrPieces = []string{"\x1b[0m", "\x1b[m", "\x1b[1m", "\x1b[7m", "\x1b[31;44m", "\x1b[38;5;12m", "\x1b[0;1m"}

// style puts SGR sequences between the words of cleaned text: the seed chooses
// them.
func style(b string, seed uint64) string {
	var out strings.Builder
	for i, part := range strings.SplitAfter(string(Clean(b)), ":") {
		if n := (seed >> (i % 16 * 4)) % 16; n < uint64(len(sgrPieces)) {
			out.WriteString(sgrPieces[n])
		}
		out.WriteString(part)
	}
	if seed%2 == 0 {
		out.WriteString("\x1b[0m")
	}
	return out.String()
}

// cellsOf returns what stands in each cell of a styled line, as the style in
// force and the character; the right half of a wide character is empty.
func cellsOf(s string) (cells []string) {
	inForce := ""
	for s != "" {
		size, w, kind := piece(s)
		if this := s[:size]; kind == sgrPiece {
			if isReset(this) {
				inForce = ""
			} else {
				inForce += this
			}
		} else if w > 0 {
			cells = append(cells, inForce+this)
			for range w - 1 {
				cells = append(cells, "")
			}
		}
		s = s[size:]
	}
	return cells
}

func checkStyledLine(t interface{ Fatalf(string, ...any) }, line string, w int) {
	if got := ansi.StringWidth(line); got != w {
		t.Fatalf("%q has %d cells, want %d", line, got, w)
	}
	if got := AnsiWidth(line); got != w {
		t.Fatalf("AnsiWidth(%q) = %d, want %d", line, got, w)
	}
	requireSafe(t, Safe(ansi.Strip(line)))
	if open := cellsOf(line + "x"); open[len(open)-1] != "x" {
		t.Fatalf("%q leaves a style open", line)
	}
}

func checkPadStyled(t interface{ Fatalf(string, ...any) }, line string, w int) {
	got := PadStyled(line, w)
	checkStyledLine(t, got, max(0, w))
	if again := PadStyled(got, w); again != got {
		t.Fatalf("PadStyled(%q, %d) = %q, and of that %q", line, w, got, again)
	}
	before, after := cellsOf(line), cellsOf(got)
	for i := range min(len(before), len(after)) {
		if before[i] != after[i] && !(i == len(after)-1 && strings.HasSuffix(after[i], " ")) {
			t.Fatalf("PadStyled(%q, %d) = %q: cell %d differs", line, w, got, i)
		}
	}
}

func checkOverlay(t interface{ Fatalf(string, ...any) }, frame, box []string, w, x, y int) {
	for i := range frame {
		frame[i] = PadStyled(frame[i], w)
	}
	got := Overlay(frame, box, x, y)
	if len(got) != len(frame) {
		t.Fatalf("%d lines became %d", len(frame), len(got))
	}
	boxWidth := 0
	for _, line := range box {
		boxWidth = max(boxWidth, AnsiWidth(line))
	}
	for row, line := range got {
		checkStyledLine(t, line, w)
		before, after := cellsOf(frame[row]), cellsOf(line)
		var over []string
		if i := row - y; i >= 0 && i < len(box) {
			over = cellsOf(PadStyled(box[i], boxWidth))
		}
		for col := range w {
			want := before[col]
			if i := col - x; i >= 0 && i < len(over) {
				want = over[i]
			}
			if after[col] == want {
				continue
			}
			// Only a half of a wide character may differ, and is a space.
			atEdge := col == x-1 || col == x+len(over) || col == 0 || col == w-1
			if over == nil || !atEdge || !strings.HasSuffix(after[col], " ") {
				t.Fatalf("Overlay(%q, %q, %d, %d): line %d is %q, cell %d differs", frame, box, x, y, row, line, col)
			}
		}
	}
}

func TestPadStyledProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := style(hostileText().Draw(t, "text"), rapid.Uint64().Draw(t, "styles"))
		checkPadStyled(t, line, rapid.IntRange(-1, 50).Draw(t, "w"))
	})
}

func TestOverlayProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := func(label string) []string {
			return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
				return style(hostileText().Draw(t, "text"), rapid.Uint64().Draw(t, "styles"))
			}), 0, 5).Draw(t, label)
		}
		checkOverlay(t, lines("frame"), lines("box"), rapid.IntRange(0, 40).Draw(t, "w"),
			rapid.IntRange(-10, 45).Draw(t, "x"), rapid.IntRange(-4, 6).Draw(t, "y"))
	})
}

// Whatever a line is made of, nothing but SGR leaves PadStyled.
func TestPadStyledLetsNothingThrough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		got := PadStyled(hostileText().Draw(t, "line"), rapid.IntRange(0, 60).Draw(t, "w"))
		for s := got; s != ""; {
			size, _, kind := piece(s)
			if kind == badPiece {
				t.Fatalf("%q passes in %q", s[:size], got)
			}
			s = s[size:]
		}
	})
}

func FuzzOverlay(f *testing.F) {
	f.Add("lock:注文:42\nlock:a:b:c", "╭──╮\n│注文│\n╰──╯", uint64(0x1234567), uint8(20), int8(3), int8(0))
	f.Add(strings.Join(hostile, ""), strings.Join(hostile, "\n"), uint64(0), uint8(60), int8(-3), int8(-2))
	f.Fuzz(func(t *testing.T, frame, box string, styles uint64, w uint8, x, y int8) {
		styled := func(s string) (lines []string) {
			for i, line := range strings.SplitN(s, "\n", 20) {
				lines = append(lines, style(line, styles>>(i%8)))
			}
			return lines
		}
		for _, line := range styled(frame) {
			checkPadStyled(t, line, int(w))
		}
		checkOverlay(t, styled(frame), styled(box), int(w), int(x), int(y))
	})
}

func TestOverlayFarOutside(t *testing.T) {
	frame := []string{"...."}
	for _, at := range []int{math.MinInt, math.MinInt + 1, math.MaxInt - 1, math.MaxInt} {
		for _, c := range [][2]int{{at, 0}, {0, at}, {at, at}} {
			if got := Overlay(frame, []string{"ab", "cd", "ef"}, c[0], c[1]); !slices.Equal(got, frame) {
				t.Errorf("Overlay at %v: %q", c, got)
			}
		}
	}
}
