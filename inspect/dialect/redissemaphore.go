package dialect

import (
	"strings"
	"time"
)

// redisSemaphore is redis-semaphore for Node: mutexes are strings, semaphores
// are sorted sets of holders by when each last showed itself. How long after
// that a holder counts is known to the clients alone; the others clear up
// before they take a place.
type redisSemaphore struct{}

func (redisSemaphore) Name() string { return "redis-semaphore" }

func (redisSemaphore) Patterns() []string { return []string{"mutex:*", "semaphore:*"} }

func (redisSemaphore) Recognise(e Entry) (Decoded, bool) {
	habits := Habits{Renews: 8 * time.Second}
	if _, ok := under(e.Key, "mutex:"); ok && isRedisSemaphoreID(e.text()) {
		d := mutex(e, Likely, Holder{})
		d.Habits = habits
		return d, true
	}
	if _, ok := under(e.Key, "semaphore:"); !ok || e.Type != "zset" || len(e.Items) == 0 {
		return Decoded{}, false
	}
	d := Decoded{Confidence: Likely, Kind: Semaphore, Habits: habits}
	for _, i := range e.Items {
		if _, ok := scored(i.Value); !ok || !isRedisSemaphoreID(i.Name) {
			return Decoded{}, false
		}
		d.Holders = append(d.Holders, Holder{Token: i.Name, Count: 1})
	}
	sortByToken(d.Holders)
	return d, true
}

// isRedisSemaphoreID reports a random UUID, alone or with what the application
// adds to it, or the number of the permit if one holder has several.
func isRedisSemaphoreID(s string) bool {
	if len(s) < 36 || !isUUID4(s[:36]) {
		return false
	}
	rest := s[36:]
	return rest == "" || len(rest) > 1 && (strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "_") && isDigits(rest[1:]))
}

func (d redisSemaphore) Release(e Entry, h Holder) (Release, error) {
	if e.Type != "zset" {
		return compareAndDelete(e, h)
	}
	if _, err := known(d, e, h); err != nil {
		return Release{}, err
	}
	return remove(e, ofSortedSet, h.Token), nil
}
