package dialect

// elixirRedlock is lyokato/redlock for Elixir: 40 random bytes in hexadecimal.
// An attempt that failed leaves its keys until they expire.
type elixirRedlock struct{ text }

func (elixirRedlock) Name() string { return "elixir-redlock" }

func (elixirRedlock) Recognise(e Entry) (Decoded, bool) {
	if !isHex(e.text(), 80) {
		return Decoded{}, false
	}
	return mutex(e, Likely, Holder{}), true
}
