package tui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"dlock/inspect"
)

func TestMailboxKeepsTheNewest(t *testing.T) {
	box := newMailbox()
	const n = 10_000
	var got uint64
	var taken uint64
	var wg sync.WaitGroup
	wg.Go(func() {
		for got < n {
			s, ok := box.take(context.Background())
			if !ok || s.Seq <= got {
				t.Errorf("took %d after %d", s.Seq, got)
				return
			}
			got = s.Seq
			taken++
		}
	})
	for i := range uint64(n) {
		box.put(inspect.Snapshot{Seq: i + 1})
	}
	wg.Wait()
	if taken+box.dropped != n {
		t.Fatalf("%d taken and %d dropped of %d", taken, box.dropped, n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, ok := box.take(ctx); ok {
		t.Fatal("something came out of an empty box")
	}
}

type flaky struct {
	*fakeSource
	errs []error
	n    int
}

func (f *flaky) Watch(ctx context.Context, _ func(inspect.Snapshot)) error {
	f.n++
	if f.n <= len(f.errs) {
		return f.errs[f.n-1]
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestWatchIsTakenUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := &flaky{errs: []error{errBoom, errBoom}}
		var told []error
		done := make(chan struct{})
		go func() {
			watch(ctx, f, nil, func(err error) { told = append(told, err) })
			close(done)
		}()
		time.Sleep(time.Minute) // of the bubble's clock
		synctest.Wait()
		if f.n != 3 || len(told) != 2 {
			t.Errorf("watched %d times, told of %v", f.n, told)
		}
		cancel()
		<-done
		if len(told) != 2 {
			t.Errorf("the end by our own wish is told as a failure: %v", told)
		}
	})
	f := &flaky{errs: []error{nil}}
	var told int
	watch(context.Background(), f, nil, func(err error) {
		if err == nil {
			told++
		}
	})
	if f.n != 1 || told != 1 {
		t.Errorf("a source that has no more to tell: watched %d times, told %d times", f.n, told)
	}
}

func TestTrackerWaitsForWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTracker()
		if !tr.begin() {
			t.Fatal("work may not begin")
		}
		start := time.Now()
		go func() {
			time.Sleep(3 * time.Second)
			tr.end()
		}()
		tr.wait(10 * time.Second)
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("waited %v", d)
		}
		if tr.begin() {
			t.Error("work begins after the end")
		}
		hang := newTracker()
		hang.begin()
		start = time.Now()
		hang.wait(10 * time.Second)
		if d := time.Since(start); d != 10*time.Second {
			t.Errorf("waited %v for work that never ends", d)
		}
	})
}

func TestStamp(t *testing.T) {
	var log bytes.Buffer
	f := stamp(func() time.Time { return t0 }, &log)
	keyOf := func(k tea.Key) key {
		m, ok := f(nil, tea.KeyMsg(k)).(keyPressedMsg)
		if !ok {
			t.Fatalf("%v is no key press", k)
		}
		return m.key
	}
	runes := func(s string) tea.Key { return tea.Key{Type: tea.KeyRunes, Runes: []rune(s)} }
	for _, c := range []struct {
		name string
		in   tea.Key
		want key
	}{
		{"a letter", runes("X"), key{name: "X", typed: "X"}},
		{"a name", tea.Key{Type: tea.KeyCtrlC}, key{name: "ctrl+c"}},
		{"space", tea.Key{Type: tea.KeySpace, Runes: []rune(" ")}, key{name: " ", typed: " "}},
		{"a paste is text, not keys", tea.Key{Type: tea.KeyRunes, Runes: []rune("X"), Paste: true}, key{typed: "X", paste: true}},
		{"a paste's last newline", tea.Key{Type: tea.KeyRunes, Runes: []rune("a\nXq\r\n"), Paste: true}, key{typed: "a\nXq", paste: true}},
		{"alt types nothing", tea.Key{Type: tea.KeyRunes, Runes: []rune("x"), Alt: true}, key{name: "alt+x"}},
	} {
		c.want.at = t0
		if got := keyOf(c.in); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	burst, ok := f(nil, tea.KeyMsg(runes("Xé"))).(keysPressedMsg)
	if want := []key{{name: "X", typed: "X", at: t0}, {name: "é", typed: "é", at: t0}}; !ok || !slices.Equal(burst.keys, want) {
		t.Errorf("keys in one piece: %+v, want %+v", burst.keys, want)
	}
	if m, ok := f(nil, tea.MouseMsg{Button: tea.MouseButtonWheelUp, Action: tea.MouseActionPress}).(wheelMsg); !ok || m.rows >= 0 {
		t.Errorf("wheel up: %+v", m)
	}
	if m := f(nil, tea.MouseMsg{Action: tea.MouseActionMotion}); m != nil {
		t.Errorf("a mere motion: %+v", m)
	}
	if size := (tea.WindowSizeMsg{Width: 1, Height: 2}); f(nil, size) != size {
		t.Error("the size does not pass")
	}
	if strings.Contains(log.String(), "Xq") || strings.Count(log.String(), "\n") != 10 {
		t.Errorf("the log is %q", log.String())
	}
}

// burst presses keys that came in one piece.
func (s *screen) burst(keys string) {
	s.now = s.now.Add(500 * time.Millisecond)
	s.send(pressed(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(keys)}, s.now))
}

func TestKeysInOnePieceAreSingleKeys(t *testing.T) {
	s := loaded(t, 120, 36, Config{})
	s.burst("jjj")
	if s.app.locks.list.cur != 3 {
		t.Errorf("jjj moves by %d", s.app.locks.list.cur)
	}
	s.burst("21")
	if s.app.view != viewLocks {
		t.Errorf("21 leads to view %d", s.app.view)
	}
	s.burst("/us-east")
	s.mustShow("Locks 1 "+ofAll(), "us-east")

	l := &fakeLab{status: demoStatus()}
	s = loaded(t, 120, 36, Config{Lab: l})
	s.burst("Fp2")
	if !slices.Equal(l.did, []string{"pause n2"}) {
		t.Errorf("Fp2 did %q", l.did)
	}
}

func TestPastePressesNothing(t *testing.T) {
	paste := func(s *screen, text string) {
		s.send(pressed(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text), Paste: true}, s.now))
	}
	s := loaded(t, 120, 36, Config{Lab: &fakeLab{status: demoStatus()}})
	for _, p := range []string{"X", "q", "2", "q\n", "?"} {
		paste(s, p)
	}
	if s.quit || s.app.release != nil || s.app.help != nil || s.app.view != viewLocks {
		t.Fatal("a paste pressed a key")
	}
	s.press("/")
	paste(s, "us-east\n")
	s.mustShow("Locks 1 " + ofAll())
	if s.app.input == nil || s.app.input.text != "us-east" {
		t.Fatalf("pasted %+v", s.app.input)
	}
}

func TestMouse(t *testing.T) {
	s := loaded(t, 120, 36, Config{Mouse: true})
	s.send(clickMsg{20, 3 + 2 + 4, s.now})
	if s.app.locks.list.cur != 4 {
		t.Fatalf("a click on the fifth row selects row %d", s.app.locks.list.cur+1)
	}
	s.send(clickMsg{20, 0, s.now})
	s.send(clickMsg{20, 35, s.now})
	s.send(wheelMsg{3, s.now})
	if s.app.locks.list.cur != 7 {
		t.Fatalf("the wheel moves to row %d", s.app.locks.list.cur+1)
	}
}

func TestCopyWritesOneSequence(t *testing.T) {
	var out bytes.Buffer
	w := &world{out: oneWriter(&out), now: func() time.Time { return t0 }}
	msg := w.copyText("a\x1b\nb", "it")()
	if out.String() != "\x1b]52;c;YRsKYg==\x07" {
		t.Fatalf("wrote %q", out.String())
	}
	if n := msg.(noticedMsg).notice; n.bad || !strings.HasPrefix(string(n.text), "copied it") {
		t.Fatalf("says %+v", n)
	}
	w.out = failing{}
	if n := w.copyText("x", "it")().(noticedMsg).notice; !n.bad {
		t.Fatalf("says %+v", n)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("closed") }

func TestCopiedCommandsOnlyLook(t *testing.T) {
	got := lookCommands("lock:a\nb c")
	if got != "PTTL \"lock:a\\nb c\"\nGET \"lock:a\\nb c\"\n" {
		t.Fatalf("%q", got)
	}
}

func TestRunRefusesAnUnknownTheme(t *testing.T) {
	err := Run(context.Background(), Config{Theme: "solarized", Output: io.Discard, Input: strings.NewReader("")}, &fakeSource{})
	if err == nil || !strings.Contains(err.Error(), "solarized") {
		t.Fatalf("%v", err)
	}
}
