package dialect

import (
	"strings"
	"time"
)

// redisPy is the Lock of redis-py and valkey-py: a UUID made from the time at
// which acquire began and the network address of the machine.
type redisPy struct{ text }

func (redisPy) Name() string { return "redis-py" }

func (redisPy) usual() Habits { return Habits{Endless: true} }

func (r redisPy) Recognise(e Entry) (Decoded, bool) {
	h, ok := redisPyHolder(e.text())
	if !ok {
		return Decoded{}, false
	}
	if isDjangoKey(e.Key) {
		return among(e, Likely, h, r.Name(), "django-redis"), true
	}
	d := mutex(e, Likely, h)
	d.Habits = r.usual()
	return d, true
}

// redisPyHolder reads the token that several Python libraries take over from
// redis-py.
func redisPyHolder(value string) (Holder, bool) {
	made, mac, ok := uuid1(value)
	return Holder{Owner: mac, Since: made}, ok
}

// isDjangoKey reports prefix:version:name, which Django makes of every name
// unless the application has its own rule.
func isDjangoKey(key string) bool {
	_, rest, _ := strings.Cut(key, ":")
	version, name, ok := strings.Cut(rest, ":")
	return ok && name != "" && isDigits(version)
}

// redisMutex is kenn/redis-mutex, whose value is when the lock lapses, while
// the key has no expiry. Early versions of redis-py did the same.
type redisMutex struct{ text }

func (redisMutex) Name() string { return "redis-mutex" }

func (redisMutex) Patterns() []string { return []string{"RedisMutex:*"} }

func (redisMutex) usual() Habits { return Habits{Endless: true} }

func (r redisMutex) Recognise(e Entry) (Decoded, bool) {
	until, ok := lapse(e.text())
	if !ok {
		return Decoded{}, false
	}
	h := Holder{Until: until}
	d := among(e, Possible, h, r.Name(), "redis-py")
	if _, ok := under(e.Key, "RedisMutex:"); ok {
		d = mutex(e, Likely, h)
		d.Habits = r.usual()
	}
	if e.lapsed(until) {
		d.Holders = nil
	}
	return d, true
}

// lapse reads a moment in Unix seconds with a fraction, as both print it. The
// end of time, as early versions of redis-py wrote it, is the zero time.
func lapse(s string) (time.Time, bool) {
	if s == "2147483649.0" {
		return time.Time{}, true
	}
	whole, fraction, _ := strings.Cut(s, ".")
	if len(whole) != 10 || !isDigits(whole) || !isDigits(fraction) {
		return time.Time{}, false
	}
	return seconds(s)
}
