package dialect

// redlockNet is RedLock.net, which writes the same as pottery does.
type redlockNet struct{ text }

func (redlockNet) Name() string { return "redlock.net" }

func (redlockNet) Patterns() []string { return []string{"redlock:*"} }

func (redlockNet) usual() Habits { return Habits{Recreates: true} }

func (r redlockNet) Recognise(e Entry) (Decoded, bool) {
	if _, ok := under(e.Key, "redlock:"); !ok || !isUUID4(e.text()) {
		return Decoded{}, false
	}
	return among(e, Likely, Holder{}, r.Name(), "pottery"), true
}
