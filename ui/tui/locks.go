package tui

import (
	"time"

	"dlock/inspect"
	"dlock/ui/text"
)

// locksView is the table of locks: which rows, in which order, and which of
// them is selected. The selection is an identity.
type locksView struct {
	list    list[inspect.ID]
	rows    []int // indexes into the shown snapshot's locks, parallel to list.ids
	filter  filter
	by      order
	reverse bool
	movedAt time.Time // when the cursor last moved
}

// tableHeight is how many rows of the table a screen has room for.
func (l layout) tableHeight() int { return max(0, l.body()-l.preview-l.chrome()-1) }

func (v *locksView) setSize(l layout) { v.list.setHeight(l.tableHeight()) }

// selected returns the lock under the cursor.
func (v *locksView) selected(s *inspect.Snapshot) (inspect.Lock, bool) {
	id, ok := v.list.selected()
	if !ok || v.list.cur >= len(v.rows) {
		return inspect.Lock{}, false
	}
	l := s.Locks[v.rows[v.list.cur]]
	return l, l.ID == id
}

// trouble moves to the next (d = 1) or previous (d = -1) lock in trouble.
func (v *locksView) trouble(s *inspect.Snapshot, d int) bool {
	for i := v.list.cur + d; i >= 0 && i < len(v.rows); i += d {
		// All but what every lock goes through.
		if t := s.Locks[v.rows[i]].Trouble(); t < 5 || t == 6 {
			v.list.move(i - v.list.cur)
			return true
		}
	}
	return false
}

// column is one column of the table.
type column struct {
	title text.Safe
	width int
	right bool
	draw  func(sc *scene, ln *line, l *inspect.Lock, w int)
}

// columnsFor chooses the columns for an inner width; the key gets what the
// others leave.
func columnsFor(w int, t inspect.Target) []column {
	nodes := len(t.Nodes)
	stateW := 11
	if w >= 100 {
		stateW = 12
	}
	cell := func(title text.Safe, width int, right bool, f func(sc *scene, l *inspect.Lock) (style, text.Safe)) column {
		return column{title, width, right, func(sc *scene, ln *line, l *inspect.Lock, w int) {
			st, s := f(sc, l)
			if right {
				ln.add(st, sc.g.fit.FitRight(s, w))
			} else {
				ln.add(st, sc.g.fit.Fit(s, w))
			}
		}}
	}
	votes := 3
	if nodes > 9 {
		votes = 5
	}
	stripW := 0
	if nodes <= maxStrip {
		stripW = max(1, nodes) + 1
	}
	state := column{"STATE", stateW, false, drawState}
	key := column{"LOCK", 0, false, func(sc *scene, ln *line, l *inspect.Lock, w int) {
		st := sc.plain
		if l.State == inspect.Expired {
			st = sc.dim
		}
		ln.add(st, sc.g.fit.FitMiddle(keyText(l.ID.Key), w))
	}}
	ttl := cell("TTL", 6, true, func(sc *scene, l *inspect.Lock) (style, text.Safe) {
		st := sc.plain
		if l.Expiry.Never || l.Has(inspect.Expiring) {
			st = sc.strong
		}
		return st, lockTTL(*l, sc.now)
	})
	quorum := column{"VOTES", stripW + votes, false, func(sc *scene, ln *line, l *inspect.Lock, w int) {
		end := ln.used + w
		if stripW > 0 {
			strip(sc.kit, ln, *l)
			ln.to(end - votes)
		}
		st := sc.plain
		if l.State != inspect.Held {
			st = sc.strong
		}
		ln.add(st, sc.g.fit.FitRight(votesText(*l), votes))
	}}
	if t.Topology == inspect.Cluster {
		// Its nodes do not vote on a lock: one of them has it.
		quorum = column{"NODE", 10, false, func(sc *scene, ln *line, l *inspect.Lock, w int) {
			end := ln.used + w
			for i := range l.Copies[:min(1, len(l.Copies))] {
				c := &l.Copies[i]
				ln.add(sc.answerStyle(c.Answer), sc.g.answer(c.Answer)).add(sc.plain, " "+sc.g.fit.Truncate(text.CleanMax(c.Node, 40), w-2))
			}
			ln.to(end)
		}}
	}
	last := cell("LAST SEEN", 18, false, func(sc *scene, l *inspect.Lock) (style, text.Safe) {
		if len(l.History) == 0 {
			return sc.dim, "-"
		}
		e := &l.History[len(l.History)-1]
		return sc.eventStyle(e.Kind), eventWord(e) + " " + coarse(sc.now, e.At)
	})
	owner := func(width int) column {
		return column{"OWNER", width, false, func(sc *scene, ln *line, l *inspect.Lock, w int) {
			st := sc.plain
			if l.State == inspect.Expired {
				st = sc.dim
			}
			ln.add(st, sc.g.fit.Fit(fitOwners(sc.kit, l, w), w))
		}}
	}
	held := cell("HELD", 8, true, func(sc *scene, l *inspect.Lock) (style, text.Safe) {
		st := sc.plain
		if l.Has(inspect.Stuck) {
			st = sc.strong
		}
		if l.State == inspect.Expired {
			st = sc.dim
		}
		return st, heldFor(sc.kit, *l, sc.now)
	})
	bar := column{"", 8, false, drawBar}
	wait := cell("WAIT", 4, true, func(sc *scene, l *inspect.Lock) (style, text.Safe) {
		if l.State == inspect.Expired {
			return sc.dim, "-"
		}
		if !l.Waiters.Known {
			return sc.dim, "?"
		}
		return sc.plain, text.Count(l.Waiters.Value)
	})
	library := cell("LIBRARY", 9, false, func(sc *scene, l *inspect.Lock) (style, text.Safe) {
		return sc.dim, libraryText(l)
	})
	fence := cell("FENCE", 7, true, func(sc *scene, l *inspect.Lock) (style, text.Safe) {
		if !l.Fence.Known {
			return sc.dim, "?"
		}
		return sc.plain, text.Count(l.Fence.Value)
	})
	kind := cell("KIND", 10, false, func(sc *scene, l *inspect.Lock) (style, text.Safe) {
		return sc.dim, cleanText(l.Kind)
	})

	var cols []column
	switch {
	case w >= 156:
		cols = []column{state, key, owner(26), ttl, bar, held, quorum, wait, fence, library, kind, last}
	case w >= 112:
		cols = []column{state, key, owner(20), ttl, bar, held, quorum, wait, library}
	case w >= 94:
		cols = []column{state, key, owner(18), ttl, bar, held, quorum}
	case w >= 78:
		cols = []column{state, key, owner(15), ttl, held, quorum}
	default:
		cols = []column{state, key, ttl, quorum}
	}
	used := 2 + 1 // the cursor's column and a blank at the end
	for _, c := range cols {
		used += c.width + 1
	}
	cols[1].width = max(8, w-used+1)
	return cols
}

// balance moves room between the names' columns: what one has to spare for the
// rows that can be seen goes to another in which something would be cut.
func balance(sc *scene, cols []column, rows []*inspect.Lock) {
	const mostOwner, leastOwner, mostLibrary = 60, 12, 24
	key, owner, library := 8, 0, 0
	for _, l := range rows {
		key = max(key, text.Width(keyText(l.ID.Key)))
		owner = max(owner, text.Width(ownersText(sc.kit, *l)))
		library = max(library, text.Width(libraryText(l)))
	}
	for i := range cols {
		need := 0
		switch cols[i].title {
		case "OWNER":
			need = min(owner, mostOwner)
			if need < cols[i].width && key > cols[1].width {
				// In steps, so that columns seldom move.
				need = min(cols[i].width, max(leastOwner, (need+3)/4*4))
				cols[1].width += cols[i].width - need
				cols[i].width = need
			}
		case "LIBRARY":
			need = min(library, mostLibrary)
		}
		if more := min(need-cols[i].width, cols[1].width-key); more > 0 {
			cols[i].width += more
			cols[1].width -= more
		}
	}
}

func drawState(sc *scene, ln *line, l *inspect.Lock, w int) {
	b := sc.rowBadge(l)
	more := 0
	if l.State == inspect.Held {
		more = len(l.Flags) - 1
	} else if l.State != inspect.Expired {
		more = len(l.Flags)
	}
	word := b.glyph + " " + b.word
	sc.chip(ln, b.style, word)
	used := text.Width(word)
	if more > 0 && used+3 <= w {
		ln.add(sc.dim, " +"+itoa(more))
		used += 2 + text.Width(itoa(more))
	}
	ln.add(sc.plain, blanks(w-used))
}

func drawBar(sc *scene, ln *line, l *inspect.Lock, w int) {
	f, ok := fraction(*l, sc.now)
	switch {
	case ok:
		st := sc.bar
		if l.Has(inspect.Expiring) {
			st = sc.weak
		}
		sc.addBar(ln, st, f, w)
	case l.Expiry.Never && l.State != inspect.Expired:
		ln.add(sc.weak, sc.g.fit.Fit("no end", w))
	default:
		ln.add(sc.plain, blanks(w))
	}
}

// table draws the locks: a title, the columns' names, and the visible rows.
func (v *locksView) table(sc *scene, h int) []string {
	w := sc.lay.inner()
	content := make([]string, 0, h)
	cols := columnsFor(w, target(sc))
	from, to := v.list.window()
	visible := make([]*inspect.Lock, 0, to-from)
	for _, r := range v.rows[from:to] {
		visible = append(visible, &sc.snap.Locks[r])
	}
	balance(sc, cols, visible)
	head := newLine(w).add(sc.plain, "  ")
	for _, c := range cols {
		if c.right {
			head.add(sc.dim, text.FitRight(c.title, c.width))
		} else {
			head.add(sc.dim, text.Fit(c.title, c.width))
		}
		head.add(sc.plain, " ")
	}
	content = append(content, head.String())
	stale := sc.stale() || sc.broken != ""
	for i := from; i < to; i++ {
		l := visible[i-from]
		ln := newLine(w)
		if stale {
			ln.over = &sc.dim
		}
		if i == v.list.cur {
			ln.over = &sc.cursor
			ln.add(sc.plain, sc.g.cursor+sc.mark(l.ID))
		} else {
			ln.add(sc.plain, " "+sc.mark(l.ID))
		}
		for _, c := range cols {
			c.draw(sc, ln, l, c.width)
			ln.add(sc.plain, " ")
		}
		content = append(content, ln.String())
	}
	if len(v.rows) == 0 {
		content = append(content, v.emptiness(sc, w, h-sc.lay.chrome()-1)...)
	}
	title, remark := v.titles(sc)
	if sc.lay.boxed {
		return sc.pane(sc.lay.w, h, title, remark, content)
	}
	return append([]string{sc.rule(w, title, remark)}, fill(content, w, h-1)...)
}

func (v *locksView) titles(sc *scene) (title, remark text.Safe) {
	title = "Locks " + text.Count(len(v.rows))
	if !v.filter.empty() {
		title += " of " + text.Count(len(sc.snap.Locks)) + "   filter: " + cleanText(v.filter.source)
	}
	remark = "by " + v.by.name()
	if v.reverse {
		remark += ", reversed"
	}
	if from, to := v.list.window(); to-from < len(v.rows) {
		remark += "   " + itoa(from+1) + "-" + itoa(to) + " of " + itoa(len(v.rows))
	}
	return title, remark
}

// previewHeight is the preview's own height, and of the rows that the table
// leaves free as many as it needs to say everything.
func (v *locksView) previewHeight(sc *scene) int {
	h := sc.lay.preview
	free := sc.lay.tableHeight() - len(v.rows)
	l, ok := v.selected(sc.snap)
	if len(v.rows) == 0 {
		return 0 // why there is none needs the room
	}
	if free <= 0 || !ok || sc.lay.header == 1 {
		return h
	}
	if h == 0 && free < 3 {
		return h
	}
	need := 2 + len(sc.previewText(&l))
	if sc.lay.boxed {
		w := sc.lay.w - 4
		if sc.lay.events {
			w = sc.lay.w*55/100 - 4
		}
		need = 2 + len(sc.preview(&l, w, h-2))
	}
	return max(h, min(h+free, need))
}

// view draws the table and, where there is room, what is known about the lock
// under the cursor and the newest events.
func (v *locksView) view(sc *scene) []string {
	sc.lay.preview = v.previewHeight(sc)
	out := v.table(sc, sc.lay.body()-sc.lay.preview)
	if sc.lay.preview > 0 {
		var l *inspect.Lock
		if found, ok := v.selected(sc.snap); ok {
			l = &found
		}
		out = append(out, sc.previewPanes(l)...)
	}
	return out
}

// soonest is the shortest time to live among the visible rows, for the choice
// of how often to draw.
func (v *locksView) soonest(s *inspect.Snapshot, now time.Time) time.Duration {
	least := time.Duration(1<<63 - 1)
	from, to := v.list.window()
	for _, r := range v.rows[from:to] {
		l := &s.Locks[r]
		if l.State == inspect.Expired {
			continue
		}
		if d, ok := l.Expiry.Remaining(now); ok && d > 0 {
			least = min(least, d)
		}
	}
	return least
}
