package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// newAlarm returns a function that sleeps for a time greater than 0, and one
// that ends its use. Only one goroutine may sleep by it at a time.
//
// time.Sleep can be a whole millisecond late on Linux, a tenth of the round trip
// that is to be made; a timer of the system, waited for like a connection, is not.
func newAlarm() (sleep func(time.Duration), stop func() error, err error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, nil, fmt.Errorf("the system gives no timer: %w", err)
	}
	timer := os.NewFile(uintptr(fd), "timer")
	sleep = func(d time.Duration) {
		err := unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil)
		if err == nil {
			var rings [8]byte
			_, err = io.ReadFull(timer, rings[:])
		}
		if err != nil {
			time.Sleep(d)
		}
	}
	return sleep, timer.Close, nil
}
