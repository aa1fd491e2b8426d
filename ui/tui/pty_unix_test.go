//go:build unix

package tui

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"

	"dlock/demo"
	"dlock/inspect"
)

// childEnv makes the test binary run the interface instead of the tests, on
// the terminal it was given, in the named mode.
const childEnv = "DLOCK_TUI_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childEnv); mode == "shell" {
		os.Exit(shell())
	} else if mode != "" {
		os.Exit(child(mode))
	}
	os.Exit(m.Run())
}

// panicking panics in a command, when r is pressed.
type panicking struct{ *fakeSource }

func (p panicking) Refresh() { panic("boom \x1b[2J") }

// watchPanics panics on the goroutine of the feeder, when r is pressed.
type watchPanics struct {
	*fakeSource
	trigger chan struct{}
}

func (p watchPanics) Watch(_ context.Context, emit func(inspect.Snapshot)) error {
	emit(p.snap)
	<-p.trigger
	panic("boom in a goroutine")
}

func (p watchPanics) Refresh() { close(p.trigger) }

// strayPanics panics on a goroutine that nobody guards, when r is pressed.
type strayPanics struct{ *fakeSource }

func (p strayPanics) Refresh() { go func() { panic("boom out of reach \x1b[2J") }() }

// labPanics panics in the first command of all.
type labPanics struct{ fakeLab }

func (*labPanics) Status() demo.Status { panic("boom in a command") }

func child(mode string) int {
	fake := &fakeSource{snap: incident(), emit: make(chan inspect.Snapshot)}
	fake.snap.At = time.Now()
	var s Source = fake
	c := Config{Title: "pty"}
	switch mode {
	case "refresh-panics":
		s = panicking{fake}
	case "watch-panics":
		s = watchPanics{fake, make(chan struct{})}
	case "stray-panics":
		s = strayPanics{fake}
	case "command-panics":
		c.Lab = &labPanics{}
	}
	if err := Run(context.Background(), c, s); err != nil {
		fmt.Fprintln(os.Stderr, "Run:", err)
		return 1
	}
	fmt.Println("the end")
	return 0
}

// terminalUnderTest is a child on a terminal of its own that never answers a
// question.
type terminalUnderTest struct {
	t   *testing.T
	cmd *exec.Cmd
	pty *os.File
	tty *os.File

	mu   sync.Mutex
	out  bytes.Buffer
	more chan struct{}
	eof  chan struct{}
}

func startChild(t *testing.T, mode string, env ...string) *terminalUnderTest {
	t.Helper()
	p, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	if err := pty.Setsize(p, &pty.Winsize{Rows: 36, Cols: 120}); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe)
	c.Env = []string{childEnv + "=" + mode, "TERM=xterm-256color", "LANG=C.UTF-8", "HOME=" + t.TempDir()}
	c.Env = append(c.Env, env...)
	c.Stdin, c.Stdout, c.Stderr = tty, tty, tty
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	u := &terminalUnderTest{t: t, cmd: c, pty: p, tty: tty, more: make(chan struct{}, 1), eof: make(chan struct{})}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(u.eof)
		buf := make([]byte, 4096)
		for {
			n, err := p.Read(buf)
			u.mu.Lock()
			u.out.Write(buf[:n])
			u.mu.Unlock()
			select {
			case u.more <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		c.Process.Kill()
		c.Process.Wait()
		tty.Close()
		p.Close()
		<-u.eof
	})
	return u
}

func (u *terminalUnderTest) output() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.out.String()
}

// waitFor waits until the child has written s.
func (u *terminalUnderTest) waitFor(s string) {
	u.t.Helper()
	limit := time.After(20 * time.Second)
	for !strings.Contains(u.output(), s) {
		select {
		case <-u.more:
		case <-limit:
			out := u.output()
			u.t.Fatalf("%q never came; the end of what came is %q", s, out[max(0, len(out)-2000):])
		}
	}
}

// waitForMore waits until the child has written anything.
func (u *terminalUnderTest) waitForMore() {
	u.t.Helper()
	select {
	case <-u.more:
	case <-time.After(20 * time.Second):
		out := u.output()
		u.t.Fatalf("nothing more came; the end of what came is %q", out[max(0, len(out)-2000):])
	}
}

// exit waits for the child's end and returns its code.
func (u *terminalUnderTest) exit() int {
	u.t.Helper()
	done := make(chan int, 1)
	go func() {
		u.cmd.Wait()
		done <- u.cmd.ProcessState.ExitCode()
	}()
	select {
	case code := <-done:
		return code
	case <-time.After(20 * time.Second):
		u.t.Fatal("the child does not end")
		return -1
	}
}

const (
	enterScreen = "\x1b[?1049h"
	leaveScreen = "\x1b[?1049l"
	hideCursor  = "\x1b[?25l"
	showCursor  = "\x1b[?25h"
	pasteOff    = "\x1b[?2004l"
)

// mustBeRestored fails unless the terminal is as it was before the child.
func (u *terminalUnderTest) mustBeRestored(before *term.State) {
	u.t.Helper()
	u.waitFor(leaveScreen)
	out := u.output()
	for _, seq := range []string{leaveScreen, showCursor, pasteOff} {
		if !strings.Contains(out, seq) {
			u.t.Errorf("%q was not written", seq)
		}
	}
	after, err := term.GetState(u.tty.Fd())
	if err != nil {
		u.t.Fatal(err)
	}
	if *before != *after {
		u.t.Errorf("the terminal's modes are %+v, before %+v", after, before)
	}
}

func (u *terminalUnderTest) state() *term.State {
	u.t.Helper()
	s, err := term.GetState(u.tty.Fd())
	if err != nil {
		u.t.Fatal(err)
	}
	return s
}

// A terminal that never answers must never be asked: the question costs five
// seconds at the start.
func TestTheTerminalIsAskedNothing(t *testing.T) {
	for _, env := range []string{"TERM=xterm-256color", "TERM=linux", "NO_COLOR=1"} {
		u := startChild(t, "plain", env)
		u.waitFor("lock:orders:settle:eu-west")
		u.pty.WriteString("q")
		if code := u.exit(); code != 0 {
			t.Errorf("%s: exit code %d", env, code)
		}
		u.waitFor("the end")
		for _, q := range []string{"\x1b]11;?", "\x1b]10;?", "\x1b[6n", "\x1b[c", "\x1b[>c"} {
			if strings.Contains(u.output(), q) {
				t.Errorf("%s: the terminal was asked %q", env, q)
			}
		}
	}
}

func TestSignalsRestoreTheTerminal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGABRT} {
		u := startChild(t, "plain")
		before := u.stateOfFresh()
		u.waitFor("lock:orders:settle:eu-west")
		if err := u.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if code := u.exit(); code != 0 {
			t.Errorf("%v: exit code %d", sig, code)
		}
		u.mustBeRestored(before)
		u.waitFor("the end")
		if out := u.output(); strings.Index(out, "the end") < strings.LastIndex(out, leaveScreen) {
			t.Errorf("%v: Run returned before the terminal was restored", sig)
		}
	}
}

// stateOfFresh is what the modes of a new terminal are, whatever the child has
// done to its own meanwhile.
func (u *terminalUnderTest) stateOfFresh() *term.State {
	u.t.Helper()
	p, tty, err := pty.Open()
	if err != nil {
		u.t.Fatal(err)
	}
	defer p.Close()
	defer tty.Close()
	s, err := term.GetState(tty.Fd())
	if err != nil {
		u.t.Fatal(err)
	}
	return s
}

func TestPanicsRestoreTheTerminalAndAreShown(t *testing.T) {
	for mode, says := range map[string]string{
		"watch-panics": "dlock crashed: boom in a goroutine", "refresh-panics": `dlock crashed: boom \x1b[2J`, "command-panics": "dlock crashed: boom in a command",
	} {
		t.Run(mode, func(t *testing.T) {
			u := startChild(t, mode)
			before := u.stateOfFresh()
			if mode != "command-panics" {
				u.waitFor("lock:orders:settle:eu-west")
				u.pty.WriteString("r")
			}
			if code := u.exit(); code != 1 {
				t.Errorf("exit code %d", code)
			}
			u.waitFor(says)
			u.mustBeRestored(before)
			out := u.output()
			if strings.Index(out, "crashed") < strings.LastIndex(out, leaveScreen) {
				t.Error("the panic was printed before the terminal was restored")
			}
			if !strings.Contains(out, "ui/tui/pty_unix_test.go") {
				t.Error("the stack does not show where it was")
			}
		})
	}
}

// A panic that nothing in the process can catch.
func TestStrayPanicsRestoreTheTerminalAndAreShown(t *testing.T) {
	u := startChild(t, "stray-panics", "PATH="+os.Getenv("PATH"))
	before := u.stateOfFresh()
	u.waitFor("lock:orders:settle:eu-west")
	u.pty.WriteString("r")
	if code := u.exit(); code != 2 {
		t.Errorf("exit code %d", code)
	}
	u.waitFor("dlock crashed:")
	for !strings.Contains(u.since("dlock crashed:"), "goroutine ") {
		u.waitForMore()
	}
	u.mustBeRestored(before)
	tail := u.since(leaveScreen)
	if !strings.Contains(tail, "panic: boom out of reach [2J") {
		t.Errorf("after the screen: %q", tail)
	}
}

// Sizes that come faster than frames, some of them absurd, end in a screen of
// the last size.
func TestResizeStorm(t *testing.T) {
	u := startChild(t, "plain")
	u.waitFor("lock:orders:settle:eu-west")
	size := func(w, h int) {
		if err := pty.Setsize(u.pty, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300 {
		size(1+i*37%200, 1+i*23%70)
	}
	size(44, 11)
	u.waitFor("now     44 x 11")
	size(120, 36)
	for !strings.Contains(u.since("44 x 11"), "lock:orders:settle:eu-west") {
		u.waitForMore()
	}
	u.pty.WriteString("q")
	if code := u.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestNothingElseIsWritten(t *testing.T) {
	u := startChild(t, "plain")
	u.waitFor("lock:orders:settle:eu-west")
	u.pty.WriteString("2")
	u.waitFor("Nodes 4/5 up")
	u.pty.WriteString("\x03")
	if code := u.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	u.waitFor("the end")
	out := u.output()
	if head, _, _ := strings.Cut(out, enterScreen); head != hideCursor {
		t.Errorf("before the screen: %q", head)
	}
	if tail := out[strings.LastIndex(out, leaveScreen)+len(leaveScreen):]; strings.TrimSpace(strings.TrimPrefix(tail, showCursor)) != "the end" {
		t.Errorf("after the screen: %q", tail)
	}
}
