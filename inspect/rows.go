package inspect

import (
	"container/heap"
	"slices"
	"time"
)

// rows is what a Watch keeps of the last snapshot, so that the next one only has
// to judge those locks anew of which something is new. What they are kept by
// stands in session.shown.
type rows struct {
	kept   bool // they are kept at all
	of     map[string]*row
	dues   dues
	seen   outlook
	counts []int // locks on each member, and of those the ones it does not let us ask about
	barred []int
}

// row is what a snapshot's other parts got from one key, and when time alone
// changes what it shows.
type row struct {
	key  string
	base int
	on   []presence // by voter, present for what counts as there
	due  time.Time  // zero for never
	ask  bool       // the nodes are to be asked first then
	at   int        // in the heap, -1 if it is not
}

// outlook is what rows depend on beside the samples.
type outlook struct {
	layout   *layout
	interval time.Duration
	nodes    []nodeOutlook
}

type nodeOutlook struct {
	state   NodeState
	answers bool
	clock   bool
	err     string
}

func (s *session) outlook(interval time.Duration) outlook {
	o := outlook{layout: s.layout, interval: interval}
	for _, m := range s.members {
		o.nodes = append(o.nodes, nodeOutlook{m.status.State, m.answers(), m.status.ClockOffset.Known, m.status.Error})
	}
	return o
}

func (o outlook) equal(p outlook) bool {
	return o.layout == p.layout && o.interval == p.interval && slices.Equal(o.nodes, p.nodes)
}

// mark notes that there is something new about a key, for the next snapshot.
func (s *session) mark(key string) {
	if !s.rows.kept {
		return
	}
	if s.news == nil {
		s.news = make(map[string]struct{})
	}
	s.news[key] = struct{}{}
}

// begin readies the rows for a snapshot. It returns the keys that are to be
// judged, and all if that is every key. s.mu is held.
func (s *session) begin(now time.Time, interval time.Duration) (work map[string]struct{}, all bool) {
	r := &s.rows
	before := r.seen
	r.seen = s.outlook(interval)
	if !r.kept || r.of == nil || !r.seen.equal(before) {
		*r = rows{
			kept: r.kept, of: make(map[string]*row), seen: r.seen,
			counts: make([]int, len(s.members)), barred: make([]int, len(s.members)),
		}
		s.news = nil
		return s.known, true
	}
	for len(r.dues) > 0 && !r.dues[0].due.After(now) {
		one := heap.Pop(&r.dues).(*row)
		s.mark(one.key)
		if one.ask {
			s.rotation.hurry(one.key)
		}
	}
	work, s.news = s.news, nil
	if work == nil {
		work = make(map[string]struct{})
	}
	for key := range work {
		if lock, part := s.folds.partOf[key]; part {
			work[lock] = struct{}{}
		}
	}
	for key := range s.folds.orphans {
		work[key] = struct{}{}
	}
	return work, false
}

// clear takes a key's row out of the counts.
func (r *rows) clear(key string) {
	one, ok := r.of[key]
	if !ok {
		return
	}
	r.count(one, -1)
	if one.at >= 0 {
		heap.Remove(&r.dues, one.at)
	}
	delete(r.of, key)
}

// enter records where a key is.
func (r *rows) enter(key string, base int, replies []reply) *row {
	one := &row{key: key, base: base, on: make([]presence, len(replies)), at: -1}
	for n, reply := range replies {
		if !reply.sampled {
			continue
		}
		one.on[n] = reply.sample.presence
		if reply.sample.presence == forbidden && !reply.answers {
			one.on[n] = present
		}
	}
	r.count(one, 1)
	if r.kept {
		r.of[key] = one
	}
	return one
}

func (r *rows) count(one *row, by int) {
	if one.base < 0 {
		return
	}
	for n, there := range one.on {
		if there != absent {
			r.counts[one.base+n] += by
		}
		if there == forbidden {
			r.barred[one.base+n] += by
		}
	}
}

// schedule has a row judged anew at a moment, zero for never.
func (r *rows) schedule(one *row, due time.Time, ask bool) {
	if !r.kept || due.IsZero() {
		return
	}
	one.due, one.ask = due, ask
	heap.Push(&r.dues, one)
}

// nextChange is when time alone may change what a lock shows, zero for never. ask
// is set where the nodes must be asked before it is believed: a lock that
// runs out may have been renewed.
func (t *tracker) nextChange(l Lock, now time.Time) (due time.Time, ask bool) {
	tr := t.tracks[l.ID.Key]
	sooner := func(at time.Time, first bool) {
		if at.After(now) && (due.IsZero() || at.Before(due)) {
			due, ask = at, first
		}
	}
	switch {
	case tr == nil:
		return due, false
	case l.State == Expired:
		sooner(tr.goneAt.Add(t.config.Tombstone), false)
		return due, ask
	case tr.firstSeen.Equal(now):
		// From the next moment on it has been held for some time at least.
		return now.Add(1), false
	case l.State == Held:
		sooner(l.HeldSince.Add(t.config.StuckAfter), false)
	}
	if end := l.Expiry.At; !end.IsZero() {
		sooner(end, true)
		sooner(end.Add(-drift(l.FullTTL)-expiringBelow(l.FullTTL, tr.samples)), true)
	}
	return due, ask
}

// merge puts together the list of a snapshot: of the one before without the keys
// that were judged anew, and those. Both are sorted, and so is what is
// returned, which is a new slice.
func merge(before []Lock, anew map[string]struct{}, fresh []Lock) []Lock {
	out := make([]Lock, 0, len(before)+len(fresh))
	from := 0 // what is before it was copied; locks are large, so many go at once
	for n := range before {
		_, again := anew[before[n].ID.Key]
		less := 0
		for !again && less < len(fresh) && compareLocks(&fresh[less], &before[n]) < 0 {
			less++
		}
		if !again && less == 0 {
			continue
		}
		out = append(append(out, before[from:n]...), fresh[:less]...)
		fresh, from = fresh[less:], n
		if again {
			from++
		}
	}
	return append(append(out, before[from:]...), fresh...)
}

// dues is a heap of the rows that time changes, the next one on top.
type dues []*row

func (d dues) Len() int           { return len(d) }
func (d dues) Less(a, b int) bool { return d[a].due.Before(d[b].due) }
func (d dues) Swap(a, b int) {
	d[a], d[b] = d[b], d[a]
	d[a].at, d[b].at = a, b
}
func (d *dues) Push(x any) {
	one := x.(*row)
	one.at = len(*d)
	*d = append(*d, one)
}
func (d *dues) Pop() any {
	last := len(*d) - 1
	one := (*d)[last]
	(*d)[last] = nil
	*d, one.at = (*d)[:last], -1
	return one
}
