package inspect

import (
	"slices"
	"time"
)

const (
	// everyLook is up to how many keys of a server are asked about in each
	// look of a Watch; of more, those that are on screen, and the others in
	// turn.
	everyLook = 4000
	// visibleMost is how many keys count as visible at most, and visibleUsual
	// how many from the top of the list do while nobody has said which are.
	visibleMost  = 1000
	visibleUsual = 200
	// restLeast is how many keys are asked about in turn at least, however
	// long that takes the server.
	restLeast = 100
	// keyFloor is what a key is taken to cost a server at least, since what is
	// left of a round trip after the network's share is a guess.
	keyFloor = time.Microsecond
)

// SetVisible says which locks a person looks at: of many locks a Watch asks about
// these in each look, and about the others in turn. Without any it is those on
// top of the last snapshot's list. Keys beyond the first thousand count as not
// visible, and those that are no locks do no harm. It does not wait, holds until
// the next call, and may be called at any time from any goroutine; the next look
// goes by it.
func (i *Inspector) SetVisible(keys []string) {
	keys = slices.Clone(keys[:min(len(keys), visibleMost)])
	i.mu.Lock()
	i.visible = keys
	i.mu.Unlock()
}

func (i *Inspector) nowVisible() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.visible
}

// rotation is the order in which the locks of a Watch have their turn when there
// are too many to ask about all in each look.
type rotation struct {
	on     bool     // they are asked about in turn at present
	pass   []string // those of the pass under way, those asked longest ago first
	next   int
	began  time.Time // the pass
	oldest time.Time // the answer that waits longest for its turn
	// front are those that shall not wait for their turn.
	front  []string
	queued map[string]struct{} // front as a set
}

// hurry has a key asked about in one of the next looks.
func (r *rotation) hurry(key string) {
	if _, ok := r.queued[key]; ok || !r.on {
		return
	}
	if r.queued == nil {
		r.queued = make(map[string]struct{})
	}
	r.queued[key] = struct{}{}
	r.front = append(r.front, key)
}

// questions are what one look asks: each member's share of the keys that are
// asked about in full, and of those whose turn it is.
type questions struct {
	keys, rest [][]string
	all        [][]string // everything, where some member is asked about that
	total      int
}

// ask puts together what a look asks about.
func (s *session) ask(now time.Time, interval time.Duration) questions {
	q := questions{total: len(s.known)}
	servers := 1
	if s.layout.owners != nil {
		servers = len(s.members)
	}
	r := &s.rotation
	if r.on = len(s.known) > everyLook*servers; !r.on {
		*r = rotation{}
		q.keys, q.rest = s.shares(s.everything()), make([][]string, len(s.members))
		q.all = q.keys
		return q
	}
	hot := make(map[string]struct{})
	var keys []string
	s.onScreen(func(key string) {
		if _, known := s.known[key]; !known {
			return
		}
		if _, twice := hot[key]; twice {
			return
		}
		hot[key] = struct{}{}
		keys = append(keys, key)
	})
	q.keys, q.rest = s.shares(keys), s.shares(s.turn(hot, now, interval))
	for _, m := range s.members {
		if q.all == nil && m.askedAfresh() && !m.waits(now) {
			q.all = s.shares(s.everything())
		}
	}
	return q
}

func (s *session) everything() []string {
	keys := make([]string, 0, len(s.known))
	for key := range s.known {
		keys = append(keys, key)
	}
	return keys
}

// onScreen yields the keys that each look asks about in any case: visible locks
// with all their keys, those whose values a refresh wants, and companions that
// are watched for standing without their lock. Some may come twice.
func (s *session) onScreen(yield func(key string)) {
	lock := func(key string) {
		yield(key)
		for _, part := range s.folds.parts[key] {
			yield(part)
		}
	}
	visible, top := s.inspector.nowVisible(), 0
	if len(visible) == 0 {
		top = visibleUsual
	}
	if slices.ContainsFunc(s.members, func(m *member) bool { return m.fresh }) {
		top = refreshMost
	}
	for n := range min(top, len(s.shown)) {
		lock(s.shown[n].ID.Key)
	}
	for key := range s.folds.orphans {
		yield(key)
	}
	// What comes last is asked about most closely.
	for _, key := range visible {
		lock(key)
	}
}

// waits reports whether a node is not to be asked at present.
func (m *member) waits(now time.Time) bool {
	return m.busy || m.failures > 0 && now.Before(m.status.NextTry)
}

// askedAfresh reports whether what a node told before does not count any longer:
// it was away, or is another server.
func (m *member) askedAfresh() bool {
	return m.failures > 0 || m.status.State == NodePending || m.behind
}

// turn picks the keys whose turn it is, as many as every server can be asked
// about within its budget. Those in hot are left out. All servers are asked about
// the same keys at the same time, so that their answers can be compared.
func (s *session) turn(hot map[string]struct{}, now time.Time, interval time.Duration) []string {
	room := make([]int, len(s.members))
	for n, m := range s.members {
		room[n] = m.affords(interval, s.inspector.config.ScanBudget)
	}
	if s.layout.owners == nil {
		room = []int{slices.Min(room)}
	}
	first := slices.Clone(room)
	for n := range first {
		first[n] /= 2
	}
	var keys []string
	picked := make(map[string]struct{})
	// take reports whether there was room for a key.
	take := func(key string, room []int) bool {
		if _, known := s.known[key]; !known {
			return true
		}
		if _, done := hot[key]; done {
			return true
		}
		if _, done := picked[key]; done {
			return true
		}
		at := 0
		if s.layout.owners != nil {
			if at = s.layout.owner(key); at < 0 {
				return true
			}
		}
		if room[at] <= 0 {
			return false
		}
		for _, one := range append([]string{key}, s.folds.parts[key]...) {
			picked[one] = struct{}{}
			keys = append(keys, one)
			room[at]--
		}
		return true
	}
	r := &s.rotation
	n := 0
	for n < len(r.front) && take(r.front[n], first) {
		delete(r.queued, r.front[n])
		n++
	}
	r.front = r.front[n:]
	for n := range room {
		room[n] -= room[n]/2 - first[n]
	}
	if r.next >= len(r.pass) {
		r.pass, r.next, r.began = s.byAge(), 0, now
	}
	for ; r.next < len(r.pass); r.next++ {
		key := r.pass[r.next]
		if _, part := s.folds.partOf[key]; part {
			continue // it comes with its lock
		}
		if r.oldest = s.askedAt(key); !r.oldest.Before(r.began) {
			continue
		}
		if !take(key, room) {
			return keys
		}
	}
	r.oldest = r.began
	return keys
}

// byAge lists all known keys, those asked about longest ago first.
func (s *session) byAge() []string {
	type aged struct {
		key string
		at  int64
	}
	all := make([]aged, 0, len(s.known))
	for key := range s.known {
		at := s.askedAt(key)
		all = append(all, aged{key, at.UnixNano()})
	}
	slices.SortFunc(all, func(a, b aged) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		default:
			return 0
		}
	})
	keys := make([]string, len(all))
	for n := range all {
		keys[n] = all[n].key
	}
	return keys
}

// askedAt is when those who answer were last asked about a key, the one that is
// longest ago. A server that refuses the key does not count: it is asked seldom
// on purpose.
func (s *session) askedAt(key string) time.Time {
	var oldest time.Time
	_, voters := s.voters(key)
	for _, m := range voters {
		one, ok := m.samples[key]
		if !ok || !m.answers() || one.presence == forbidden {
			continue
		}
		if at := one.sent(); oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	return oldest
}

// pace is how long asking one server about keys takes.
type pace struct {
	wall    time.Duration // for one key whose turn it is
	rest    time.Duration // of the server's time, for such a key
	visible time.Duration // of the server's time, for one that each look asks about
	keys    int           // how many of those there were
}

// learn takes in what a look has spent. Of the server's time only too much can
// be measured, when this machine or the network is slow, so small figures are
// believed at once and large ones bit by bit.
func (p *pace) learn(keys, rest spending) {
	least := func(old *time.Duration, s spending) {
		if s.keys == 0 {
			return
		}
		one := max(keyFloor, s.server/time.Duration(s.keys))
		if *old > 0 {
			one = min(one, *old+*old/32+1)
		}
		*old = one
	}
	least(&p.visible, keys)
	least(&p.rest, rest)
	p.keys = keys.keys
	if rest.keys > 0 {
		p.wall = max(1, (p.wall+rest.wall/time.Duration(rest.keys))/2)
	}
}

// affords is how many keys a server can be asked about in turn in one look:
// within the half of its budget that the scan does not use, less what visible
// locks take, and within a quarter of the interval.
func (m *member) affords(interval time.Duration, budget float64) int {
	p := m.pace
	if p.rest == 0 || p.wall == 0 {
		return chunk
	}
	share := time.Duration(float64(interval)*budget/2) - time.Duration(p.keys)*p.visible
	return max(restLeast, int(min(share/p.rest, interval/4/p.wall)))
}

// owe notes whose turn came while a node was busy. A node that is down is asked
// about everything when it is back.
func (m *member) owe(keys []string) {
	switch {
	case m.behind || m.failures > 0:
	case len(m.owed)+len(keys) > everyLook:
		m.owed, m.behind = nil, true
	default:
		m.owed = append(m.owed, keys...)
	}
}
