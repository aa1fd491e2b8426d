package dialect

// errorception is the npm package redis-lock by errorception: the value is
// when the lock lapses by the clock of its holder, in milliseconds.
type errorception struct{ text }

func (errorception) Name() string { return "errorception" }

func (errorception) Patterns() []string { return []string{"lock.*"} }

func (errorception) Recognise(e Entry) (Decoded, bool) {
	until, ok := millis(e.text())
	if _, named := under(e.Key, "lock."); !ok || !named || len(e.Value) != 13 {
		return Decoded{}, false
	}
	d := mutex(e, Likely, Holder{Until: until})
	d.Habits = Habits{Careless: true}
	return d, true
}
