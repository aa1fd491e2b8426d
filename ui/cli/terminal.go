package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// terminal reports whether a stream is a terminal, and how many columns it has
// (0 when it does not tell).
type terminal func(stream any) (width int, yes bool)

func realTerminal(stream any) (int, bool) {
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, true
	}
	return width, true
}

// look decides how output to a stream is drawn.
type look struct {
	width  int // columns to stay within, 0 for no limit
	colour bool
	ascii  bool
}

func (p *program) look(stream io.Writer) look {
	width, isTerminal := p.terminal(stream)
	l := look{ascii: p.settings.ascii || p.env.plainCharset()}
	if isTerminal {
		l.width = width
	}
	switch p.settings.color {
	case "always":
		l.colour = true
	case "auto":
		noColor, _ := p.env.get("NO_COLOR")
		l.colour = isTerminal && noColor == "" && p.env["CLICOLOR"] != "0" && p.env["TERM"] != "dumb"
	}
	return l
}
