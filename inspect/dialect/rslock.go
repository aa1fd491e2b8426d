package dialect

import "unicode/utf8"

// rslock is hexcowboy/rslock for Rust: 20 random bytes as they are.
type rslock struct{ text }

func (rslock) Name() string { return "rslock" }

func (rslock) Recognise(e Entry) (Decoded, bool) {
	if v := e.text(); len(v) != 20 || utf8.ValidString(v) {
		return Decoded{}, false
	}
	return mutex(e, Possible, Holder{}), true
}
