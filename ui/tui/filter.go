package tui

import (
	"slices"
	"strings"

	"dlock/inspect"
	"dlock/ui/text"
)

// filter is what the filter line means: every term must hold. It is cheap
// enough to run over every lock on each snapshot.
type filter struct {
	source string
	terms  []filterTerm
	// self is this machine's name, lower case, for is:mine.
	self string
}

type filterTerm struct {
	not   bool
	field string // "" for plain text
	value string // lower case
}

// filterFields are the words that may stand before a colon. Keys are full of
// colons, so everything else is plain text.
var filterFields = []string{"state", "owner", "node", "flag", "library", "lib", "kind", "is"}

// presets are the operands of is:, the questions that are asked most often.
var presets = []string{"trouble", "no-expiry", "waiting", "mine"}

// nextPreset turns a filter's text to the next preset, and after the last one
// to none. Other words stay.
func nextPreset(source string) string {
	at := -1
	words := slices.DeleteFunc(strings.Fields(source), func(word string) bool {
		i := slices.Index(presets, strings.TrimPrefix(word, "is:"))
		if i < 0 || !strings.HasPrefix(word, "is:") {
			return false
		}
		at = i
		return true
	})
	if at+1 < len(presets) {
		words = append(words, "is:"+presets[at+1])
	}
	return strings.Join(words, " ")
}

// parseFilter reads "text !text state:x owner:x node:x flag:x library:x kind:x
// is:x", where lib: is short for library:. There is no text it refuses.
func parseFilter(s string) filter {
	f := filter{source: s}
	for _, word := range strings.Fields(s) {
		t := filterTerm{}
		if strings.HasPrefix(word, "!") && len(word) > 1 {
			t.not, word = true, word[1:]
		}
		t.value = lowerASCII(word)
		for _, name := range filterFields {
			if v, ok := strings.CutPrefix(t.value, name+":"); ok {
				t.field, t.value = name, v
				if name == "lib" {
					t.field = "library"
				}
				break
			}
		}
		if t.value == "" { // still being typed
			continue
		}
		f.terms = append(f.terms, t)
	}
	return f
}

// unknown says which operand there is nothing of, such as a state that no lock
// can be in; "" if all are known.
func (f filter) unknown(nodes []inspect.NodeStatus) text.Safe {
	for _, t := range f.terms {
		var known []string
		switch t.field {
		case "state":
			known = slices.Concat(stateWords, flagWords, kindWords)
		case "flag":
			known = slices.Concat(flagWords, kindWords)
		case "node":
			if slices.ContainsFunc(nodes, func(n inspect.NodeStatus) bool { return equalFold(n.Name, t.value) }) {
				continue
			}
			return "no such node: " + cleanText(t.value)
		case "is":
			if t.value == "mine" && f.self == "" {
				return "this machine's name is not known"
			}
			known = presets
		default:
			continue
		}
		if !slices.ContainsFunc(known, func(word string) bool { return containsFold(word, t.value) }) {
			return text.Clean("no such "+t.field+": ") + cleanText(t.value)
		}
	}
	return ""
}

// The words that state: and flag: look for, of locks and of events.
var (
	stateWords = []string{string(inspect.Held), string(inspect.Split), string(inspect.Partial), string(inspect.Unknown), string(inspect.Expired)}
	flagWords  = []string{string(inspect.NoExpiry), string(inspect.Stuck), string(inspect.Expiring), string(inspect.Degraded), string(inspect.Leftover)}
	kindWords  = []string{string(inspect.Taken), string(inspect.Renewed), string(inspect.Released), string(inspect.Ended), string(inspect.HandedOver), string(inspect.LostNode),
		string(inspect.GainedNode), string(inspect.WentSplit), string(inspect.WentNoTTL), string(inspect.NodeWentUp), string(inspect.NodeFell), string(inspect.Operator), string(inspect.Gap)}
)

func (f filter) empty() bool { return len(f.terms) == 0 }

// lock reports whether a lock passes.
func (f filter) lock(l *inspect.Lock) bool {
	for _, t := range f.terms {
		if t.lock(l, f.self) == t.not {
			return false
		}
	}
	return true
}

func (t filterTerm) lock(l *inspect.Lock, self string) bool {
	switch t.field {
	case "state":
		return containsFold(string(l.State), t.value) || l.State == inspect.Expired && containsFold(string(inspect.Released), t.value) || l.State != inspect.Expired && hasFlag(l, t.value)
	case "flag":
		return hasFlag(l, t.value)
	case "library":
		return containsFold(l.Library, t.value) || slices.ContainsFunc(l.Candidates, func(c string) bool { return containsFold(c, t.value) })
	case "kind":
		return containsFold(l.Kind, t.value)
	case "is":
		return isPreset(l, t.value, self)
	case "owner":
		return hasOwner(l, t.value)
	case "node":
		for _, c := range l.Copies {
			if (c.Answer == inspect.AnswerHeld || c.Answer == inspect.AnswerOther) && equalFold(c.Node, t.value) {
				return true
			}
		}
		return false
	default:
		return containsFold(l.ID.Key, t.value) || hasOwner(l, t.value)
	}
}

// isPreset reports whether a preset, which may be typed in part, lets a lock
// pass.
func isPreset(l *inspect.Lock, value, self string) bool {
	for _, name := range presets {
		if !strings.HasPrefix(name, value) {
			continue
		}
		switch name {
		case "trouble":
			return inTrouble(l)
		case "no-expiry":
			return l.State != inspect.Expired && l.Has(inspect.NoExpiry)
		case "waiting":
			return l.Waiters.Known && l.Waiters.Value > 0
		case "mine":
			return self != "" && slices.ContainsFunc(l.Owners, func(o inspect.Owner) bool { return ofHost(&o, self) })
		}
	}
	return false
}

// inTrouble reports whether somebody should have a look at a lock: something
// that not every lock goes through near its end.
func inTrouble(l *inspect.Lock) bool {
	t := l.Trouble()
	return t < 5 || t == 6
}

// ofHost reports whether an owner says that it runs on a machine. Names end in
// a process number, and one of the two host names may be a full one.
func ofHost(o *inspect.Owner, self string) bool {
	host := o.Host
	if host == "" {
		host, _, _ = strings.Cut(o.Name, ":")
	}
	short, _, _ := strings.Cut(host, ".")
	self, _, _ = strings.Cut(self, ".")
	return short != "" && equalFold(short, self)
}

func hasFlag(l *inspect.Lock, value string) bool {
	for _, f := range l.Flags {
		if containsFold(string(f), value) {
			return true
		}
	}
	return false
}

func hasOwner(l *inspect.Lock, value string) bool {
	for i := range l.Owners {
		if containsFold(l.Owners[i].Name, value) || containsFold(l.Owners[i].Token, value) {
			return true
		}
	}
	return false
}

// event reports whether an event passes. state: goes by the kind of event.
func (f filter) event(e *inspect.Event) bool {
	for _, t := range f.terms {
		if t.event(e) == t.not {
			return false
		}
	}
	return true
}

func (t filterTerm) event(e *inspect.Event) bool {
	switch t.field {
	case "state", "flag", "kind":
		return containsFold(string(e.Kind), t.value)
	case "owner":
		return containsFold(e.Owner, t.value) || containsFold(e.Token, t.value)
	case "node":
		return equalFold(e.Node, t.value)
	case "library":
		return false
	case "is":
		return t.value == "no-expiry" && e.Kind == inspect.WentNoTTL || t.value == "trouble" && notable(e.Kind)
	default:
		return containsFold(e.Key, t.value) || containsFold(string(e.Kind), t.value) || containsFold(e.Node, t.value) ||
			containsFold(e.Owner, t.value) || containsFold(e.Text, t.value)
	}
}

// lowerASCII lowers A to Z and leaves every other byte, so that bytes that
// are no text keep their meaning.
func lowerASCII(s string) string {
	for i := 0; i < len(s); i++ {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				b[j] = lower(b[j])
			}
			return string(b)
		}
	}
	return s
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

func equalFold(s, lowered string) bool {
	return len(s) == len(lowered) && containsFold(s, lowered)
}

// containsFold reports whether s holds sub, which must be lower case already,
// without making a copy of s.
func containsFold(s, sub string) bool {
	if sub == "" {
		return true
	}
	for i := 0; i+len(sub) <= len(s); i++ {
		j := 0
		for j < len(sub) && lower(s[i+j]) == sub[j] {
			j++
		}
		if j == len(sub) {
			return true
		}
	}
	return false
}
