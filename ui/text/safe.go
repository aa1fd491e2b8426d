package text

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Safe is text that may be written to a terminal: one line of printable UTF-8
// without control bytes, bidirectional controls or anything else that acts on
// what stands beside it. [Clean] makes one from foreign bytes; constants of the
// program's own may be converted. Two Safe values joined are Safe again.
type Safe string

// Clean makes any bytes fit to be shown on one line. What may not be shown (see
// the package comment) becomes a visible escape as Go writes it: \n, \r, \t,
// \xHH for other control characters and bytes that are not UTF-8, \uHHHH and
// \UHHHHHHHH for the rest. A backslash is doubled, so that different bytes
// never look the same. Text without any of this is returned without a copy.
func Clean(b string) Safe { return clean(b, cleanOptions{}) }

// CleanMax is [Clean] for text that may be long: of more than maxBytes bytes
// only as many are cleaned and shown, cut between two characters, and the rest
// is counted, as in "lock:aaaa… (+65000 bytes)". The cost depends on maxBytes
// and not on len(b). A negative maxBytes counts as 0.
func CleanMax(b string, maxBytes int) Safe { return Fitter{}.CleanMax(b, maxBytes) }

// Escaped makes text that already is in an escaped form of its own, such as a
// line from [Quote], [RedisCLI] or [Shell], fit to be shown: like [Clean],
// except that a backslash stays single, so that the text can still be pasted.
// It is not for raw bytes, whose backslashes would become ambiguous.
func Escaped(s string) Safe { return clean(s, cleanOptions{keepBackslash: true}) }

// Clean is the function [Clean], which in ASCII mode also escapes every
// character that is not ASCII.
func (f Fitter) Clean(b string) Safe { return clean(b, cleanOptions{ascii: f.ASCII}) }

// CleanMax is the function [CleanMax], which in ASCII mode also escapes every
// character that is not ASCII.
func (f Fitter) CleanMax(b string, maxBytes int) Safe {
	maxBytes = max(0, maxBytes)
	if len(b) <= maxBytes {
		return f.Clean(b)
	}
	cut := runeBoundary(b, maxBytes)
	return f.Clean(b[:cut]) + f.ellipsis() + Safe(" (+"+strconv.Itoa(len(b)-cut)+" bytes)")
}

// Repeat returns n copies of s; none if n is negative.
func Repeat(s Safe, n int) Safe { return Safe(strings.Repeat(string(s), max(0, n))) }

// Join puts sep between the parts.
func Join(parts []Safe, sep Safe) Safe {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteString(string(sep))
		}
		b.WriteString(string(p))
	}
	return Safe(b.String())
}

// runeBoundary returns the largest index not above n that does not split a
// valid rune of s. Bytes that are no UTF-8 may be cut anywhere.
func runeBoundary(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	for start := n - 1; start >= 0 && start > n-utf8.UTFMax; start-- {
		if !utf8.RuneStart(s[start]) {
			continue
		}
		if _, size := utf8.DecodeRuneInString(s[start:]); start+size > n {
			return start
		}
		break
	}
	return n
}

type cleanOptions struct {
	ascii         bool // escape what is not ASCII
	keepBackslash bool
}

func clean(b string, o cleanOptions) Safe {
	i := 0
	for i < len(b) && b[i] >= ' ' && b[i] <= '~' && (b[i] != '\\' || o.keepBackslash) {
		i++
	}
	if i == len(b) {
		return Safe(b)
	}
	var (
		rd   reader
		out  []byte // stays nil as long as nothing had to be escaped
		from int    // what precedes is in out already
	)
	if i > 0 { // the last character may carry a mark
		i--
	}
	for i < len(b) {
		r, size, ok := rd.next(b[i:])
		switch {
		case r == '\\' && !o.keepBackslash:
			out = append(append(out, b[from:i]...), `\\`...)
			from = i + size
		case !ok, o.ascii && r >= utf8.RuneSelf:
			out = appendEscape(append(out, b[from:i]...), b[i:i+size], r)
			from = i + size
		}
		i += size
	}
	if from == 0 {
		return Safe(b)
	}
	return Safe(append(out, b[from:]...))
}

const hexDigits = "0123456789abcdef"

// appendEscape writes the rune r, which was decoded from raw, as an escape.
func appendEscape(out []byte, raw string, r rune) []byte {
	switch {
	case r == '\n':
		return append(out, `\n`...)
	case r == '\r':
		return append(out, `\r`...)
	case r == '\t':
		return append(out, `\t`...)
	case len(raw) == 1:
		return append(out, '\\', 'x', hexDigits[raw[0]>>4], hexDigits[raw[0]&0xf])
	case r <= 0xFFFF:
		out = append(out, '\\', 'u')
		for shift := 12; shift >= 0; shift -= 4 {
			out = append(out, hexDigits[r>>shift&0xf])
		}
	default:
		out = append(out, '\\', 'U')
		for shift := 28; shift >= 0; shift -= 4 {
			out = append(out, hexDigits[r>>shift&0xf])
		}
	}
	return out
}
