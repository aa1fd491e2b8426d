package dialect

// Unknown is the name of the dialect that takes what no other recognises.
const Unknown = "unknown"

// unknown treats a string as an opaque token, as every library does that locks
// with SET NX and releases by compare-and-delete. Of anything else it only
// says that it is there.
type unknown struct{}

func (unknown) Name() string { return Unknown }

func (unknown) Patterns() []string { return []string{"lock:*"} }

func (unknown) Recognise(e Entry) (Decoded, bool) {
	if !e.HasValue {
		return Decoded{Anonymous: true}, true
	}
	return Decoded{Holders: []Holder{{Token: e.Value, Count: 1}}}, true
}

func (unknown) Release(e Entry, h Holder) (Release, error) { return compareAndDelete(e, h) }
