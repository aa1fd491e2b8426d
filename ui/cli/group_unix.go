//go:build unix

package cli

import (
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// hasGroups says that a command and what it starts can be ended together.
const hasGroups = true

// passed are the signals that the command gets in our place, beside those that
// end a program.
var passed = []os.Signal{
	syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT,
}

// group is a command in a process group of its own, so that it can be ended
// with everything it has started. On a terminal it does what a shell does for
// a job: the command gets the terminal, and Ctrl-Z stops us with it. Its methods
// are for one goroutine.
type group struct {
	cmd    *exec.Cmd
	pid    int // of the command, and the number of its group
	events <-chan groupEvent

	tty   *os.File // the terminal that controls us, nil for none
	modes *term.State
	owns  bool // the terminal was given to the command
	wants bool // it is to have it back when we are continued
	asked bool // we were asked to stop by SIGTSTP
}

// groupEvent is news of the command: it was stopped, or it has exited.
type groupEvent struct {
	exited bool
	signal syscall.Signal // that stopped or ended it, 0 for none
	code   int
}

// startGroup starts the command. From then on the signals in passed arrive on
// the channel.
func startGroup(cmd *exec.Cmd, signals chan os.Signal) (*group, error) {
	g := &group{cmd: cmd}
	notify(signals, passed...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
		g.tty = tty
		// Only where it has the terminal for itself. Beside others in a
		// pipeline it gets it once it asks.
		if onTerminal(cmd.Stdin) && onTerminal(cmd.Stdout) && g.foreground() == unix.Getpgrp() {
			cmd.SysProcAttr.Foreground, cmd.SysProcAttr.Ctty = true, int(tty.Fd())
			g.owns, g.wants = true, true
			g.modes, _ = term.GetState(int(tty.Fd()))
		}
	}
	endWithParent(cmd.SysProcAttr)

	events, started := make(chan groupEvent, 8), make(chan error)
	go g.wait(started, events)
	if err := <-started; err != nil {
		g.takeTerminal()
		if g.tty != nil {
			g.tty.Close()
		}
		return nil, err
	}
	g.events = events
	return g, nil
}

func onTerminal(stream any) bool {
	_, yes := realTerminal(stream)
	return yes
}

// wait starts the command and tells what becomes of it. The thread it does so
// on must live as long as the command, since its end is what the system takes
// for ours.
func (g *group) wait(started chan<- error, events chan<- groupEvent) {
	runtime.LockOSThread()
	err := g.cmd.Start()
	if err == nil {
		g.pid = g.cmd.Process.Pid
	}
	started <- err
	if err != nil {
		return
	}
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(g.pid, &status, syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			events <- groupEvent{exited: true, code: exitFailure}
			return
		case status.Stopped():
			events <- groupEvent{signal: status.StopSignal()}
		case status.Signaled():
			events <- groupEvent{exited: true, signal: status.Signal(), code: 128 + int(status.Signal())}
			return
		case status.Exited():
			events <- groupEvent{exited: true, code: status.ExitStatus()}
			return
		}
	}
}

// send signals the whole group. A group that is gone needs none.
func (g *group) send(s syscall.Signal) { _ = syscall.Kill(-g.pid, s) }

// terminate asks all to end; a process that is stopped must be continued to
// hear of it.
func (g *group) terminate() {
	g.send(syscall.SIGTERM)
	g.send(syscall.SIGCONT)
}

func (g *group) kill() { g.send(syscall.SIGKILL) }

// forward passes a signal on that was meant for us. goOn says whether the
// command may continue after a stop; without its lock it may not.
func (g *group) forward(s os.Signal, goOn bool) {
	switch sig := s.(syscall.Signal); sig {
	case syscall.SIGTSTP:
		g.asked = true
		g.send(sig)
	case syscall.SIGCONT:
		if goOn {
			g.goOn()
		}
	default:
		g.send(sig)
	}
}

// stoppedBy deals with a command that was stopped by a signal.
func (g *group) stoppedBy(s syscall.Signal) {
	wantsTerminal := s == syscall.SIGTTIN || s == syscall.SIGTTOU
	switch {
	case wantsTerminal && g.foreground() == unix.Getpgrp():
		g.wants = true
		g.goOn()
	case wantsTerminal, g.owns, g.asked:
		// The shell waits for us to stop before it takes the terminal.
		g.wants = g.wants || wantsTerminal
		g.stopWith()
	}
	// Else somebody stopped the command and not us: it keeps its lock.
}

// stopWith stops this program as its command was stopped. The lock is not
// renewed meanwhile.
func (g *group) stopWith() {
	typed := g.owns
	g.takeTerminal()
	asked := g.asked
	g.asked = false
	if sid, err := unix.Getsid(0); err != nil || sid == unix.Getpgrp() {
		// No shell is there that could continue us.
		g.goOn()
		return
	}
	if asked && !typed {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		return
	}
	// The others of our job were not stopped with the command's group. It is
	// not SIGTSTP, which has no effect any more once it was caught.
	_ = syscall.Kill(0, syscall.SIGSTOP)
}

// goOn continues the command, with the terminal if it had it and we have it now.
func (g *group) goOn() {
	if g.wants && g.foreground() == unix.Getpgrp() {
		g.setForeground(g.pid)
		g.owns = true
	}
	g.send(syscall.SIGCONT)
}

// over is called when the command has exited.
func (g *group) over(bySignal bool) {
	g.takeTerminal()
	if bySignal && g.modes != nil {
		// It had no chance to put the terminal right itself.
		_ = term.Restore(int(g.tty.Fd()), g.modes)
	}
}

// close frees what the group holds. It waits for what copies the command's
// streams, if they are no files.
func (g *group) close() {
	if g.tty != nil {
		g.tty.Close()
	}
	_ = g.cmd.Wait() // it has been waited for; this is for the copying
}

// alive reports whether anything of the group is left. It may be called once
// the command itself has exited.
func (g *group) alive() bool {
	for {
		// Orphans that have become our children.
		pid, err := syscall.Wait4(-g.pid, nil, syscall.WNOHANG, nil)
		if err != syscall.EINTR && (err != nil || pid <= 0) {
			break
		}
	}
	return syscall.Kill(-g.pid, 0) != syscall.ESRCH
}

// foreground is the group that has the terminal, 0 for none.
func (g *group) foreground() int {
	if g.tty == nil {
		return 0
	}
	pgrp, err := unix.IoctlGetInt(int(g.tty.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return pgrp
}

func (g *group) takeTerminal() {
	if g.owns && g.foreground() == g.pid {
		g.setForeground(unix.Getpgrp())
	}
	g.owns = false
}

// setForeground gives the terminal to a group. Whoever does so from the
// background is stopped for it unless it ignores SIGTTOU; by now nothing is
// started any more that would inherit that.
func (g *group) setForeground(pgrp int) {
	signal.Ignore(syscall.SIGTTOU)
	_ = unix.IoctlSetPointerInt(int(g.tty.Fd()), unix.TIOCSPGRP, pgrp)
}
