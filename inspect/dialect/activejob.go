package dialect

import "strings"

// activeJob is activejob-uniqueness: the lock of redlock-rb, taken when the
// job is queued.
type activeJob struct{ text }

func (activeJob) Name() string { return "activejob-uniqueness" }

func (activeJob) Patterns() []string { return []string{"activejob_uniqueness:*"} }

func (activeJob) Recognise(e Entry) (Decoded, bool) {
	rest, _ := under(e.Key, "activejob_uniqueness:")
	if class, job, ok := strings.Cut(rest, ":"); !ok || class == "" || job == "" || !isUUID4(e.text()) {
		return Decoded{}, false
	}
	d := mutex(e, Certain, Holder{})
	d.Kind, d.Habits = Job, Habits{Enqueued: true}
	return d, true
}
