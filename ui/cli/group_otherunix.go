//go:build unix && !linux

package cli

import "syscall"

// endWithParent does nothing: this system has no way to tie a command's life
// to ours.
func endWithParent(*syscall.SysProcAttr) {}
