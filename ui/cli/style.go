package cli

import "dlock/inspect"

// style is a list of SGR parameters. Words carry the meaning; a style only
// draws the eye, so nothing is lost without it.
type style string

const (
	plain   style = ""
	bold    style = "1"
	faint   style = "2"
	warning style = "1;33"
	alarm   style = "1;7;35"
	notice  style = "36"
)

func (l look) paint(s style, text string) string {
	if !l.colour || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

func stateStyle(l inspect.Lock) style {
	switch {
	case l.State == inspect.Split:
		return alarm
	case l.State == inspect.Unknown, l.State == inspect.Expired:
		return faint
	case l.State == inspect.Partial, l.Has(inspect.NoExpiry), l.Has(inspect.Stuck):
		return warning
	case l.Has(inspect.Expiring):
		return notice
	default:
		return plain
	}
}

func severityStyle(s inspect.Severity) style {
	switch s {
	case inspect.High:
		return alarm
	case inspect.Medium:
		return warning
	default:
		return plain
	}
}
