//go:build unix

package lab

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"
)

var errEnded = errors.New("redis-server has ended by itself")

// child is one process, from its start to its end, with the process group it
// leads. Exactly one goroutine must call observe.
type child struct {
	pid   int
	guard *guardian
	over  chan struct{} // closed when the process is gone and its connections with it

	mu      sync.Mutex
	stopped bool
	change  chan struct{} // closed and replaced when stopped becomes true
}

func newChild(pid int, guard *guardian) *child {
	return &child{pid: pid, guard: guard, over: make(chan struct{}), change: make(chan struct{})}
}

// observe waits for the process to stop and to end, by whoever's doing, and
// returns at its end.
func (c *child) observe() {
	defer close(c.over)
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(c.pid, &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err == nil && status.Stopped():
			c.mu.Lock()
			c.stopped = true
			close(c.change)
			c.change = make(chan struct{})
			c.mu.Unlock()
		default:
			// A server that was writing a file may have left a child of its own.
			_ = syscall.Kill(-c.pid, syscall.SIGKILL)
			c.guard.forget(c.pid)
			return
		}
	}
}

func (c *child) ended() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

func (c *child) isStopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped
}

func (c *child) signal(s syscall.Signal) error {
	if c.ended() {
		return errEnded
	}
	err := syscall.Kill(-c.pid, s)
	// The answers, on Linux and macOS, about a process that has ended and
	// that observe is about to notice.
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) {
		return nil
	}
	return err
}

// kill ends the process and returns when it is gone.
func (c *child) kill() error {
	if err := c.signal(syscall.SIGKILL); err != nil && !errors.Is(err, errEnded) {
		return err
	}
	select {
	case <-c.over:
		return nil
	case <-time.After(signalLimit):
		return fmt.Errorf("process %d did not end within %v of kill -9", c.pid, signalLimit)
	}
}

// stop halts the process and returns when it does not run any more, which is
// a moment after the signal.
func (c *child) stop() error {
	c.mu.Lock()
	stopped, change := c.stopped, c.change
	c.mu.Unlock()
	if stopped {
		return nil
	}
	if err := c.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	select {
	case <-change:
		return nil
	case <-c.over:
		return errEnded
	case <-time.After(signalLimit):
		return fmt.Errorf("process %d did not stop within %v", c.pid, signalLimit)
	}
}

// goOn ends a stop.
func (c *child) goOn() error {
	c.mu.Lock()
	c.stopped = false
	c.mu.Unlock()
	return c.signal(syscall.SIGCONT)
}
