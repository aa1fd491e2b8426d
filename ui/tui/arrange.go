package tui

import "dlock/inspect"

// manyLocks is from how many locks on they are put in order outside the loop,
// which would keep a key waiting.
const manyLocks = 4000

// arranging is an order for the rows of the list: everything it depends on, as
// values.
type arranging struct {
	snap    inspect.Snapshot
	kit     *kit
	filter  filter
	by      order
	reverse bool
	// before is the order that known rows keep, nil if they may move.
	before []inspect.ID
}

// arranged is what became of it. counts is about all locks.
type arranged struct {
	arranging
	rows   []int
	ids    []inspect.ID
	counts tally
}

func (o arranging) arrange() arranged {
	r := arranged{arranging: o, counts: count(o.kit, o.snap.Locks)}
	r.rows = arrange(o.snap.Locks, o.filter, o.by, o.reverse)
	if o.before != nil {
		r.rows = keepOrder(o.before, o.snap.Locks, r.rows)
	}
	r.ids = make([]inspect.ID, len(r.rows))
	for i, row := range r.rows {
		r.ids[i] = o.snap.Locks[row].ID
	}
	return r
}

// place takes rows that are in order.
func (v *locksView) place(rows []int, ids []inspect.ID) {
	v.rows = rows
	v.list.set(ids)
}

// arrangement is what is to be put in order now: the locks of a snapshot. Under
// an open dialog and a resting hand rows do not move.
func (a *App) arrangement(s inspect.Snapshot, fresh bool) arranging {
	v := &a.locks
	o := arranging{snap: s, kit: a.kit, filter: v.filter, by: v.by, reverse: v.reverse}
	if !fresh && len(v.list.ids) > 0 && (a.asking() || a.now.Sub(v.movedAt) < rest) {
		o.before = v.list.ids
	}
	return o
}

// reorder puts the rows in order, and the snapshot on the screen with them:
// at once, or with many locks as soon as it is done. One order is worked on at
// a time, and of those that are asked for meanwhile the newest is next.
func (a *App) reorder(o arranging) cmd {
	if len(o.snap.Locks) < manyLocks {
		a.place(o.arrange())
		return nil
	}
	if a.arranging {
		a.next = &o
		return nil
	}
	a.arranging = true
	return a.world.arrange(o)
}

// onArranged takes rows from outside the loop.
func (a *App) onArranged(r arranged) cmd {
	a.arranging = false
	outdated := r.filter.source != a.locks.filter.source || r.by != a.locks.by || r.reverse != a.locks.reverse
	if !outdated && !(a.paused && r.snap.Seq > a.shown.Seq) {
		a.place(r)
	}
	if next := a.next; next != nil {
		a.next = nil
		return a.reorder(*next)
	}
	return nil
}

// place shows a snapshot with its rows in order.
func (a *App) place(r arranged) {
	a.shown, a.loaded, a.counts = r.snap, true, r.counts
	a.locks.place(r.rows, r.ids)
	a.detail.setData(&a.shown, a.sceneNow())
	a.events.setData(&a.shown)
	a.fillView()
}

// fillView gives data to the view on the screen, if it is one of those that
// have it only there.
func (a *App) fillView() {
	if !a.loaded {
		return
	}
	if a.view == viewNodes {
		a.nodes.setData(&a.shown)
	}
	if s := a.sections.of(a.view); s != nil {
		s.setData(&a.shown, a.sceneNow())
	}
}
