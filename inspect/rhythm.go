package inspect

import "time"

// rhythmSlack is how much longer than two intervals the pause between two looks
// at a lock may be for a renewal between them to be timed.
const rhythmSlack = 500 * time.Millisecond

// rhythm times the renewals of a token. Only those count that follow one
// another while the lock was looked at often enough to see each of them: what is
// asked about every twenty seconds seems to be renewed every twenty seconds.
type rhythm struct {
	first, last time.Time // of the run of renewals under way
	beats       int       // of that run
	earlier     time.Duration
}

// beat adds a renewal that was seen now. close is whether the look before was
// recent enough for it to be the only one since.
func (r *rhythm) beat(now time.Time, close bool) {
	if !close {
		r.pause()
		return
	}
	if r.beats == 0 {
		r.first = now
	}
	r.beats++
	r.last = now
}

// pause ends the run under way: what follows is not known to follow it closely.
func (r *rhythm) pause() {
	*r = rhythm{earlier: r.period()}
}

// period is the time between two renewals on average, 0 while it is not known.
func (r *rhythm) period() time.Duration {
	if r.beats < 2 {
		return r.earlier
	}
	return r.last.Sub(r.first) / time.Duration(r.beats-1)
}

// news reports whether a node was asked since the last step.
func (tr *track) news(replies []reply) bool {
	for n, r := range replies {
		if r.answers && r.sampled && r.sample.presence != forbidden && r.sample.asked != tr.nodes[n].sample.asked {
			return true
		}
	}
	return false
}

// pause is the longest time between what a node told last and what it tells now.
func (tr *track) pause(replies []reply) time.Duration {
	var longest time.Duration
	for n, r := range replies {
		if before := tr.nodes[n]; r.answers && r.sampled && before.answered() {
			longest = max(longest, r.sample.sent().Sub(before.sample.sent()))
		}
	}
	return longest
}
