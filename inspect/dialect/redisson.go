package dialect

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// redisson is the Java client. Whatever it locks it writes under the name that
// the application chose: a hash with one field per client and thread, which
// holds how often that thread has entered. Here is what its entries look like;
// redisson_side.go has what stands beside them, redisson_release.go the
// releases.
type redisson struct{}

func (redisson) Name() string { return "redisson" }

func (redisson) Patterns() []string { return nil }

// redissonHabits are those of a lock that was taken without a lease of its
// own; with one, nothing renews it.
var redissonHabits = Habits{
	Renews:      10 * time.Second,
	Consequence: "the holder's own unlock will throw an IllegalMonitorStateException",
}

func (redisson) Recognise(e Entry) (Decoded, bool) {
	// A client's lock over several deployments has another client on each.
	d := Decoded{Confidence: Certain, Kind: Mutex, Separate: true, Habits: redissonHabits}
	var ok bool
	switch {
	case len(e.Items) == 0:
	case e.Type == "zset":
		d.Confidence, d.Kind, d.Habits = Likely, Semaphore, Habits{Endless: true}
		d.Holders, ok = redissonPermits(e)
	case e.Type != "hash":
	default:
		mode, hasMode := e.Item("mode")
		if d.Holders, ok = redissonValues(e); ok {
			break
		}
		d.Holders, ok = redissonThreads(e, mode)
		switch {
		case hasMode || e.Cut && len(d.Holders) > 1:
			d.Kind = ReadWrite
			if !hasMode { // it did not fit in; no other kind has several holders
				d.Confidence = Likely
			}
		case len(d.Holders) != 1:
			ok = false
		default:
			// A field that names an id and a number may be anybody's count.
			d.Confidence = Likely
		}
	}
	sortByToken(d.Holders)
	return d, ok
}

// redissonThreads reads the fields of a plain or a read-write lock. The writer
// of the latter may read at the same time.
func redissonThreads(e Entry, mode string) ([]Holder, bool) {
	var holders []Holder
	writers := 0
	for _, i := range e.Items {
		if i.Name == "mode" {
			continue
		}
		owner, writes := strings.CutSuffix(i.Name, ":write")
		thread, isThread := redissonThread(owner)
		count, err := strconv.Atoi(i.Value)
		if !isThread || err != nil || count < 1 || writes && mode != "write" {
			return nil, false
		}
		h := Holder{Token: i.Name, Owner: owner, Thread: thread, Count: count}
		switch {
		case writes:
			h.Mode = "write"
			writers++
		case mode != "" || e.Cut:
			h.Mode = "read"
		}
		holders = append(holders, h)
	}
	switch mode {
	case "write":
		return holders, writers == 1 || e.Cut && writers == 0
	case "read", "":
		return holders, len(holders) > 0
	}
	return nil, false
}

// redissonThread reads the thread in the name of one: client, a UUID, and the
// number that Java gave to the thread.
func redissonThread(owner string) (thread string, ok bool) {
	if len(owner) < 38 || !isUUID(owner[:36]) || owner[36] != ':' || !isDigits(owner[37:]) {
		return "", false
	}
	return owner[37:], true
}

// redissonValues reads a group of locks, one for each of several values, which
// are told by their hashes alone. Each has one holder and an expiry of its own.
func redissonValues(e Entry) ([]Holder, bool) {
	var holders []Holder
	seen := 0
	for _, i := range e.Items {
		if !isBase64Hash(i.Name) {
			continue
		}
		thread, ok := redissonThread(i.Value)
		expires, hasExpiry := e.Item(redissonValueField(i.Name, i.Value, "expire_time"))
		entered, hasCount := e.Item(redissonValueField(i.Name, i.Value, "lock_count"))
		if !ok {
			return nil, false
		}
		seen++
		if e.Cut && !(hasExpiry && hasCount) {
			continue
		}
		until, ok := millis(expires)
		count, err := strconv.Atoi(entered)
		if !ok || err != nil || count < 1 {
			return nil, false
		}
		seen += 2
		if !e.lapsed(until) {
			holders = append(holders, Holder{Token: i.Name, Owner: i.Value, Thread: thread, Until: until, Count: count})
		}
	}
	return holders, seen > 0 && (e.Cut || seen == len(e.Items))
}

func redissonValueField(hash, owner, what string) string { return hash + ":" + owner + ":" + what }

// isBase64Hash reports 16 bytes in base64 without padding.
func isBase64Hash(s string) bool {
	return isBase64(s+"==", 16) || isBase64URL(s, 16)
}

// redissonNever is the score of a permit that does not end.
const redissonNever = 922337203685477

// redissonPermits reads the permits of a semaphore whose permits expire: 16
// random bytes each.
func redissonPermits(e Entry) ([]Holder, bool) {
	base, ok := redissonPermitsOf(e.Key)
	if !ok || base == "" {
		return nil, false
	}
	var holders []Holder
	for _, i := range e.Items {
		h := Holder{Token: i.Name, Count: 1}
		if len(i.Name) != 16 || isText(i.Name) { // random bytes are no text
			return nil, false
		}
		if score, err := strconv.ParseFloat(i.Value, 64); err != nil || score != redissonNever {
			until, ok := scored(i.Value)
			if !ok {
				return nil, false
			}
			h.Until = until
		}
		if !e.lapsed(h.Until) {
			holders = append(holders, h)
		}
	}
	return holders, true
}

// redissonPermitsOf returns what a semaphore's permits are named after: its
// name, or its name in braces.
func redissonPermitsOf(key string) (base string, ok bool) {
	base, ok = strings.CutSuffix(key, ":timeout")
	return base, ok && strings.Contains(base, "{") && strings.Contains(base, "}")
}

var errRedissonEntered = errors.New("the thread has entered more often than can be undone here; stop the client, and the lock ends with its expiry")
