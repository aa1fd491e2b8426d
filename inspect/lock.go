package inspect

import (
	"slices"
	"time"

	"dlock/inspect/dialect"
)

// State is the verdict over one lock, from all nodes' answers.
type State string

// The states.
//
//   - Held: a quorum of the configured nodes stores one token; of a lock that
//     may be shared, at least one.
//   - Split: the nodes store several tokens, and none has a quorum even if
//     all nodes that do not tell store it too.
//   - Partial: one token, below the quorum, and the nodes that do not tell
//     cannot lift it; of a lock that may be shared, several.
//   - Unknown: nodes that do not tell (unreachable, refusing, not asked yet)
//     could give one token a quorum, be it one of several that were seen or
//     one that was not; or a quorum of nodes has something under the key
//     that cannot be compared.
//   - Expired: gone since the last sample; kept for a while as a tombstone. Also
//     a key that is there and of which every part has lapsed.
const (
	Held    State = "held"
	Split   State = "split"
	Partial State = "partial"
	Unknown State = "unknown"
	Expired State = "expired"
)

// Flag is a remark on a lock that stands beside its state.
type Flag string

// The flags.
const (
	NoExpiry Flag = "no-expiry" // at least one copy that counts has no time to live
	Stuck    Flag = "stuck"     // held longer than Config.StuckAfter
	Expiring Flag = "expiring"  // little safe time is left and nobody has renewed it
	Degraded Flag = "degraded"  // one vote less would end the quorum
	Leftover Flag = "leftover"  // a minority of nodes keeps another token beside the majority
)

// ID is what a lock is, apart from who holds it.
type ID struct {
	DB  int
	Key string // raw bytes
}

// Lock is one lock as all nodes together show it.
type Lock struct {
	ID ID
	// Resource is the key without dlock's prefix where it has that prefix,
	// else the whole key.
	Resource string
	// Library is the dialect that was recognised, "unknown" where none was;
	// Kind is mutex, fair, read-write, semaphore, …; Type is Redis' word.
	Library, Kind, Type string
	// Candidates are the libraries that write exactly this where it is not
	// one alone, and Confidence says how sure the decoding is. Habits are how
	// the library treats its locks, as far as it is known.
	Candidates []string
	Confidence dialect.Confidence
	Habits     dialect.Habits
	// Shared says that the lock may have several holders at present, and
	// Anonymous that its library records none, so that it can be held
	// without an owner.
	Shared, Anonymous bool
	// Companion is set for a row that is no lock but a key that belongs to
	// one which is not there. Its State is Expired and GoneAt is zero.
	Companion *Companion
	// Companions are the keys beside the lock's own that the scan has found,
	// of the first hundred thousand; a Get alone finds none.
	Companions []Companion

	State State
	Flags []Flag
	// Owners lists every distinct token the nodes store, most votes first,
	// then smallest token. Of several that have a quorum the one that was
	// shown first before stays first. Where no node that answers stores anything, in
	// the states Unknown and Expired, it holds the owner that was seen
	// last, without Votes. It is empty when nothing is known.
	Owners []Owner
	Votes  Votes

	// Expiry is when the first owner loses its quorum if nothing renews:
	// the k-th largest expiry among its copies, k being the quorum. Below a
	// quorum it is when that owner's last copy ends.
	Expiry Expiry
	// FullTTL is the largest remaining life ever seen for the present
	// token: the full length of its bar. Zero when not known.
	FullTTL time.Duration

	// HeldSince is when the present owner took it, as well as we know;
	// HeldIsMinimum says that it may have been earlier. Zero when unknown,
	// and when no node that answers stores the owner's token.
	HeldSince     time.Time
	HeldIsMinimum bool
	// Renewals counts the renewals we saw; LastRenewal is the newest.
	// RenewalPeriod is the time from one to the next on average, zero while
	// fewer than two were seen.
	Renewals      int
	LastRenewal   time.Time
	RenewalPeriod time.Duration

	Fence Maybe[int64]
	// Waiters counts who waits, on the node that has most. WaiterList names
	// some of them, first in line first; their bytes are raw.
	// WaitersAreProcesses says that the count is of processes, each of which
	// may wait for several threads.
	Waiters             Maybe[int]
	WaiterList          []dialect.Waiter
	WaitersAreProcesses bool
	// Idle is how long nobody but us has touched the key, from OBJECT
	// IDLETIME taken before the first read.
	Idle Maybe[time.Duration]

	// Copies has one entry per configured node, in the configured order.
	Copies   []Copy
	Findings []Finding

	// History holds the newest events of this lock, oldest first, and Stats
	// what was seen of its holds. Both reach back beyond its last end, as far
	// as there is room; a Look has none.
	History []Event
	Stats   Stats

	// GoneAt is when an Expired lock was first missed.
	GoneAt time.Time
}

// Owner is one token that nodes store for a lock.
type Owner struct {
	Token string // raw bytes, as stored
	// Name is who it is as the token tells it (host:pid or a label), ""
	// when it does not.
	Name string
	Host string
	PID  int // 0 when not known
	// Thread is which thread of the process it is, and Mode is "read" or
	// "write" for one side of a read-write lock; "" when there is no such
	// thing. Raw bytes like Name and Host.
	Thread, Mode string
	// Since is when the owner took or asked for the lock, if the value
	// tells, and Until when its part ends where that stands in the entry,
	// both by the clock that wrote them. Zero when not known.
	Since, Until time.Time
	// Count is the reentrancy count where the library has one, else 1.
	Count int
	// Votes are the names of the nodes that store this token.
	Votes []string
	// Holds says that a quorum stores the token. Loss is when it loses that
	// quorum if nothing renews; Expiry is when its last copy ends.
	Holds        bool
	Loss, Expiry Expiry
}

// Companion is a key that stands beside a lock's own. Key and Of, the lock's
// key, are raw bytes.
type Companion struct {
	Key  string
	Of   string
	Role dialect.Role
	Type string // Redis' word, "" when not known
}

// Part is one of several keys that make up one lock, as one node stores it.
// Entry is nil when it could not be read or is not there; it must not be
// changed.
type Part struct {
	Key    string
	Entry  *dialect.Entry
	Expiry Expiry

	read *reading
}

// Votes counts the answers about one lock.
type Votes struct {
	Need  int // the quorum
	Agree int // nodes that store the first owner's token
	Of    int // configured nodes
	// Unreachable counts the nodes that did not answer or may not be asked;
	// one that was not asked yet (AnswerPending) is not among them.
	Unreachable int
}

// Answer is what one node says about one lock.
type Answer string

// The answers. AnswerOther is a token other than the first owner's.
// AnswerPending is a node that answers but was not asked about this key yet; it
// occurs only in a live inspection, and not for a lock that is new in it.
const (
	AnswerHeld        Answer = "held"
	AnswerOther       Answer = "other"
	AnswerFree        Answer = "free"
	AnswerUnreachable Answer = "unreachable"
	AnswerDenied      Answer = "denied"
	AnswerPending     Answer = "pending"
)

// Copy is one node's copy of a lock, or the lack of one.
type Copy struct {
	Node   string
	Answer Answer
	// Token, Type and Expiry are what the node stores; for an unreachable
	// node they are what it stored when it last answered ("" if nothing
	// was ever seen), and SampledAt is then that moment.
	Token  string
	Type   string
	Expiry Expiry
	// HasToken is false when the node has the key but its value could not
	// be read or names no holder, or the node is known to have nothing. Of
	// several tokens Token is the first owner's if that is among them.
	HasToken bool
	// Tokens are all tokens of a copy that has several, else nil.
	Tokens []string
	// Entry is what was read, nil when nothing was. It must not be changed.
	Entry *dialect.Entry
	// Parts are the keys of a lock that has several, else nil.
	Parts     []Part
	SampledAt time.Time
	// RTT is the round trip of the question.
	RTT time.Duration
	// Error is the server's or the network's word, raw.
	Error string
	// ChangedAt and Change tell what last happened on this node, as far
	// as it was seen ("taken", "expired", …).
	ChangedAt time.Time
	Change    EventKind

	read *reading // what Entry is from, nil when nothing was read
}

// Severity grades a finding.
type Severity string

// The severities.
const (
	High   Severity = "high"
	Medium Severity = "medium"
	Low    Severity = "low"
)

// Finding is something worth a person's attention, with what to do about it.
// ID is stable and part of the JSON output; Text is the evidence and Advice
// the remedy, one plain sentence each. Bytes from Redis may stand in Text.
type Finding struct {
	ID       string
	Severity Severity
	Text     string
	Advice   string
}

// Has reports whether the lock carries the flag.
func (l Lock) Has(f Flag) bool { return slices.Contains(l.Flags, f) }

// Stores reports whether the copy has this token.
func (c Copy) Stores(token string) bool {
	return c.HasToken && (c.Token == token || slices.Contains(c.Tokens, token))
}

// Holders returns the owners that hold the lock: those with a quorum.
func (l Lock) Holders() []Owner {
	n := 0
	for n < len(l.Owners) && l.Owners[n].Holds {
		n++
	}
	return l.Owners[:n:n]
}

// Holder returns the owner with the most votes, if there is any.
func (l Lock) Holder() (Owner, bool) {
	if len(l.Owners) == 0 {
		return Owner{}, false
	}
	return l.Owners[0], true
}

// Contested reports whether several things were seen under the key and nodes
// that do not tell decide whether one of them has a quorum.
func (l Lock) Contested() bool {
	return l.State == Unknown && l.Votes.Agree > 0 &&
		slices.ContainsFunc(l.Copies, func(c Copy) bool { return c.Answer == AnswerOther })
}

// Trouble ranks a lock for sorting: the lower the worse, from -1 for a split.
// Below 5 somebody should have a look at it.
func (l Lock) Trouble() int {
	switch {
	case l.Companion != nil:
		return 6
	case l.State == Split:
		return -1
	case l.Contested():
		return 0
	case l.State != Expired && l.Has(NoExpiry):
		return 1
	case l.State != Expired && l.Has(Stuck):
		return 2
	case l.State == Partial:
		return 3
	case l.State == Unknown:
		return 4
	case l.State == Expired:
		return 8
	case l.Has(Expiring):
		return 5
	case l.Has(Leftover), l.Has(Degraded):
		return 6
	default:
		return 7
	}
}
