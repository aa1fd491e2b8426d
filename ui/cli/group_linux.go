package cli

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// endWithParent has the command killed when this program is killed, and makes
// what the command leaves behind our children, so that it can be waited for
// also where process 1 does not do that.
func endWithParent(attr *syscall.SysProcAttr) {
	attr.Pdeathsig = syscall.SIGKILL
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}
