package dialect

import "dlock/lockcore"

// Dlock is the name of this project's own dialect.
const Dlock = "dlock"

// dlock recognises the locks of package lockcore by their token, under
// whatever prefix they are.
type dlock struct{}

func (dlock) Name() string { return Dlock }

func (dlock) Patterns() []string { return []string{lockcore.DefaultPrefix + "*"} }

func (dlock) Recognise(e Entry) (Decoded, bool) {
	if !e.HasValue {
		return Decoded{}, false
	}
	t, ok := lockcore.ParseToken(e.Value)
	if !ok {
		return Decoded{}, false
	}
	host, pid := splitOwner(t.Owner)
	return Decoded{
		Confidence: Certain, Kind: Mutex,
		Holders: []Holder{{Token: e.Value, Owner: t.Owner, Host: host, PID: pid, Since: t.Asked(), Count: 1}},
	}, true
}

func (dlock) Release(e Entry, h Holder) (Release, error) { return compareAndDelete(e, h) }
