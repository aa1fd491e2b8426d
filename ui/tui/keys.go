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
type view uint16

const (
	viewLocks view = 1 << iota
	viewDetail
	viewNodes
	viewEvents
	viewDemo
	viewTimeline
	viewFindings
	viewOwners
	viewsEnd // the first bit that is no view

	allViews = viewsEnd - 1
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
	actTimeline    action = "timeline"
	actFindings    action = "findings"
	actOwners      action = "owners"
	actLockEvents  action = "events-of-lock"
	actFilter      action = "filter"
	actPreset      action = "next-preset"
	actCommand     action = "command"
	actMark        action = "mark"
	actMarkAll     action = "mark-all"
	actSort        action = "sort"
	actReverse     action = "reverse"
	actFollow      action = "follow"
	actPause       action = "pause"
	actRefresh     action = "refresh"
	actSlower      action = "slower"
	actFaster      action = "faster"
	actZoom        action = "zoom"
	actShorter     action = "shorter-time"
	actLonger      action = "longer-time"
	actByHost      action = "by-host"
	actPlay        action = "play"
	actStepBack    action = "step-back"
	actStepOn      action = "step-on"
	actNextEvent   action = "next-event"
	actNextFinding action = "next-finding"
	actMouse       action = "mouse"
	actRedraw      action = "redraw"
	actCopy        action = "copy"
	actCopyCLI     action = "copy-redis-cli"
	actCopyJSON    action = "copy-json"
	actSave        action = "save"
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
	groupTime  group = "RECORDING"
	groupLeave group = "LEAVE"
)

var groups = []group{groupMove, groupViews, groupFind, groupShow, groupTime, groupCopy, groupWrite, groupDemo, groupLeave}

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

// newKeyMap is the key map. That of a demo has the demo's keys as well, and
// that of a recording the keys of a player in place of those that make no sense
// on what is over.
func newKeyMap(lab, recording bool) keyMap {
	sections := viewTimeline | viewFindings | viewOwners
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
		{actPreset, []string{"p"}, viewLocks, groupFind, "next preset filter", "", 0},
		{actCommand, []string{":"}, allViews, groupFind, "command line", "command", 38},
		{actMark, []string{"m"}, viewLocks, groupFind, "mark this lock", "mark", 28},
		{actMarkAll, []string{"M"}, viewLocks, groupFind, "mark all, or none", "", 0},
		{actOpen, []string{"enter"}, viewLocks | viewEvents | sections, groupViews, "what the row is about", "open", 70},
		{actLockEvents, []string{"e"}, viewLocks | viewDetail, groupViews, "events of the lock", "its events", 35},
		{actLocks, []string{"1"}, allViews, groupViews, "locks", "locks", 45},
		{actNodes, []string{"2"}, allViews, groupViews, "nodes", "nodes", 44},
		{actEvents, []string{"3"}, allViews, groupViews, "events", "events", 43},
		{actTimeline, []string{"5"}, allViews, groupViews, "timeline", "timeline", 26},
		{actFindings, []string{"6"}, allViews, groupViews, "findings", "findings", 27},
		{actOwners, []string{"7"}, allViews, groupViews, "owners", "owners", 25},

		{actFollow, []string{"f"}, viewEvents, groupShow, "follow the newest", "follow", 50},
		{actSort, []string{"s"}, viewLocks, groupShow, "next column to sort by", "sort", 30},
		{actReverse, []string{"S"}, viewLocks, groupShow, "turn the order round", "", 0},
		{actShorter, []string{"<"}, viewTimeline, groupShow, "a shorter time", "shorter", 36},
		{actLonger, []string{">"}, viewTimeline, groupShow, "a longer time", "longer", 37},
		{actByHost, []string{"h"}, viewOwners, groupShow, "by host or by name", "by host", 36},
		{actZoom, []string{"z"}, allViews, groupShow, "full screen", "", 0},
		{actMouse, []string{"%"}, allViews, groupShow, "mouse on or off", "", 0},
		{actRedraw, []string{"ctrl+l"}, allViews, groupShow, "draw the screen anew", "", 0},

		{actCopy, []string{"y"}, allViews &^ viewDemo, groupCopy, "copy the name", "copy", 22},
		{actCopyCLI, []string{"Y"}, viewLocks | viewDetail, groupCopy, "copy redis-cli lines", "", 0},
		{actCopyJSON, []string{"J"}, viewLocks | viewDetail, groupCopy, "copy as JSON", "", 0},
		{actSave, []string{"ctrl+s"}, allViews, groupCopy, "save this view to files", "", 0},

		{actRelease, []string{"X"}, viewLocks | viewDetail | viewOwners, groupWrite, "force-release (asks)", "force-release", 55},
		{actReleaseHint, []string{"x"}, viewLocks | viewDetail | viewOwners, groupWrite, "", "", 0},
	}
	if recording {
		m = append(m,
			binding{actPlay, []string{" "}, allViews, groupTime, "play, stop", "play", 66},
			binding{actStepBack, []string{","}, allViews, groupTime, "one look back", "back", 64},
			binding{actStepOn, []string{"."}, allViews, groupTime, "one look on", "on", 65},
			binding{actNextEvent, []string{"}"}, allViews, groupTime, "to the next event", "next event", 34},
			binding{actNextFinding, []string{")"}, allViews, groupTime, "to the next finding", "", 0},
			binding{actFaster, []string{"+"}, allViews, groupTime, "faster", "", 0},
			binding{actSlower, []string{"-"}, allViews, groupTime, "slower", "", 0},
		)
	} else {
		m = append(m,
			binding{actPause, []string{" "}, allViews, groupShow, "freeze the screen", "pause", 32},
			binding{actRefresh, []string{"r"}, allViews, groupShow, "read again now", "read now", 20},
			binding{actFaster, []string{"+"}, allViews, groupShow, "look more often", "", 0},
			binding{actSlower, []string{"-"}, allViews, groupShow, "look less often", "", 0},
		)
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

// of finds the binding of an action in a view.
func (m keyMap) of(v view, act action) (binding, bool) {
	for _, b := range m {
		if b.act == act && b.in&v != 0 {
			return b, true
		}
	}
	return binding{}, false
}
