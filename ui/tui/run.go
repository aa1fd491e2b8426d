package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/term"

	"dlock/inspect"
	"dlock/ui/text"
	_ "dlock/ui/tui/noquery" // before the framework asks the terminal for its colours
)

// ErrNoTerminal is returned by [Run] where the terminal, as TERM tells it,
// cannot move its cursor.
var ErrNoTerminal = errors.New("this terminal cannot show a live view (TERM is dumb or not set); use dlock ls")

// framesPerSecond bounds how often the screen is written: a key is answered
// within one frame. A frame in which nothing changed writes nothing.
const framesPerSecond = 60

// Run shows the source on the terminal until a person quits, ctx ends, or a
// signal asks the program to stop; in all of these cases it returns nil. The
// terminal is as it was before when Run returns, also after a panic, which is
// then printed on standard error and returned as an error; where the system has
// a shell, the same is done for a panic on a goroutine that is not Run's, which
// ends the process. A release that is
// on its way when the screen goes is waited for, up to ten seconds, so that
// its audit line is written.
//
// While Run runs, nothing else may write to the terminal.
func Run(ctx context.Context, c Config, s Source) error {
	k, err := newKit(c, os.Getenv)
	if err != nil {
		return err
	}
	if detectDepth(os.Getenv) == depthNone {
		return ErrNoTerminal
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	out := c.Output
	if out == nil {
		out = os.Stdout
	}
	in := c.Input
	if in == nil {
		in = os.Stdin
	}
	words := newLastWords(in, out)
	defer words.end()
	out = oneWriter(out)
	control := newJobs()
	defer control.close()
	recording, _ := s.(Recording)
	w := &world{ctx: ctx, source: s, recording: recording, lab: c.Lab, audit: c.Audit, out: out, now: time.Now, pulse: realPulse(time.Now), stop: control.stop, running: newTracker()}
	crash := &crash{}
	app := newApp(c, k, w, time.Now())
	app.dress = func(theme string, ascii bool) (*kit, error) {
		c := c
		c.Theme, c.ASCII = theme, ascii
		return newKit(c, os.Getenv)
	}

	options := []tea.ProgramOption{
		tea.WithAltScreen(), tea.WithFPS(framesPerSecond), tea.WithOutput(out),
		// The framework's own handler leaves SIGHUP out.
		tea.WithoutSignalHandler(),
		tea.WithFilter(stamp(time.Now, c.Debug)),
	}
	if c.Input != nil {
		options = append(options, tea.WithInput(c.Input))
	}
	if c.Mouse {
		options = append(options, tea.WithMouseCellMotion())
	}
	p := tea.NewProgram(app, options...)
	over := make(chan struct{})
	// leave ends the program from outside its loop. Asking it to quit lets it
	// wait for its own reader, which being killed does not; a loop that does
	// not hear is killed a little later.
	leave := func() {
		go p.Quit()
		timer := time.NewTimer(2 * time.Second)
		defer timer.Stop()
		select {
		case <-over:
		case <-timer.C:
			p.Kill()
		}
	}
	w.crashed = func(v any) {
		crash.record(v, debug.Stack())
		go leave()
	}

	var feeders sync.WaitGroup
	guard := func(f func()) {
		feeders.Add(1)
		go func() {
			defer feeders.Done()
			defer func() {
				if v := recover(); v != nil {
					w.crashed(v)
				}
			}()
			f()
		}()
	}
	box := newMailbox()
	guard(func() { watch(ctx, s, box.put, func(err error) { p.Send(watchEndedMsg{err, time.Now()}) }) })
	guard(func() {
		for {
			snap, ok := box.take(ctx)
			if !ok {
				return
			}
			p.Send(snapshotArrivedMsg{snap, time.Now()})
		}
	})

	guard(func() {
		control.watch(ctx, func() { p.Send(suspendAskedMsg{time.Now()}) }, func() { p.Send(continuedMsg{time.Now()}) })
	})
	guard(func() {
		select {
		case <-ctx.Done():
			leave()
		case <-over:
		}
	})

	_, err = p.Run()
	close(over)
	asked := ctx.Err() != nil // somebody else wants us to end
	w.running.wait(10 * time.Second)
	cancel()
	feeders.Wait()

	if v, stack := crash.get(); stack != nil {
		fmt.Fprintf(os.Stderr, "dlock crashed: %s\n\n%s\n", v, stack)
		return fmt.Errorf("crashed: %s", v)
	}
	if err == nil || asked && !errors.Is(err, tea.ErrProgramPanic) {
		return nil
	}
	return fmt.Errorf("the terminal cannot be used: %w", err)
}

// newKit chooses styles and glyphs.
func newKit(c Config, getenv func(string) string) (*kit, error) {
	t, err := newTheme(c.Theme, detectDepth(getenv))
	if err != nil {
		return nil, err
	}
	g := unicodeGlyphs()
	if c.ASCII || asciiLocale(getenv) || text.AmbiguousWide() {
		g = asciiGlyphs()
	}
	return &kit{theme: t, g: g}, nil
}

// watch keeps the stream of snapshots going. A source that gives up is asked
// again a little later; one that ends without an error has no more to tell.
func watch(ctx context.Context, s Source, emit func(inspect.Snapshot), ended func(error)) {
	const pause = 2 * time.Second
	for ctx.Err() == nil {
		err := s.Watch(ctx, emit)
		if ctx.Err() != nil {
			return
		}
		ended(err)
		if err == nil {
			return
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// mailbox keeps the newest snapshot until somebody takes it. Giving never
// waits: what was not taken in time is of no interest any more.
type mailbox struct {
	mu      sync.Mutex
	snap    inspect.Snapshot
	full    bool
	dropped uint64
	ready   chan struct{}
}

func newMailbox() *mailbox { return &mailbox{ready: make(chan struct{}, 1)} }

func (m *mailbox) put(s inspect.Snapshot) {
	m.mu.Lock()
	if m.full {
		m.dropped++
	}
	m.snap, m.full = s, true
	m.mu.Unlock()
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

// take waits for a snapshot; ok is false when ctx ends first.
func (m *mailbox) take(ctx context.Context) (s inspect.Snapshot, ok bool) {
	for {
		select {
		case <-ctx.Done():
			return inspect.Snapshot{}, false
		case <-m.ready:
		}
		m.mu.Lock()
		s, ok = m.snap, m.full
		m.snap, m.full = inspect.Snapshot{}, false
		m.mu.Unlock()
		if ok {
			return s, true
		}
	}
}

// crash keeps the first panic; those that follow are most often its fruits.
type crash struct {
	mu    sync.Mutex
	value text.Safe
	stack []byte
}

func (c *crash) record(v any, stack []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stack == nil {
		c.value, c.stack = cleanText(fmt.Sprint(v)), stack
	}
}

func (c *crash) get() (text.Safe, []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value, c.stack
}

// stamp turns the framework's input messages into ours, with the moment they
// came, before they reach the model.
func stamp(now func() time.Time, debug io.Writer) func(tea.Model, tea.Msg) tea.Msg {
	return func(_ tea.Model, msg tea.Msg) tea.Msg {
		if debug != nil {
			fmt.Fprintf(debug, "%s %T\n", now().Format(time.RFC3339Nano), msg)
		}
		switch m := msg.(type) {
		case tea.KeyMsg:
			return pressed(m, now())
		case tea.MouseMsg:
			switch {
			case m.Button == tea.MouseButtonWheelUp && m.Action == tea.MouseActionPress:
				return wheelMsg{-3, now()}
			case m.Button == tea.MouseButtonWheelDown && m.Action == tea.MouseActionPress:
				return wheelMsg{3, now()}
			case m.Button == tea.MouseButtonLeft && m.Action == tea.MouseActionPress:
				return clickMsg{m.X, m.Y, now()}
			}
			return nil
		}
		return msg
	}
}

// pressed turns the framework's key message into ours. Keys that came in one
// piece, as they do on a slow line and from programs that type, are as many
// presses; a paste is one event and presses nothing.
func pressed(m tea.KeyMsg, at time.Time) tea.Msg {
	isText := (m.Type == tea.KeyRunes || m.Type == tea.KeySpace) && !m.Alt
	switch {
	case m.Paste:
		return keyPressedMsg{key{typed: strings.TrimRight(string(m.Runes), "\r\n"), paste: true, at: at}}
	case isText && len(m.Runes) > 1:
		keys := make([]key, len(m.Runes))
		for i, r := range m.Runes {
			keys[i] = key{name: string(r), typed: string(r), at: at}
		}
		return keysPressedMsg{keys}
	case isText:
		return keyPressedMsg{key{name: m.String(), typed: string(m.Runes), at: at}}
	default:
		return keyPressedMsg{key{name: m.String(), at: at}}
	}
}

// oneWriter lets whole writes of several goroutines follow one another on the
// same terminal. A terminal stays recognisable as one.
func oneWriter(w io.Writer) io.Writer {
	if f, ok := w.(term.File); ok {
		return &terminal{File: f}
	}
	return &serialWriter{w: w}
}

type terminal struct {
	term.File
	mu sync.Mutex
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.File.Write(p)
}

type serialWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *serialWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}
