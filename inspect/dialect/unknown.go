package dialect

// Unknown is the name of the dialect that takes what no other recognises.
const Unknown = "unknown"

// unknown treats a string as an opaque token, as every library does that locks
// with SET NX and releases by compare-and-delete. Of anything else it only
// says that it is there.
type unknown struct{}

func (unknown) Name() string { return Unknown }

func (unknown) Recognise(Entry) (Decoded, bool) { return Decoded{Count: 1}, true }

func (unknown) Release(e Entry) (Release, error) { return compareAndDelete(e) }
