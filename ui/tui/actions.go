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
	case a.bulk != nil:
		return a.onBulkKey(k)
	case a.faults != nil:
		return a.onFaultKey(k)
	case a.input != nil:
		done := a.input.onKey(k)
		text := a.input.text
		if done {
			a.input = nil
		}
		return a.setFilter(text)
	case a.line != nil:
		done := a.line.onKey(k, a.options)
		if !done {
			return nil
		}
		line := a.line.text
		a.line = nil
		a.past = remember(a.past, line)
		return a.runLine(line)
	}
	act, ok := a.keys.lookup(a.view, k.name)
	if a.help != nil {
		return a.onHelpKey(act, ok)
	}
	if !ok {
		return nil
	}
	return a.act(act)
}

// act does what a key or a typed word stands for, or says why it cannot.
func (a *App) act(act action) cmd {
	if why := a.blocked(act); why != "" {
		a.complain(why)
		return nil
	}
	if a.move(act) {
		return nil
	}
	return a.do(act)
}

func (a *App) onBulkKey(k key) cmd {
	d := a.bulk
	e := a.bulk.onKey(k)
	if d.step != bulkClosed {
		return a.performBulk(e)
	}
	a.bulk = nil
	if !d.sent() {
		return nil
	}
	// What is done with loses its mark; what is not has one from now on.
	for _, it := range d.items {
		switch {
		case it.settled():
			a.marks.remove(it.releaseDialog.id)
		case it.step != releaseRefused:
			a.marks.add(&it.lock)
		}
	}
	return nil
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
		if why := a.forbidden(); why != "" {
			return why
		}
		if a.bulkSubject() {
			return ""
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
		if s := a.sections.of(a.view); s != nil {
			if _, ok := s.link(); !ok || !a.loaded {
				return "this row leads nowhere"
			}
			return ""
		}
		if _, ok := a.subject(); !ok {
			return "no lock is selected"
		}
	case actMark:
		l, ok := a.subject()
		switch {
		case !ok:
			return "no lock is selected"
		case l.State == inspect.Expired && !a.marks.has(l.ID):
			return "this lock is gone already"
		}
	case actCopyJSON:
		if a.conf.JSON == nil {
			return "there is no JSON of this view"
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
		if s := a.sections.of(a.view); s != nil {
			if _, ok := s.link(); !ok || !a.loaded {
				return "this row has no name"
			}
			return ""
		}
		if _, ok := a.subject(); !ok {
			return "no lock is selected"
		}
	case actPause, actSave:
		if !a.loaded {
			return "nothing has been read yet"
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
	case actTimeline:
		return a.view == viewTimeline
	case actFindings:
		return a.view == viewFindings
	case actOwners:
		return a.view == viewOwners
	case actBack:
		return a.view == viewLocks && a.locks.filter.empty() && !a.zoom && a.marks.len() == 0
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

// bulkSubject reports whether a release is about several locks: those that are
// marked, or those of the owner under the cursor.
func (a *App) bulkSubject() bool {
	switch a.view {
	case viewLocks:
		return a.marks.len() > 0
	case viewOwners:
		l, ok := a.sections.owners.link()
		return ok && a.loaded && len(l.locks) > 0
	}
	return false
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
		return a.open()
	case actBack:
		return a.back()
	case actQuit:
		if a.view == viewLocks {
			return quit
		}
		a.leaveView()
	case actQuitNow:
		return quit
	case actLocks:
		a.goTo(viewLocks)
	case actNodes:
		a.goTo(viewNodes)
	case actEvents:
		a.goTo(viewEvents)
	case actDemo:
		a.goTo(viewDemo)
	case actTimeline:
		a.sections.timeline.all()
		if l, ok := a.subject(); ok && a.view == viewDetail {
			a.sections.timeline.open(l.ID)
		}
		a.enter(viewTimeline)
	case actFindings:
		a.goTo(viewFindings)
	case actOwners:
		a.goTo(viewOwners)
	case actCommand:
		a.line = &commandLine{textField: textField{prompt: commandPrompt}, past: a.past, at: len(a.past)}
	case actPreset:
		return a.setFilter(nextPreset(a.locks.filter.source))
	case actMark:
		l, _ := a.subject()
		a.marks.toggle(&l)
		a.move(actDown)
	case actMarkAll:
		if a.marks.len() > 0 {
			return a.markBy("none")
		}
		return a.markBy("all")
	case actShorter:
		a.zoomTime(-1)
	case actLonger:
		a.zoomTime(1)
	case actByHost:
		a.sections.owners.toggleHosts()
	case actSave:
		return a.saveAs("")
	case actCopyJSON:
		l, _ := a.subject()
		one := a.shown
		one.Locks = []inspect.Lock{l}
		return a.world.copyJSON(a.conf.JSON, one, keyText(l.ID.Key)+" as JSON")
	case actPlay:
		if a.position.Playing {
			return a.world.steer(func(r Recording) text.Safe { r.Pause(); return "" })
		}
		return a.world.steer(func(r Recording) text.Safe { r.Play(); return "" })
	case actStepBack:
		return a.world.steer(func(r Recording) text.Safe { r.Step(-1); return "" })
	case actStepOn:
		return a.world.steer(func(r Recording) text.Safe { r.Step(1); return "" })
	case actNextEvent:
		return a.world.steer(func(r Recording) text.Safe { return noneLeft(r.NextEvent(), "there is no later event") })
	case actNextFinding:
		return a.world.steer(func(r Recording) text.Safe { return noneLeft(r.NextFinding(), "there is no later finding") })
	case actLockEvents:
		l, _ := a.subject()
		a.events.only, a.events.follow = l.ID, true
		a.events.setData(&a.shown)
		a.enter(viewEvents)
	case actFilter:
		f := a.activeFilter().source
		a.input = &textField{prompt: filterPrompt, text: f, before: f}
	case actSort:
		a.locks.by = (a.locks.by + 1) % orders
		a.locks.reverse = false
		fill := a.fillLocks(true)
		a.locks.list.navigate(actTop)
		return fill
	case actReverse:
		a.locks.reverse = !a.locks.reverse
		return a.fillLocks(true)
	case actFollow:
		a.events.follow = !a.events.follow
		a.events.setData(&a.shown)
	case actPause:
		return a.togglePause()
	case actRefresh:
		a.say(notice{text: "reading again"})
		return a.world.refresh()
	case actSlower, actFaster:
		slower := act == actSlower
		if a.recorded() {
			return a.changeSpeed(sign(!slower))
		}
		return a.changeInterval(sign(slower))
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
		if a.view == viewOwners {
			return a.releaseBy("owner")
		}
		if a.bulkSubject() {
			return a.releaseBy("marked")
		}
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
		return a.nodes.navigate(act)
	case viewEvents:
		return a.events.navigate(act)
	case viewDemo:
		return a.demo.list.navigate(act)
	}
	if s := a.sections.of(a.view); s != nil {
		return s.navigate(act)
	}
	return false
}

// sign is 1 or -1.
func sign(up bool) int {
	if up {
		return 1
	}
	return -1
}

func noneLeft(found bool, otherwise text.Safe) text.Safe {
	if found {
		return ""
	}
	return otherwise
}

func (a *App) zoomTime(d int) {
	if a.sections.timeline.zoom(d) {
		a.fillView()
		return
	}
	a.say(notice{text: "this is as far as it goes"})
}

// goTo turns to a view from which back leads to the locks.
func (a *App) goTo(v view) {
	a.view, a.from = v, viewLocks
	a.fillView()
}

// enter turns to a view from which back leads here.
func (a *App) enter(v view) {
	from := a.view
	a.goTo(v)
	if from != v {
		a.from = from
	}
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

// open goes where the row under the cursor leads.
func (a *App) open() cmd {
	if s := a.sections.of(a.view); s != nil {
		to, _ := s.link()
		switch {
		case to.filter != "":
			a.enter(viewLocks)
			return a.setFilter(to.filter)
		case to.node != "":
			a.enter(viewNodes)
			a.nodes.list.selectID(to.node)
			return nil
		}
		l, ok := lockByID(&a.shown, to.lock)
		if !ok {
			a.complain("that lock is gone")
			return nil
		}
		a.openLock(l)
		return nil
	}
	l, _ := a.subject()
	if a.view == viewEvents {
		e, _ := a.events.selected(&a.shown)
		l, _ = findLock(&a.shown, e.Key)
	}
	a.openLock(l)
	return nil
}

// openLock shows a lock in full; back leads here.
func (a *App) openLock(l inspect.Lock) {
	a.locks.list.selectID(l.ID)
	a.detail.open(l, a.sceneNow())
	a.enter(viewDetail)
}

func lockByID(s *inspect.Snapshot, id inspect.ID) (inspect.Lock, bool) {
	for i := range s.Locks {
		if s.Locks[i].ID == id {
			return s.Locks[i], true
		}
	}
	return inspect.Lock{}, false
}

// back undoes one thing: what narrows the view, then the view.
func (a *App) back() cmd {
	switch {
	case a.view == viewEvents && !a.events.filter.empty():
		return a.setFilter("")
	case a.view == viewEvents && a.events.only.Key != "":
		a.events.only = inspect.ID{}
		a.events.setData(&a.shown)
		if a.from == viewDetail {
			a.leaveView()
		}
	case a.view == viewLocks && a.marks.len() > 0:
		return a.markBy("none")
	case a.view == viewLocks && !a.locks.filter.empty():
		if from := a.from; from == viewOwners {
			a.leaveView()
		}
		return a.setLocksFilter("")
	case a.zoom:
		a.zoom = false
		a.resize()
	case a.view == viewLocks:
		a.say(notice{text: "nothing to go back from; q quits"})
	default:
		a.leaveView()
	}
	return nil
}

// leaveView goes where this view was entered from.
func (a *App) leaveView() { a.goTo(a.from) }

func (a *App) activeFilter() *filter {
	if a.view == viewEvents {
		return &a.events.filter
	}
	return &a.locks.filter
}

// parse reads a filter.
func (a *App) parse(s string) filter {
	f := parseFilter(s)
	f.self = lowerASCII(a.conf.Host)
	return f
}

func (a *App) setFilter(s string) cmd {
	if a.view == viewEvents {
		a.events.filter = a.parse(s)
		a.events.setData(&a.shown)
		return nil
	}
	return a.setLocksFilter(s)
}

func (a *App) setLocksFilter(s string) cmd {
	a.locks.filter = a.parse(s)
	if !a.loaded {
		return nil
	}
	return a.fillLocks(true)
}

func (a *App) togglePause() cmd {
	a.paused = !a.paused
	if a.paused {
		a.pausedAt = a.now
		return nil
	}
	return a.reorder(a.arrangement(a.live, false))
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
	return a.looksEvery(next)
}

func (a *App) looksEvery(d time.Duration) cmd {
	a.live.Interval, a.shown.Interval = d, d
	a.say(notice{text: "looks every " + intervalText(d)})
	return a.world.setInterval(d)
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
	if s := a.sections.of(a.view); s != nil {
		to, _ := s.link()
		switch {
		case to.node != "":
			return a.world.copyText(to.node, "the name of "+text.CleanMax(to.node, 40))
		case to.filter != "":
			return a.world.copyText(to.filter, "the filter "+cleanText(to.filter))
		}
		return a.world.copyText(text.Quote(to.lock.Key), keyText(to.lock.Key))
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
	a.dialog++
	a.release = d
	return a.perform(eff)
}

// openBulkOf asks whether several locks are to be released.
func (a *App) openBulkOf(locks []inspect.Lock, what text.Safe) cmd {
	if why := a.forbidden(); why != "" {
		a.complain(why)
		return nil
	}
	if len(locks) > maxBulk {
		a.complain("at most " + itoa(maxBulk) + " locks are released at a time, so that their list can be read: mark fewer")
		return nil
	}
	d, eff := newBulk(what, locks, func(id inspect.ID) string { return a.marks.token[id] }, a.started, a.now)
	d.audited, d.operator = a.conf.Audit != nil, a.conf.Operator
	a.dialog++
	a.bulk = d
	return a.performBulk(eff)
}

// forbidden is why nothing may be written at all.
func (a *App) forbidden() text.Safe {
	if a.conf.ReadOnly != "" {
		return "releasing is off: " + cleanText(a.conf.ReadOnly)
	}
	return ""
}

// perform turns what the dialog wants into a command.
func (a *App) perform(e effect) cmd {
	t := ticket{a.dialog, e.id}
	switch {
	case e.read:
		return a.world.readLocks(t, a.release.id.Key)
	case e.execute:
		if a.forbidden() != "" {
			// The dialog cannot be opened in read-only mode; this is the
			// second lock on the same door.
			return nil
		}
		return a.world.execute(t, a.release.plan, e.dryRun)
	case e.copy != "":
		return a.world.copyText(e.copy, "the commands")
	}
	return nil
}

// performBulk turns what the dialog of several locks wants into commands.
func (a *App) performBulk(e bulkEffect) cmd {
	switch {
	case e.read:
		return a.world.readLocks(ticket{a.dialog, e.id}, a.bulk.keys()...)
	case e.copy != "":
		return a.world.copyText(e.copy, "the commands")
	case a.forbidden() != "":
		return nil
	}
	var cmds []cmd
	for _, s := range e.send {
		cmds = append(cmds, a.world.execute(ticket{a.dialog, s.id}, s.plan, false))
	}
	return batch(cmds...)
}

// onWheel scrolls whatever has the keyboard.
func (a *App) onWheel(rows int) cmd {
	if a.asking() || a.faults != nil || a.lay.tooSmall {
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
	if a.asking() || a.faults != nil || a.help != nil || a.lay.tooSmall || a.view != viewLocks {
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
