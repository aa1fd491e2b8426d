package dialect

// redsync is go-redsync/redsync: sixteen random bytes in base64 under a name
// that the application chooses.
type redsync struct{ text }

func (redsync) Name() string { return "redsync" }

func (redsync) Recognise(e Entry) (Decoded, bool) {
	if !isBase64(e.text(), 16) {
		return Decoded{}, false
	}
	return mutex(e, Likely, Holder{}), true
}
