//go:build unix

package lab

// Dir returns the folder of a lab of processes.
func (l *Lab) Dir() string { return l.site.guard.dir }

// GuardianPID returns the process number of the lab's guardian.
func (l *Lab) GuardianPID() int { return l.site.guard.cmd.Process.Pid }
