package cli

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/creack/pty"

	"dlock/ui/text"
)

// A real terminal is recognised, with its width and its colours.
func TestRealTerminal(t *testing.T) {
	ptm, tty, err := pty.Open()
	if errors.Is(err, pty.ErrUnsupported) {
		t.Skip("there are no pseudo terminals here")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer ptm.Close()
	if err := pty.Setsize(ptm, &pty.Winsize{Rows: 24, Cols: 57}); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string)
	go func() {
		var b bytes.Buffer
		io.Copy(&b, ptm) // ends with an error when the other side is closed
		shown <- b.String()
	}()
	var errs bytes.Buffer
	p := newProgram([]string{"TERM=xterm"}, tty, tty, &errs)
	p.connect = func(*settings, bool) (*connection, error) {
		return &connection{inspector: &fakeInspector{snapshot: everyKind()}, close: func() {}}, nil
	}
	if code := p.main(t.Context(), []string{"ls"}); code != exitIncomplete {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	tty.Close()
	out := <-shown
	if !strings.Contains(out, "\x1b[") {
		t.Error("no colour")
	}
	widest := 0
	for line := range strings.Lines(strings.ReplaceAll(out, "\r\n", "\n")) {
		widest = max(widest, text.Width(text.Safe(strings.TrimSuffix(stripColour(line), "\n"))))
	}
	if widest > 57 || widest < 50 {
		t.Errorf("the widest line has %d cells on a terminal of 57", widest)
	}
}

// A live view is refused where the cursor cannot be moved.
func TestNeedCursor(t *testing.T) {
	for env, want := range map[string]int{"TERM=xterm": exitOK, "TERM=linux": exitOK, "TERM=dumb": exitUsage, "TERM=": exitUsage, "LANG=C": exitUsage} {
		if want != exitOK && !strings.Contains(env, "dumb") && runtime.GOOS == "windows" {
			continue
		}
		err := newProgram([]string{env}, nil, io.Discard, io.Discard).needCursor()
		if want == exitOK {
			if err != nil {
				t.Errorf("%s: %v", env, err)
			}
			continue
		}
		var exit *exitError
		if !errors.As(err, &exit) || exit.code != want || !strings.Contains(err.Error(), "dlock ls") {
			t.Errorf("%s: %v", env, err)
		}
	}
}
