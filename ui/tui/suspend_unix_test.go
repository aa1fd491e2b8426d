//go:build unix

package tui

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/charmbracelet/x/term"
)

// shell starts the interface as a job of its own on this terminal, as a shell
// does, says when it has stopped, and passes signals on to it.
func shell() int {
	pass := map[os.Signal]syscall.Signal{syscall.SIGUSR1: syscall.SIGCONT, syscall.SIGUSR2: syscall.SIGTSTP, syscall.SIGALRM: syscall.SIGSTOP}
	told := make(chan os.Signal, 8)
	for sig := range pass {
		signal.Notify(told, sig)
	}
	exe, err := os.Executable()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	c := exec.Command(exe)
	c.Env = append(os.Environ(), childEnv+"=plain")
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: 0}
	if err := c.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	go func() {
		for sig := range told {
			syscall.Kill(c.Process.Pid, pass[sig])
		}
	}()
	for {
		var ws syscall.WaitStatus
		_, err := syscall.Wait4(c.Process.Pid, &ws, syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			fmt.Println(err)
			return 1
		case ws.Stopped():
			fmt.Printf("[stopped by %d]", ws.StopSignal())
		case ws.Exited():
			return ws.ExitStatus()
		default:
			return 1
		}
	}
}

// since is what came after the last s.
func (u *terminalUnderTest) since(s string) string {
	out := u.output()
	return out[strings.LastIndex(out, s)+len(s):]
}

func (u *terminalUnderTest) signal(sig syscall.Signal) {
	u.t.Helper()
	if err := u.cmd.Process.Signal(sig); err != nil {
		u.t.Fatal(err)
	}
}

func TestStoppedByASignalOrAKeyAndContinued(t *testing.T) {
	for name, stop := range map[string]func(u *terminalUnderTest){
		"kill -TSTP": func(u *terminalUnderTest) { u.signal(syscall.SIGUSR2) },
		"ctrl-z":     func(u *terminalUnderTest) { u.pty.WriteString("\x1a") },
	} {
		t.Run(name, func(t *testing.T) {
			u := startChild(t, "shell")
			fresh := u.stateOfFresh()
			for round := range 2 {
				u.waitFor("lock:orders:settle:eu-west")
				stop(u)
				stopped := fmt.Sprintf("[stopped by %d]", stopSignal)
				for n := round + 1; strings.Count(u.output(), stopped) < n; {
					u.waitForMore()
				}
				u.mustBeRestored(fresh)
				if out := u.output(); strings.LastIndex(out, stopped) < strings.LastIndex(out, leaveScreen) {
					t.Fatal("it stopped before it had left the screen")
				}
				u.signal(syscall.SIGUSR1)
				for !strings.Contains(u.since(stopped), "was stopped for") {
					u.waitForMore()
				}
				again := u.since(stopped)
				if !strings.Contains(again, enterScreen) || !strings.Contains(again, "lock:orders:settle:eu-west") {
					t.Fatalf("the screen is not drawn anew: %q", again)
				}
			}
			u.pty.WriteString("q")
			if code := u.exit(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			u.mustBeRestored(fresh)
		})
	}
}

func TestDrawnAnewAfterSIGSTOP(t *testing.T) {
	u := startChild(t, "shell")
	fresh := u.stateOfFresh()
	u.waitFor("lock:orders:settle:eu-west")
	u.signal(syscall.SIGALRM)
	stopped := fmt.Sprintf("[stopped by %d]", syscall.SIGSTOP)
	u.waitFor(stopped)
	// What the shell does to the terminal meanwhile.
	if err := term.SetState(u.tty.Fd(), fresh); err != nil {
		t.Fatal(err)
	}
	u.signal(syscall.SIGUSR1)
	for !strings.Contains(u.since(stopped), "was stopped for") {
		u.waitForMore()
	}
	if !strings.Contains(u.since(stopped), "lock:orders:settle:eu-west") {
		t.Fatal("the screen is not drawn anew")
	}
	if *u.state() == *fresh {
		t.Fatal("the terminal is not raw again")
	}
	u.pty.WriteString("q")
	if code := u.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	u.mustBeRestored(fresh)
}

// Without a shell the system ignores the wish to stop.
func TestGoesOnWhereNothingCanStopIt(t *testing.T) {
	u := startChild(t, "plain")
	u.waitFor("lock:orders:settle:eu-west")
	u.pty.WriteString("\x1a")
	u.waitFor("there is no shell to go back to")
	u.pty.WriteString("q")
	if code := u.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
