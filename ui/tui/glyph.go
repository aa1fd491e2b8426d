package tui

import (
	"runtime"
	"strings"

	"dlock/inspect"
	"dlock/ui/text"
)

// glyphs is a set of characters, each one cell wide. In locales that draw
// some of the Unicode set two cells wide the ASCII set keeps columns straight.
type glyphs struct {
	ascii bool

	// one node's answer about a lock
	this, other, free, silent, unknown text.Safe
	// states and flags
	split, noExpiry, stuck, partial, expiring, leftover, degraded, held, gone text.Safe
	// chrome
	cursor, dash, vert, tl, tr, bl, br, stl, str, sbl, sbr, caret, arrow, up, down, atLeast, dot text.Safe

	fit text.Fitter
}

func unicodeGlyphs() glyphs {
	return glyphs{
		this: "●", other: "◆", free: "○", silent: "✗", unknown: "?",
		split: "◆", noExpiry: "∞", stuck: "■", partial: "□", expiring: "▼", leftover: "◇", degraded: "▲", held: "●", gone: "○",
		cursor: ">", dash: "─", vert: "│", tl: "╭", tr: "╮", bl: "╰", br: "╯", stl: "┌", str: "┐", sbl: "└", sbr: "┘",
		caret: "_", arrow: "→", up: "↑", down: "↓", atLeast: "≥", dot: "·",
	}
}

func asciiGlyphs() glyphs {
	return glyphs{
		ascii: true,
		this:  "#", other: "!", free: ".", silent: "x", unknown: "?",
		split: "!", noExpiry: "8", stuck: "=", partial: "%", expiring: "v", leftover: "'", degraded: "-", held: "#", gone: ".",
		cursor: ">", dash: "-", vert: "|", tl: "+", tr: "+", bl: "+", br: "+", stl: "+", str: "+", sbl: "+", sbr: "+",
		caret: "_", arrow: ">", up: "up", down: "dn", atLeast: ">=", dot: "-",
		fit: text.Fitter{ASCII: true},
	}
}

// answer is the glyph for one node's answer.
func (g glyphs) answer(a inspect.Answer) text.Safe {
	switch a {
	case inspect.AnswerHeld:
		return g.this
	case inspect.AnswerOther:
		return g.other
	case inspect.AnswerFree:
		return g.free
	case inspect.AnswerUnreachable:
		return g.silent
	default:
		return g.unknown
	}
}

// asciiLocale reports whether the locale says that the terminal does not
// take UTF-8. A locale that is not set at all says nothing: many containers
// and remote shells have none, on terminals that are fine.
func asciiLocale(getenv func(string) string) bool {
	if runtime.GOOS == "windows" {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return !strings.Contains(v, "utf-8") && !strings.Contains(v, "utf8")
		}
	}
	return false
}
