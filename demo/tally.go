package demo

import (
	"math/bits"
	"sync"
	"time"

	"dlock/demo/store"
)

// ModeTally is what has happened in one mode, over all the time that it was
// on. Counts that a mode cannot have are 0.
type ModeTally struct {
	Mode Mode
	// Ran is for how long the mode has been on.
	Ran time.Duration
	// Operations counts finished visits, with something done or not, such as
	// a buyer who found the shelf empty; Writes those that wrote.
	Operations, Writes uint64
	// WaitP50 and WaitP99 are how long workers waited from asking until they
	// were inside, within an eighth.
	WaitP50, WaitP99 time.Duration
	// Contended counts the waits that found somebody inside.
	Contended uint64
	// DoubleEntries counts moments in which a worker entered a resource that
	// another was still inside; Violations are those in which both held locks
	// that were valid at that moment. The first includes a holder that has
	// been told that its lock is lost and has not left yet, and one that was
	// stopped past its lease.
	DoubleEntries, Violations uint64
	// Refused counts writes that the store refused for their fencing token,
	// Conflicts those that it refused for their version.
	Refused, Conflicts uint64
	// Losses counts locks lost while held, NoQuorum attempts that failed for
	// want of nodes, GaveUp visits that did not get their second lock, Stuck
	// locks left behind that nothing will ever end.
	Losses, NoQuorum, GaveUp, Stuck uint64
	// Failed counts visits that ended with another error of the store.
	Failed uint64
	// TurnedAway counts buyers who found the queue full.
	TurnedAway uint64
	// Store is what the database says about all of it. It is at most a
	// second old, and final after [Demo.Finish].
	Store store.Audit
	// Voided names the faults that have happened in this mode and that it
	// does not cover: what it promises is off from the first of them.
	Voided []string
	// Broken says in a sentence each what was promised and did not hold.
	// It must be empty.
	Broken []string
}

// tally counts for one mode. The zero value is ready; it is safe for concurrent
// use by way of count.
type tally struct {
	mu sync.Mutex

	ran                         time.Duration // of rounds that are over
	operations, writes          uint64
	waits                       histogram
	contended                   uint64
	double, violations          uint64
	broken                      uint64 // violations before anything was voided
	refused, conflicts          uint64
	losses, noQuorum            uint64
	gaveUp, stuck, failed, away uint64
	past, audit                 store.Audit // of rounds that are over, of the present one
	voidedExclusion             []string
	voidedStore                 []string
}

func (t *tally) count(add func(*tally)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	add(t)
}

// histogram counts durations in classes an eighth apart.
type histogram struct {
	classes [64 * 8]uint64
	total   uint64
}

func (h *histogram) add(d time.Duration) {
	h.classes[classOf(d)]++
	h.total++
}

// classOf numbers the class of a duration: its highest bit, and the three bits
// after it.
func classOf(d time.Duration) int {
	v := uint64(max(d, 1))
	top := bits.Len64(v) - 1
	if top < 3 {
		return int(v)
	}
	return top*8 + int(v>>(top-3)&7)
}

// least is the smallest duration of a class.
func least(class int) time.Duration {
	top, rest := class/8, class%8
	if top < 3 {
		return time.Duration(rest)
	}
	return time.Duration(uint64(8+rest) << (top - 3))
}

// quantile returns what a share q of the durations does not exceed, 0 if there
// are none.
func (h *histogram) quantile(q float64) time.Duration {
	want := uint64(q * float64(h.total))
	var seen uint64
	for i, n := range h.classes {
		if seen += n; n > 0 && seen > want {
			return least(i)
		}
	}
	return 0
}
