package dialect

import "strconv"

// Divided is a dialect whose locks consist of several keys, each of which is
// written like a lock of its own and told apart by [Companioned] as a
// [RolePart].
type Divided interface {
	// Parts lists the other keys of the lock whose first key this is, as many
	// as the library uses by default; nil for a key that has not the form of
	// a first one.
	Parts(key string) []string
}

// Parts lists the other keys of a lock that consists of several, by the form of
// its first key; nil where no dialect knows such a form.
func Parts(key string) []string {
	for _, d := range dialects {
		if m, ok := d.(Divided); ok {
			if parts := m.Parts(key); len(parts) > 0 {
				return parts
			}
		}
	}
	return nil
}

// Parts are the keys 1 and 2 that go with key 0 by default.
func (r rueidislock) Parts(key string) []string {
	prefix, number, name, ok := numbered(key)
	if !ok || prefix != r.name || number != "0" {
		return nil
	}
	var out []string
	for n := 1; n <= 2; n++ {
		out = append(out, prefix+":"+strconv.Itoa(n)+":"+name)
	}
	return out
}
