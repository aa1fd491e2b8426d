package tui

import (
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/aymanbagabas/go-osc52/v2"
	tea "github.com/charmbracelet/bubbletea"

	"dlock/inspect"
	"dlock/ui/text"
)

// cmd is work that is done outside the loop and ends in one message.
type cmd = tea.Cmd

// readTimeout bounds a fresh read of a release dialog, with a little more for
// each further lock; faultTimeout bounds the breaking or mending of a demo node.
const (
	readTimeout  = 500 * time.Millisecond
	readEach     = 2 * time.Millisecond
	faultTimeout = 10 * time.Second
)

// world is what commands work with. It is shared with no view.
type world struct {
	ctx    context.Context
	source Source
	// recording is the source if it has a player, else nil.
	recording Recording
	lab       Lab
	audit     Audit
	out       io.Writer
	now       func() time.Time
	// pulse ends in a tickedMsg of that generation after a while.
	pulse func(gen int, after time.Duration) cmd
	// crashed takes a panic of a command's goroutine.
	crashed func(any)
	// stop stops the process and returns when it goes on.
	stop func() error
	// running counts releases that are on their way.
	running *tracker
}

// guarded turns work into a command whose panic is reported rather than
// printed into the middle of the screen.
func (w *world) guarded(f func() tea.Msg) cmd {
	return func() (msg tea.Msg) {
		defer func() {
			if v := recover(); v != nil {
				w.crashed(v)
				msg = nil
			}
		}()
		return f()
	}
}

// realPulse is the pulse of a running program.
func realPulse(now func() time.Time) func(int, time.Duration) cmd {
	return func(gen int, after time.Duration) cmd {
		return tea.Tick(after, func(time.Time) tea.Msg { return tickedMsg{gen, now()} })
	}
}

func (w *world) pollLab() cmd {
	return w.guarded(func() tea.Msg { return labPolledMsg{w.lab.Status(), w.now()} })
}

func (w *world) refresh() cmd {
	return w.guarded(func() tea.Msg { w.source.Refresh(); return nil })
}

// suspend gives the terminal back and stops the program until it is continued.
func (w *world) suspend() cmd { return away(w.stop, w.now) }

// repaint sets the terminal up again, whatever it has been through.
func (w *world) repaint() cmd { return away(func() error { return nil }, w.now) }

func (w *world) setInterval(d time.Duration) cmd {
	return w.guarded(func() tea.Msg { w.source.SetInterval(d); return nil })
}

func (w *world) setVisible(keys []string) cmd {
	return w.guarded(func() tea.Msg { w.source.SetVisible(keys); return nil })
}

func (w *world) readLocks(t ticket, keys ...string) cmd {
	return w.guarded(func() tea.Msg {
		ctx, cancel := context.WithTimeout(w.ctx, readTimeout+time.Duration(len(keys)-1)*readEach)
		defer cancel()
		s, err := w.source.Get(ctx, keys...)
		return lockReadMsg{t, s, err, w.now()}
	})
}

// execute carries a plan out and records it. The recording belongs to the
// release: it is made even when nobody is there any more to see it.
func (w *world) execute(t ticket, p inspect.Plan, dryRun bool) cmd {
	return w.guarded(func() tea.Msg {
		if !w.running.begin() {
			return nil
		}
		defer w.running.end()
		r := w.source.Execute(w.ctx, p, dryRun)
		var err error
		if !dryRun && w.audit != nil {
			err = w.audit(r)
		}
		return releasedMsg{t, r, err, w.now()}
	})
}

// copyText hands text to the terminal's clipboard. Whether the terminal takes
// it cannot be known.
func (w *world) copyText(s string, what text.Safe) cmd {
	return w.guarded(func() tea.Msg {
		if _, err := osc52.New(s).WriteTo(w.out); err != nil {
			return noticedMsg{notice{text: "could not copy: " + cleanText(err.Error()), bad: true}, w.now()}
		}
		return noticedMsg{notice{text: "copied " + what + ", where the terminal lets programs set its clipboard"}, w.now()}
	})
}

// copyJSON hands a snapshot to the clipboard as JSON.
func (w *world) copyJSON(write WriteJSON, s inspect.Snapshot, what text.Safe) cmd {
	return w.guarded(func() tea.Msg {
		var b strings.Builder
		if err := write(&b, s); err != nil {
			return noticedMsg{notice{text: "could not copy: " + cleanText(err.Error()), bad: true}, w.now()}
		}
		return w.copyText(b.String(), what)()
	})
}

// save writes files and tells where they are.
func (w *world) save(files []file) cmd {
	return w.guarded(func() tea.Msg {
		written, err := writeFiles(files)
		switch {
		case err != nil:
			return noticedMsg{notice{text: "not saved: " + cleanText(err.Error()), bad: true}, w.now()}
		default:
			return noticedMsg{notice{text: "saved " + listedPaths(written)}, w.now()}
		}
	})
}

// arrange puts locks in order outside the loop.
func (w *world) arrange(o arranging) cmd {
	return w.guarded(func() tea.Msg { return arrangedMsg{o.arrange(), w.now()} })
}

// steer tells the player of the recording something and asks where it stands
// by then. What do returns is said, if it is not empty.
func (w *world) steer(do func(Recording) text.Safe) cmd {
	return w.guarded(func() tea.Msg {
		said := do(w.recording)
		return positionMsg{w.recording.Position(), said, w.now()}
	})
}

// breakNode carries out a fault of the demo.
func (w *world) breakNode(f fault, node string) cmd {
	return w.guarded(func() tea.Msg {
		ctx, cancel := context.WithTimeout(w.ctx, faultTimeout)
		defer cancel()
		var err error
		var done text.Safe
		name := text.CleanMax(node, 40)
		switch f {
		case faultKill:
			err, done = w.lab.Kill(node), name+" is killed: it keeps its data for when it comes back"
		case faultRevive:
			err, done = w.lab.Restart(ctx, node, false), name+" is back, with what it had stored"
		case faultWipe:
			err, done = w.lab.Restart(ctx, node, true), name+" has been restarted empty: it has forgotten every lock"
		case faultPause:
			err, done = w.lab.Pause(node), name+" hangs: it takes connections and answers nothing"
		case faultResume:
			err, done = w.lab.Resume(node), name+" answers again"
		}
		if err != nil {
			return noticedMsg{notice{text: name + ": " + cleanText(err.Error()), bad: true}, w.now()}
		}
		w.source.Refresh()
		return noticedMsg{notice{text: done}, w.now()}
	})
}

// tracker counts work that must be over before the program ends.
type tracker struct {
	mu      sync.Mutex
	n       int
	closed  bool
	drained chan struct{}
}

func newTracker() *tracker { return &tracker{drained: make(chan struct{})} }

// begin reports whether work may start; it may not once the end has begun.
func (t *tracker) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.n++
	return true
}

func (t *tracker) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n--
	if t.closed && t.n == 0 {
		close(t.drained)
	}
}

// wait lets no more work start and waits for what runs, at most for limit.
func (t *tracker) wait(limit time.Duration) {
	t.mu.Lock()
	t.closed = true
	if t.n == 0 {
		t.mu.Unlock()
		return
	}
	t.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-t.drained:
	case <-timer.C:
	}
}

// Commands of the framework itself, by our names.
var (
	quit   cmd = tea.Quit
	redraw cmd = tea.ClearScreen
)

func batch(cmds ...cmd) cmd { return tea.Batch(cmds...) }

func setMouse(on bool) cmd {
	if on {
		return tea.EnableMouseCellMotion
	}
	return tea.DisableMouse
}
