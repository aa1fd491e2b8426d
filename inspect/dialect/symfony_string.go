package dialect

// symfonyString decodes what the lock component of Symfony wrote up to version
// 5.1: 32 random bytes in base64. Newer versions fail at such a key until it
// is gone.
func symfonyString(e Entry) (Decoded, bool) {
	if !isBase64(e.text(), 32) {
		return Decoded{}, false
	}
	return mutex(e, Likely, Holder{}), true
}
