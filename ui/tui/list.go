package tui

// list is a scrolling selection over identities. It never remembers a row
// number across a change: the selection follows its identity, and when that
// disappears it moves to the nearest neighbour that is left.
type list[ID comparable] struct {
	ids    []ID
	cur    int // index of the selection; meaningless while ids is empty
	off    int // first visible row
	height int // visible rows
}

// set replaces the rows. The slice is kept and must not change afterwards.
func (l *list[ID]) set(ids []ID) {
	old, at := l.ids, l.cur
	l.ids = ids
	if len(old) == 0 {
		l.clamp()
		return
	}
	if l.selectID(old[at]) {
		return
	}
	left := make(map[ID]int, len(ids))
	for i, id := range ids {
		left[id] = i
	}
	for i := at + 1; i < len(old); i++ {
		if j, ok := left[old[i]]; ok {
			l.cur = j
			l.clamp()
			return
		}
	}
	for i := at - 1; i >= 0; i-- {
		if j, ok := left[old[i]]; ok {
			l.cur = j
			l.clamp()
			return
		}
	}
	l.clamp()
}

func (l *list[ID]) setHeight(h int) {
	l.height = max(0, h)
	l.clamp()
}

// selectID moves to a row by identity and reports whether it is there.
func (l *list[ID]) selectID(id ID) bool {
	// Most often nothing has moved.
	if l.cur < len(l.ids) && l.ids[l.cur] == id {
		l.clamp()
		return true
	}
	for i := range l.ids {
		if l.ids[i] == id {
			l.cur = i
			l.clamp()
			return true
		}
	}
	return false
}

func (l *list[ID]) selected() (ID, bool) {
	if l.cur >= 0 && l.cur < len(l.ids) {
		return l.ids[l.cur], true
	}
	var none ID
	return none, false
}

func (l *list[ID]) move(d int) {
	l.cur += d
	l.clamp()
}

// clamp keeps the selection inside the rows and the window around it.
func (l *list[ID]) clamp() {
	n := len(l.ids)
	l.cur = max(0, min(l.cur, n-1))
	if l.height <= 0 {
		l.off = l.cur
		return
	}
	l.off = min(l.off, l.cur)
	l.off = max(l.off, l.cur-l.height+1)
	l.off = max(0, min(l.off, n-l.height))
}

// window is the half-open range of rows that are visible.
func (l *list[ID]) window() (from, to int) {
	return l.off, min(len(l.ids), l.off+l.height)
}

// navigate moves by an action and reports whether it was one that moves.
func (l *list[ID]) navigate(a action) bool {
	page := max(1, l.height-1)
	switch a {
	case actUp:
		l.move(-1)
	case actDown:
		l.move(1)
	case actPageUp:
		l.move(-page)
	case actPageDown:
		l.move(page)
	case actHalfUp:
		l.move(-max(1, l.height/2))
	case actHalfDown:
		l.move(max(1, l.height/2))
	case actTop:
		l.move(-len(l.ids))
	case actBottom:
		l.move(len(l.ids))
	default:
		return false
	}
	return true
}

// scroller is a window over lines without a selection.
type scroller struct{ off, height, total int }

func (s *scroller) set(total, height int) {
	s.total, s.height = total, max(0, height)
	s.off = max(0, min(s.off, s.total-s.height))
}

func (s *scroller) navigate(a action) bool {
	page := max(1, s.height-1)
	switch a {
	case actUp:
		s.off--
	case actDown:
		s.off++
	case actPageUp:
		s.off -= page
	case actPageDown:
		s.off += page
	case actHalfUp:
		s.off -= max(1, s.height/2)
	case actHalfDown:
		s.off += max(1, s.height/2)
	case actTop:
		s.off = 0
	case actBottom:
		s.off = s.total
	default:
		return false
	}
	s.off = max(0, min(s.off, s.total-s.height))
	return true
}

// below is how many lines are out of sight below.
func (s *scroller) below() int { return max(0, s.total-s.height-s.off) }

// show cuts the visible lines out of all.
func (s *scroller) show(lines []string) []string {
	return lines[min(s.off, len(lines)):min(len(lines), s.off+s.height)]
}
