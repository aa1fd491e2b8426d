package dialect

import "strings"

// text is what the libraries have in common that lock with one string: the
// application chooses the name, and whoever knows the value may delete the key.
type text struct{}

func (text) Patterns() []string { return nil }

func (text) Release(e Entry, h Holder) (Release, error) { return compareAndDelete(e, h) }

// text returns the value of a string, "" when the entry is something else or
// was not read.
func (e Entry) text() string {
	if !e.HasValue || e.Type != "" && e.Type != "string" {
		return ""
	}
	return e.Value
}

// mutex decodes a string whose whole value is its holder's token.
func mutex(e Entry, c Confidence, h Holder) Decoded {
	h.Token, h.Count = e.Value, 1
	return Decoded{Confidence: c, Kind: Mutex, Holders: []Holder{h}}
}

// under returns what follows a prefix: something, or else "" and false.
func under(key, prefix string) (rest string, ok bool) {
	if !strings.HasPrefix(key, prefix) {
		return "", false
	}
	rest = key[len(prefix):]
	return rest, rest != ""
}
