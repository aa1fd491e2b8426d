package tui

import (
	"reflect"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"dlock/inspect"
)

// The part of the screen helper that speaks the framework's language.

// send gives a message to the app and carries out what comes of it.
func (s *screen) send(msg tea.Msg) {
	_, c := s.app.Update(msg)
	s.run(c)
}

// run carries out a command and gives its message back, until nothing is left
// to do.
func (s *screen) run(c tea.Cmd) {
	if c == nil {
		return
	}
	switch m := c().(type) {
	case nil:
	case tea.QuitMsg:
		s.quit = true
	case tea.BatchMsg:
		for _, c := range m {
			s.run(c)
		}
	default:
		if reflect.TypeOf(m).PkgPath() != reflect.TypeOf(tea.QuitMsg{}).PkgPath() { // not the framework's own
			s.send(m)
		}
	}
}

func (s *screen) resize(w, h int) { s.send(tea.WindowSizeMsg{Width: w, Height: h}) }

// load brings a snapshot.
func (s *screen) load(snap inspect.Snapshot) { s.send(snapshotArrivedMsg{snap, s.now}) }

func (s *screen) tick() { s.send(tickedMsg{s.app.ticks, s.now}) }

// press presses keys, far enough apart that none is taken for noise.
func (s *screen) press(names ...string) {
	for _, n := range names {
		s.now = s.now.Add(500 * time.Millisecond)
		s.pressNow(n)
	}
}

func (s *screen) pressNow(name string) {
	k := key{name: name, at: s.now}
	if len([]rune(name)) == 1 {
		k.typed = name
	}
	s.send(keyPressedMsg{k})
}

func (s *screen) view() string { return s.app.View() }

func (s *screen) lines() []string { return strings.Split(s.view(), "\n") }
