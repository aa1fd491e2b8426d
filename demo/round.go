package demo

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dlock/demo/store"
	"dlock/lockcore"
)

// round is the time from one change of mode to the next. Its items are its own,
// so that the damage of one mode is not counted as that of another.
type round struct {
	mode    ModeInfo
	run     int
	started time.Time
	ctx     context.Context // ends when the round does
	cancel  context.CancelFunc
	turns   sync.WaitGroup // of workers
	tally   *tally
	sales   []atomic.Int64 // per shelf
	restock func(shelf int, sale int64)
}

func (r *round) count(add func(*tally)) { r.tally.count(add) }

// sale is the number of the present sale of a shelf.
func (r *round) sale(shelf int) int64 { return r.sales[shelf].Load() }

// nextSale opens the sale after the given one, once.
func (r *round) nextSale(shelf int, sale int64) {
	if r.sales[shelf].Load() == sale {
		r.restock(shelf, sale+1)
		r.sales[shelf].CompareAndSwap(sale, sale+1)
	}
}

// newRound opens a round and its items.
func (d *Demo) newRound(ctx context.Context, m ModeInfo) (*round, error) {
	r := &round{mode: m, run: d.runs + 1, sales: make([]atomic.Int64, d.config.Resources)}
	for i := range d.config.Resources {
		if err := d.store.Add(ctx, r.run, d.scenario.item(i), d.scenario.first); err != nil {
			return nil, err
		}
	}
	d.runs = r.run
	r.ctx, r.cancel = context.WithCancel(d.life)
	r.restock = func(shelf int, sale int64) {
		// An error is met again by the buyers, who find no phone.
		_ = d.store.Add(r.ctx, r.run, saleItem(shelf, sale), d.scenario.first)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tallies[m.Mode] == nil {
		d.tallies[m.Mode] = &tally{}
		d.order = append(d.order, m.Mode)
	}
	r.tally = d.tallies[m.Mode]
	r.started = time.Now()
	return r, nil
}

// SetMode changes how workers are kept apart, or, with the present mode, starts
// it anew. Workers leave what they are in first; it returns when the new mode
// is on. The tally of a mode goes on when one comes back to it.
func (d *Demo) SetMode(ctx context.Context, m Mode) error {
	if err := d.scenario.allows(m); err != nil {
		return err
	}
	info, _ := m.Info()
	d.switching.Lock()
	defer d.switching.Unlock()
	if d.life.Err() != nil {
		return errStopped
	}
	if m == Replica {
		if err := d.needPair(ctx); err != nil {
			return err
		}
	}
	next, err := d.newRound(ctx, info)
	if err != nil {
		return err
	}
	d.endRound(ctx)
	d.sweep(ctx)
	d.mu.Lock()
	next.started = time.Now()
	d.round = next
	opened := d.opened
	d.opened = make(chan struct{})
	d.mu.Unlock()
	close(opened)
	d.voidActive(next)
	return nil
}

// sweep removes locks that the last mode has left behind, such as those of
// workers that crashed, which would stand in the next one's way. Nobody is
// inside anything. A node that is down keeps what it has.
func (d *Demo) sweep(ctx context.Context) {
	nodes := slices.Clone(d.operator.nodes)
	if p := d.thePair(); p != nil {
		nodes = append(nodes, p.clients[p.primary()])
	}
	var wg sync.WaitGroup
	for _, n := range nodes {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, 2*nodeTimeout)
			defer cancel()
			n.Client().Del(ctx, d.lockKeys()...)
		})
	}
	wg.Wait()
}

// lockKeys are the keys of all locks of the scenario.
func (d *Demo) lockKeys() []string {
	keys := d.scenario.locks(d.config.Resources)
	for i, name := range keys {
		keys[i] = lockcore.Key(lockcore.DefaultPrefix, name)
	}
	return keys
}

// endRound sends the workers out of the present round, waits for them, and
// counts what it has done.
func (d *Demo) endRound(ctx context.Context) {
	d.mu.Lock()
	r := d.round
	d.round = nil
	d.mu.Unlock()
	if r == nil {
		return
	}
	r.cancel()
	r.turns.Wait()
	ran := time.Since(r.started)
	audit, err := d.store.Audit(ctx, r.run)
	if err != nil {
		d.note("the store could not be counted: " + err.Error())
	}
	r.count(func(t *tally) {
		t.ran += ran
		t.past, t.audit = t.past.Add(audit), store.Audit{}
	})
}

// enter lets a worker into the present round and waits while there is none. It
// returns nil when the demo is over.
func (d *Demo) enter() *round {
	for {
		d.mu.Lock()
		r, opened := d.round, d.opened
		if d.life.Err() != nil {
			r = nil
		}
		if r != nil {
			r.turns.Add(1)
		}
		d.mu.Unlock()
		if r != nil {
			return r
		}
		select {
		case <-opened:
		case <-d.life.Done():
			return nil
		}
	}
}

// auditPeriod is how often the store is counted while a round is on.
const auditPeriod = time.Second

// keepAuditing counts the store now and then, so that nobody who only looks
// has to wait for it.
func (d *Demo) keepAuditing() {
	tick := time.NewTicker(auditPeriod)
	defer tick.Stop()
	for {
		select {
		case <-d.life.Done():
			return
		case <-tick.C:
		}
		d.mu.Lock()
		r := d.round
		d.mu.Unlock()
		if r == nil {
			continue
		}
		if audit, err := d.store.Audit(r.ctx, r.run); err == nil && r.ctx.Err() == nil {
			r.count(func(t *tally) { t.audit = audit })
		}
	}
}

// summary is a mode's tally as it stands. open is its round if that is on.
func (t *tally) summary(m ModeInfo, open *round) ModeTally {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := ModeTally{
		Mode: m.Mode, Ran: t.ran, Operations: t.operations, Writes: t.writes,
		WaitP50: t.waits.quantile(0.50), WaitP99: t.waits.quantile(0.99), Contended: t.contended,
		DoubleEntries: t.double, Violations: t.violations, Refused: t.refused, Conflicts: t.conflicts,
		Losses: t.losses, NoQuorum: t.noQuorum, GaveUp: t.gaveUp, Stuck: t.stuck, Failed: t.failed, TurnedAway: t.away,
		Store:  t.past.Add(t.audit),
		Voided: slices.Clone(t.voidedExclusion),
	}
	for _, v := range t.voidedStore {
		if !slices.Contains(s.Voided, v) {
			s.Voided = append(s.Voided, v)
		}
	}
	if open != nil {
		s.Ran += time.Since(open.started)
	}
	if m.PromisesExclusion && t.broken > 0 {
		s.Broken = append(s.Broken, string(m.Mode)+" promises that no two workers are inside under valid locks, and it happened")
	}
	if m.PromisesStore && len(t.voidedStore) == 0 && s.Store.Damaged() {
		s.Broken = append(s.Broken, string(m.Mode)+" promises that what is stored is exact, and it is not")
	}
	return s
}
