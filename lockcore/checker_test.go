package lockcore_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"dlock/lockcore"
)

// book records what clients were granted and what they did with it, by one
// clock that all of them share, and judges it afterwards.
type book struct {
	mu        sync.Mutex
	start     time.Time
	grants    []*grantRecord
	registers map[string]*fencedRegister
	writes    []porcupine.Operation
	faults    []string // what was seen to be wrong while it happened
	attempted int      // writes under a lock that had ended
	refused   int      // of these, those that the register refused
}

func newBook() *book {
	return &book{start: time.Now(), registers: make(map[string]*fencedRegister)}
}

func (b *book) wrong(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, fmt.Sprintf(format, args...))
}

// grantRecord is one grant. The lock counted as held from granted to end.
type grantRecord struct {
	resource string
	client   string
	fence    int64
	called   time.Time // before Acquire
	granted  time.Time // after it
	end      time.Time // the earliest of: Release called, Done closed, validity over
	settled  chan struct{}
}

// holding is a grant that is in use.
type holding struct {
	book   *book
	lock   *lockcore.Lock
	client *client
	record *grantRecord

	mu       sync.Mutex
	released time.Time
}

// granted enters a grant, and watches that its holder is told of its end in
// time: not later than the world's tolerance after the validity that was
// promised, and for the right reason.
func (b *book) granted(c *client, called time.Time, k *lockcore.Lock) *holding {
	h := &holding{book: b, lock: k, client: c, record: &grantRecord{
		resource: k.Resource(), client: c.name, fence: k.Fence(),
		called: called, granted: time.Now(), settled: make(chan struct{}),
	}}
	b.mu.Lock()
	b.grants = append(b.grants, h.record)
	b.mu.Unlock()
	go h.watch()
	return h
}

// validUntil and validSince are by the book's clock.
func (h *holding) validUntil() time.Time { return h.lock.ValidUntil().Round(0).Add(-h.client.skew) }
func (h *holding) validSince() time.Time { return h.lock.ValidSince().Round(0).Add(-h.client.skew) }

func (h *holding) watch() {
	defer close(h.record.settled)
	tolerance := h.client.w.tolerance
	for told := false; !told; {
		h.client.asleep.pass(h.lock.Done())
		timer := time.NewTimer(time.Until(h.client.noticed(h.validUntil())) + tolerance)
		select {
		case <-h.lock.Done():
			told = true
		case <-timer.C:
			if h.client.asleep.isShut() {
				break
			}
			if over := time.Since(h.client.noticed(h.validUntil())); over >= tolerance && h.lock.Err() == nil {
				h.book.wrong("%s: %q fence %d: not told of the loss %v after its validity", h.record.client, h.record.resource, h.record.fence, over)
				<-h.lock.Done()
				told = true
			}
		}
		timer.Stop()
	}
	done := time.Now()
	var lost *lockcore.LostError
	if err := h.lock.Err(); !errors.Is(err, lockcore.ErrReleased) && !(errors.As(err, &lost) && lost.Reason != "" && lost.Resource == h.record.resource) {
		h.book.wrong("%s: the cause of the end is %v", h.record.client, err)
	}
	if lost != nil && (lost.Reason == lockcore.LossExpired || lost.Reason == lockcore.LossSuspended) {
		missed := h.client.missed(h.validSince())
		if suspended := missed > time.Second; suspended != (lost.Reason == lockcore.LossSuspended) {
			h.book.wrong("%s: told that %s, with %v of suspend in the lease", h.record.client, lost.Reason, missed)
		}
		h.client.w.net.count(toldOf(lost.Reason))
	}
	if !errors.Is(h.lock.Context().Err(), context.Canceled) || h.lock.Valid() {
		h.book.wrong("%s: Done is closed and the lock still counts as held", h.record.client)
	}
	h.mu.Lock()
	released := h.released
	h.mu.Unlock()
	h.record.end = earliest(done, h.validUntil(), released)
}

// toldOf is how a loss is counted, beside the faults.
func toldOf(reason lockcore.LossReason) string { return "told that " + string(reason) }

// releasing is to be called right before Release.
func (h *holding) releasing() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.released = time.Now()
}

// write sends a value to the register that the lock is about, as a holder
// would, whether or not the lock has ended. travel is how long the request and
// the answer take.
func (h *holding) write(client int, value int64, travel time.Duration) bool {
	b := h.book
	b.mu.Lock()
	r := b.registers[h.record.resource]
	if r == nil {
		r = &fencedRegister{}
		b.registers[h.record.resource] = r
	}
	b.mu.Unlock()
	call := time.Since(b.start)
	time.Sleep(travel)
	stale := !h.lock.Valid()
	ok := r.write(h.record.fence, value)
	time.Sleep(travel)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes = append(b.writes, porcupine.Operation{
		ClientId: client, Input: registerWrite{h.record.resource, h.record.fence, value},
		Call: int64(call), Output: ok, Return: int64(time.Since(b.start)),
	})
	if stale {
		b.attempted++
		if !ok {
			b.refused++
		}
	}
	return ok
}

// fencedRegister is storage that takes part in fencing.
type fencedRegister struct {
	mu       sync.Mutex
	newest   int64
	value    int64
	accepted []int64 // tokens, in the order of acceptance
}

func (r *fencedRegister) write(token, value int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if token < r.newest {
		return false
	}
	r.newest, r.value = token, value
	r.accepted = append(r.accepted, token)
	return true
}

// registerWrite is the input of a write, whose output is whether it was
// accepted.
type registerWrite struct {
	resource string
	token    int64
	value    int64
}

// registerModel is what a fenced register must look like from outside.
var registerModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		by := make(map[string][]porcupine.Operation)
		for _, op := range history {
			r := op.Input.(registerWrite).resource
			by[r] = append(by[r], op)
		}
		var parts [][]porcupine.Operation
		for _, ops := range by {
			parts = append(parts, ops)
		}
		return parts
	},
	Init: func() any { return registerState{} },
	Step: func(state, input, output any) (bool, any) {
		s, in := state.(registerState), input.(registerWrite)
		if in.token < s.newest {
			return !output.(bool), s
		}
		return output.(bool), registerState{in.token, in.value}
	},
}

type registerState struct{ newest, value int64 }

// strictness says which promises a history is held to.
type strictness int

const (
	// inModel: no two valid at once, and the fence grows from grant to grant.
	inModel strictness = iota
	// fenceOnly: nodes' clocks jumped, so two may have been valid at once;
	// the fence still grows between grants that were not asked for at once.
	fenceOnly
)

// verdict returns everything that is wrong with the history. All grants must
// have ended.
func (b *book) verdict(s strictness) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	bad := slices.Clone(b.faults)
	by := make(map[string][]*grantRecord)
	for _, g := range b.grants {
		<-g.settled
		by[g.resource] = append(by[g.resource], g)
	}
	for resource, grants := range by {
		bad = append(bad, judge(resource, grants, s)...)
	}
	for resource, r := range b.registers {
		if !slices.IsSorted(r.accepted) {
			bad = append(bad, fmt.Sprintf("the register of %q accepted a smaller token after a larger one: %v", resource, r.accepted))
		}
	}
	if porcupine.CheckOperationsTimeout(registerModel, b.writes, 0) != porcupine.Ok {
		bad = append(bad, "the writes are not those of a fenced register")
	}
	return bad
}

func judge(resource string, grants []*grantRecord, s strictness) []string {
	var bad []string
	slices.SortStableFunc(grants, func(a, b *grantRecord) int { return a.granted.Compare(b.granted) })
	if s == inModel {
		// Who slept until the lease was over, before Acquire could even
		// return, never held the lock, and was granted it some time before.
		var held []*grantRecord
		for _, g := range grants {
			if g.granted.Before(g.end) {
				held = append(held, g)
				continue
			}
			for _, other := range grants {
				if other.granted.Before(g.called) && g.fence <= other.fence || g.granted.Before(other.called) && g.fence >= other.fence {
					bad = append(bad, fmt.Sprintf("%q: fence %d (%s), which came too late, and %d (%s) are in the wrong order", resource, g.fence, g.client, other.fence, other.client))
				}
			}
		}
		// Of all earlier grants, the one that ends last.
		var last *grantRecord
		for _, g := range held {
			if last != nil && g.granted.Before(last.end) {
				bad = append(bad, fmt.Sprintf("%q: %s (fence %d) was granted %v before the end of %s (fence %d)",
					resource, g.client, g.fence, last.end.Sub(g.granted), last.client, last.fence))
			}
			if last == nil || g.end.After(last.end) {
				last = g
			}
		}
		for i := 1; i < len(held); i++ {
			if a, b := held[i-1], held[i]; b.fence <= a.fence {
				bad = append(bad, fmt.Sprintf("%q: fence %d (%s) came after %d (%s)", resource, b.fence, b.client, a.fence, a.client))
			}
		}
		return bad
	}
	seen := make(map[int64]bool)
	for i, g := range grants {
		if seen[g.fence] {
			bad = append(bad, fmt.Sprintf("%q: fence %d was granted twice", resource, g.fence))
		}
		seen[g.fence] = true
		for _, earlier := range grants[:i] {
			if earlier.granted.Before(g.called) && g.fence <= earlier.fence {
				bad = append(bad, fmt.Sprintf("%q: fence %d (%s) was asked for after %d (%s) had been granted", resource, g.fence, g.client, earlier.fence, earlier.client))
			}
		}
	}
	return bad
}

func earliest(first time.Time, others ...time.Time) time.Time {
	for _, t := range others {
		if !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}

// The checkers see what they are there to see.
func TestCheckersCatch(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(1_000_000 + int64(ms)) }
	grant := func(fence int64, called, granted, end int) *grantRecord {
		g := &grantRecord{resource: "r", client: fmt.Sprint("c", fence), fence: fence, called: at(called), granted: at(granted), end: at(end), settled: make(chan struct{})}
		close(g.settled)
		return g
	}
	for name, c := range map[string]struct {
		grants       []*grantRecord
		strict, lose int // how many complaints there must be
	}{
		"one after the other":        {[]*grantRecord{grant(1, 0, 1, 10), grant(2, 2, 10, 20)}, 0, 0},
		"two at once":                {[]*grantRecord{grant(1, 0, 1, 10), grant(2, 2, 9, 20)}, 1, 0},
		"a long one around a short":  {[]*grantRecord{grant(1, 0, 1, 90), grant(2, 2, 3, 4), grant(3, 5, 6, 7)}, 2, 0},
		"the fence goes back":        {[]*grantRecord{grant(5, 0, 1, 10), grant(4, 11, 12, 20)}, 1, 1},
		"the fence stays":            {[]*grantRecord{grant(5, 0, 1, 10), grant(5, 11, 12, 20)}, 1, 2},
		"too late to be held":        {[]*grantRecord{grant(5, 0, 30, 20), grant(6, 2, 10, 90)}, 0, 0},
		"too late, fence goes back":  {[]*grantRecord{grant(6, 2, 10, 90), grant(5, 11, 30, 20)}, 1, 1},
		"too late, fence ran ahead":  {[]*grantRecord{grant(6, 0, 20, 10), grant(5, 21, 22, 90)}, 1, 1},
		"overtaken while both asked": {[]*grantRecord{grant(5, 0, 1, 10), grant(4, 0, 12, 20)}, 1, 0},
	} {
		for _, s := range []struct {
			strictness
			want int
		}{{inModel, c.strict}, {fenceOnly, c.lose}} {
			if got := judge("r", slices.Clone(c.grants), s.strictness); len(got) != s.want {
				t.Errorf("%s, strictness %d: %d complaints, want %d: %q", name, s.strictness, len(got), s.want, got)
			}
		}
	}
	write := func(call, ret int64, token int64, ok bool) porcupine.Operation {
		return porcupine.Operation{Input: registerWrite{"r", token, token * 10}, Call: call, Output: ok, Return: ret}
	}
	for name, c := range map[string]struct {
		ops  []porcupine.Operation
		want bool
	}{
		"a stale write is refused":         {[]porcupine.Operation{write(0, 1, 2, true), write(2, 3, 1, false)}, true},
		"a stale write is accepted":        {[]porcupine.Operation{write(0, 1, 2, true), write(2, 3, 1, true)}, false},
		"a good write is refused":          {[]porcupine.Operation{write(0, 1, 2, true), write(2, 3, 3, false)}, false},
		"two at once, either may be first": {[]porcupine.Operation{write(0, 5, 2, true), write(1, 4, 1, true)}, true},
	} {
		if got := porcupine.CheckOperations(registerModel, c.ops); got != c.want {
			t.Errorf("%s: linearizable is %v", name, got)
		}
	}
	r := &fencedRegister{}
	if !r.write(2, 20) || r.write(1, 10) || !r.write(2, 21) || r.value != 21 {
		t.Error("the register does not fence")
	}
}

// summary counts what a set of histories contained.
type summary struct {
	mu                                        sync.Mutex
	schedules, grants, stale, refused, writes int
	faults                                    map[string]int
}

func (s *summary) add(b *book, faults map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	s.schedules++
	s.grants += len(b.grants)
	s.writes += len(b.writes)
	s.stale += b.attempted
	s.refused += b.refused
	if s.faults == nil {
		s.faults = make(map[string]int)
	}
	for kind, n := range faults {
		s.faults[kind] += n
	}
}

func (s *summary) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	kinds := make([]string, 0, len(s.faults))
	for kind := range s.faults {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, cmp.Compare)
	text := fmt.Sprintf("%d schedules, %d grants, %d writes, of which stale %d attempted and %d refused; faults:", s.schedules, s.grants, s.writes, s.stale, s.refused)
	for _, kind := range kinds {
		text += fmt.Sprintf(" %s %d,", kind, s.faults[kind])
	}
	return text[:len(text)-1]
}
