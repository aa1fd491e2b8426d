package dialect

import (
	"strings"
	"time"
	"unicode/utf8"
)

// rueidislock is the lock of the Go clients rueidis and valkey-go, which
// differ in the prefix: one lock is the majority of an odd number of keys on
// one deployment, numbered from 0, all with the same 24 random bytes. Whoever
// waits, and the holder too, hears at once of a key that was deleted.
type rueidislock struct {
	text
	name string
}

func (r rueidislock) Name() string { return r.name }

func (r rueidislock) Patterns() []string { return []string{r.name + ":*"} }

func (r rueidislock) usual() Habits {
	return Habits{
		Renews:      2500 * time.Millisecond,
		Consequence: "the holder's context is cancelled as soon as no majority of its keys is left",
	}
}

func (r rueidislock) Recognise(e Entry) (Decoded, bool) {
	value := e.text()
	prefix, _, _, ok := numbered(e.Key)
	if !ok || len(value) != 24 || utf8.ValidString(value) {
		return Decoded{}, false
	}
	if prefix == r.name {
		d := mutex(e, Certain, Holder{})
		d.Habits = r.usual()
		return d, true
	}
	if prefix == "rueidislock" || prefix == "valkeylock" {
		return Decoded{}, false
	}
	d := among(e, Possible, Holder{}, "rueidislock", "valkeylock")
	d.Habits = r.usual()
	return d, true
}

// LockOf makes the key with number 0 the lock and the others its parts.
func (r rueidislock) LockOf(key string) (lock string, role Role, types []string, ok bool) {
	prefix, number, name, ok := numbered(key)
	if !ok || prefix != r.name || number == "0" {
		return "", "", nil, false
	}
	return prefix + ":0:" + name, RolePart, []string{"string"}, true
}

// numbered takes prefix:number:name apart.
func numbered(key string) (prefix, number, name string, ok bool) {
	prefix, rest, _ := strings.Cut(key, ":")
	number, name, _ = strings.Cut(rest, ":")
	ok = prefix != "" && name != "" && isDigits(number) && len(number) <= 3 && (number == "0" || number[0] != '0')
	return prefix, number, name, ok
}
