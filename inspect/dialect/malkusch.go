package dialect

// malkusch is malkusch/lock for PHP: 64 hexadecimal digits, of which the first
// is not 0, perhaps as PHP serializes them.
type malkusch struct{ text }

func (malkusch) Name() string { return "malkusch" }

func (malkusch) Patterns() []string { return []string{"php-malkusch-lock:*"} }

func (malkusch) Recognise(e Entry) (Decoded, bool) {
	name, ok := under(e.Key, "php-malkusch-lock:")
	if v := unwrap(e.text()); !ok || !isHex(v, 64) || v[0] == '0' {
		return Decoded{}, false
	}
	d := mutex(e, Certain, Holder{})
	// A lock over several servers has this name and a token for each of them.
	d.Separate = name == "distributed"
	d.Habits = Habits{Endless: true} // its expiry is a thousand years away by default
	return d, true
}
