package inspect

import (
	"cmp"
	"slices"

	"dlock/inspect/dialect"
)

// content says what is known of what a key holds.
type content uint8

const (
	unread  content = iota // could not be read
	known                  // read, and as a lock may have it
	foreign                // something that is too large or of a type that no lock has
)

// maxToken is the longest value that is taken for a token, in bytes. No
// library comes near it, and a longer one would only be carried around.
const maxToken = 4096

// Why a value is no token.
const (
	errLongValue = "the value is longer than 4096 bytes and cannot be a lock token"
	errNoString  = "the key is no string and cannot be a lock token"
	errTooLarge  = "what the key holds is too large to be a lock's, so it was not read"
)

// reading is what a key held when it was read, with what that means. The
// samples of all nodes that tell the same share one reading; it is never
// changed.
type reading struct {
	content content
	entry   dialect.Entry // of what is not known, no more than key and type
	dialect dialect.Dialect
	decoded dialect.Decoded
	err     string // why it could not be read
}

// decode makes the reading of an entry that was read. own is asked before all
// other dialects; nil is none.
func decode(e dialect.Entry, own dialect.Dialect) *reading {
	if e.Type != "list" {
		slices.SortFunc(e.Items, func(a, b dialect.Item) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value)) })
	}
	r := &reading{content: known, entry: e}
	r.recognise(own)
	return r
}

func (r *reading) recognise(own dialect.Dialect) {
	if own != nil {
		if d, ok := own.Recognise(r.entry); ok {
			if d.Library == "" {
				d.Library = own.Name()
			}
			r.decoded, r.dialect = d, own
			return
		}
	}
	r.decoded, r.dialect = dialect.Recognise(r.entry)
}

// kind is Redis' word for the type, "" when it is not known.
func (r *reading) kind() string {
	if r == nil {
		return ""
	}
	return r.entry.Type
}

// same reports whether two readings show the same thing: the same holders, or
// where there are none to compare the same kind of thing. A collection in
// which only a deadline or a count was written anew is the same.
func (r *reading) same(o *reading) bool {
	switch {
	case r == o:
		return true
	case r == nil || o == nil || r.content != o.content:
		return false
	case r.content == unread:
		return true
	case r.entry.Type != o.entry.Type:
		return false
	}
	return slices.EqualFunc(r.decoded.Holders, o.decoded.Holders, func(a, b dialect.Holder) bool { return a.Token == b.Token })
}

// equal reports whether two readings are alike in every byte, so that one can
// stand for the other.
func (r *reading) equal(o *reading) bool {
	if r == o {
		return true
	}
	if r == nil || o == nil || r.content != o.content || r.err != o.err {
		return false
	}
	a, b := r.entry, o.entry
	return a.Key == b.Key && a.Type == b.Type && a.Value == b.Value && a.HasValue == b.HasValue && a.Cut == b.Cut &&
		slices.Equal(a.Items, b.Items) && r.decoded.Kind == o.decoded.Kind && r.decoded.Library == o.decoded.Library
}

// holder returns who has this token in the entry.
func (r *reading) holder(token string) (dialect.Holder, bool) {
	if r != nil {
		for _, h := range r.decoded.Holders {
			if h.Token == token {
				return h, true
			}
		}
	}
	return dialect.Holder{}, false
}

// usable reports whether something was read.
func (r *reading) usable() bool { return r != nil && r.content == known }
