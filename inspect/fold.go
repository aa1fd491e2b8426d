package inspect

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"dlock/inspect/dialect"
	"dlock/lockcore"
)

const (
	// orphanAfter is how long a queue may stand without its lock: a hand-over
	// from one holder to the next is far shorter.
	orphanAfter = 5 * time.Second
	// orphansMost bounds how many keys are watched for standing without
	// their lock, companionsMost how many names of companions are kept.
	orphansMost    = 1000
	companionsMost = 100_000
	// fittingAge is how long it is believed that a name that looked like a
	// companion's is one.
	fittingAge = 5 * time.Minute
)

// sighting is a key that a scan has found and that looks like a companion.
type sighting struct {
	Companion
	types []string // those that such a companion has
}

// folded reports whether a key is shown in its lock's row, or nowhere, rather
// than as a lock of its own, going by its name; and records which it is.
func (p *probe) folded(s *scanState, key string) bool {
	if key == lockcore.NodeKey(p.prefix) {
		return true
	}
	one, ok := p.companionOf(key)
	if ok {
		s.sights = append(s.sights, one)
	}
	return ok
}

// companionOf tells by its name which lock a key may belong to.
func (p *probe) companionOf(key string) (sighting, bool) {
	lock, role, types, ok := p.own.(dialect.Companioned).LockOf(key)
	if !ok {
		lock, role, types, ok = dialect.LockOf(key)
	}
	if ok {
		return sighting{Companion{Key: key, Of: lock, Role: role}, types}, true
	}
	return sighting{}, false
}

// sift finds out which keys that look like companions are such, going by their
// types; the others are locks. What was found fitting lately is not asked about
// again. Where types may not be asked for the names have to do.
func (p *probe) sift(ctx context.Context, c *cost, sights []sighting) (locks []string, companions []sighting, err error) {
	var rest []sighting
	for _, one := range sights {
		if p.fits.has(one.Key, p.now()) {
			companions = append(companions, one)
		} else {
			rest = append(rest, one)
		}
	}
	for len(rest) > 0 && p.allowed("TYPE") {
		n := min(chunk, len(rest))
		b := p.batch()
		asked := make([]*redis.Cmd, n)
		for i, one := range rest[:n] {
			asked[i] = b.ask(ctx, "type", one.Key)
		}
		if _, _, err := p.send(ctx, c, b); err != nil {
			return nil, nil, err
		}
		for i, one := range rest[:n] {
			kind, err := asked[i].Text()
			switch {
			case err != nil:
				p.note("TYPE", err)
				companions = append(companions, one)
			case kind == "none":
			case len(one.types) == 0 || slices.Contains(one.types, kind):
				p.fits.add(one.Key, p.now())
				one.Type = kind
				companions = append(companions, one)
			default:
				locks = append(locks, one.Key)
			}
		}
		rest = rest[n:]
	}
	return locks, append(companions, rest...), nil
}

// names is a set of names that were found fitting, kept as hashes since there
// may be several for each lock. It is forgotten as a whole from time to time.
type names struct {
	mu    sync.Mutex
	seed  maphash.Seed
	set   map[uint64]struct{}
	since time.Time
}

func (n *names) has(name string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.set == nil || now.Sub(n.since) > fittingAge {
		return false
	}
	_, ok := n.set[maphash.String(n.seed, name)]
	return ok
}

func (n *names) add(name string, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.set == nil || now.Sub(n.since) > fittingAge {
		n.seed, n.set, n.since = maphash.MakeSeed(), make(map[uint64]struct{}), now
	}
	n.set[maphash.String(n.seed, name)] = struct{}{}
}

// folds is what a session knows of keys that are no rows of their own.
type folds struct {
	companions map[string][]companionSeen // by lock
	count      int
	parts      map[string][]string // by lock, the names of its other keys, sorted
	partOf     map[string]string   // the reverse
	orphans    map[string]*orphan  // companions whose lock was not known when they were found
	cutoff     time.Time           // companions were swept up to here
}

type companionSeen struct {
	Companion
	at time.Time
}

// orphan is a key that looks like the companion of a lock that is not there.
type orphan struct {
	sighting
	since time.Time
	asked bool // a person asked for this very key
}

func newFolds() folds {
	return folds{
		companions: make(map[string][]companionSeen), parts: make(map[string][]string),
		partOf: make(map[string]string), orphans: make(map[string]*orphan),
	}
}

// hides reports whether a key is no row of its own as far as is known.
func (f *folds) hides(key string) bool {
	_, part := f.partOf[key]
	return part || f.orphans[key] != nil
}

// waits reports whether keys of this role say that somebody waits, so that they
// have no business without their lock. Counters and records stay on purpose.
func waits(r dialect.Role) bool {
	return r == dialect.RoleQueue || r == dialect.RoleWait || r == dialect.RoleSignal
}

// fold takes in the companions that a node has. s.mu is held.
func (s *session) fold(sights []sighting, now time.Time) {
	f := &s.folds
	for _, one := range sights {
		if one.Role == dialect.RolePart {
			s.addPart(one.Of, one.Key)
			continue
		}
		list := f.companions[one.Of]
		at := slices.IndexFunc(list, func(c companionSeen) bool { return c.Key == one.Key })
		switch {
		case at >= 0:
			list[at].at = now
			if one.Type != "" && one.Type != list[at].Type {
				list[at].Type = one.Type
				s.mark(one.Of)
			}
		case f.count < companionsMost:
			f.companions[one.Of] = append(list, companionSeen{one.Companion, now})
			f.count++
			s.mark(one.Of)
		}
		if _, listed := s.known[one.Key]; !listed && waits(one.Role) && len(f.orphans) < orphansMost && !s.there(one.Of) {
			f.orphans[one.Key] = &orphan{sighting: one, since: now}
			s.known[one.Key] = struct{}{}
			s.mark(one.Key)
		}
	}
}

// addPart makes a key one of those that make up a lock.
func (s *session) addPart(lock, key string) {
	f := &s.folds
	if _, ok := f.partOf[key]; ok || key == lock || len(s.known) >= s.inspector.config.MaxKeys {
		return
	}
	f.partOf[key] = lock
	f.parts[lock] = append(f.parts[lock], key)
	slices.Sort(f.parts[lock])
	for _, one := range []string{lock, key} {
		s.known[one] = struct{}{}
		s.mark(one)
	}
}

// expect prepares a look at certain keys without a scan: it returns them with
// the other keys of locks that have several, and notes which of them look like
// companions, of which the lock is asked about too.
func (s *session) expect(live *session, keys []string) []string {
	asked := slices.Clone(keys)
	for _, key := range keys {
		others := dialect.Parts(key)
		if live != nil {
			live.mu.Lock()
			others = append(others, live.folds.parts[key]...)
			live.mu.Unlock()
		}
		for _, other := range others {
			if !slices.Contains(asked, other) {
				s.addPart(key, other)
				asked = append(asked, other)
			}
		}
		if len(others) > 0 {
			continue
		}
		if one, ok := s.members[0].probe.companionOf(key); ok && one.Role != dialect.RolePart {
			s.folds.orphans[key] = &orphan{sighting: one, asked: true}
			if !slices.Contains(asked, one.Of) {
				asked = append(asked, one.Of)
			}
		}
	}
	return asked
}

// there reports whether some node has the lock, or has not told.
func (s *session) there(lock string) bool {
	for _, m := range s.members {
		if one, ok := m.samples[lock]; ok && one.presence != absent {
			return true
		}
	}
	return false
}

// sweep forgets companions that all nodes' scans have gone past without finding
// them again.
func (s *session) sweep() {
	f := &s.folds
	var cutoff time.Time
	for _, m := range s.members {
		if !m.answers() {
			continue
		}
		if m.scanned.began.IsZero() {
			return
		}
		if cutoff.IsZero() || m.scanned.began.Before(cutoff) {
			cutoff = m.scanned.began
		}
	}
	if !cutoff.After(f.cutoff) {
		return
	}
	f.cutoff = cutoff
	for lock, list := range f.companions {
		kept := slices.DeleteFunc(list, func(c companionSeen) bool { return c.at.Before(cutoff) })
		if len(kept) < len(list) {
			s.mark(lock)
		}
		f.count -= len(list) - len(kept)
		if len(kept) == 0 {
			delete(f.companions, lock)
		} else {
			f.companions[lock] = kept
		}
	}
}

// companionsOf lists the companions of a lock that were found.
func (s *session) companionsOf(lock string) []Companion {
	list := s.folds.companions[lock]
	if len(list) == 0 {
		return nil
	}
	out := make([]Companion, len(list))
	for n, c := range list {
		out[n] = c.Companion
	}
	slices.SortFunc(out, func(a, b Companion) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// orphaned looks at a key that may be a companion without its lock. row is what
// to show of it, if anything; isLock says that it is a lock after all, and gone
// that there is nothing left to watch.
func (s *session) orphaned(key string, o *orphan, replies []reply, now time.Time) (row *Lock, isLock, gone bool) {
	var there []sample
	silent := false
	for _, r := range replies {
		switch {
		case !r.answers || !r.sampled:
			silent = true
		case r.sample.presence == present:
			there = append(there, r.sample)
			if kind := r.sample.got.kind(); kind != "" {
				o.Type = kind
			}
		}
	}
	switch {
	case o.Type != "" && len(o.types) > 0 && !slices.Contains(o.types, o.Type):
		return nil, true, false
	case len(there) == 0 && !silent, !o.asked && s.there(o.Of):
		return nil, false, true
	case len(there) == 0:
		return nil, false, false
	}
	stays := o.asked || now.Sub(o.since) >= orphanAfter
	for _, one := range there {
		stays = stays || one.idleAsked && now.Sub(one.touchedAt()) >= orphanAfter
	}
	if !stays {
		return nil, false, false
	}
	l := orphanRow(ID{DB: s.inspector.db, Key: key}, o.Companion, s.there(o.Of), replies, s.inspector.quorum, now)
	return &l, false, false
}

// orphanRow is the row of a companion: no lock, and nobody holds it.
func orphanRow(id ID, c Companion, locked bool, replies []reply, quorum int, now time.Time) Lock {
	l := Lock{
		ID: id, Resource: id.Key, Library: dialect.Unknown, Type: c.Type, State: Expired, Companion: &c,
		Votes: Votes{Need: quorum, Of: len(replies)},
	}
	var names []string
	for _, r := range replies {
		one := Copy{Node: r.node.Name, Answer: AnswerFree, Error: r.sample.err()}
		s := r.sample
		if r.sampled {
			one.SampledAt, one.RTT = s.sent(), s.received().Sub(s.sent())
		}
		switch {
		case !r.answers && r.node.State == NodeDenied, r.answers && s.presence == forbidden:
			one.Answer = AnswerDenied
		case !r.answers:
			one.Answer, one.Error = AnswerUnreachable, r.node.Error
		case !r.sampled:
			one.Answer = AnswerPending
		case s.presence == present:
			one.Type, one.Expiry = s.got.kind(), s.expiry()
			l.Expiry = later(l.Expiry, one.Expiry)
			l.describe(s.got)
			names = append(names, r.node.Name)
			if s.idleAsked {
				if idle := max(0, now.Sub(s.touchedAt())); !l.Idle.Known || idle < l.Idle.Value {
					l.Idle = Known(idle)
				}
			}
		}
		if one.Answer == AnswerUnreachable || one.Answer == AnswerDenied {
			l.Votes.Unreachable++
		}
		l.Copies = append(l.Copies, one)
	}
	l.Kind, l.Anonymous, l.Shared = "", false, false
	if locked {
		return l
	}
	severity := Low
	if c.Role == dialect.RoleQueue {
		severity = Medium
	}
	advice := "If clients wait though the lock is free, remove this key with its own program."
	if left, ok := l.Expiry.Remaining(now); ok {
		advice = fmt.Sprintf("It goes away by itself in %s if nothing renews it; if clients wait though the lock is free, remove it with its own program.", human(left))
	}
	l.Findings = []Finding{{
		ID: "orphan", Severity: severity, Advice: advice,
		Text: fmt.Sprintf("On %s there is the %s of the lock %s, which is not there itself: those who waited are gone, or wait for nothing.", list(names), c.Role, dialect.Quote(c.Of)),
	}}
	return l
}
