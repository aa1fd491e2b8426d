package tui

import (
	"time"

	"dlock/ui/text"
)

// key is one key press, free of the framework's types. name is what bindings
// are matched by ("enter", "ctrl+l", "X"); typed is what it adds to a text
// field. A paste has no name, so that pasted text presses no key.
type key struct {
	name  string
	typed string
	paste bool
	at    time.Time
}

// view is what fills the screen.
type view uint8

const (
	viewLocks view = 1 << iota
	viewDetail
	viewNodes
	viewEvents
	viewDemo

	allViews  = viewLocks | viewDetail | viewNodes | viewEvents | viewDemo
	listViews = viewLocks | viewNodes | viewEvents
)

// action is what a key does.
type action string

const (
	actUp          action = "up"
	actDown        action = "down"
	actPageUp      action = "page-up"
	actPageDown    action = "page-down"
	actHalfUp      action = "half-up"
	actHalfDown    action = "half-down"
	actTop         action = "top"
	actBottom      action = "bottom"
	actOpen        action = "open"
	actBack        action = "back"
	actPrevLock    action = "previous-lock"
	actNextLock    action = "next-lock"
	actPrevTrouble action = "previous-trouble"
	actNextTrouble action = "next-trouble"
	actLocks       action = "locks"
	actNodes       action = "nodes"
	actEvents      action = "events"
	actDemo        action = "demo"
	actLockEvents  action = "events-of-lock"
	actFilter      action = "filter"
	actSort        action = "sort"
	actReverse     action = "reverse"
	actFollow      action = "follow"
	actPause       action = "pause"
	actRefresh     action = "refresh"
	actSlower      action = "slower"
	actFaster      action = "faster"
	actZoom        action = "zoom"
	actMouse       action = "mouse"
	actRedraw      action = "redraw"
	actCopy        action = "copy"
	actCopyCLI     action = "copy-redis-cli"
	actRelease     action = "release"
	actReleaseHint action = "release-hint"
	actFaults      action = "faults"
	actHelp        action = "help"
	actQuit        action = "quit"
	actQuitNow     action = "quit-now"
	actSuspend     action = "suspend"
)

// group is a heading of the help screen.
type group = text.Safe

const (
	groupMove  group = "MOVE"
	groupViews group = "VIEWS"
	groupFind  group = "FIND"
	groupShow  group = "SHOW"
	groupCopy  group = "COPY"
	groupWrite group = "WRITE"
	groupDemo  group = "DEMO"
	groupLeave group = "LEAVE"
)

var groups = []group{groupMove, groupViews, groupFind, groupShow, groupCopy, groupWrite, groupDemo, groupLeave}

// binding ties keys to an action in some views.
type binding struct {
	act  action
	keys []string
	in   view
	// group and label are for the help screen; a binding without a label
	// is not listed.
	group group
	label text.Safe
	// hint is the word in the key line; none means never there. Where the
	// line is short, hints of small weight go first.
	hint   text.Safe
	weight int
}

// keyMap is what keys do. It is the one source of the help screen, of the key
// line and of what happens.
type keyMap []binding

// newKeyMap is the key map; that of a demo has the demo's keys as well.
func newKeyMap(lab bool) keyMap {
	m := keyMap{
		{actHelp, []string{"?"}, allViews, groupLeave, "this help", "help", 100},

		{actUp, []string{"up", "k"}, allViews, groupMove, "up", "", 0},
		{actDown, []string{"down", "j"}, allViews, groupMove, "down", "", 0},
		{actPageUp, []string{"pgup"}, allViews, groupMove, "page up", "", 0},
		{actPageDown, []string{"pgdown"}, allViews, groupMove, "page down", "", 0},
		{actHalfUp, []string{"ctrl+u"}, allViews, groupMove, "half a page up", "", 0},
		{actHalfDown, []string{"ctrl+d"}, allViews, groupMove, "half a page down", "", 0},
		{actTop, []string{"g", "home"}, allViews, groupMove, "first", "", 0},
		{actBottom, []string{"G", "end"}, allViews, groupMove, "last", "", 0},
		{actPrevLock, []string{"["}, viewDetail, groupMove, "previous lock", "prev", 40},
		{actNextLock, []string{"]"}, viewDetail, groupMove, "next lock", "next", 41},
		{actNextTrouble, []string{"n"}, viewLocks, groupMove, "next trouble", "", 0},
		{actPrevTrouble, []string{"N"}, viewLocks, groupMove, "previous trouble", "", 0},

		{actFilter, []string{"/"}, viewLocks | viewEvents, groupFind, "filter", "filter", 60},
		{actOpen, []string{"enter"}, viewLocks | viewEvents, groupViews, "the lock in full", "detail", 70},
		{actLockEvents, []string{"e"}, viewLocks | viewDetail, groupViews, "events of the lock", "its events", 35},
		{actLocks, []string{"1"}, allViews, groupViews, "locks", "locks", 45},
		{actNodes, []string{"2"}, allViews, groupViews, "nodes", "nodes", 44},
		{actEvents, []string{"3"}, allViews, groupViews, "events", "events", 43},

		{actFollow, []string{"f"}, viewEvents, groupShow, "follow the newest", "follow", 50},
		{actSort, []string{"s"}, viewLocks, groupShow, "next column to sort by", "sort", 30},
		{actReverse, []string{"S"}, viewLocks, groupShow, "turn the order round", "", 0},
		{actPause, []string{" "}, allViews, groupShow, "freeze the screen", "pause", 32},
		{actRefresh, []string{"r"}, allViews, groupShow, "read again now", "read now", 20},
		{actFaster, []string{"+"}, allViews, groupShow, "look more often", "", 0},
		{actSlower, []string{"-"}, allViews, groupShow, "look less often", "", 0},
		{actZoom, []string{"z"}, allViews, groupShow, "full screen", "", 0},
		{actMouse, []string{"%"}, allViews, groupShow, "mouse on or off", "", 0},
		{actRedraw, []string{"ctrl+l"}, allViews, groupShow, "draw the screen anew", "", 0},

		{actCopy, []string{"y"}, allViews &^ viewDemo, groupCopy, "copy the name", "copy", 22},
		{actCopyCLI, []string{"Y"}, viewLocks | viewDetail, groupCopy, "copy redis-cli lines", "", 0},

		{actRelease, []string{"X"}, viewLocks | viewDetail, groupWrite, "force-release (asks)", "force-release", 55},
		{actReleaseHint, []string{"x"}, viewLocks | viewDetail, groupWrite, "", "", 0},
	}
	if lab {
		m = append(m,
			binding{actDemo, []string{"4"}, allViews, groupViews, "the demo's workers", "workers", 42},
			binding{actFaults, []string{"F"}, allViews, groupDemo, "break a demo node", "faults", 65},
		)
	}
	return append(m,
		binding{actBack, []string{"esc"}, allViews, groupLeave, "back, clear the filter", "back", 90},
		binding{actQuit, []string{"q"}, allViews, groupLeave, "back, then quit", "quit", 80},
		binding{actQuitNow, []string{"ctrl+c"}, allViews, groupLeave, "quit now", "", 0},
		binding{actSuspend, []string{"ctrl+z"}, allViews, groupLeave, "suspend", "", 0},
	)
}

// lookup finds what a key does in a view.
func (m keyMap) lookup(v view, name string) (action, bool) {
	for _, b := range m {
		if b.in&v == 0 {
			continue
		}
		for _, k := range b.keys {
			if k == name {
				return b.act, true
			}
		}
	}
	return "", false
}

// show is how a binding's keys are written.
func (b binding) show(g *glyphs) text.Safe {
	parts := make([]text.Safe, len(b.keys))
	for i, k := range b.keys {
		switch k {
		case " ":
			parts[i] = "space"
		case "up":
			parts[i] = g.up
		case "down":
			parts[i] = g.down
		case "pgdown":
			parts[i] = "pgdn"
		default:
			parts[i] = text.Clean(k)
		}
	}
	return join(" ", parts...)
}
