//go:build unix

package cli

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func sendSignal(pid int, name string) error {
	s := unix.SignalNum("SIG" + name)
	if s == 0 {
		return fmt.Errorf("there is no signal %s", name)
	}
	return syscall.Kill(pid, s)
}

// processGone reports whether a process has ended, even if nobody has waited
// for it yet.
func processGone(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// makePipe makes a pipe with a name.
func makePipe(name string) error { return syscall.Mkfifo(name, 0o600) }
