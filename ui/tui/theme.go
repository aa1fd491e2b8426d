package tui

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"dlock/ui/text"
)

// depth is what a terminal can show.
type depth int

const (
	depthNone  depth = iota // no escape sequence at all
	depthAttrs              // bold, faint, underline, reverse
	depth16
	depth256
)

// detectDepth goes by the environment alone: asking the terminal costs a
// round trip and hangs on those that do not answer.
func detectDepth(getenv func(string) string) depth {
	term := getenv("TERM")
	switch {
	case term == "dumb", term == "" && runtime.GOOS != "windows":
		return depthNone
	case getenv("NO_COLOR") != "", getenv("CLICOLOR") == "0":
		return depthAttrs
	case strings.HasPrefix(term, "vt1"), strings.HasPrefix(term, "vt2"):
		return depthAttrs
	case strings.Contains(term, "256color"), getenv("COLORTERM") != "", runtime.GOOS == "windows":
		return depth256
	default:
		return depth16
	}
}

// style wraps a piece of a line. The sequences are made once, so that drawing
// is joining strings.
type style struct{ open, close string }

func (s style) apply(t text.Safe) string {
	if s.open == "" || t == "" {
		return string(t)
	}
	return s.open + string(t) + s.close
}

// theme names styles by what they say, never by how they look.
type theme struct {
	plain  style
	dim    style // less important
	strong style // more important
	frame  style // borders and rules
	title  style // the title of a pane
	key    style // a key in a hint
	brand  style // the program's name
	alarm  style // a chip: two holders, no quorum
	warn   style // a chip: somebody should look
	notice style // a chip: know this (paused, a tag)
	weak   style // words of trouble outside a chip
	soon   style // about to end
	calm   style // words and glyphs of a lock that is well held
	other  style // another token than the first owner's
	bar    style
	cursor style // the selected row, all of it
	button style // the focused button
	// tags are looks of the environment's tag by the colour's name. People
	// choose them, so they mean what those say.
	tags map[string]style
}

// tag is the look of the environment's tag.
func (t theme) tag(color string) style {
	if s, ok := t.tags[color]; ok {
		return s
	}
	return t.warn
}

// Themes returns the names that Config.Theme may have.
func Themes() []string { return []string{"default", "dark", "light", "mono", "high-contrast"} }

// newTheme builds a theme, or says that there is none of that name.
func newTheme(name string, d depth) (theme, error) {
	switch name {
	case "", "default", "dark", "light", "high-contrast":
	case "mono":
		d = min(d, depthAttrs)
	default:
		return theme{}, fmt.Errorf("there is no theme %q; use default, dark, light, mono or high-contrast", name)
	}
	if d == depthNone {
		return theme{}, nil
	}
	// A renderer of our own, told its profile: the default one drops bold
	// and reverse as well when NO_COLOR is set, and the cursor with them.
	r := lipgloss.NewRenderer(io.Discard)
	r.SetHasDarkBackground(true)
	r.SetColorProfile(termenv.ANSI)
	if d == depth256 {
		r.SetColorProfile(termenv.ANSI256)
	}
	made := func(s lipgloss.Style) style {
		open, close, _ := strings.Cut(s.Render("x"), "x")
		return style{open, close}
	}
	s := r.NewStyle
	t := theme{
		dim: made(s().Faint(true)), strong: made(s().Bold(true)), frame: made(s().Faint(true)), title: made(s().Bold(true)),
		key: made(s().Bold(true)), brand: made(s().Bold(true).Reverse(true)),
		alarm: made(s().Bold(true).Reverse(true)), warn: made(s().Reverse(true)), notice: made(s().Bold(true).Underline(true)),
		weak: made(s().Bold(true)), soon: made(s().Underline(true)), other: made(s().Bold(true)),
		cursor: made(s().Reverse(true)), button: made(s().Bold(true).Reverse(true)),
	}
	if d == depthAttrs {
		return t, nil
	}
	// Unless a person says which it is, nothing may depend on knowing the
	// background: the middle tones of the 256 keep about the same contrast to white and
	// to black; a chip brings its own. With 16 colours words keep the terminal's own foreground and
	// colour is left to chips and shapes. Blue against orange is told apart
	// by everybody; red and green never mean anything here.
	col := func(c256, c16 string) lipgloss.Color {
		if d == depth256 {
			return lipgloss.Color(c256)
		}
		return lipgloss.Color(c16)
	}
	purple, orange, blue, grey := col("133", "5"), col("166", "3"), col("32", "6"), col("243", "8")
	switch name {
	case "dark":
		purple, orange, blue, grey = col("177", "13"), col("215", "11"), col("75", "14"), col("248", "7")
	case "light":
		purple, orange, blue, grey = col("90", "5"), col("130", "1"), col("25", "4"), col("240", "8")
	}
	t.brand = made(s().Bold(true).Foreground(col("231", "15")).Background(col("25", "4")))
	t.alarm = made(s().Bold(true).Foreground(col("231", "15")).Background(col("127", "5")))
	t.warn = made(s().Bold(true).Foreground(col("16", "0")).Background(col("208", "3")))
	t.notice = made(s().Bold(true).Foreground(col("231", "15")).Background(col("25", "4")))
	chip := func(c256, c16, ink256, ink16 string) style {
		return made(s().Bold(true).Foreground(col(ink256, ink16)).Background(col(c256, c16)))
	}
	t.tags = map[string]style{
		"red": chip("160", "1", "231", "15"), "orange": chip("208", "3", "16", "0"), "green": chip("28", "2", "231", "15"),
		"blue": chip("25", "4", "231", "15"), "purple": chip("127", "5", "231", "15"), "grey": chip("240", "8", "231", "15"),
	}
	t.other = made(s().Bold(true).Foreground(purple))
	t.soon = made(s().Bold(true).Foreground(blue))
	t.bar = made(s().Foreground(blue))
	t.title = made(s().Bold(true))
	t.calm = made(s().Foreground(blue))
	if d == depth256 {
		t.weak = made(s().Bold(true).Foreground(orange))
		t.frame = made(s().Foreground(grey))
		t.dim = made(s().Foreground(grey))
		t.key = made(s().Bold(true).Foreground(blue))
	}
	if name == "high-contrast" {
		t.dim, t.frame = t.plain, t.plain
		t.calm, t.bar = t.plain, t.strong
		t.weak, t.soon, t.other, t.key = t.strong, made(s().Bold(true).Underline(true)), t.strong, t.strong
		t.cursor = made(s().Bold(true).Reverse(true))
	}
	return t, nil
}
