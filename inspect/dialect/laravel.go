package dialect

import "strings"

// laravel is the cache lock of the Laravel framework: 16 random letters and
// digits under a name with the application's prefixes, perhaps as PHP
// serializes them. The framework locks for many things by itself, which show
// in the name.
type laravel struct{ text }

func (laravel) Name() string { return "laravel" }

func (laravel) Patterns() []string {
	var out []string
	for _, n := range laravelNames {
		out = append(out, "*"+n.part+"*")
	}
	return out
}

// laravelNames are the framework's own names and what it does with them.
var laravelNames = []struct {
	part   string
	kind   string
	habits Habits
}{
	{"laravel_unique_job:", Job, Habits{Endless: true, Enqueued: true, Careless: true}},
	{"laravel-queue-overlap:", Job, Habits{Endless: true}},
	{"illuminate:cache:flexible:lock:", Mutex, Habits{Endless: true}},
	{"framework/command-", Job, Habits{}},
	{"framework/schedule-", Job, Habits{}},
}

func (laravel) Recognise(e Entry) (Decoded, bool) {
	value := unwrap(e.text())
	token, limiter := all(value, 16, isAlnum), all(value, 20, isAlnum)
	if !token && !limiter {
		return Decoded{}, false
	}
	for _, n := range laravelNames {
		at := strings.Index(e.Key, n.part)
		if !token || at < 0 {
			continue
		}
		d := mutex(e, Likely, Holder{})
		d.Kind, d.Habits = n.kind, n.habits
		if n.part == "framework/schedule-" && isOnOneServer(e.Key[at+len(n.part):]) {
			d.Habits.Lingers = true
		}
		return d, true
	}
	prefixed := strings.Contains(e.Key, "-database-") || strings.Contains(e.Key, "_database_")
	switch {
	case prefixed && limiter:
		d := mutex(e, Possible, Holder{})
		d.Kind = Semaphore // one of several keys that differ in the number at the end
		return d, true
	case prefixed || value != e.Value:
		return mutex(e, Likely, Holder{}), true
	}
	return Decoded{}, false
}

// isOnOneServer reports a hash and the hour and minute of one run; such a key
// stays for an hour, so that no other server runs the same.
func isOnOneServer(name string) bool {
	return len(name) == 44 && isHex(name[:40], 40) && isDigits(name[40:])
}

// unwrap takes a string out of what PHP's serializers make of it, if it is
// that; otherwise it returns the value as it is.
func unwrap(value string) string {
	const igbinary = "\x00\x00\x00\x02\x11" // then a byte with the length
	if rest, ok := strings.CutPrefix(value, igbinary); ok && rest != "" && len(rest)-1 == int(rest[0]) {
		return rest[1:]
	}
	rest, ok := strings.CutPrefix(value, "s:")
	digits, quoted, split := strings.Cut(rest, ":")
	n, counted := pidOf(digits)
	if !ok || !split || !counted || len(quoted) != n+3 || quoted[0] != '"' || quoted[n+1:] != `";` {
		return value
	}
	return quoted[1 : n+1]
}
