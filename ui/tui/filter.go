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
}

type filterTerm struct {
	not   bool
	field string // "" for plain text
	value string // lower case
}

// filterFields are the words that may stand before a colon. Keys are full of
// colons, so everything else is plain text.
var filterFields = []string{"state", "owner", "node", "flag", "lib"}

// parseFilter reads "text !text state:x owner:x node:x flag:x lib:x". There is
// no text it refuses.
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
		if t.lock(l) == t.not {
			return false
		}
	}
	return true
}

func (t filterTerm) lock(l *inspect.Lock) bool {
	switch t.field {
	case "state":
		return containsFold(string(l.State), t.value) || l.State == inspect.Expired && containsFold(string(inspect.Released), t.value) || l.State != inspect.Expired && hasFlag(l, t.value)
	case "flag":
		return hasFlag(l, t.value)
	case "lib":
		return containsFold(l.Library, t.value) || containsFold(l.Kind, t.value)
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
	case "state", "flag":
		return containsFold(string(e.Kind), t.value)
	case "owner":
		return containsFold(e.Owner, t.value) || containsFold(e.Token, t.value)
	case "node":
		return equalFold(e.Node, t.value)
	case "lib":
		return false
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
