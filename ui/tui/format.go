package tui

import (
	"strings"
	"time"
	"unicode/utf8"

	"dlock/inspect"
	"dlock/ui/text"
)

// How much of foreign bytes is ever shown in one place.
const (
	maxKeyBytes  = 512
	maxTextBytes = 1024
)

func cleanKey(s string) text.Safe  { return text.CleanMax(s, maxKeyBytes) }
func cleanText(s string) text.Safe { return text.CleanMax(s, maxTextBytes) }

// keyText is a key as it is shown: cleaned, and never empty.
func keyText(key string) text.Safe {
	if key == "" {
		return "(empty name)"
	}
	return cleanKey(key)
}

// unique is the part of a token that tells it from others: of one that begins
// with a UUID, that; of one of several words, the first.
func unique(token string) string {
	const uuid = 36
	if len(token) > uuid && (token[uuid] == '/' || token[uuid] == ' ') {
		return token[:uuid]
	}
	if i := strings.IndexByte(token, ' '); i > 0 {
		return token[:i]
	}
	return token
}

// shortToken is the first and the last four characters of what makes a token
// unique.
func shortToken(k *kit, token string) text.Safe {
	if token == "" {
		return "(empty)"
	}
	token = unique(token)
	if utf8.RuneCountInString(token) <= 10 {
		return cleanKey(token)
	}
	return text.Clean(firstRunes(token, 4)) + k.g.fit.Truncate("……", 1) + text.Clean(lastRunes(token, 4))
}

func firstRunes(s string, n int) string {
	end := 0
	for i := 0; i < n && end < len(s); i++ {
		_, w := utf8.DecodeRuneInString(s[end:])
		end += w
	}
	return s[:end]
}

func lastRunes(s string, n int) string {
	start := len(s)
	for i := 0; i < n && start > 0; i++ {
		_, w := utf8.DecodeLastRuneInString(s[:start])
		start -= w
	}
	return s[start:]
}

// ownerText is who an owner is: its name, else its token. One whose token is
// only known from nodes that have gone silent since is not said to hold it.
func ownerText(k *kit, o inspect.Owner) text.Safe {
	// A short value is more likely to be a name that somebody chose.
	const short = 20
	who := shortToken(k, o.Token)
	switch u := unique(o.Token); {
	case o.Name != "":
		who = cleanKey(o.Name)
	case u != "" && utf8.RuneCountInString(u) <= short:
		who = cleanKey(u)
	}
	if len(o.Votes) == 0 {
		return "was " + who
	}
	return who
}

// onNodes says which nodes store an owner's token.
func onNodes(o inspect.Owner) text.Safe {
	if len(o.Votes) == 0 {
		return "on no node that answers"
	}
	return "on " + listed(o.Votes)
}

// ownersText is everybody who claims the lock or shares it, for one cell.
func ownersText(k *kit, l inspect.Lock) text.Safe {
	return join(" + ", claimants(k, &l)...)
}

// claimants are those whose names belong into a lock's row: whoever holds it or
// would, and of several that claim it or share it each one.
func claimants(k *kit, l *inspect.Lock) []text.Safe {
	switch {
	case l.Companion != nil:
		return []text.Safe{cleanText(string(l.Companion.Role)) + " of " + keyText(l.Companion.Of)}
	case len(l.Owners) == 0 && l.State == inspect.Expired:
		return []text.Safe{"-"}
	case len(l.Owners) == 0 && l.Anonymous:
		return []text.Safe{"(recorded nowhere)"}
	case len(l.Owners) == 0:
		return []text.Safe{"?"}
	}
	named := l.Owners
	if holders := l.Holders(); !contested(l) {
		named = named[:max(1, len(holders))]
	}
	const most = 8 // more do not fit into any row
	parts := make([]text.Safe, 0, min(most, len(named)))
	for i := range named[:min(most, len(named))] {
		parts = append(parts, ownerText(k, named[i])+modeMark(&named[i]))
	}
	if more := len(named) - len(parts); more > 0 {
		parts = append(parts, itoa(more)+" more")
	}
	return parts
}

// modeMark tells readers from writers.
func modeMark(o *inspect.Owner) text.Safe {
	switch o.Mode {
	case "":
		return ""
	case "read":
		return " (r)"
	case "write":
		return " (w)"
	default:
		return " (" + text.CleanMax(o.Mode, 8) + ")"
	}
}

// fitOwners is ownersText for a cell of w cells: where not all of it fits, as
// many names as can be told still, and how many there are.
func fitOwners(k *kit, l *inspect.Lock, w int) text.Safe {
	parts := claimants(k, l)
	all := join(" + ", parts...)
	if text.Width(all) <= w || len(parts) < 2 {
		return all
	}
	const least = 6 // cells that a name can be told by
	for n := len(parts); n > 0; n-- {
		rest := text.Safe("")
		if n < len(parts) {
			rest = " +" + text.Count(max(len(parts), len(l.Holders()))-n)
		}
		room := w - text.Width(rest)
		whole := join(" + ", parts[:n]...)
		switch {
		case text.Width(whole) <= room:
			return whole + rest
		case n == 1:
			return k.g.fit.Truncate(whole, room) + rest
		case contested(l) && room-3*(n-1) >= least*n:
			// Of those who claim it each one matters.
			return join(" + ", shareOut(k, parts[:n], room-3*(n-1))...) + rest
		}
	}
	return all
}

// shareOut cuts texts so that together they fit into w cells, the longer ones
// first.
func shareOut(k *kit, parts []text.Safe, w int) []text.Safe {
	out := make([]text.Safe, len(parts))
	left := len(parts)
	done := make([]bool, len(parts))
	for again := true; again; {
		again = false
		for i, s := range parts {
			if !done[i] && text.Width(s) <= w/max(1, left) {
				out[i], done[i], again = s, true, true
				w -= text.Width(s)
				left--
			}
		}
	}
	for i, s := range parts {
		if !done[i] {
			share := w / max(1, left)
			out[i] = k.g.fit.Truncate(s, share)
			w -= text.Width(out[i])
			left--
		}
	}
	return out
}

// age is a duration for people, "?" when it is not known.
func age(now, then time.Time) text.Safe {
	if then.IsZero() {
		return "?"
	}
	return text.Duration(max(0, now.Sub(then)))
}

// coarse is an age in whole seconds: nothing that only flickers.
func coarse(now, then time.Time) text.Safe {
	if then.IsZero() {
		return "?"
	}
	d := max(0, now.Sub(then))
	if d < time.Second {
		return "<1s"
	}
	if d < time.Minute {
		return itoa(int(d/time.Second)) + "s"
	}
	return text.Duration(d)
}

// since is how long ago something was, for a sentence or a column.
func since(now, then time.Time) text.Safe {
	if !then.IsZero() && now.Sub(then) < time.Second {
		return "now"
	}
	return coarse(now, then) + " ago"
}

// where is onNodes, except for a lock that is gone, where nothing has to be
// said about it.
func where(l *inspect.Lock, o inspect.Owner) text.Safe {
	if l.State == inspect.Expired && len(o.Votes) == 0 {
		return ""
	}
	return onNodes(o)
}

// ttlText is the time until the lock ends if nobody renews.
func ttlText(e inspect.Expiry, now time.Time) text.Safe {
	if e.Never {
		return "never"
	}
	d, ok := e.Remaining(now)
	switch {
	case !ok:
		return "?"
	case d == 0:
		// By our count it is over; only the next sample knows whether it
		// was renewed.
		return "check"
	}
	return text.Duration(d)
}

// lockTTL is ttlText for a lock's row.
func lockTTL(l inspect.Lock, now time.Time) text.Safe {
	if l.State == inspect.Expired {
		return "-"
	}
	if l.State == inspect.Unknown {
		// No look will tell before a silent node is back.
		if d, ok := l.Expiry.Remaining(now); ok && d == 0 {
			return "?"
		}
	}
	return ttlText(l.Expiry, now)
}

// heldFor is how long the present owner has had it. The mark of a lower bound
// stays even where the number is cut.
func heldFor(k *kit, l inspect.Lock, now time.Time) text.Safe {
	if l.State == inspect.Expired {
		if l.GoneAt.IsZero() {
			return "-"
		}
		return "gone " + coarse(now, l.GoneAt)
	}
	if l.HeldSince.IsZero() {
		return "?"
	}
	s := coarse(now, l.HeldSince)
	if l.HeldIsMinimum && now.Sub(l.HeldSince) >= time.Second {
		return k.g.atLeast + s
	}
	return s
}

// fraction is how much of the longest life seen is left; ok is false where
// there is nothing to draw.
func fraction(l inspect.Lock, now time.Time) (float64, bool) {
	d, ok := l.Expiry.Remaining(now)
	if !ok || l.FullTTL <= 0 || l.State == inspect.Expired {
		return 0, false
	}
	return min(1, float64(d)/float64(l.FullTTL)), true
}

// addBar draws a bar of w cells: what is left is heavy, what is gone is light,
// in steps of half a cell. Only nothing is quite empty.
func (k *kit) addBar(ln *line, st style, f float64, w int) {
	if k.g.ascii {
		ln.add(st, k.g.fit.Bar(f, w))
		return
	}
	halves := min(2*w, int(f*float64(2*w)+0.5))
	if f > 0 {
		halves = max(1, halves)
	}
	ln.add(st, text.Repeat("━", halves/2))
	rest := w - halves/2
	if halves%2 == 1 {
		ln.add(st, "╸")
		rest--
	}
	ln.add(k.frame, text.Repeat("─", rest))
}

// votesText is "4/5"; "?/5" when nobody can tell.
func votesText(l inspect.Lock) text.Safe {
	agree := itoa(l.Votes.Agree)
	if l.State == inspect.Unknown && len(l.Owners) == 0 {
		agree = "?"
	}
	return agree + "/" + itoa(l.Votes.Of)
}

// maxStrip is how many nodes get a glyph each in a table's row.
const maxStrip = 9

// strip adds the vote strip: one glyph per node, in the configured order.
func strip(k *kit, ln *line, l inspect.Lock) {
	if len(l.Copies) > maxStrip {
		return
	}
	for _, c := range l.Copies {
		ln.add(k.answerStyle(c.Answer), k.g.answer(c.Answer))
	}
}

func (k *kit) answerStyle(a inspect.Answer) style {
	switch a {
	case inspect.AnswerHeld:
		return k.calm
	case inspect.AnswerOther:
		return k.other
	case inspect.AnswerFree:
		return k.dim
	default:
		return k.weak
	}
}

// badge is how a lock's condition is told: a word, a glyph and a style.
type badge struct {
	word  text.Safe
	glyph text.Safe
	style style
}

// flagOrder is worst first; the flags a healthy lock has do not count.
var flagOrder = []inspect.Flag{inspect.NoExpiry, inspect.Stuck, inspect.Expiring, inspect.Leftover, inspect.Degraded}

func (k *kit) flagBadge(f inspect.Flag) badge {
	switch f {
	case inspect.NoExpiry:
		return badge{"NO-EXPIRY", k.g.noExpiry, k.warn}
	case inspect.Stuck:
		return badge{"STUCK", k.g.stuck, k.warn}
	case inspect.Expiring:
		return badge{"EXPIRING", k.g.expiring, k.soon}
	case inspect.Leftover:
		return badge{"LEFTOVER", k.g.leftover, k.weak}
	case inspect.Degraded:
		return badge{"DEGRADED", k.g.degraded, k.weak}
	default:
		return badge{cleanText(strings.ToUpper(string(f))), k.g.held, k.weak}
	}
}

func (k *kit) stateBadge(s inspect.State) badge {
	switch s {
	case inspect.Held:
		return badge{"HELD", k.g.held, k.calm}
	case inspect.Split:
		return badge{"SPLIT", k.g.split, k.alarm}
	case inspect.Partial:
		return badge{"PARTIAL", k.g.partial, k.weak}
	case inspect.Unknown:
		return badge{"UNKNOWN", k.g.unknown, k.weak}
	default:
		return badge{"EXPIRED", k.g.gone, k.dim}
	}
}

// badge is what a row says in its first column: the state, or, of a lock that
// is held, the worst that is to be said about it.
func (k *kit) badge(l *inspect.Lock) badge {
	if l.State == inspect.Held || l.State == inspect.Partial && l.Has(inspect.NoExpiry) {
		for _, f := range flagOrder {
			if l.Has(f) {
				return k.flagBadge(f)
			}
		}
	}
	return k.stateBadge(l.State)
}

// rowBadge is badge, with how it ended for a lock that is gone.
func (sc *scene) rowBadge(l *inspect.Lock) badge {
	b := sc.badge(l)
	if l.Companion != nil {
		return badge{"NO LOCK", sc.g.leftover, sc.weak}
	}
	if l.State == inspect.Expired && lastEnd(sc.snap, l) == inspect.Released {
		b.word = "RELEASED"
	}
	return b
}

// lastEnd is how a lock that is gone was seen to end: Released or Ended. A
// release by force is one as well.
func lastEnd(s *inspect.Snapshot, l *inspect.Lock) inspect.EventKind {
	for i := len(s.Events) - 1; i >= 0; i-- {
		e := &s.Events[i]
		if e.Key != l.ID.Key {
			continue
		}
		switch e.Kind {
		case inspect.Released, inspect.Operator:
			return inspect.Released
		case inspect.Ended:
			return inspect.Ended
		}
	}
	end, at := inspect.Ended, time.Time{}
	for _, c := range l.Copies {
		if (c.Change == inspect.Released || c.Change == inspect.Ended) && c.ChangedAt.After(at) {
			end, at = c.Change, c.ChangedAt
		}
	}
	return end
}

// clock is a time of day, with tenths of a second where there is room.
func clock(t time.Time, fine bool) text.Safe {
	if t.IsZero() {
		return "-"
	}
	if fine {
		return text.Clean(t.Format("15:04:05.0"))
	}
	return text.Clean(t.Format("15:04:05"))
}

// rtt is a round trip, "-" when it is not known.
func rtt(m inspect.Maybe[time.Duration]) text.Safe {
	if !m.Known {
		return "-"
	}
	return text.Latency(m.Value)
}

// offset is a clock difference with its sign.
func offset(m inspect.Maybe[time.Duration]) text.Safe {
	if !m.Known {
		return "?"
	}
	d := m.Value.Round(time.Millisecond)
	if d == 0 {
		return "+0ms"
	}
	if d >= 0 {
		return "+" + text.Clean(d.String())
	}
	return text.Clean(d.String())
}
