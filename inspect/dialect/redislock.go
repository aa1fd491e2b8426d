package dialect

import "strings"

// redislock is bsm/redislock: sixteen random bytes in base64url, and right
// behind them what the application wants to tell about the holder.
type redislock struct{ text }

func (redislock) Name() string { return "redislock" }

func (redislock) Recognise(e Entry) (Decoded, bool) {
	const size = 22
	v := e.text()
	if len(v) < size || !isBase64URL(v[:size], 16) {
		return Decoded{}, false
	}
	token, told := v[:size], v[size:]
	if told == "" {
		if all(token, size, isAlnum) {
			return among(e, Possible, Holder{}, "redislock", "redlock-py"), true
		}
		return mutex(e, Likely, Holder{}), true
	}
	// Words and identifiers of other kinds are of one case or without digits.
	if !mixed(token) {
		return Decoded{}, false
	}
	h := Holder{Owner: told}
	h.Host, h.PID = splitOwner(told)
	switch {
	case !all(told, len(told), isURLSafe):
		return mutex(e, Likely, h), true
	case len(told) >= 4 && strings.ToLower(told) == told:
		// A longer random token would go on as it began.
		return mutex(e, Possible, h), true
	}
	return Decoded{}, false
}

// mixed reports letters of both cases together with digits, or else in such
// disorder as words never have.
func mixed(s string) bool {
	if strings.ToLower(s) == s || strings.ToUpper(s) == s {
		return false
	}
	const disorder = 7
	turns := 0
	for i := 1; i < len(s); i++ {
		if isLetter(s[i-1]) && isLetter(s[i]) && (s[i-1]^s[i])&0x20 != 0 {
			turns++
		}
	}
	return turns >= disorder || strings.ContainsAny(s, "0123456789")
}

// redlockPy is SPSCommerce/redlock-py: 22 random letters and digits. Those
// that may as well be redislock's are found there.
type redlockPy struct{ text }

func (redlockPy) Name() string { return "redlock-py" }

func (redlockPy) Recognise(e Entry) (Decoded, bool) {
	if v := e.text(); !all(v, 22, isAlnum) || !mixed(v) {
		return Decoded{}, false
	}
	return mutex(e, Possible, Holder{}), true
}
