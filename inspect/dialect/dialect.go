package dialect

import "time"

// Entry is one key as it was found on a node.
type Entry struct {
	Key string // raw bytes
	// Type is Redis' word for the type of the key, "" when it is not known.
	Type string
	// Value is the whole value of a string; HasValue is false when it was
	// not read, for whatever reason. An empty value is a value.
	Value    string
	HasValue bool
}

// Decoded is what an entry tells about the lock.
type Decoded struct {
	// Library is the name of the dialect that recognised the entry.
	Library string
	// Kind is mutex, fair, read-write, semaphore, …, "" when not known.
	Kind string
	// Owner is who holds it as the value tells it, with Host and PID taken
	// apart where it has that form. Raw bytes; "" and 0 when not known.
	Owner string
	Host  string
	PID   int
	// Since is when the owner took or asked for the lock by its own clock.
	// Zero when the value does not tell.
	Since time.Time
	// Count is how often its holder has entered it, 1 where the library
	// has no such count.
	Count int
}

// Dialect is one lock library's way of writing locks. Implementations are
// stateless and safe for concurrent use.
type Dialect interface {
	// Name is the library's name, the same that is printed.
	Name() string
	// Recognise decodes the entry if it is one of this library's locks.
	Recognise(Entry) (Decoded, bool)
	// Release says how to free exactly this entry and no other. The error
	// is one sentence that says why that cannot be done safely.
	Release(Entry) (Release, error)
}

// dialects are asked in this order; the last one takes everything.
var dialects = []Dialect{dlock{}, unknown{}}

// Recognise finds the dialect of an entry. There always is one: what no
// library recognises is [Unknown].
func Recognise(e Entry) (Decoded, Dialect) {
	for _, d := range dialects {
		if decoded, ok := d.Recognise(e); ok {
			decoded.Library = d.Name()
			return decoded, d
		}
	}
	return Decoded{Library: Unknown, Count: 1}, unknown{}
}

// ByName returns the dialect with that name.
func ByName(name string) (Dialect, bool) {
	for _, d := range dialects {
		if d.Name() == name {
			return d, true
		}
	}
	return nil, false
}
