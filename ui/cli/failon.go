package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"dlock/inspect"
	"dlock/ui/text"
)

// troubleWords are what --fail-on takes: the flags and the states of locks.
var troubleWords = []string{
	string(inspect.NoExpiry), string(inspect.Stuck), string(inspect.Split), string(inspect.Partial), string(inspect.Unknown),
	string(inspect.Leftover), string(inspect.Degraded), string(inspect.Expiring), string(inspect.Expired), string(inspect.Held),
}

// wordsValue is a flag that takes some of a few words, with commas between
// them or by being given again.
type wordsValue struct {
	to    *[]string
	words []string
}

func newWords(to *[]string, words []string) *wordsValue { return &wordsValue{to: to, words: words} }

func (w *wordsValue) String() string {
	if w.to == nil {
		return ""
	}
	return strings.Join(*w.to, ",")
}

func (w *wordsValue) Type() string { return "words" }

func (w *wordsValue) Set(s string) error {
	for _, word := range strings.Split(s, ",") {
		word = strings.TrimSpace(word)
		if !slices.Contains(w.words, word) {
			return errors.New("takes " + orList(w.words) + ", with commas between them")
		}
		if !slices.Contains(*w.to, word) {
			*w.to = append(*w.to, word)
		}
	}
	return nil
}

// is reports whether a word of --fail-on is true of a lock.
func is(l inspect.Lock, word string) bool {
	return string(l.State) == word || l.Has(inspect.Flag(word))
}

// namedMost is how many keys a sentence names before it counts the others.
const namedMost = 3

// troubled says which of the words are true of which locks, "" if none is.
func troubled(locks []inspect.Lock, words []string) string {
	var parts []string
	for _, word := range words {
		var keys []string
		for _, l := range locks {
			if is(l, word) {
				keys = append(keys, string(quoted(l.ID.Key)))
			}
		}
		if len(keys) == 0 {
			continue
		}
		named := keys[:min(namedMost, len(keys))]
		rest := ""
		if more := len(keys) - len(named); more > 0 {
			rest = fmt.Sprintf(", and %d more", more)
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s%s)", count(len(keys), "lock"), word, strings.Join(named, ", "), rest))
	}
	return strings.Join(parts, "; ")
}

// failOn ends a listing of locks some of which are what --fail-on names. What
// else there is to say is said before.
func (p *program) failOn(s inspect.Snapshot, words []string, otherwise error) error {
	found := troubled(s.Locks, words)
	if found == "" {
		return otherwise
	}
	var gap *exitError
	if errors.As(otherwise, &gap) && gap.sentence != "" {
		p.say("%s", gap.sentence)
	}
	return exitWith(exitTrouble, "found %s", text.Escaped(found))
}
