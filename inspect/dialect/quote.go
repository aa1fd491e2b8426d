package dialect

import "strings"

// Quote writes a word the way redis-cli reads it: bare where nothing in it
// could be taken for something else, otherwise in double quotes with every
// byte that is not plain ASCII as \xHH. The result is printable ASCII whatever
// the word holds.
func Quote(word string) string {
	if isBare(word) {
		return word
	}
	const hex = "0123456789abcdef"
	var b strings.Builder
	b.Grow(len(word) + 2)
	b.WriteByte('"')
	for i := range len(word) {
		switch c := word[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < 0x20 || c > 0x7e:
			b.WriteString(`\x`)
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func isBare(word string) bool {
	if word == "" {
		return false
	}
	for i := range len(word) {
		c := word[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte(":_-./@{}=+", c) >= 0:
		default:
			return false
		}
	}
	return true
}
