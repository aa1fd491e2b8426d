package dialect

// nodeRedlock is mike-marcacci/node-redlock and its fork by sesamecare:
// sixteen random bytes in hexadecimal, one value for all names of a lock. Much
// else has that form, but neither UUID does.
type nodeRedlock struct{ text }

func (nodeRedlock) Name() string { return "node-redlock" }

func (nodeRedlock) Recognise(e Entry) (Decoded, bool) {
	if v := e.text(); !isHex(v, 32) || isUUID4Hex(v) {
		return Decoded{}, false
	}
	return mutex(e, Possible, Holder{}), true
}
