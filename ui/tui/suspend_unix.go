//go:build unix

package tui

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

var errNotStopped = errors.New("nothing has stopped dlock: there is no shell to go back to")

// stopPatience is how long a stop may take to happen. Where no shell watches
// over this process the system ignores the wish to stop, and nothing would
// ever wake it.
const stopPatience = 500 * time.Millisecond

// jobs is the shell's job control: it stops the process when the terminal is
// in order, and tells when it goes on.
type jobs struct {
	stopped chan os.Signal
	goesOn  chan os.Signal

	mu sync.Mutex
	// waiting is closed by the next sign that the process goes on; nil
	// while nobody has stopped it by our own way.
	waiting chan struct{}
}

// newJobs takes the signals over until close.
func newJobs() *jobs {
	j := &jobs{stopped: make(chan os.Signal, 1), goesOn: make(chan os.Signal, 1)}
	signal.Notify(j.goesOn, syscall.SIGCONT)
	if !signal.Ignored(syscall.SIGTSTP) {
		signal.Notify(j.stopped, syscall.SIGTSTP)
	}
	return j
}

func (j *jobs) close() {
	signal.Stop(j.stopped)
	signal.Stop(j.goesOn)
}

// watch tells of a wish to stop, and of going on after a stop that was not
// asked for, until ctx ends.
func (j *jobs) watch(ctx context.Context, stop, resumed func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-j.stopped:
			stop()
		case <-j.goesOn:
			j.mu.Lock()
			ours := j.waiting != nil
			if ours {
				close(j.waiting)
				j.waiting = nil
			}
			j.mu.Unlock()
			if !ours {
				resumed()
			}
		}
	}
}

// stopSignal stops the job. Once SIGTSTP was listened to, the runtime never
// gives it back to the system; this one does the same and is nobody's. Unlike
// SIGSTOP it does nothing where nobody could wake us again.
const stopSignal = syscall.SIGTTOU

// stop stops the whole job, as ctrl-z does, and returns when it goes on. The
// terminal must be in order by then.
func (j *jobs) stop() error {
	woken := make(chan struct{})
	j.mu.Lock()
	j.waiting = woken
	j.mu.Unlock()
	if err := syscall.Kill(0, stopSignal); err != nil {
		return err
	}
	timer := time.NewTimer(stopPatience)
	defer timer.Stop()
	select {
	case <-woken:
		return nil
	case <-timer.C:
	}
	// After a long stop both are due at once.
	j.mu.Lock()
	defer j.mu.Unlock()
	j.waiting = nil
	select {
	case <-woken:
		return nil
	case <-j.goesOn:
		return nil
	default:
		return errNotStopped
	}
}
