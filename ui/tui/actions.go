package tui

import (
	"runtime"
	"strings"
	"time"

	"dlock/inspect"
	"dlock/ui/text"
)

// onKey gives a key to whoever has the keyboard.
func (a *App) onKey(k key) cmd {
	if k.name == "ctrl+c" {
		return quit
	}
	if a.lay.tooSmall {
		// Nothing can be seen, so nothing but leaving may happen.
		if k.name == "q" {
			return quit
		}
		return nil
	}
	switch {
	case a.release != nil:
		eff := a.release.onKey(k)
		if a.release.step == releaseClosed {
			a.release = nil
		}
		return a.perform(eff)
	case a.faults != nil:
		return a.onFaultKey(k)
	case a.input != nil:
		done := a.input.onKey(k)
		a.setFilter(a.input.text)
		if done {
			a.input = nil
		}
		return nil
	}
	act, ok := a.keys.lookup(a.view, k.name)
	if a.help != nil {
		return a.onHelpKey(act, ok)
	}
	if !ok {
		return nil
	}
	if why := a.blocked(act); why != "" {
		a.say(notice{text: why, bad: true})
		return nil
	}
	if a.move(act) {
		return nil
	}
	return a.do(act)
}

func (a *App) onHelpKey(act action, ok bool) cmd {
	switch {
	case !ok:
	case act == actHelp, act == actBack, act == actQuit:
		a.help = nil
	case act == actSuspend:
		return a.world.suspend()
	case act == actRedraw:
		return redraw
	default:
		a.help.scroll.navigate(act)
	}
	return nil
}

func (a *App) onFaultKey(k key) cmd {
	c := a.faults.onKey(k, &a.demo.latest)
	if c.closed {
		a.faults = nil
	}
	if c.note != "" {
		a.say(notice{text: c.note, bad: true})
	}
	if c.fault == faultNone {
		return nil
	}
	return a.world.breakNode(c.fault, c.node)
}

// blocked is why an action cannot be done now, "" when it can. The help shows
// it, the key line leaves such keys out, and pressing one says it.
func (a *App) blocked(act action) text.Safe {
	switch act {
	case actRelease:
		if a.conf.ReadOnly != "" {
			return "releasing is off: " + cleanText(a.conf.ReadOnly)
		}
		l, ok := a.subject()
		if !ok {
			return "no lock is selected"
		}
		if l.State == inspect.Expired {
			return "this lock is gone already"
		}
		return foreignText(&l)
	case actReleaseHint:
		return a.blocked(actRelease)
	case actOpen:
		if a.view == viewEvents {
			e, ok := a.events.selected(&a.shown)
			if !ok || e.Key == "" {
				return "this event is not about a lock"
			}
			if _, ok := findLock(&a.shown, e.Key); !ok {
				return "that lock is gone"
			}
			return ""
		}
		if _, ok := a.subject(); !ok {
			return "no lock is selected"
		}
	case actLockEvents, actCopyCLI:
		if _, ok := a.subject(); !ok {
			return "no lock is selected"
		}
	case actCopy:
		if a.view == viewNodes {
			if _, ok := a.nodes.selected(&a.shown); !ok {
				return "no node is selected"
			}
			return ""
		}
		if a.view == viewEvents {
			if e, ok := a.events.selected(&a.shown); !ok || e.Key == "" {
				return "this event is not about a lock"
			}
			return ""
		}
		if _, ok := a.subject(); !ok {
			return "no lock is selected"
		}
	case actPause:
		if !a.loaded {
			return "there is nothing to freeze yet"
		}
	case actFaults:
		if !a.demo.known {
			return "the demo has not answered yet"
		}
	case actSuspend:
		if runtime.GOOS == "windows" {
			return "Windows cannot suspend a program"
		}
	}
	return ""
}

// idle reports whether a key, though it works, has nothing to do at present,
// so that its hint would only be in the way.
func (a *App) idle(act action) bool {
	switch act {
	case actLocks:
		return a.view == viewLocks
	case actNodes:
		return a.view == viewNodes
	case actEvents:
		return a.view == viewEvents
	case actDemo:
		return a.view == viewDemo
	case actBack:
		return a.view == viewLocks && a.locks.filter.empty() && !a.zoom
	case actQuit:
		return a.view != viewLocks
	}
	return false
}

// subject is the lock an action is about.
func (a *App) subject() (inspect.Lock, bool) {
	if !a.loaded {
		return inspect.Lock{}, false
	}
	if a.view == viewDetail {
		return a.detail.lock(), a.detail.known
	}
	if a.view == viewLocks {
		return a.locks.selected(&a.shown)
	}
	return inspect.Lock{}, false
}

func findLock(s *inspect.Snapshot, key string) (inspect.Lock, bool) {
	for i := range s.Locks {
		if s.Locks[i].ID.Key == key {
			return s.Locks[i], true
		}
	}
	return inspect.Lock{}, false
}

// do carries out an action that is not blocked and moves no selection.
func (a *App) do(act action) cmd {
	switch act {
	case actHelp:
		a.help = &helpView{}
	case actOpen:
		a.open()
	case actBack:
		a.back()
	case actQuit:
		if a.view == viewLocks {
			return quit
		}
		a.leaveView()
	case actQuitNow:
		return quit
	case actLocks:
		a.view = viewLocks
	case actNodes:
		a.view = viewNodes
	case actEvents:
		a.view = viewEvents
	case actDemo:
		a.view = viewDemo
	case actLockEvents:
		l, _ := a.subject()
		a.events.only, a.events.follow = l.ID, true
		a.events.setData(&a.shown)
		a.from = a.view
		a.view = viewEvents
	case actFilter:
		f := a.activeFilter().source
		a.input = &textField{text: f, before: f}
	case actSort:
		a.locks.by = (a.locks.by + 1) % orders
		a.locks.reverse = false
		a.fillLocks(true)
		a.locks.list.navigate(actTop)
	case actReverse:
		a.locks.reverse = !a.locks.reverse
		a.fillLocks(true)
	case actFollow:
		a.events.follow = !a.events.follow
		a.events.setData(&a.shown)
	case actPause:
		a.togglePause()
	case actRefresh:
		a.say(notice{text: "reading again"})
		return a.world.refresh()
	case actSlower:
		return a.changeInterval(1)
	case actFaster:
		return a.changeInterval(-1)
	case actZoom:
		a.zoom = !a.zoom
		a.resize()
	case actMouse:
		a.mouse = !a.mouse
		return setMouse(a.mouse)
	case actRedraw:
		return redraw
	case actSuspend:
		return a.world.suspend()
	case actCopy:
		return a.copyName()
	case actCopyCLI:
		l, _ := a.subject()
		return a.world.copyText(lookCommands(l.ID.Key), "two redis-cli lines that look at it")
	case actRelease:
		return a.openRelease()
	case actReleaseHint:
		a.say(notice{text: "to force-release a lock press capital X; it asks before it sends anything"})
	case actFaults:
		a.faults = &faultMenu{}
	}
	return nil
}

// move handles everything that moves a selection.
func (a *App) move(act action) bool {
	switch a.view {
	case viewLocks:
		moved := a.locks.list.navigate(act)
		switch act {
		case actNextTrouble, actPrevTrouble:
			d := 1
			if act == actPrevTrouble {
				d = -1
			}
			moved = true
			if !a.loaded || !a.locks.trouble(&a.shown, d) {
				a.say(notice{text: "no more locks in trouble this way"})
			}
		}
		if moved {
			a.locks.movedAt = a.now
		}
		return moved
	case viewDetail:
		switch act {
		case actPrevLock:
			a.step(-1)
			return true
		case actNextLock:
			a.step(1)
			return true
		}
		return a.detail.scroll.navigate(act)
	case viewNodes:
		return a.nodes.list.navigate(act)
	case viewEvents:
		return a.events.navigate(act)
	case viewDemo:
		return a.demo.list.navigate(act)
	}
	return false
}

// step turns the detail to the neighbour in the list it came from.
func (a *App) step(d int) {
	a.locks.list.selectID(a.detail.id)
	a.locks.list.move(d)
	a.locks.movedAt = a.now
	if l, ok := a.locks.selected(&a.shown); ok {
		a.detail.open(l, a.now)
	}
}

func (a *App) open() {
	var l inspect.Lock
	switch a.view {
	case viewEvents:
		e, _ := a.events.selected(&a.shown)
		l, _ = findLock(&a.shown, e.Key)
		a.locks.list.selectID(l.ID)
	default:
		l, _ = a.subject()
	}
	a.from = a.view
	a.detail.open(l, a.now)
	a.view = viewDetail
}

// back undoes one thing: what narrows the view, then the view.
func (a *App) back() {
	switch {
	case a.view == viewEvents && !a.events.filter.empty():
		a.setFilter("")
	case a.view == viewEvents && a.events.only.Key != "":
		a.events.only = inspect.ID{}
		a.events.setData(&a.shown)
		if a.from == viewDetail {
			a.view, a.from = viewDetail, viewLocks
		}
	case a.view == viewLocks && !a.locks.filter.empty():
		a.setFilter("")
	case a.zoom:
		a.zoom = false
		a.resize()
	case a.view == viewLocks:
		a.say(notice{text: "nothing to go back from; q quits"})
	default:
		a.leaveView()
	}
}

func (a *App) leaveView() {
	if a.view == viewDetail && a.from == viewEvents {
		a.view, a.from = viewEvents, viewLocks
		return
	}
	a.view, a.from = viewLocks, viewLocks
}

func (a *App) activeFilter() *filter {
	if a.view == viewEvents {
		return &a.events.filter
	}
	return &a.locks.filter
}

func (a *App) setFilter(s string) {
	*a.activeFilter() = parseFilter(s)
	if a.view == viewEvents {
		a.events.setData(&a.shown)
		return
	}
	a.fillLocks(true)
}

func (a *App) togglePause() {
	a.paused = !a.paused
	if a.paused {
		a.pausedAt = a.now
		return
	}
	a.show(false)
}

// intervals are the steps of + and -.
var intervals = []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second}

func (a *App) changeInterval(d int) cmd {
	now := a.live.Interval
	next := now
	if d > 0 {
		for _, i := range intervals {
			if i > now {
				next = i
				break
			}
		}
	} else {
		for _, i := range intervals {
			if i < now {
				next = i
			}
		}
	}
	if next == now {
		a.say(notice{text: "looks every " + intervalText(now) + " already, as far as this goes"})
		return nil
	}
	a.live.Interval, a.shown.Interval = next, next
	a.say(notice{text: "looks every " + intervalText(next)})
	return a.world.setInterval(next)
}

func (a *App) copyName() cmd {
	switch a.view {
	case viewNodes:
		n, _ := a.nodes.selected(&a.shown)
		return a.world.copyText(n.Addr, "the address of "+text.CleanMax(n.Name, 40))
	case viewEvents:
		e, _ := a.events.selected(&a.shown)
		return a.world.copyText(text.Quote(e.Key), keyText(e.Key))
	}
	l, _ := a.subject()
	return a.world.copyText(text.Quote(l.ID.Key), keyText(l.ID.Key))
}

// lookCommands are redis-cli lines that look at a lock and change nothing.
func lookCommands(key string) string {
	return strings.Join([]string{text.RedisCLI("PTTL", key), text.RedisCLI("GET", key)}, "\n") + "\n"
}

func (a *App) openRelease() cmd {
	l, _ := a.subject()
	d, eff := newRelease(l, a.started, a.now)
	d.audited, d.operator = a.conf.Audit != nil, a.conf.Operator
	a.release = d
	return a.perform(eff)
}

// perform turns what the dialog wants into a command.
func (a *App) perform(e effect) cmd {
	switch {
	case e.read:
		return a.world.readLock(e.id, a.release.id.Key)
	case e.execute:
		if a.conf.ReadOnly != "" {
			// The dialog cannot be opened in read-only mode; this is the
			// second lock on the same door.
			return nil
		}
		return a.world.execute(e.id, a.release.plan, e.dryRun)
	case e.copy != "":
		return a.world.copyText(e.copy, "the commands")
	}
	return nil
}

// onWheel scrolls whatever has the keyboard.
func (a *App) onWheel(rows int) cmd {
	if a.release != nil || a.faults != nil || a.lay.tooSmall {
		return nil
	}
	act := actDown
	if rows < 0 {
		act, rows = actUp, -rows
	}
	for range rows {
		if a.help != nil {
			a.help.scroll.navigate(act)
			continue
		}
		a.move(act)
	}
	return nil
}

// onClick selects the row under the pointer.
func (a *App) onClick(_, y int) {
	if a.release != nil || a.faults != nil || a.help != nil || a.lay.tooSmall || a.view != viewLocks {
		return
	}
	row := y - a.lay.header - 2 // the border or rule, and the columns' names
	from, to := a.locks.list.window()
	if row < 0 || from+row >= to {
		return
	}
	a.locks.list.move(from + row - a.locks.list.cur)
	a.locks.movedAt = a.now
}
