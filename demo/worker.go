package demo

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"dlock/demo/store"
	"dlock/lockcore"
	"dlock/lockcore/fence"
)

// secondLock is how long a worker that holds one lock waits for another before
// it gives up and lets go.
const secondLock = 2 * time.Second

// rebirth is how long after a crash a worker comes back as a new process.
const rebirth = 500 * time.Millisecond

// worker is one contending client: it thinks, asks for a lock, works under it
// and releases it, over and over.
type worker struct {
	demo   *Demo
	index  int
	name   string
	client *client
	rand   *rand.Rand
	round  *round // the one it is in
	orders chan order
}

// order is what a fault tells a worker to suffer at its next moment inside.
type order struct {
	crash bool
	stop  time.Duration
}

func (w *worker) run(ctx context.Context) {
	defer func() { w.client.close() }()
	// A short first pause, so that a newcomer sees locks at once and not all
	// of them in one moment.
	w.sleep(ctx, w.between(0, 300*time.Millisecond))
	for {
		r := w.demo.enter()
		if r == nil {
			return
		}
		w.round = r
		err := func() error {
			defer r.turns.Done() // also when it panics
			return w.turn(r.ctx)
		}()
		if errors.Is(err, errCrashed) && !w.reborn(ctx) {
			return
		}
	}
}

// reborn comes back as a new process, with new connections.
func (w *worker) reborn(ctx context.Context) bool {
	w.demo.set(w, Crashed, "", 0, "its lock is left behind")
	w.client.close()
	w.sleep(ctx, rebirth)
	fresh, err := w.demo.connect(w.name)
	if err != nil {
		w.demo.fail(err)
		return false
	}
	w.client = fresh
	return true
}

// turn is one job from asking to resting.
func (w *worker) turn(ctx context.Context) error {
	d := w.demo
	if !d.awaitBuyer(ctx) {
		return nil
	}
	j := d.scenario.job(w)
	note := ""
	if other := d.checker.inside(j.locks[0]); other != "" {
		w.round.count(func(t *tally) { t.contended++ })
		note = other + " is inside"
	}
	d.set(w, Waiting, j.locks[0], 0, note)
	asked := time.Now()
	var waited time.Duration
	did := false
	err := w.lock(ctx, j, nil, func(ctx context.Context, got []held) (err error) {
		if waited == 0 {
			waited = max(1, time.Since(asked))
		}
		did, err = w.visit(ctx, j, got)
		return err
	})
	w.round.count(func(t *tally) {
		if waited > 0 {
			t.waits.add(waited)
		}
		switch {
		case err == nil:
			t.operations++
			if did {
				t.writes++
			}
		case errors.Is(err, fence.ErrStale):
			t.refused++
		case errors.Is(err, errGaveUp):
			t.gaveUp++
		case ctx.Err() == nil && !errors.Is(err, errCrashed) && !lost(err):
			t.failed++
		}
	})
	switch {
	case errors.Is(err, errCrashed):
		return err
	case errors.Is(err, fence.ErrStale):
		d.set(w, Lost, j.locks[0], 0, "its write was refused: "+err.Error())
		w.sleep(ctx, min(time.Second, d.config.TTL/4))
	case lost(err):
		w.sleep(ctx, min(time.Second, d.config.TTL/4))
	case err == nil && j.done != nil:
		j.done(did)
	}
	if rest := d.scenario.rest(w.rand); rest > 0 {
		d.set(w, Idle, "", 0, "")
		w.sleep(ctx, rest)
	}
	return nil
}

// held is a resource that a worker is inside of.
type held struct {
	inside
	stay *stay
}

// lock takes the locks of a job one after the other and runs visit inside all
// of them.
func (w *worker) lock(ctx context.Context, j job, got []held, visit func(context.Context, []held) error) error {
	i := len(got)
	if i == len(j.locks) {
		return visit(ctx, got)
	}
	var patience time.Duration
	if i > 0 {
		if !w.sleep(ctx, j.between) {
			return ctx.Err()
		}
		w.demo.set(w, Waiting, j.locks[i], got[0].fence, "holds "+j.locks[i-1])
		patience = secondLock
	}
	return ways[w.round.mode.Mode].do(ctx, w, j.locks[i], j.items[i], patience, func(ctx context.Context, in inside) error {
		// What is done inside ends with the lock and with the round.
		ctx, done := context.WithCancel(ctx)
		defer done()
		defer context.AfterFunc(w.round.ctx, done)()

		s, others, violations := w.demo.checker.enter(j.locks[i], w.name, in)
		defer s.leave()
		defer context.AfterFunc(ctx, func() {
			if w.round.ctx.Err() == nil {
				s.note(func(v *Visit) { v.LeaseEnded = time.Now() })
			}
		})()
		if others > 0 && w.round.mode.Excludes {
			w.round.count(func(t *tally) {
				t.double += others
				t.violations += violations
				if len(t.voidedExclusion) == 0 {
					t.broken += violations
				}
			})
		}
		return w.lock(ctx, j, append(got, held{in, s}), visit)
	})
}

// visit reads, works and writes. It reports whether it wrote.
func (w *worker) visit(ctx context.Context, j job, got []held) (did bool, err error) {
	type act struct {
		read  store.Item
		entry store.Entry
		rows  store.Access
	}
	var acts []act
	for _, h := range got {
		read, err := h.rows.Read(ctx)
		if err != nil {
			return false, err
		}
		if entry, ok := j.change(read); ok {
			entry.Worker = w.name
			acts = append(acts, act{read, entry, h.rows})
		}
	}
	if len(acts) == 0 {
		return false, nil
	}
	w.demo.set(w, Working, j.locks[0], got[0].fence, "")
	if ctx, err = w.work(ctx, got, j.inside); err != nil {
		return false, err
	}
	for _, a := range acts {
		if err := a.rows.Write(ctx, a.read, a.entry); err != nil {
			return false, err
		}
	}
	return true, nil
}

// work is inside for d, or until ctx ends. The context it returns is the one
// to go on with: a worker that was stopped wakes in the middle of what it was
// about to do, and writes before it can learn that its lock is gone.
func (w *worker) work(ctx context.Context, got []held, d time.Duration) (context.Context, error) {
	switch o := w.takeOrder(); {
	case o.crash:
		return ctx, errCrashed
	case o.stop > 0:
		for _, h := range got {
			h.stay.note(func(v *Visit) { v.StoppedAt = time.Now() })
		}
		w.demo.set(w, Stopped, got[0].stay.Resource, got[0].fence, "stopped, as by a garbage collection: it neither renews nor learns")
		w.stop(o.stop)
		for _, h := range got {
			h.stay.note(func(v *Visit) { v.WokenAt = time.Now() })
		}
		if w.round.ctx.Err() != nil {
			return ctx, ctx.Err()
		}
		return context.WithoutCancel(ctx), nil
	}
	if !w.sleep(ctx, d) {
		return ctx, ctx.Err()
	}
	return ctx, nil
}

// stop keeps the process from reaching anything or being reached until it is
// woken, the time is over, or the round is.
func (w *worker) stop(d time.Duration) {
	w.client.cable.Cut()
	defer w.client.cable.Heal()
	woken := w.demo.sleeping(w.name)
	defer w.demo.awake(w.name)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-woken:
	case <-w.round.ctx.Done():
	}
}

// takeOrder takes what this worker is to suffer, or what the next one inside
// is.
func (w *worker) takeOrder() order {
	select {
	case o := <-w.orders:
		return o
	default:
	}
	select {
	case o := <-w.demo.anybody:
		return o
	default:
		return order{}
	}
}

// takeCrash is takeOrder for a moment in which only a crash matters.
func (w *worker) takeCrash() bool {
	o := w.takeOrder()
	if o.stop > 0 { // for later
		select {
		case w.orders <- o:
		default:
		}
	}
	return o.crash
}

func (w *worker) state() WorkerState {
	w.demo.mu.Lock()
	defer w.demo.mu.Unlock()
	return w.demo.workers[w.index].State
}

func (w *worker) between(low, high time.Duration) time.Duration {
	return low + time.Duration(w.rand.Int64N(int64(high-low)+1))
}

// sleep waits for d and reports true, or false as soon as ctx has ended.
func (w *worker) sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// lost tells whether an error is that of a lost lock.
func lost(err error) bool { return errors.Is(err, lockcore.ErrLost) }
