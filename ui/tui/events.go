package tui

import (
	"time"

	"dlock/inspect"
	"dlock/ui/text"
)

// eventsView is the list of what happened, newest first. An event's identity
// is its number since the start, which survives the ring dropping old ones.
type eventsView struct {
	list   list[uint64]
	shown  []int // indexes into the snapshot's events, parallel to list.ids
	filter filter
	// only, when set, keeps the events of one lock.
	only   inspect.ID
	follow bool
	// past is that lock's story, drawn above its events.
	past []story
}

func (v *eventsView) setData(s *inspect.Snapshot) {
	v.past = nil
	if v.only.Key != "" {
		v.past = gatherStories(s, v.only, true, time.Time{})
	}
	n := len(s.Events)
	v.shown = make([]int, 0, n)
	ids := make([]uint64, 0, n)
	for i := n - 1; i >= 0; i-- {
		e := &s.Events[i]
		if v.only.Key != "" && e.Key != v.only.Key {
			continue
		}
		if !v.filter.empty() && !v.filter.event(e) {
			continue
		}
		v.shown = append(v.shown, i)
		ids = append(ids, s.EventsDropped+uint64(i))
	}
	v.list.set(ids)
	if v.follow {
		v.list.move(-len(ids))
	}
}

func (v *eventsView) setSize(l layout) { v.list.setHeight(max(0, l.body()-l.chrome()-1)) }

// navigate moves the selection. Moving off the newest event stops following,
// moving to the first row takes it up again.
func (v *eventsView) navigate(a action) bool {
	if !v.list.navigate(a) {
		return false
	}
	v.follow = v.list.cur == 0
	return true
}

func (v *eventsView) selected(s *inspect.Snapshot) (inspect.Event, bool) {
	if v.list.cur >= len(v.shown) {
		return inspect.Event{}, false
	}
	return s.Events[v.shown[v.list.cur]], true
}

func (v *eventsView) view(sc *scene) []string {
	h, w := sc.lay.body(), sc.lay.inner()
	wide := w >= 94
	content := v.lanes(sc, w, h-sc.lay.chrome()-1)
	v.list.setHeight(h - sc.lay.chrome() - 1 - len(content))
	from, to := v.list.window()
	// What an event is about gets the room it needs, up to a point.
	timeW, keyW, nodeW := text.Width(clock(time.Unix(0, 0), sc.fineEvents())), 8, 4
	for i := from; i < to; i++ {
		e := &sc.snap.Events[v.shown[i]]
		keyW = max(keyW, min(w*45/100, text.Width(keyText(e.Key))))
		nodeW = max(nodeW, min(10, text.Width(text.CleanMax(e.Node, 40))))
	}
	if v.only.Key != "" {
		keyW = 0 // it stands in the title
	}
	head := newLine(w).add(sc.dim, "  "+text.Fit("TIME", timeW)+" "+text.Fit("EVENT", 11)+" ")
	if keyW > 0 {
		head.add(sc.dim, text.Fit("LOCK", keyW)+" ")
	}
	head.add(sc.dim, text.Fit("NODE", nodeW)+" OWNER, DETAIL")
	content = append(content, head.String())
	for i := from; i < to; i++ {
		e := &sc.snap.Events[v.shown[i]]
		ln := sc.row(w, i == v.list.cur && !v.follow)
		ln.add(sc.dim, sc.g.fit.Fit(clock(e.At, sc.fineEvents()), timeW)+" ")
		ln.add(sc.eventStyle(e.Kind), sc.g.fit.Fit(eventWord(e), 11)).add(sc.plain, " ")
		key := text.Safe("-")
		if e.Key != "" {
			key = keyText(e.Key)
		}
		if keyW > 0 {
			ln.add(sc.plain, sc.g.fit.FitMiddle(key, keyW)+" ")
		}
		node := text.Safe("-")
		if e.Node != "" {
			node = text.CleanMax(e.Node, 40)
		}
		ln.add(sc.plain, sc.g.fit.Fit(node, nodeW)+" ")
		ln.add(sc.plain, sc.g.fit.Truncate(eventDetail(sc.kit, e), w-ln.used))
		content = append(content, ln.String())
	}
	if len(v.shown) == 0 {
		s := text.Safe("Nothing has happened since dlock began to watch.")
		switch {
		case v.only.Key != "" && v.filter.empty():
			s = "Nothing has been seen to happen to it since dlock began to watch. esc goes back."
		case !v.filter.empty():
			s = join(": ", "No event passes the filter", v.filter.unknown(target(sc).Nodes)) + ". esc clears it."
		}
		content = append(content, newLine(w).String(), newLine(w).add(sc.dim, "  "+s).String())
	}
	title := "Events " + text.Count(len(v.shown))
	total := len(sc.snap.Events)
	if len(v.shown) != total {
		title += " of " + text.Count(total)
	}
	if v.only.Key != "" {
		title += "   of " + sc.g.fit.TruncateMiddle(keyText(v.only.Key), max(12, w/3))
	}
	if !v.filter.empty() {
		title += "   filter: " + cleanText(v.filter.source)
	}
	remark := text.Safe("newest first")
	if v.follow {
		remark = "following, newest first"
	}
	if sc.snap.EventsDropped > 0 && wide {
		remark += ", " + text.Count(sc.snap.EventsDropped) + " older dropped"
	}
	if sc.lay.boxed {
		return sc.pane(sc.lay.w, h, title, remark, content)
	}
	return append([]string{sc.rule(w, title, remark)}, fill(content, w, h-1)...)
}

// lanes shows who had the lock whose events are listed, in at most a third of
// the room.
func (v *eventsView) lanes(sc *scene, w, room int) []string {
	labelW := min(30, w/4)
	win := window{from: sc.now.Add(-spans[fittingSpan(sc.now.Sub(sc.since))]), to: sc.now, cells: max(0, w-labelW-4)}
	var out []string
	for i := range v.past {
		lanes := v.past[i].ownerLanes(sc, win)
		for j := range lanes {
			if len(out) >= room/3-2 {
				break
			}
			out = append(out, drawLane(sc, &lanes[j], win, labelW, false))
		}
	}
	if len(out) == 0 {
		return nil
	}
	head := newLine(w).add(sc.dim, "  "+text.Fit("OWNER", labelW)+" ")
	win.ruler(head, sc.dim)
	return append(append([]string{head.String()}, out...), newLine(w).String())
}

// fineEvents reports whether tenths of a second say anything about when
// something happened: a look tells no more than that it was since the last.
func (sc *scene) fineEvents() bool {
	return sc.loaded && sc.snap.Interval > 0 && sc.snap.Interval < time.Second
}

// takenAgain reports whether a lock went from one token to another of the same
// owner.
func takenAgain(e *inspect.Event) bool {
	return e.Kind == inspect.HandedOver && e.Owner != "" && e.Text == "from "+e.Owner
}

// eventWord is what happened in at most eleven cells.
func eventWord(e *inspect.Event) text.Safe {
	if takenAgain(e) {
		return "taken again"
	}
	return cleanText(string(e.Kind))
}

// notable reports whether a kind is worth a second line in a small list.
func notable(k inspect.EventKind) bool {
	switch k {
	case inspect.Renewed, inspect.Taken, inspect.Released:
		return false
	}
	return true
}

func (k *kit) eventStyle(kind inspect.EventKind) style {
	switch kind {
	case inspect.WentSplit, inspect.Operator:
		return k.strong
	case inspect.LostNode, inspect.WentNoTTL, inspect.NodeFell, inspect.Gap, inspect.Ended:
		return k.weak
	case inspect.Renewed:
		return k.dim
	default:
		return k.plain
	}
}

// eventSubject is what an event is about: the lock, else the node.
func eventSubject(e *inspect.Event) text.Safe {
	switch {
	case e.Key != "":
		return keyText(e.Key)
	case e.Node != "":
		return text.CleanMax(e.Node, 40)
	default:
		return eventText(e)
	}
}

func eventText(e *inspect.Event) text.Safe { return cleanText(e.Text) }

// eventDetail is who and why.
func eventDetail(k *kit, e *inspect.Event) text.Safe {
	var who text.Safe
	switch {
	case takenAgain(e):
		return "by " + cleanKey(e.Owner)
	case e.Owner != "":
		who = cleanKey(e.Owner)
	case e.Token != "":
		who = shortToken(k, e.Token)
	}
	return join(": ", who, eventText(e))
}
