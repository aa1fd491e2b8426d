//go:build unix

package cli

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
)

// typist is somebody at a terminal on which a program runs.
type typist struct {
	t    *testing.T
	tty  *os.File
	cmd  *exec.Cmd
	done chan struct{}

	mu     sync.Mutex
	screen strings.Builder
	more   chan struct{}
}

// typeAt starts a program on a terminal of its own, with a node to lock on.
func typeAt(t *testing.T, name string, args ...string) *typist {
	t.Helper()
	l := labtest.Start(t, lab.Config{Nodes: 1, Kind: lab.Embedded})
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "DLOCK_NODES="+strings.Join(l.URLs(), " "), "DLOCK_TIMEOUT=2s", "PS1=$ ", "TERM=dumb", "HISTFILE=")
	tty, err := pty.Start(cmd)
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	y := &typist{t: t, tty: tty, cmd: cmd, done: make(chan struct{}), more: make(chan struct{}, 1)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			y.mu.Lock()
			y.screen.Write(buf[:n])
			y.mu.Unlock()
			select {
			case y.more <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		defer close(y.done)
		_ = cmd.Wait() // the exit code tells
	}()
	t.Cleanup(func() {
		// Whoever has the terminal now goes with the one who started it;
		// the reader ends when nobody is left on it.
		if pgrp, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP); err == nil && t.Failed() {
			_ = syscall.Kill(-pgrp, syscall.SIGKILL)
		}
		_ = cmd.Process.Kill()
		<-y.done
		select {
		case <-read:
		case <-time.After(5 * time.Second):
			t.Error("somebody is still at the terminal")
		}
		tty.Close()
	})
	return y
}

func (y *typist) types(s string) {
	y.t.Helper()
	if _, err := y.tty.WriteString(s); err != nil {
		y.t.Fatal(err)
	}
}

// sees waits until the words have appeared, and forgets what is before them.
func (y *typist) sees(words string) {
	y.t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		y.mu.Lock()
		before, rest, found := strings.Cut(y.screen.String(), words)
		if found {
			y.screen.Reset()
			y.screen.WriteString(rest)
		}
		y.mu.Unlock()
		if found {
			return
		}
		select {
		case <-y.more:
		case <-deadline:
			y.t.Fatalf("%q never appeared in %q", words, before)
		}
	}
}

func (y *typist) code() int {
	y.t.Helper()
	select {
	case <-y.done:
		return y.cmd.ProcessState.ExitCode()
	case <-time.After(30 * time.Second):
		y.t.Fatal("it does not end")
		return 0
	}
}

// A command that asks at the terminal is answered there, and afterwards the
// terminal is its owner's again.
func TestRunGivesTheTerminalAndTakesItBack(t *testing.T) {
	y := typeAt(t, "sh", "-c", `dlock run job -- sh -c 'echo ask; read -r x </dev/tty; echo "got $x"'; echo "code $?"; read -r y; echo "then $y"`)
	y.sees("ask")
	y.types("this\n")
	y.sees("got this")
	y.sees("code 0")
	y.types("that\n")
	y.sees("then that")
	if code := y.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// In a pipeline the terminal stays with the others until the command asks.
func TestRunInAPipelineAsksForTheTerminal(t *testing.T) {
	y := typeAt(t, "sh", "-c", `dlock run job -- sh -c 'echo ask >/dev/tty; read -r x </dev/tty; echo "got $x"' | cat; echo over; read -r y; echo "then $y"`)
	y.sees("ask")
	y.types("this\n")
	y.sees("got this")
	y.sees("over")
	y.types("that\n")
	y.sees("then that")
}

// Ctrl-C is the command's, once.
func TestRunLeavesCtrlCToTheCommand(t *testing.T) {
	y := typeAt(t, "dlock", "run", "job", "--", "sh", "-c", `n=0; trap 'n=$((n+1)); echo "caught $n"' INT; echo ready; read -r x; read -r x; echo "caught $n in all"; exit 5`)
	y.sees("ready")
	y.types("\x03")
	y.sees("caught 1")
	y.types("a\nb\n")
	y.sees("caught 1 in all")
	if code := y.code(); code != 5 {
		t.Errorf("exit code %d", code)
	}
	y = typeAt(t, "dlock", "run", "job", "--", "sh", "-c", `echo ready; exec sleep 1000`)
	y.sees("ready")
	y.types("\x03")
	if code := y.code(); code != 130 {
		t.Errorf("exit code %d", code)
	}
}

// Ctrl-Z stops the job as a whole, and fg brings it back with the terminal;
// where no shell would, it does nothing.
func TestRunIsAJobOfTheShell(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("needs bash, which is not installed")
	}
	y := typeAt(t, "bash", "--norc", "--noprofile", "-i")
	y.sees("$ ")
	y.types("dlock run job -- cat\n")
	y.sees("dlock run job -- cat")
	for _, word := range []string{"first", "second", "third"} {
		y.types(word + "\n")
		y.sees(word) // the terminal's echo
		y.sees(word) // the command has the terminal
		y.types("\x1a")
		y.sees("Stopped")
		y.types("echo at the she''ll\n")
		y.sees("at the shell")
		y.types("fg\n")
		y.sees("dlock run")
	}
	y.types("last\n")
	y.sees("last")
	y.sees("last")
	y.types("\x04")
	y.types("echo co''de $?\n")
	y.sees("code 0")

	y = typeAt(t, "dlock", "run", "job", "--", "sh", "-c", `echo ready; read -r x; echo "got $x"`)
	y.sees("ready")
	y.types("\x1a")
	y.types("this\n")
	y.sees("got this")
}

// A command that is killed in the middle of drawing leaves a usable terminal.
func TestRunRestoresTheTerminalAfterAKill(t *testing.T) {
	y := typeAt(t, "sh", "-c", `dlock run job -- sh -c 'stty -echo raw; kill -KILL $$'; stty -a`)
	y.sees(" icanon")
	y.sees(" echo ")
}
