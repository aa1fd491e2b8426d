package dialect

import "slices"

// Unknown is the name of the dialect that takes what no other recognises.
const Unknown = "unknown"

// unknown treats a string as an opaque token, as every library does that locks
// with SET NX and releases by compare-and-delete; it names those that write
// tokens of this form. Of anything else it only says that it is there.
type unknown struct{}

func (unknown) Name() string { return Unknown }

func (unknown) Patterns() []string { return []string{"lock:*"} }

func (unknown) Recognise(e Entry) (Decoded, bool) {
	if !e.HasValue {
		return Decoded{Anonymous: true}, true
	}
	if d, ok := guess(e); ok {
		return d, true
	}
	return Decoded{Holders: []Holder{{Token: e.Value, Count: 1}}}, true
}

func (unknown) Release(e Entry, h Holder) (Release, error) { return compareAndDelete(e, h) }

// Questions asks for the channels on which Spring tells its waiters, where it
// may be Spring's lock.
func (unknown) Questions(e Entry, d Decoded) [][]string {
	registries := springRegistries(e.Key)
	if !slices.Contains(d.Candidates, spring{}.Name()) || len(registries) == 0 {
		return nil
	}
	question := []string{"PUBSUB", "NUMSUB"}
	for _, r := range registries {
		question = append(question, r+"-channel")
	}
	return [][]string{question}
}

// Learn takes subscribers of such a channel as a sign of Spring. They stay
// when they no longer wait, so they are not counted as waiters.
func (unknown) Learn(_ Entry, d *Decoded, answers []any) Extra {
	if len(answers) != 1 {
		return Extra{}
	}
	pairs, _ := answers[0].([]any)
	for i := 1; i < len(pairs); i += 2 {
		if n, _ := pairs[i].(int64); n > 0 {
			*d = d.likely(spring{}.Name())
		}
	}
	return Extra{}
}
