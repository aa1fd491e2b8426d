package dialect

import "time"

// redbeat is the scheduler celery-redbeat: the lock of redis-py, held by the
// one beat that is active.
type redbeat struct{ text }

func (redbeat) Name() string { return "redbeat" }

func (redbeat) Patterns() []string { return []string{"redbeat::lock"} }

func (redbeat) Recognise(e Entry) (Decoded, bool) {
	h, ok := redisPyHolder(e.text())
	if !ok || e.Key != "redbeat::lock" {
		return Decoded{}, false
	}
	d := mutex(e, Certain, h)
	d.Habits = Habits{Renews: 300 * time.Second}
	return d, true
}
