package dialect

import "strings"

// rq is the Python job queue: the lock of a queue's scheduler, whose value is
// the scheduler's name, or its process in older versions, and the mark that a
// queue's registries were cleaned a short while ago.
type rq struct{ text }

const (
	rqScheduler = "rq:scheduler-lock:"
	rqClean     = "rq:clean_registries:"
)

func (rq) Name() string { return "rq" }

func (rq) Patterns() []string { return []string{rqScheduler + "*", rqClean + "*"} }

func (rq) Recognise(e Entry) (Decoded, bool) {
	if _, ok := under(e.Key, rqClean); ok && e.text() == "1" {
		return Decoded{Confidence: Certain, Kind: Mutex, Anonymous: true, Habits: Habits{Lingers: true}}, true
	}
	if _, ok := under(e.Key, rqScheduler); !ok {
		return Decoded{}, false
	}
	var h Holder
	if pid, ok := pidOf(e.text()); ok {
		h.Owner, h.PID = "pid "+e.Value, pid
	} else if !isUUID4Hex(e.text()) {
		return Decoded{}, false
	}
	d := mutex(e, Certain, h)
	d.Habits = Habits{Careless: true}
	return d, true
}

func (r rq) Release(e Entry, h Holder) (Release, error) {
	if strings.HasPrefix(e.Key, rqClean) {
		return Release{}, errNameless
	}
	return r.text.Release(e, h)
}
