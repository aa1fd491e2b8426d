package tui

import (
	"cmp"
	"math"
	"slices"
	"time"

	"dlock/inspect"
	"dlock/ui/text"
)

// order is what the table of locks is sorted by.
type order int

const (
	byTrouble order = iota
	byName
	byTTL
	byHeld
	byWaiters
	orders // how many there are
)

func (o order) name() text.Safe {
	switch o {
	case byName:
		return "name"
	case byTTL:
		return "ttl"
	case byHeld:
		return "held for"
	case byWaiters:
		return "waiters"
	default:
		return "trouble, name"
	}
}

// calmTrouble is a lock's rank for sorting: what a healthy lock goes through
// near its end is no reason to move its row about.
func calmTrouble(l *inspect.Lock) int64 {
	switch t := l.Trouble(); t {
	case 5, 7:
		return 7
	default:
		return int64(t)
	}
}

// arrange returns the indexes of the locks that pass the filter, in order.
// Equal locks are ordered by key. The locks must be in the order of a
// snapshot.
func arrange(locks []inspect.Lock, f filter, by order, reverse bool) []int {
	type ranked struct {
		i    int
		rank int64
	}
	rows := make([]ranked, 0, len(locks))
	for i := range locks {
		l := &locks[i]
		if !f.empty() && !f.lock(l) {
			continue
		}
		rows = append(rows, ranked{i, rank(l, by)})
	}
	slices.SortFunc(rows, func(a, b ranked) int {
		// What is gone stands below everything that is there.
		if ga, gb := locks[a.i].State == inspect.Expired, locks[b.i].State == inspect.Expired; ga != gb {
			if ga {
				return 1
			}
			return -1
		}
		if c := cmp.Compare(a.rank, b.rank); c != 0 {
			if reverse {
				return -c
			}
			return c
		}
		la, lb := &locks[a.i], &locks[b.i]
		c := cmp.Compare(la.ID.Key, lb.ID.Key)
		if reverse && by == byName {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(la.ID.DB, lb.ID.DB))
	})
	out := make([]int, len(rows))
	for i, r := range rows {
		out[i] = r.i
	}
	return out
}

// rank is what a column sorts by, smallest first: what ends first, what is
// held longest, what most wait for.
func rank(l *inspect.Lock, by order) int64 {
	switch by {
	case byTrouble:
		return calmTrouble(l)
	case byTTL:
		switch {
		case l.State == inspect.Expired:
			return math.MaxInt64
		case l.Expiry.Never:
			return math.MaxInt64 - 1
		case l.Expiry.At.IsZero():
			return math.MaxInt64 - 2
		}
		return l.Expiry.At.UnixNano()
	case byHeld:
		if l.HeldSince.IsZero() || l.State == inspect.Expired {
			return math.MaxInt64
		}
		return l.HeldSince.UnixNano()
	case byWaiters:
		if !l.Waiters.Known {
			return 1
		}
		return -int64(l.Waiters.Value)
	default:
		return 0
	}
}

// rest is how long the cursor must have been still before rows move again.
const rest = 2 * time.Second

// keepOrder returns the wanted rows in the order in which their identities
// stood before, with new ones at the end: rows do not move under a hand that
// is about to press a key.
func keepOrder(before []inspect.ID, locks []inspect.Lock, wanted []int) []int {
	at := make(map[inspect.ID]int, len(wanted))
	for _, i := range wanted {
		at[locks[i].ID] = i
	}
	out := make([]int, 0, len(wanted))
	for _, id := range before {
		if i, ok := at[id]; ok {
			out = append(out, i)
			delete(at, id)
		}
	}
	for _, i := range wanted {
		if _, isNew := at[locks[i].ID]; isNew {
			out = append(out, i)
		}
	}
	return out
}
