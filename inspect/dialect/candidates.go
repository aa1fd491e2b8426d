package dialect

import (
	"slices"
	"strings"
)

// shared is a library whose locks look like those of others. It recognises
// nothing by itself: [Decoded.Candidates] names it, and what else is known
// about a node may single it out.
type shared struct {
	text
	name   string
	habits Habits
}

func (s shared) Name() string { return s.name }

func (shared) Recognise(Entry) (Decoded, bool) { return Decoded{}, false }

func (s shared) usual() Habits { return s.habits }

// usual has the habits of a library that it has with every lock.
type usual interface{ usual() Habits }

func habitsOf(library string) Habits {
	if d, ok := ByName(library); ok {
		if u, ok := d.(usual); ok {
			return u.usual()
		}
	}
	return Habits{}
}

// among decodes a string that any of several libraries may have written. Of
// two both are named, and what either may do is warned of; more than two are
// nobody in particular.
func among(e Entry, c Confidence, h Holder, libraries ...string) Decoded {
	d := mutex(e, c, h)
	d.Library, d.Candidates = Unknown, libraries
	if len(libraries) == 2 {
		d.Library = strings.Join(libraries, "/")
		a, b := habitsOf(libraries[0]), habitsOf(libraries[1])
		d.Habits = Habits{
			Endless:   a.Endless && b.Endless,
			Recreates: a.Recreates || b.Recreates,
			Careless:  a.Careless || b.Careless,
		}
	}
	return d
}

// guess decodes a value that several libraries write under any key, by its
// form alone.
func guess(e Entry) (Decoded, bool) {
	value := e.text()
	switch {
	case isUUID4(value):
		names := []string{"aioredlock", "redlock-rb", "stackexchange.redis"}
		if strings.Contains(e.Key, ":") {
			names = append(names, "spring")
		}
		if strings.HasSuffix(e.Key, ":lock") {
			names = append(names, "bull")
		}
		if strings.HasSuffix(e.Key, "lock") {
			names = append(names, "quartz")
		}
		return among(e, Possible, Holder{}, names...), true
	case all(value, 16, isAlnum):
		names := []string{"go-zero", "laravel"}
		if strings.HasPrefix(e.Key, "lock:") || strings.Contains(e.Key, ":lock:") {
			names = append(names, "foundatio")
		}
		return among(e, Possible, Holder{}, names...), true
	}
	return Decoded{}, false
}

// Narrow looks at which of several candidates have run on the node: if one
// alone has, the lock is likely its. It never rules one out, since a node
// forgets scripts and an old version may have others, and it leaves alone what
// was learnt of this very lock. ran reports whether a library is known to have
// run there.
func (d Decoded) Narrow(ran func(library string) bool) Decoded {
	if slices.Contains(d.Candidates, d.Library) {
		return d
	}
	found := ""
	for _, name := range d.Candidates {
		if ran(name) {
			if found != "" {
				return d
			}
			found = name
		}
	}
	if found == "" {
		return d
	}
	return d.likely(found)
}

// likely singles out one of the candidates.
func (d Decoded) likely(library string) Decoded {
	d.Library, d.Habits = library, habitsOf(library)
	d.Confidence = max(d.Confidence, Likely)
	return d
}
