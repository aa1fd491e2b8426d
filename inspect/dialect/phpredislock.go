package dialect

import (
	"strconv"
	"strings"
	"time"
)

// phpRedisLock is cheprasov/php-redis-lock: the process, PHP's microtime when
// the lock's object was made, and a random number.
type phpRedisLock struct{ text }

func (phpRedisLock) Name() string { return "php-redis-lock" }

func (phpRedisLock) Recognise(e Entry) (Decoded, bool) {
	parts := strings.Split(e.text(), ":")
	if len(parts) != 3 || !isDigits(parts[2]) || len(parts[2]) > 4 {
		return Decoded{}, false
	}
	pid, ok := pidOf(parts[0])
	since, made := microtime(parts[1])
	if !ok || !made {
		return Decoded{}, false
	}
	return mutex(e, Certain, Holder{Owner: "pid " + parts[0], PID: pid, Since: since}), true
}

// microtime reads "0.12345600 1692612345".
func microtime(s string) (time.Time, bool) {
	fraction, whole, ok := strings.Cut(s, " ")
	fraction, zero := strings.CutPrefix(fraction, "0.")
	if !ok || !zero || len(fraction) != 8 || !isDigits(fraction) || len(whole) != 10 || !isDigits(whole) {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(whole+fraction, 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	t := time.Unix(n/1e8, n%1e8*10)
	return t, plausible(t)
}

// redlockPHP is ronnylt/redlock-php, whose token is PHP's uniqid: the moment,
// in seconds and microseconds, both in hexadecimal. Other PHP code does that
// too.
type redlockPHP struct{ text }

func (redlockPHP) Name() string { return "redlock-php" }

func (redlockPHP) Recognise(e Entry) (Decoded, bool) {
	since, ok := uniqid(e.text())
	if !ok {
		return Decoded{}, false
	}
	return mutex(e, Possible, Holder{Since: since}), true
}

func uniqid(s string) (time.Time, bool) {
	if !isHex(s, 13) {
		return time.Time{}, false
	}
	whole, err := strconv.ParseInt(s[:8], 16, 64)
	if err != nil {
		return time.Time{}, false
	}
	micros, err := strconv.ParseInt(s[8:], 16, 64)
	if err != nil || micros >= 1e6 {
		return time.Time{}, false
	}
	t := time.Unix(whole, micros*1000)
	return t, plausible(t)
}
