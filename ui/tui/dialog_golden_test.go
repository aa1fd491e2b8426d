package tui

import (
	"fmt"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"dlock/inspect"
)

// TestDialogs keeps the screens of several locks, of the command line and of a
// recording as files.
func TestDialogs(t *testing.T) {
	marked := func(t testing.TB, w, h int, l look) *screen {
		s := newScreen(t, w, h, l, Config{Env: "PROD", Operator: "ana", Audit: func(inspect.Result) error { return nil }})
		s.load(incident())
		s.tick()
		s.press("m", "m", "m", "G", "m", "g")
		return s
	}
	for name, show := range map[string]func(t testing.TB, w, h int, l look) *screen{
		"marks": marked,
		"bulk": func(t testing.TB, w, h int, l look) *screen {
			s := marked(t, w, h, l)
			s.press("X")
			s.view()
			s.press("end")
			s.view()
			s.press("r", "e", "l")
			return s
		},
		"bulk-done": func(t testing.TB, w, h int, l look) *screen {
			s := marked(t, w, h, l)
			s.source.result = inspect.Result{Outcome: inspect.OutReleased, Freed: true}
			s.press("X")
			s.view()
			s.press("end")
			s.view()
			for _, c := range "release 2" {
				s.press(string(c))
			}
			s.press("tab", "enter")
			return s
		},
		"command": func(t testing.TB, w, h int, l look) *screen {
			s := marked(t, w, h, l)
			s.press(":", "f", "i", "l", "t", "e", "r", " ", "s")
			return s
		},
		"replay": func(t testing.TB, w, h int, l look) *screen {
			s, rec := replayed(t)
			s.app.kit = newScreen(t, w, h, l, Config{}).app.kit
			s.resize(w, h)
			rec.pos.Playing, rec.pos.Speed = true, 10
			s.tick()
			s.app.at(s.now.Add(100 * time.Millisecond))
			return s
		},
	} {
		for _, size := range []struct {
			w, h  int
			looks map[string]look
		}{
			{120, 36, map[string]look{"colour": coloured, "mono": mono, "ascii": ascii}},
			{80, 24, map[string]look{"colour": sixteen, "ascii": ascii}},
			{60, 16, map[string]look{"plain": plain}},
		} {
			for as, l := range size.looks {
				t.Run(fmt.Sprintf("%s-%dx%d-%s", name, size.w, size.h, as), func(t *testing.T) {
					s := show(t, size.w, size.h, l)
					v := s.view()
					checkScreen(t, v, size.w, size.h)
					golden.RequireEqual(t, v+"\n")
				})
			}
		}
	}
}
