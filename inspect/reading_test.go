package inspect

import (
	"time"

	"dlock/inspect/dialect"
)

// when is a round trip that took no time.
func when(at time.Time) *trip { return &trip{at, at} }

// text is what a string holds.
func text(value string) *reading { return decode(dialect.Text("lock:x", value), nil) }

// odd is something that is no token, and hidden something that was not read.
func odd(kind, err string) *reading {
	return &reading{content: foreign, entry: dialect.Entry{Type: kind}, err: err, decoded: dialect.Decoded{Library: dialect.Unknown, Anonymous: true}}
}

func hidden(err string) *reading { return &reading{content: unread, err: err} }
