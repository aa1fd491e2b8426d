package tui

// The smallest screen that anything useful fits on.
const (
	minWidth  = 60
	minHeight = 16
)

// layout is how a screen of a size is divided. All numbers are cells.
type layout struct {
	w, h     int
	tooSmall bool
	header   int  // lines of the header
	boxed    bool // panes have borders
	preview  int  // lines of the preview below the table, borders included
	events   bool // the preview stands beside the newest events
}

// layoutFor divides a screen. zoom leaves everything to the main pane.
func layoutFor(w, h int, zoom bool) layout {
	l := layout{w: max(0, w), h: max(0, h)}
	if w < minWidth || h < minHeight {
		l.tooSmall = true
		return l
	}
	l.boxed = w >= 100 && h >= 24
	wide := w >= 120 && h >= 30
	switch {
	case zoom:
		l.header = 1
	case l.boxed:
		l.header = 3
	default:
		l.header = 2
	}
	switch {
	case zoom:
	case wide:
		l.events = true
		l.preview = min(14, max(9, l.body()*3/8))
	case l.boxed && h >= 28:
		l.preview = 8
	case w >= 80 && h >= 22:
		l.preview = 3
	}
	return l
}

// body is the height between the header and the two lines at the bottom.
func (l layout) body() int { return l.h - l.header - 2 }

// inner is the width inside the main pane.
func (l layout) inner() int {
	if l.boxed {
		return l.w - 4
	}
	return l.w
}

// chrome is how many lines of a pane are not content.
func (l layout) chrome() int {
	if l.boxed {
		return 2
	}
	return 1
}
