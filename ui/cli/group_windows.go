package cli

import (
	"os"
	"os/exec"
	"syscall"
)

// hasGroups says that a command and what it starts can be ended together.
const hasGroups = false

// group is a command. Windows has neither process groups nor signals: the
// console sends Ctrl-C to all its programs by itself, and to end the command
// is to kill it. What it has started is not ended with it.
type group struct {
	cmd    *exec.Cmd
	events <-chan groupEvent
}

// groupEvent is news of the command: it has exited.
type groupEvent struct {
	exited bool
	signal syscall.Signal
	code   int
}

func startGroup(cmd *exec.Cmd, _ chan os.Signal) (*group, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	events := make(chan groupEvent, 1)
	go func() {
		_ = cmd.Wait() // the exit code tells
		events <- groupEvent{exited: true, code: cmd.ProcessState.ExitCode()}
	}()
	return &group{cmd: cmd, events: events}, nil
}

func (g *group) terminate()               { g.kill() }
func (g *group) kill()                    { _ = g.cmd.Process.Kill() }
func (g *group) forward(os.Signal, bool)  {}
func (g *group) stoppedBy(syscall.Signal) {}
func (g *group) over(bool)                {}
func (g *group) alive() bool              { return false }
func (g *group) close()                   {}
