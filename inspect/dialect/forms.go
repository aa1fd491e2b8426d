package dialect

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"time"
)

// all reports whether s has exactly n bytes, all of which pass.
func all(s string, n int, passes func(byte) bool) bool {
	if len(s) != n {
		return false
	}
	for i := range len(s) {
		if !passes(s[i]) {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isAlnum(c byte) bool { return isDigit(c) || isLetter(c) }

// isHexDigit takes lower case only, as every library writes it.
func isHexDigit(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' }

// isURLSafe takes the alphabet of base64url.
func isURLSafe(c byte) bool { return isAlnum(c) || c == '-' || c == '_' }

// isHex reports n lower-case hexadecimal digits.
func isHex(s string, n int) bool { return all(s, n, isHexDigit) }

// isDigits reports a decimal number of at most 18 digits without sign, which
// is as long as it may be to fit an int64.
func isDigits(s string) bool { return len(s) > 0 && len(s) <= 18 && all(s, len(s), isDigit) }

// isUUID reports a UUID of any version in lower case with dashes.
func isUUID(s string) bool {
	_, ok := undashed(s)
	return ok
}

// isUUID4 reports a random UUID in lower case with dashes.
func isUUID4(s string) bool {
	h, ok := undashed(s)
	return ok && isUUID4Hex(h)
}

// isUUID4Hex reports a random UUID in lower case without dashes.
func isUUID4Hex(s string) bool { return isHex(s, 32) && s[12] == '4' && isVariant(s[16]) }

// isVariant takes the digit that begins the fourth group of every UUID that
// follows the standard.
func isVariant(c byte) bool { return c == '8' || c == '9' || c == 'a' || c == 'b' }

// undashed takes the dashes out of a UUID.
func undashed(s string) (string, bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return "", false
	}
	h := s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	return h, isHex(h, 32)
}

// uuid1 reads a UUID made from the time and a network address, in lower case
// without dashes. mac is "" where the address is a random one, which says
// nothing about a machine. A time that no clock in use shows is taken as a
// sign that these are 32 random digits.
func uuid1(s string) (made time.Time, mac string, ok bool) {
	if !isHex(s, 32) || s[12] != '1' || !isVariant(s[16]) {
		return time.Time{}, "", false
	}
	ticks, err := strconv.ParseInt(s[13:16]+s[8:12]+s[0:8], 16, 64)
	if err != nil {
		return time.Time{}, "", false
	}
	const toUnix = 0x01b21dd213814000 // 100 ns steps from October 1582 to 1970
	ticks -= toUnix
	made = time.Unix(ticks/1e7, ticks%1e7*100)
	if !plausible(made) {
		return time.Time{}, "", false
	}
	node, err := hex.DecodeString(s[20:])
	if err != nil {
		return time.Time{}, "", false
	}
	if node[0]&1 == 0 { // a multicast address belongs to no machine
		for i := range 6 {
			if i > 0 {
				mac += ":"
			}
			mac += s[20+2*i : 22+2*i]
		}
	}
	return made, mac, true
}

// plausible reports a moment at which somebody may have taken a lock in Redis
// that is still there.
func plausible(t time.Time) bool {
	y := t.UTC().Year()
	return 2009 <= y && y < 2100
}

// isBase64 reports exactly n bytes in standard base64 with padding, and with
// the bits unset that stand for nothing.
func isBase64(s string, n int) bool { return encodes(base64.StdEncoding.Strict(), s, n) }

// isBase64URL reports exactly n bytes in base64 for URLs, without padding.
func isBase64URL(s string, n int) bool { return encodes(base64.RawURLEncoding.Strict(), s, n) }

func encodes(enc *base64.Encoding, s string, n int) bool {
	if len(s) != enc.EncodedLen(n) { // the decoder skips line ends
		return false
	}
	raw, err := enc.DecodeString(s)
	// Random bytes are no text: of sixteen, one in ten million is.
	return err == nil && len(raw) == n && !isText(string(raw))
}

// millis reads a moment in Unix milliseconds.
func millis(s string) (time.Time, bool) {
	if !isDigits(s) {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	t := time.UnixMilli(n)
	return t, plausible(t)
}

// pidOf reads a process id.
func pidOf(s string) (int, bool) {
	if !isDigits(s) || s[0] == '0' {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 32)
	return int(n), err == nil
}

// isText reports printable ASCII that is not empty.
func isText(s string) bool {
	return s != "" && all(s, len(s), func(c byte) bool { return 0x20 <= c && c < 0x7f })
}
