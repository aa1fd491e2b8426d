package dialect

// lock4j is baomidou/lock4j with its plain Redis executor. Its other one makes
// the locks of Redisson.
type lock4j struct{ text }

func (lock4j) Name() string { return "lock4j" }

func (lock4j) Patterns() []string { return []string{"lock4j:*"} }

func (lock4j) Recognise(e Entry) (Decoded, bool) {
	if _, ok := under(e.Key, "lock4j:"); !ok || !isUUID4Hex(e.text()) {
		return Decoded{}, false
	}
	return mutex(e, Certain, Holder{}), true
}
