package tui

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"dlock/inspect"
	"dlock/ui/text"
)

// App is the one model the framework knows. Update routes messages, View puts
// the screen together; what keys do is in actions.go, and the views know
// nothing of either. It reads no clock and does no I/O.
type App struct {
	kit   *kit
	world *world
	keys  keyMap
	conf  Config

	w, h int
	zoom bool
	lay  layout
	view view
	// from is the view that enter was pressed in, for the way back.
	from view

	// live is the newest snapshot, shown the one on screen; they differ
	// while paused.
	live, shown inspect.Snapshot
	loaded      bool
	counts      tally
	broken      text.Safe
	// now is the moment of the newest message, started that of the first.
	now, started time.Time
	paused       bool
	pausedAt     time.Time

	locks    locksView
	detail   detailView
	nodes    nodesView
	events   eventsView
	demo     demoView
	sections sections

	marks marks

	// arranging says that rows are being put in order outside the loop, and
	// next is what to put in order after that.
	arranging bool
	next      *arranging

	// position is where the player of a recording stood at positionAt.
	position   Position
	positionAt time.Time

	// What has the keyboard, in this order: the dialogs, the fault menu,
	// the help, the text field, the command line, the view.
	release *releaseDialog
	bulk    *bulkDialog
	// dialog counts the dialogs, so that answers find theirs.
	dialog int
	faults *faultMenu
	help   *helpView
	input  *textField
	line   *commandLine
	// past is what was typed into the command line.
	past []string

	notice notice

	mouse   bool
	ticks   int // generation of the pulse
	every   time.Duration
	polling bool // the demo is being asked
	// dress makes another look.
	dress func(theme string, ascii bool) (*kit, error)
}

// notice is a sentence for the message line. It goes by itself.
type notice struct {
	text  text.Safe
	bad   bool
	until time.Time
}

// noticeTime is how long a notice stays.
const noticeTime = 6 * time.Second

// newApp makes the model. now is the moment at which watching begins.
func newApp(c Config, k *kit, w *world, now time.Time) *App {
	if w.recording != nil {
		c.ReadOnly = recordingReason
	}
	a := &App{kit: k, world: w, conf: c, keys: newKeyMap(c.Lab != nil, w.recording != nil), view: viewLocks, from: viewLocks, now: now, started: now, mouse: c.Mouse}
	a.events.follow = true
	a.locks.filter = a.parse(c.Filter)
	a.dress = func(string, bool) (*kit, error) { return k, nil }
	return a
}

// Init starts the pulse.
func (a *App) Init() tea.Cmd {
	a.every = time.Second
	return tea.Batch(a.world.pulse(a.ticks, a.every), a.poll())
}

// Update takes one message.
func (a *App) Update(msg tea.Msg) (model tea.Model, out tea.Cmd) {
	defer func() {
		if v := recover(); v != nil {
			a.world.crashed(v)
			model, out = a, nil
		}
	}()
	next := a.update(msg)
	return a, tea.Batch(next, a.pulse())
}

func (a *App) update(msg tea.Msg) cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		a.w, a.h = msg.Width, msg.Height
		a.resize()
	case keyPressedMsg:
		a.at(msg.key.at)
		return a.onKey(msg.key)
	case keysPressedMsg:
		var cmds []cmd
		for _, k := range msg.keys {
			a.at(k.at)
			cmds = append(cmds, a.onKey(k))
		}
		return tea.Batch(cmds...)
	case wheelMsg:
		a.at(msg.at)
		return a.onWheel(msg.rows)
	case clickMsg:
		a.at(msg.at)
		a.onClick(msg.x, msg.y)
	case tickedMsg:
		if msg.gen != a.ticks {
			return nil
		}
		a.at(msg.at)
		a.every = 0 // the train has arrived; pulse sends the next
		return tea.Batch(a.tickDialog(), a.poll())
	case snapshotArrivedMsg:
		a.at(msg.at)
		shown := a.onSnapshot(msg.snap)
		return tea.Batch(shown, a.askPosition(), a.world.setVisible(a.onScreen()))
	case arrangedMsg:
		a.at(msg.at)
		return a.onArranged(msg.arranged)
	case positionMsg:
		a.at(msg.at)
		a.position, a.positionAt = msg.position, msg.at
		if msg.said != "" {
			a.say(notice{text: msg.said})
		}
	case watchEndedMsg:
		a.at(msg.at)
		a.broken = "the watching has ended"
		if msg.err != nil {
			a.broken = cleanText(msg.err.Error())
		}
	case labPolledMsg:
		a.at(msg.at)
		a.polling = false
		a.demo.setData(msg.status)
	case lockReadMsg:
		a.at(msg.at)
		switch {
		case msg.dialog != a.dialog:
		case a.release != nil:
			return a.perform(a.release.onRead(msg.id, msg.snap, msg.err, msg.at))
		case a.bulk != nil:
			a.bulk.onRead(msg.id, msg.snap, msg.err, msg.at)
		}
	case releasedMsg:
		a.at(msg.at)
		switch {
		case msg.dialog != a.dialog:
		case a.release != nil:
			a.release.onResult(msg.id, msg.result, msg.auditErr, msg.at)
		case a.bulk != nil:
			more := a.bulk.onResult(msg.id, msg.result, msg.auditErr, msg.at)
			if a.bulk.step == bulkSending {
				return a.performBulk(more)
			}
		}
		return a.world.refresh()
	case noticedMsg:
		a.at(msg.at)
		a.say(msg.notice)
	case suspendAskedMsg:
		// Until the program goes on the clock stands at this moment.
		a.at(msg.at)
		return a.world.suspend()
	case continuedMsg:
		return a.world.repaint()
	case resumedMsg:
		gap := msg.at.Sub(a.now)
		a.at(msg.at)
		if msg.err != nil {
			a.say(notice{text: cleanText(msg.err.Error()), bad: true})
		} else {
			a.say(notice{text: "was stopped for " + intervalText(max(gap.Round(time.Second), time.Second)) + "; what happened meanwhile was not seen", bad: true})
		}
		return tea.Batch(tea.ClearScreen, a.world.refresh(), a.tickDialog())
	}
	return nil
}

// at moves the clock of the screen, which never goes back.
func (a *App) at(t time.Time) {
	if t.After(a.now) {
		a.now = t
	}
}

func (a *App) say(n notice) {
	n.until = a.now.Add(noticeTime)
	a.notice = n
}

func (a *App) resize() {
	a.lay = layoutFor(a.w, a.h, a.zoom)
	a.locks.setSize(a.lay)
	a.nodes.setSize(a.lay)
	a.events.setSize(a.lay)
	a.demo.setSize(a.lay)
	for _, v := range []view{viewTimeline, viewFindings, viewOwners} {
		a.sections.of(v).setSize(a.lay)
	}
}

// asking reports whether a dialog is open.
func (a *App) asking() bool { return a.release != nil || a.bulk != nil }

// tickDialog lets an open dialog look again.
func (a *App) tickDialog() cmd {
	switch {
	case a.release != nil:
		return a.perform(a.release.onTick(a.now))
	case a.bulk != nil:
		return a.performBulk(a.bulk.onTick(a.now))
	}
	return nil
}

// recorded reports whether a recording is shown.
func (a *App) recorded() bool { return a.world.recording != nil }

// sceneNow is the moment that is shown.
func (a *App) sceneNow() time.Time {
	switch {
	case a.recorded():
		return a.momentNow()
	case a.paused:
		return a.pausedAt
	default:
		return a.now
	}
}

func (a *App) onSnapshot(s inspect.Snapshot) cmd {
	a.live, a.broken = s, ""
	a.marks.prune(&s)
	if a.release != nil {
		for i := range s.Locks {
			a.release.setHistory(s.Locks[i])
		}
	}
	if a.bulk != nil {
		a.bulk.setHistory(s.Locks)
	}
	if a.paused {
		return nil
	}
	return a.reorder(a.arrangement(s, false))
}

// onScreen lists the keys that a person can see or has chosen.
func (a *App) onScreen() []string {
	from, to := a.locks.list.window()
	keys := make([]string, 0, to-from+2)
	for _, id := range a.locks.list.ids[from:to] {
		keys = append(keys, id.Key)
	}
	if id, ok := a.locks.list.selected(); ok {
		keys = append(keys, id.Key)
	}
	if a.detail.id != (inspect.ID{}) {
		keys = append(keys, a.detail.id.Key)
	}
	return keys
}

// fillLocks arranges the locks that are shown. fresh forgets the order of the
// rows: a new filter or column.
func (a *App) fillLocks(fresh bool) cmd {
	if a.paused {
		return a.reorder(a.arrangement(a.shown, fresh))
	}
	return a.reorder(a.arrangement(a.live, fresh))
}

// poll asks those that are to be asked now and then.
func (a *App) poll() cmd { return tea.Batch(a.pollDemo(), a.askPosition()) }

// askPosition asks the player of a recording where it stands.
func (a *App) askPosition() cmd {
	if !a.recorded() {
		return nil
	}
	return a.world.steer(func(Recording) text.Safe { return "" })
}

// pollDemo asks the demo how it stands, one question at a time.
func (a *App) pollDemo() cmd {
	if a.conf.Lab == nil || a.polling {
		return nil
	}
	a.polling = true
	return a.world.pollLab()
}

// How often the screen is drawn when nothing happens: slowly, unless a number
// on it shows tenths of a second that somebody is waiting for.
const (
	slowPulse = time.Second
	fastPulse = 200 * time.Millisecond
	// soon is the time to live below which tenths matter.
	soon = 10 * time.Second
)

// pulse makes sure that exactly one pulse is on its way, and no later than
// the screen needs it.
func (a *App) pulse() cmd {
	want := slowPulse
	if a.needsFastPulse() {
		want = fastPulse
	}
	if a.every != 0 && a.every <= want {
		return nil
	}
	a.ticks++
	a.every = want
	return a.world.pulse(a.ticks, want)
}

func (a *App) needsFastPulse() bool {
	if a.asking() || a.faults != nil || a.recorded() && a.position.Playing {
		return true
	}
	if a.recorded() || a.paused || !a.loaded {
		return false
	}
	switch a.view {
	case viewLocks:
		return a.locks.soonest(&a.shown, a.now) < soon
	case viewDetail:
		l := a.detail.lock()
		d, ok := l.Expiry.Remaining(a.now)
		return ok && d > 0 && d < soon && l.State != inspect.Expired
	case viewDemo:
		return true
	}
	return false
}

// View draws the screen: exactly as many lines as the terminal has, each
// exactly as wide.
func (a *App) View() (screen string) {
	defer func() {
		if v := recover(); v != nil {
			a.world.crashed(v)
			screen = ""
		}
	}()
	screen = strings.Join(a.lines(), "\n")
	if a.kit.g.ascii {
		screen = strings.ReplaceAll(screen, string(ellipsis), string(a.kit.ellipsis()))
	}
	return screen
}

func (a *App) lines() []string {
	if a.w <= 0 || a.h <= 0 {
		return nil
	}
	sc := a.scene()
	if a.lay.tooSmall {
		return sc.tooSmall()
	}
	out := make([]string, 0, a.h)
	out = append(out, sc.header()...)
	var body []string
	switch {
	case a.help != nil:
		body = a.help.view(sc, a.keys, a.view, a.blocked)
	case a.view == viewDetail:
		body = a.detail.view(sc)
	case a.view == viewNodes:
		body = a.nodes.view(sc)
	case a.view == viewEvents:
		body = a.events.view(sc)
	case a.view == viewDemo:
		body = a.demo.view(sc)
	case a.sections.of(a.view) != nil:
		body = a.sections.of(a.view).view(sc)
	default:
		body = a.locks.view(sc)
	}
	out = append(out, fill(body, a.w, a.lay.body())...)
	out = append(out, a.messageLine(sc), a.bottomLine(sc))
	switch {
	case a.release != nil:
		out = a.release.view(sc, out)
	case a.bulk != nil:
		out = a.bulk.view(sc, out)
	case a.faults != nil:
		out = a.faults.view(sc, out)
	}
	return fill(out, a.w, a.h)
}

func (a *App) scene() *scene {
	sc := &scene{
		kit: a.kit, lay: a.lay, title: a.conf.Title, env: a.conf.Env, envColor: a.conf.EnvColor, readOnly: a.conf.ReadOnly,
		snap: &a.shown, loaded: a.loaded, counts: a.counts, now: a.sceneNow(), wall: a.now, since: a.started, marks: &a.marks,
		paused: a.paused, pausedAt: a.pausedAt, broken: a.broken,
	}
	if a.recorded() {
		sc.replay, sc.wall, sc.since = &a.position, sc.now, a.position.From
	}
	if a.paused {
		sc.waiting = max(0, eventCount(&a.live)-eventCount(&a.shown))
	}
	if a.demo.known {
		sc.lab = &a.demo.latest
	}
	return sc
}

// eventCount is how many events there have been since the start.
func eventCount(s *inspect.Snapshot) int { return int(s.EventsDropped) + len(s.Events) }

// messageLine is the line above the keys: what was just said, else the worst
// that is to be said.
func (a *App) messageLine(sc *scene) string {
	switch {
	case a.input != nil:
		return a.input.view(sc)
	case a.line != nil:
		return a.line.view(sc)
	case a.notice.text != "" && a.now.Before(a.notice.until) && a.notice.bad:
		return sc.message(sc.weak, a.notice.text)
	case a.notice.text != "" && a.now.Before(a.notice.until):
		return sc.message(sc.plain, a.notice.text)
	case a.broken != "" && a.loaded:
		return sc.message(sc.weak, "no new data: "+a.broken)
	case quorumLost(target(sc)):
		return sc.message(sc.alarm, quorumText(target(sc)))
	case a.loaded && target(sc).Up() < len(target(sc).Nodes) && !pending(target(sc)):
		return sc.message(sc.weak, quorumText(target(sc)))
	case a.conf.Lab != nil && a.view != viewDemo && a.help == nil:
		return sc.message(sc.dim, "demo: 4 workers, F k 1 kills node 1, F p 2 freezes 2, F w 3 empties 3")
	}
	return sc.message(sc.dim, restingMessage(a.view))
}

// restingMessage is a remark where there is nothing to report.
func restingMessage(v view) text.Safe {
	switch v {
	case viewEvents:
		return "events are differences between looks: a lock taken and released between two looks is not seen"
	case viewDetail:
		return "this follows the lock by its key, wherever its row goes"
	}
	return ""
}

func (a *App) bottomLine(sc *scene) string {
	switch {
	case a.input != nil:
		return sc.hints([]hint{{"enter", "keep", 3}, {"esc", "undo", 4}, {"!text", "without", 1}, {"state: owner: node: flag: library: kind: is:", "", 0}})
	case a.line != nil:
		return a.line.offers(sc, a.options(a.line.partly()))
	case a.help != nil:
		return sc.hints([]hint{{"?", "close", 2}, {sc.g.up + sc.g.down, "scroll", 1}})
	}
	return sc.keyLine(a.keys, a.view, func(act action) bool { return a.blocked(act) == "" && !a.idle(act) })
}

// tooSmall is the screen of a terminal on which nothing else fits.
func (sc *scene) tooSmall() []string {
	w, h := sc.lay.w, sc.lay.h
	now := itoa(w) + " x " + itoa(h)
	need := itoa(minWidth) + " x " + itoa(minHeight)
	msg := []text.Safe{"Terminal too small", "", "now     " + now, "needed  " + need, "", "q quits; nothing was stopped"}
	switch {
	case h < 3 || w < 24:
		msg = []text.Safe{"too small: " + now + ", need " + need + ", q quits"}
	case h < len(msg):
		msg = []text.Safe{msg[0], msg[2], msg[3]}
	}
	var out []string
	for range max(0, (h-len(msg))/2) {
		out = append(out, newLine(w).String())
	}
	for _, s := range msg {
		out = append(out, newLine(w).to(max(0, min(6, (w-28)/2))).add(sc.plain, s).String())
	}
	return fill(out, w, h)
}
