package dialect

import "time"

// MaxItems is how many fields or members of a collection an [Entry] carries at
// most. A lock rarely has more; what has is told by [Entry.Cut].
const MaxItems = 128

// Entry is one key as it was found on one node.
type Entry struct {
	Key string // raw bytes
	// Type is Redis' word for the type of the key, "" when it is not known.
	Type string
	// Value is the whole value of a string; HasValue is false when it was
	// not read, for whatever reason. An empty value is a value.
	Value    string
	HasValue bool
	// Items are the fields of a hash with their values, the members of a
	// sorted set with their scores, or the members of a set or a list, in no
	// certain order except that of a list; nil when they were not read. Cut
	// says that there are more of them.
	Items []Item
	Cut   bool
	// NodeTime is the node's own clock when the entry was read, zero when it
	// is not known. Scores and deadlines inside an entry are to be compared
	// with it.
	NodeTime time.Time
}

// Item is one field of a hash, or one member of a set, a sorted set or a list.
// Value is a field's value or a score as the server prints it, else "".
type Item struct {
	Name  string
	Value string
}

// Item returns the value of one field or the score of one member.
func (e Entry) Item(name string) (value string, ok bool) {
	for _, i := range e.Items {
		if i.Name == name {
			return i.Value, true
		}
	}
	return "", false
}

// Text makes the entry of a string whose value was read.
func Text(key, value string) Entry {
	return Entry{Key: key, Type: "string", Value: value, HasValue: true}
}
