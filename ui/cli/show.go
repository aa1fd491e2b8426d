package cli

import (
	"strconv"
	"strings"
	"time"

	"dlock/inspect"
	"dlock/ui/text"
)

const unknownText text.Safe = "?"

// quoted is the form in which a key or a token is printed: plain when it is
// plain, else in double quotes with escapes, and accepted back as an argument
// either way.
func quoted(raw string) text.Safe {
	q := text.Quote(raw)
	if strings.HasPrefix(q, "-") {
		// Pasted back it would be read as an option.
		q = `"` + q + `"`
	}
	return text.Escaped(q)
}

// clipped is for a stored value that is shown only so that it can be told from
// others: long ones lose their middle.
func (l look) clipped(raw string, cells int) text.Safe {
	return l.fitter().TruncateMiddle(quoted(raw), cells)
}

func (l look) fitter() text.Fitter { return text.Fitter{ASCII: l.ascii} }

// choose picks the drawing that the terminal can show.
func (l look) choose(unicode, ascii text.Safe) text.Safe {
	if l.ascii {
		return ascii
	}
	return unicode
}

// stateText is the state in capitals, with the flags after it.
func stateText(l inspect.Lock) text.Safe {
	words := []string{strings.ToUpper(string(l.State))}
	for _, f := range l.Flags {
		words = append(words, string(f))
	}
	return text.Clean(strings.Join(words, ","))
}

const ownerCells = 24

// ownerText names the holder; where the stored value does not tell a name it
// is the value itself. A split lock has several, and so have one that may still
// turn out to be held by one of them and one that may be shared.
func (l look) ownerText(lock inspect.Lock) text.Safe {
	if len(lock.Owners) == 0 {
		return unknownText
	}
	owners := lock.Owners
	if lock.State != inspect.Split && !lock.Contested() {
		owners = owners[:max(1, len(lock.Holders()))]
	}
	names := make([]text.Safe, 0, namedMost+1)
	for _, o := range owners[:min(namedMost, len(owners))] {
		names = append(names, l.nameOf(o))
	}
	if more := len(owners) - len(names); more > 0 {
		names = append(names, number(more)+" more")
	}
	return text.Join(names, " + ")
}

func (l look) nameOf(o inspect.Owner) text.Safe {
	if o.Name != "" {
		return text.Clean(o.Name)
	}
	return l.clipped(o.Token, ownerCells)
}

func ttlText(e inspect.Expiry, now time.Time) text.Safe {
	if e.Never {
		return "never"
	}
	left, known := e.Remaining(now)
	if !known {
		return unknownText
	}
	return text.Duration(left)
}

func (l look) heldText(lock inspect.Lock, now time.Time) text.Safe {
	if lock.HeldSince.IsZero() {
		return unknownText
	}
	held := text.Duration(now.Sub(lock.HeldSince))
	if lock.HeldIsMinimum {
		return l.choose("≥", ">=") + held
	}
	return held
}

func votesText(lock inspect.Lock) text.Safe {
	of := "/" + number(lock.Votes.Of)
	if lock.Votes.Agree == 0 && lock.State == inspect.Unknown {
		return unknownText + of
	}
	return number(lock.Votes.Agree) + of
}

func number(n int) text.Safe { return text.Clean(strconv.Itoa(n)) }

// strip draws one mark per node, in the configured order.
func (l look) strip(lock inspect.Lock) text.Safe {
	var marks text.Safe
	for _, c := range lock.Copies {
		switch c.Answer {
		case inspect.AnswerHeld:
			marks += l.choose("●", "#")
		case inspect.AnswerOther:
			marks += l.choose("◆", "!")
		case inspect.AnswerFree:
			marks += l.choose("○", ".")
		case inspect.AnswerUnreachable:
			marks += l.choose("✗", "x")
		default:
			marks += "?"
		}
	}
	return marks
}

func maybeText[T any](m inspect.Maybe[T], show func(T) string) text.Safe {
	if !m.Known {
		return unknownText
	}
	return text.Clean(show(m.Value))
}

func durationText(d time.Duration) string { return string(text.Duration(d)) }

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// findingIDs lists what is remarkable, worst first as they come.
func findingIDs(lock inspect.Lock) text.Safe {
	if len(lock.Findings) == 0 {
		return "-"
	}
	ids := make([]string, 0, len(lock.Findings))
	for _, f := range lock.Findings {
		ids = append(ids, f.ID)
	}
	return text.Clean(strings.Join(ids, ","))
}

// count writes "1 node", "3 nodes".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
