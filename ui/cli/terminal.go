package cli

import (
	"io"
	"os"
	"runtime"

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

// needCursor refuses to start a live view on a terminal that, as TERM tells it,
// cannot move its cursor. Windows sets no TERM and needs none.
func (p *program) needCursor() error {
	name, _ := p.env.get("TERM")
	switch {
	case name == "dumb":
		return usage("TERM=dumb says that this terminal cannot show a live view; use dlock ls for a list")
	case name == "" && runtime.GOOS != "windows":
		return usage("TERM is not set, so nothing is known about this terminal; use dlock ls for a list, or set TERM")
	}
	return nil
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
