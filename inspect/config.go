package inspect

import "time"

// Defaults of [Config].
const (
	DefaultMatch      = "lock:*"
	DefaultInterval   = time.Second
	DefaultStuckAfter = 10 * time.Minute
	DefaultScanBudget = 0.02
	// MinInterval is the shortest time between two looks that is accepted.
	MinInterval = 100 * time.Millisecond
)

// Config says what to look for and how often. The zero value is usable.
type Config struct {
	// Match are SCAN glob patterns; empty means lock:*.
	Match []string
	// All adds the patterns of all libraries that are known. A library whose
	// names are all the application's own has none and needs a Match.
	All bool
	// Prefix is what stands before a resource's name in dlock's own keys;
	// empty means "lock:".
	Prefix string
	// Interval is the time between two looks of a live inspection.
	Interval time.Duration
	// StuckAfter is how long a lock may be held before it is flagged.
	StuckAfter time.Duration
	// ScanBudget is the share of each node's time, over 0 and up to 1, that
	// repeated scans of a live inspection may use; where there are too many
	// locks to ask about all in each look, together with asking about those
	// that are not visible. The first one, until whose
	// end there is nothing to show, may use twelve times as much.
	ScanBudget float64
	// ScanCount is the COUNT of one SCAN call, 500 by default.
	ScanCount int64
	// MaxKeys bounds how many keys one look keeps per node; 0 means
	// 1,000,000. A look that reaches it is not Complete.
	MaxKeys int
	// EventRing is how many events are kept; 5000 by default.
	EventRing int
	// Tombstone is how long an expired lock stays listed, 10 s by default.
	Tombstone time.Duration
}
