package inspect

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"dlock/inspect/dialect"
)

const (
	// streamPage is about how many names are taken from each node before
	// their locks are handed on.
	streamPage = 2000
	// heldBack is how many keys a Stream keeps for its end.
	heldBack = 100_000
)

// Stream is [Inspector.Look] for any number of locks: it hands them on a few
// thousand at a time, in the order in which they are found, with the moment at
// which they were judged, and forgets them.
// What it keeps is a hash of each name, so that no lock is handed on twice.
//
// Beyond the first few thousand locks it asks for remaining lives and values
// only, and not for idle times, fencing tokens and waiters. Locks of several
// keys, and keys that are left of a lock, come last. The Snapshot has no locks;
// the rest of it, and the error, are as for a Look. An error of emit ends the
// Stream and is returned. Config.MaxKeys does not apply.
func (i *Inspector) Stream(ctx context.Context, emit func(time.Time, []Lock) error) (Snapshot, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	i.deployment.lookUp(ctx, nil)
	s := newSession(i)
	f := &stream{session: s, once: newOnce(), emit: emit, locks: make(map[string]int), later: make(map[string]string)}
	s.aside = f.takeSights
	for _, m := range s.members {
		m.scan.once = f.once
	}
	for going := f.askOn(ctx); going; {
		s.settle(ctx, nil)
		s.confirm(ctx, nil)
		if err := f.rest(ctx); err != nil {
			break
		}
		// The nodes work on the next locks while these are handed on.
		going = f.askOn(ctx)
		if err := f.handOn(); err != nil {
			return f.snap, err
		}
	}
	err := s.failure(ctx)
	if err == nil {
		err = f.finish(ctx)
	}
	return f.snap, err
}

// stream is a Stream under way.
type stream struct {
	*session
	once    *once
	emit    func(time.Time, []Lock) error
	started bool
	count   int
	locks   map[string]int    // by node
	later   map[string]string // keys for the end, of a companion with its lock's
	cut     bool              // there was no room to keep a key for the end
	snap    Snapshot
	spent   time.Duration
}

// askOn has each node whose scan is not over look for more locks, and reports
// whether there is any.
func (f *stream) askOn(ctx context.Context) (going bool) {
	f.plain = f.count > chatty
	for _, m := range f.members {
		if m.failures == 0 && m.scanned.passes == 0 && m.probe.refusal("SCAN") == "" && ctx.Err() == nil {
			f.launch(ctx, m, job{scan: &m.scan, limit: slice{names: streamPage}, learn: !f.started, plain: f.plain})
			going = true
		}
	}
	f.started = true
	return going
}

// handOn hands on what this round has found, and forgets it.
func (f *stream) handOn() error {
	for key := range f.known {
		if len(dialect.Parts(key)) > 0 {
			f.keep(key, "")
			f.drop(key)
		}
	}
	snap := f.compose(nil, false)
	for n := range snap.Target.Nodes {
		st := &snap.Target.Nodes[n]
		if st.Locks.Known {
			f.locks[st.Addr] += st.Locks.Value
			st.Locks = Known(f.locks[st.Addr])
		}
	}
	f.snap = snap
	f.snap.Locks = nil
	f.count += len(snap.Locks)
	f.snap.Scan.Keys = int64(f.once.len())
	for key := range f.known {
		f.drop(key)
	}
	f.mu.Lock()
	f.tracker = newTracker(f.inspector.config, f.inspector.quorum)
	f.folds = newFolds()
	f.shown = nil
	f.mu.Unlock()
	if len(snap.Locks) == 0 {
		return nil
	}
	return f.emit(snap.At, snap.Locks)
}

// takeSights takes in companions that a scan has found: those that may be all
// that is left of a lock, and those that are a part of one.
func (f *stream) takeSights(sights []sighting) {
	for _, one := range sights {
		switch {
		case one.Role == dialect.RolePart:
			f.keep(one.Of, "")
		case waits(one.Role):
			f.keep(one.Key, one.Of)
		}
	}
}

func (f *stream) keep(key, of string) {
	if len(f.later) >= heldBack {
		f.cut = true
		return
	}
	f.later[key] = of
}

// rest leaves the servers alone for as long as the scan has used them, except
// where all of their time may be used.
func (f *stream) rest(ctx context.Context) error {
	if f.inspector.config.ScanBudget >= 1 {
		return ctx.Err()
	}
	var spent time.Duration
	for _, m := range f.members {
		spent = max(spent, m.scan.spent)
	}
	pause := max(0, spent-f.spent)
	f.spent = spent
	if f.once.len() < calmAfter*int(f.inspector.config.ScanCount) {
		return ctx.Err()
	}
	return sleep(ctx, pause)
}

// finish hands on what was kept for the end.
func (f *stream) finish(ctx context.Context) error {
	keys := make([]string, 0, streamPage)
	ask := func() error {
		snap, err := f.inspector.Get(ctx, keys...)
		keys = keys[:0]
		if err != nil {
			return err
		}
		var locks []Lock
		for _, l := range snap.Locks {
			// As in a Look, what is left of a lock must have been there for
			// longer than a hand-over takes.
			left := l.Companion != nil && l.Idle.Known && l.Idle.Value >= orphanAfter
			if l.State != Expired || left {
				locks = append(locks, l)
			}
		}
		if len(locks) == 0 {
			return nil
		}
		return f.emit(snap.At, locks)
	}
	for key, of := range f.later {
		if of != "" && f.once.has(of) {
			continue // its lock is there
		}
		if keys = append(keys, key); len(keys) == streamPage {
			if err := ask(); err != nil {
				return err
			}
		}
	}
	if len(keys) > 0 {
		if err := ask(); err != nil {
			return err
		}
	}
	if f.cut {
		f.snap.Scan.Cut, f.snap.Complete = true, false
	}
	return nil
}

// once is a set of names that grows by hashes of 128 bits: two names of a
// hundred million share one with a probability of 1 to 10^22.
type once struct {
	mu          sync.Mutex
	first, more maphash.Seed
	set         map[[2]uint64]struct{}
}

func newOnce() *once {
	return &once{first: maphash.MakeSeed(), more: maphash.MakeSeed(), set: make(map[[2]uint64]struct{})}
}

// add reports whether the name was not in the set.
func (o *once) add(name string) bool {
	h := o.hash(name)
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.set[h]; ok {
		return false
	}
	o.set[h] = struct{}{}
	return true
}

// has reports whether the name is in the set.
func (o *once) has(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok := o.set[o.hash(name)]
	return ok
}

func (o *once) hash(name string) [2]uint64 {
	return [2]uint64{maphash.String(o.first, name), maphash.String(o.more, name)}
}

func (o *once) len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.set)
}
