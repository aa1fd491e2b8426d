//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime is how long this process has kept CPUs busy, in user code and in the
// system for it, and whether that is known.
func cpuTime() (time.Duration, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
