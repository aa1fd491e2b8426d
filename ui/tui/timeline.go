package tui

import (
	"slices"
	"strings"
	"time"

	"dlock/inspect"
	"dlock/ui/text"
)

// timelineView is who held what over the last minutes: a lane per lock, or for
// one lock a lane per owner, so that a hand-over is a step from one lane to
// another.
type timelineView struct {
	list list[inspect.ID]
	// only, when set, is the lock that is shown alone.
	only    inspect.ID
	single  bool
	span    int  // index into spans
	zoomed  bool // a person has chosen the span
	stories []story
	nodes   []inspect.Event // nodes that came and went, and gaps, oldest first
	scroll  scroller
}

// spans are how far back a timeline goes.
var spans = []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour}

// usualSpan is the longest one that is chosen by itself.
const usualSpan = 2

// fittingSpan is the shortest span that shows all that was watched, and the
// usual one when watching has gone on for longer.
func fittingSpan(watched time.Duration) int {
	for i := range usualSpan {
		if watched <= spans[i] {
			return i
		}
	}
	return usualSpan
}

// zoom shows more time (d > 0) or less, and reports whether it could.
func (v *timelineView) zoom(d int) bool {
	next := max(0, min(len(spans)-1, v.span+d))
	moved := next != v.span
	v.span, v.zoomed = next, true
	return moved
}

// open shows one lock alone, all every one. Both take effect with the next
// setData.
func (v *timelineView) open(id inspect.ID) { v.only, v.single, v.scroll.off = id, true, 0 }
func (v *timelineView) all()               { v.only, v.single, v.scroll.off = inspect.ID{}, false, 0 }

// setData takes what happened from a snapshot.
func (v *timelineView) setData(s *inspect.Snapshot, now time.Time) {
	v.nodes = nil
	for i := range s.Events {
		if e := &s.Events[i]; e.Key == "" {
			v.nodes = append(v.nodes, *e)
		}
	}
	v.stories = gatherStories(s, v.only, v.single, now.Add(-spans[len(spans)-1]))
	ids := make([]inspect.ID, len(v.stories))
	for i := range v.stories {
		ids[i] = v.stories[i].id
	}
	v.list.set(ids)
}

func (v *timelineView) setSize(l layout) {
	h := max(1, l.body()-l.chrome()-2-3)
	v.list.setHeight(h)
	v.scroll.height = h
}

func (v *timelineView) navigate(a action) bool {
	if v.single {
		return v.scroll.navigate(a)
	}
	return v.list.navigate(a)
}

// selected is the lock under the cursor, or the one that is shown alone.
func (v *timelineView) selected() (inspect.ID, bool) {
	if v.single {
		return v.only, true
	}
	return v.list.selected()
}

func (v *timelineView) view(sc *scene) []string {
	w, h := sc.lay.inner(), sc.lay.body()-sc.lay.chrome()
	labelW := min(44, max(16, w*3/10))
	if v.single {
		labelW = min(34, labelW)
	}
	if !v.zoomed {
		v.span = fittingSpan(sc.now.Sub(sc.since))
	}
	length := spans[v.span]
	win := window{from: sc.now.Add(-length), to: sc.now, cells: max(0, w-2-labelW-2)}
	head := newLine(w).add(sc.dim, "  "+text.Fit(v.heading(), labelW)+" ")
	win.ruler(head, sc.dim)
	content := []string{head.String()}
	letters := newLetters()
	foot := 2
	rows := h - 1 - foot
	if v.single {
		content = append(content, v.oneLock(sc, win, labelW, rows)...)
	} else {
		nodes := nodeLanes(sc, v.nodes, win)
		from, to := v.list.window()
		to = min(to, from+rows)
		for i := from; i < to && i < len(v.stories); i++ {
			l := v.stories[i].lane(sc, letters, win)
			content = append(content, drawLane(sc, &l, win, labelW, i == v.list.cur))
		}
		for i := range nodes {
			if len(content) < 1+rows {
				content = append(content, drawLane(sc, &nodes[i], win, labelW, false))
			}
		}
	}
	if len(v.stories) == 0 {
		content = append(content, sc.paragraphs(w, []text.Safe{v.nothing(sc)})...)
	}
	content = fill(content, w, h-foot)
	content = append(content, newLine(w).add(sc.dim, " "+sc.g.fit.Truncate(letters.legend(w-2), max(0, w-2))).String())
	content = append(content, sc.laneLegend(w))
	title := text.Safe("Timeline of ")
	remark := "last " + spanText(length) + ", < > zoom"
	if v.single {
		title += sc.g.fit.TruncateMiddle(keyText(v.only.Key), max(12, sc.lay.w/2))
	} else {
		title += plural(len(v.stories), "lock", "locks")
		if len(v.stories) >= mostStories {
			title += ": in trouble, first by name, or changed lately"
		}
		remark = sc.position(v.list.off, v.list.height, len(v.stories), remark)
	}
	return sc.framed(title, remark, content)
}

func (v *timelineView) heading() text.Safe {
	if v.single {
		return "OWNER"
	}
	return "LOCK"
}

func (v *timelineView) nothing(sc *scene) text.Safe {
	switch {
	case !sc.loaded && sc.broken != "":
		return "No data: " + sc.broken
	case !sc.loaded:
		return "Asking the nodes."
	case v.single:
		return "Nothing is known of this lock."
	default:
		return "No lock is held and none has been since watching began."
	}
}

// drawLane is a lane as a row.
func drawLane(sc *scene, l *lane, win window, labelW int, selected bool) string {
	ln := newLine(win.cells + labelW + 4)
	if selected {
		ln.add(sc.cursor, sc.g.cursor+" "+sc.g.fit.FitMiddle(l.label, labelW))
	} else {
		ln.add(sc.plain, "  "+sc.g.fit.FitMiddle(l.label, labelW))
	}
	ln.add(sc.plain, " ")
	l.draw(ln, win)
	return ln.String()
}

// oneLock has a lane for each owner that the lock had in the window.
func (v *timelineView) oneLock(sc *scene, win window, labelW, rows int) []string {
	var lanes []lane
	for i := range v.stories {
		lanes = append(lanes, v.stories[i].ownerLanes(sc, win)...)
	}
	lanes = append(lanes, nodeLanes(sc, v.nodes, win)...)
	v.scroll.set(len(lanes), rows)
	var out []string
	for i := v.scroll.off; i < len(lanes) && i < v.scroll.off+rows; i++ {
		out = append(out, drawLane(sc, &lanes[i], win, labelW, false))
	}
	return out
}

// story is what is known of one lock's past and present.
type story struct {
	id     inspect.ID
	events []inspect.Event // oldest first
	// complete says that nothing before the first event has been forgotten.
	complete bool
	// lock is how it is now, nil when it is gone for longer than a tombstone
	// lasts.
	lock *inspect.Lock
}

// historyFull is how many events a lock's history has when older ones may have
// been dropped from it.
const historyFull = 32

// storyOf is the story of a lock that is there, as far as its history goes.
func storyOf(l *inspect.Lock) story {
	return story{id: l.ID, events: l.History, complete: len(l.History) < historyFull, lock: l}
}

// mostStories is how many locks a timeline has beside those that changed
// lately.
const mostStories = 1000

// gatherStories are the stories of locks that are there, and of those of which
// something was seen after the given moment: those in trouble first, then the
// others that are there or have just gone, by name so that they keep their
// places, then those that went before, the newest end first.
func gatherStories(s *inspect.Snapshot, only inspect.ID, single bool, after time.Time) []story {
	changed := make(map[string]int) // into out, once it is there
	for i := range s.Events {
		if e := &s.Events[i]; e.Key != "" && e.At.After(after) {
			changed[e.Key] = -1
		}
	}
	var out []story
	for i := range s.Locks {
		l := &s.Locks[i]
		if single && l.ID != only || l.Companion != nil {
			continue
		}
		if _, ok := changed[l.ID.Key]; ok || len(out) < mostStories || single {
			out = append(out, storyOf(l))
		}
	}
	// The snapshot has them by trouble, then name.
	calm := slices.IndexFunc(out, func(one story) bool { return one.lock.Trouble() >= 5 })
	if calm >= 0 {
		slices.SortFunc(out[calm:], func(a, b story) int { return strings.Compare(a.id.Key, b.id.Key) })
	}
	for i := range out {
		changed[out[i].id.Key] = i
	}
	gone := len(out)
	for i := range s.Events {
		e := &s.Events[i]
		if e.Key == "" || !e.At.After(after) || single && e.Key != only.Key {
			continue
		}
		n := changed[e.Key]
		if n < 0 {
			n = len(out)
			changed[e.Key] = n
			out = append(out, story{id: inspect.ID{DB: only.DB, Key: e.Key}, complete: s.EventsDropped == 0})
		}
		if n >= gone || len(out[n].lock.History) == 0 {
			out[n].events = append(out[n].events, *e)
		}
	}
	slices.SortStableFunc(out[gone:], func(a, b story) int { return b.events[len(b.events)-1].At.Compare(a.events[len(a.events)-1].At) })
	return out
}

// hold is a time in which one token held a lock.
type hold struct {
	token, owner string
	from, to     time.Time // to is zero while it lasts
	// early says that it may have begun before from.
	early bool
	// end is how it ended, "" while it lasts or when that is not known.
	end inspect.EventKind
}

// holds puts a lock's events together to who held it when. A hold that goes on
// is one that the newest snapshot shows.
func (s *story) holds(since time.Time) []hold {
	var out []hold
	open := func(token string) int {
		for i := len(out) - 1; i >= 0; i-- {
			if out[i].to.IsZero() && out[i].token == token {
				return i
			}
		}
		return -1
	}
	// begin is where a hold begins whose beginning was not seen: at the first
	// thing that is known, or where watching began if nothing is forgotten.
	begin := func(at time.Time) time.Time {
		if s.complete && !since.IsZero() && since.Before(at) {
			return since
		}
		return at
	}
	for i := range s.events {
		e := &s.events[i]
		switch e.Kind {
		case inspect.Taken:
			out = append(out, hold{token: e.Token, owner: e.Owner, from: e.At})
		case inspect.HandedOver:
			closed := false
			for j := range out {
				if out[j].to.IsZero() {
					out[j].to, out[j].end, closed = e.At, inspect.HandedOver, true
				}
			}
			if from, ok := handedFrom(e); ok && !closed {
				out = append(out, hold{owner: from, from: begin(e.At), to: e.At, early: true, end: inspect.HandedOver})
			}
			out = append(out, hold{token: e.Token, owner: e.Owner, from: e.At})
		case inspect.Released, inspect.Ended:
			j := open(e.Token)
			if j < 0 {
				out = append(out, hold{token: e.Token, owner: e.Owner, from: begin(e.At), early: true})
				j = len(out) - 1
			}
			out[j].to, out[j].end = e.At, e.Kind
		case inspect.Renewed, inspect.LostNode, inspect.GainedNode, inspect.WentNoTTL:
			if e.Token != "" && open(e.Token) < 0 {
				out = append(out, hold{token: e.Token, owner: e.Owner, from: begin(e.At), early: true})
			}
		}
	}
	return s.present(out, open, begin)
}

// present brings holds into accord with how the lock is now, which is known
// better than what events add up to.
func (s *story) present(out []hold, open func(token string) int, begin func(time.Time) time.Time) []hold {
	l := s.lock
	if l == nil {
		for i := range out {
			if out[i].to.IsZero() {
				out[i].to = s.events[len(s.events)-1].At
			}
		}
		return out
	}
	if l.State == inspect.Unknown {
		return out // whoever had it may have it still
	}
	var now []hold
	holds := make(map[string]bool)
	for i := range l.Owners {
		o := &l.Owners[i]
		if !o.Holds {
			continue
		}
		holds[o.Token] = true
		if open(o.Token) >= 0 {
			continue
		}
		from, early := l.HeldSince, l.HeldIsMinimum
		if from.IsZero() || i > 0 {
			from, early = begin(sampledAt(l)), true
		}
		now = append(now, hold{token: o.Token, owner: o.Name, from: from, early: early})
	}
	for i := range out {
		if out[i].to.IsZero() && !holds[out[i].token] {
			out[i].to = s.lastHeld(out[i].from)
		}
	}
	return append(out, now...)
}

// lastHeld is when a hold that began at a moment, and of whose end there is no
// event, was over at the latest.
func (s *story) lastHeld(from time.Time) time.Time {
	for i := range s.events {
		if e := &s.events[i]; e.Kind == inspect.WentSplit && e.At.After(from) {
			return e.At
		}
	}
	if !s.lock.GoneAt.IsZero() {
		return s.lock.GoneAt
	}
	return later(from, sampledAt(s.lock))
}

// sampledAt is when a node last told of the lock.
func sampledAt(l *inspect.Lock) time.Time {
	var at time.Time
	for i := range l.Copies {
		if c := &l.Copies[i]; c.Answer != inspect.AnswerUnreachable {
			at = later(at, c.SampledAt)
		}
	}
	return at
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// handedFrom is the owner that a hand-over names as the one before.
func handedFrom(e *inspect.Event) (string, bool) {
	owner, ok := strings.CutPrefix(e.Text, "from ")
	return owner, ok && owner != "another token"
}
