package inspect

import "time"

// EventKind names what happened, in the words of `dlock watch`.
type EventKind string

// The event kinds. Events are differences between samples: a lock that was
// taken and released between two samples is not seen.
const (
	Taken      EventKind = "taken"
	Renewed    EventKind = "renewed"
	Released   EventKind = "released" // gone while it still had time to live
	Ended      EventKind = "expired"  // gone when its time was over
	HandedOver EventKind = "handed-over"
	LostNode   EventKind = "lost-node"   // held still, by a node less
	GainedNode EventKind = "gained-node" // held still, by a node more
	WentSplit  EventKind = "split"
	WentNoTTL  EventKind = "no-expiry"
	NodeWentUp EventKind = "node-up"
	NodeFell   EventKind = "node-down"
	Operator   EventKind = "operator" // a person released it with dlock
	Gap        EventKind = "gap"      // no samples for a while
)

// Event is one thing that happened. Key is empty for events about a node,
// Node is empty for events about the whole lock. Key, Token, Owner and Text
// may carry raw bytes from Redis.
type Event struct {
	At    time.Time
	Kind  EventKind
	Key   string
	Node  string
	Token string
	Owner string
	Text  string
}
