package dialect

import (
	"errors"
	"strings"
)

// quartz is quartz-redis-jobstore: one lock around the store's own steps, one
// for each trigger, and one for each job that must not run twice. The last two
// hold the name of a scheduler.
type quartz struct{ text }

func (quartz) Name() string { return "quartz" }

func (quartz) Patterns() []string { return []string{"*trigger_lock:*:*", "*job_blocked:*:*"} }

func (quartz) usual() Habits { return Habits{Careless: true} }

func (quartz) Recognise(e Entry) (Decoded, bool) {
	// A scheduler's id is one word; what stands in front of the key is the
	// application's, so that other names may end alike.
	if !isText(e.text()) || strings.ContainsAny(e.Value, " \"'{}[]<>(),;") {
		return Decoded{}, false
	}
	d := mutex(e, Possible, Holder{Owner: e.Value})
	switch {
	case quartzKey(e.Key, "trigger_lock:"):
	case quartzKey(e.Key, "job_blocked:"):
		d.Kind, d.Habits = Job, Habits{Endless: true}
	default:
		return Decoded{}, false
	}
	return d, true
}

func (q quartz) Release(e Entry, h Holder) (Release, error) {
	if quartzKey(e.Key, "job_blocked:") {
		return Release{}, errors.New("the job also stands in sets of blocked jobs and triggers, which a release of this key alone would leave as they are; start a scheduler again and let it sweep up after the dead one")
	}
	return q.text.Release(e, h)
}

// quartzKey reports the kind of key, any prefix in front of it, and a group
// and a name behind it.
func quartzKey(key, kind string) bool {
	_, job, ok := strings.Cut(key, kind)
	group, name, split := strings.Cut(job, ":")
	return ok && split && group != "" && name != ""
}
