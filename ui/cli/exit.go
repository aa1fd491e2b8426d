package cli

import (
	"errors"
	"fmt"
	"io"
	"syscall"
)

// The exit codes. 0 to 9 are part of the command line's contract; those from
// 126 on are a shell's: for a command that cannot be run, and for a program
// that ended by a signal.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNotAcquired = 3
	exitNotThere    = 4
	exitNoQuorum    = 5
	exitNoNode      = 6
	exitRefused     = 7
	exitIncomplete  = 8
	exitTrouble     = 9
	exitCannotRun   = 126
	exitNoCommand   = 127
	exitInterrupted = 130
	exitBrokenPipe  = 141
)

// exitError ends a command with a code and one sentence for standard error.
// An empty sentence says nothing: the output has said it already.
type exitError struct {
	code     int
	sentence string
}

func (e *exitError) Error() string { return e.sentence }

func exitWith(code int, format string, args ...any) error {
	return &exitError{code: code, sentence: fmt.Sprintf(format, args...)}
}

func usage(format string, args ...any) error { return exitWith(exitUsage, format, args...) }

func quiet(code int) error {
	if code == exitOK {
		return nil
	}
	return &exitError{code: code}
}

// rank orders exit codes for a command that did several things: the code that
// needs a person soonest wins.
func rank(code int) int {
	switch code {
	case exitOK:
		return 0
	case exitIncomplete:
		return 1
	case exitNotThere:
		return 2
	case exitRefused:
		return 3
	case exitNoNode:
		return 4
	default:
		return 5
	}
}

func worse(a, b int) int {
	if rank(b) > rank(a) {
		return b
	}
	return a
}

// brokenPipe reports that the reader of our output went away, which is its
// right and no error worth a word.
func brokenPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}
