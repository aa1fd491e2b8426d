package dialect

import "errors"

// errNameless refuses the release of a lock whose value is the same whoever
// holds it.
var errNameless = errors.New("the value is the same whoever holds the lock, so a release could hit the next holder; stop the holder and let the key expire")

// arq is the Python job queue: a mark that a job is being worked on.
type arq struct{ text }

func (arq) Name() string { return "arq" }

func (arq) Patterns() []string { return []string{"arq:in-progress:*"} }

func (arq) Recognise(e Entry) (Decoded, bool) {
	if _, ok := under(e.Key, "arq:in-progress:"); !ok || e.text() != "1" {
		return Decoded{}, false
	}
	return Decoded{Confidence: Certain, Kind: Job, Anonymous: true}, true
}

func (arq) Release(Entry, Holder) (Release, error) { return Release{}, errNameless }
