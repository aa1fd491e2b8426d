package dialect

import "time"

// The kinds of lock, in the words of the output.
const (
	Mutex     = "mutex"
	Fair      = "fair"       // a mutex with a queue
	ReadWrite = "read-write" // many readers or one writer
	Semaphore = "semaphore"  // up to a number of holders
	Counter   = "counter"    // permits without names
	Job       = "job"        // a job that is queued or running, not a section of code
)

// Confidence says how sure it is that an entry is what its decoding says.
type Confidence uint8

// The confidences. Possible is what the form of a value alone suggests while
// others write the same form; Likely is a form that hardly anything else has,
// or a common one under a name that fits; Certain is a form that nothing else
// has.
const (
	Possible Confidence = iota
	Likely
	Certain
)

// Decoded is what an entry tells about the lock.
type Decoded struct {
	// Library is the name of the dialect that recognised the entry.
	Library string
	// Candidates are the libraries that write exactly this, when it is not
	// one alone; then Library has the names of two with a slash between
	// them, and of more it is Unknown. Evidence from elsewhere may single
	// one out as Library, see [Decoded.Narrow]; the candidates stay.
	Candidates []string
	Confidence Confidence
	// Kind is one of the kinds above, "" when not known.
	Kind string
	// Holders has who holds the lock, in an order that does not depend on
	// the server's. It is empty where the key is there and yet nobody holds
	// anything (all members have lapsed), and where the library records no
	// holders.
	Holders []Holder
	// Anonymous says that the library records no holders, so that an empty
	// list does not mean that the lock is free.
	Anonymous bool
	// Separate says that one acquire writes a different token on each node,
	// so that copies on several nodes cannot be compared.
	Separate bool
	Habits   Habits
}

// Holder is one who holds a lock, or a part of it.
type Holder struct {
	// Token is what names this holder in the entry, raw: the value of a
	// string, the field of a hash, the member of a set.
	Token string
	// Owner is who it is as the entry tells it, with Host, PID and Thread
	// taken apart where it has that form. Raw bytes; "" and 0 when not
	// known.
	Owner  string
	Host   string
	PID    int
	Thread string
	// Mode is "read" or "write" for one side of a read-write lock, else "".
	Mode string
	// Since is when the holder took or asked for the lock, by the clock that
	// wrote it. Zero when the entry does not tell.
	Since time.Time
	// Until is when this holder's part ends, by the clock that wrote it,
	// where that stands in the entry. Zero when only the key's own life
	// counts.
	Until time.Time
	// Count is how often the holder has entered, 1 where the library has no
	// such count.
	Count int
	// Fence is the holder's fencing token as far as this node tells, 0 where
	// it is not known. A release that goes to several nodes needs the
	// largest that any of them tells.
	Fence int64
}

// Habits is how a library treats its locks, as far as a person who looks at
// one should know. Where the versions of a library or its options differ, it is
// what a person should reckon with.
type Habits struct {
	// Renews is how often a living holder sets the expiry anew at the
	// latest, where the library does that on its own; zero when it does not
	// or when that is not known.
	Renews time.Duration
	// Endless says that the library locks without an expiry as a matter of
	// course.
	Endless bool
	// Recreates says that the holder's renewal makes the key again after it
	// was deleted.
	Recreates bool
	// Careless says that the library's own release does not check whose
	// lock it deletes.
	Careless bool
	// Enqueued says that the lock is taken when work is queued, so that its
	// holder may not be running.
	Enqueued bool
	// Lingers says that the library keeps the key on purpose after the work
	// is done.
	Lingers bool
	// Consequence is what a forced release sets off in the library beside
	// freeing the lock: a clause that begins in lower case and has no full
	// stop, "" where it is nothing in particular.
	Consequence string
}
