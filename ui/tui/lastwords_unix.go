//go:build unix

package tui

import (
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"
)

// lastWords puts the terminal in order, and says why, after a crash that
// nothing in this process can catch: a panic on a goroutine of somebody else's,
// a fatal error of the runtime. It is a shell that waits on a pipe, into which
// the runtime writes its report as it dies; if the pipe ends without one, all
// went well.
type lastWords struct {
	cmd  *exec.Cmd
	pipe *os.File // our end
}

// lastWordsScript remembers the terminal's modes, says that it does, and waits.
// It outlives the signals that end a job, and may set the modes of a terminal
// that belongs to another job by then.
const lastWordsScript = `trap '' HUP INT QUIT TERM TSTP TTIN TTOU
modes=$(stty -g) || exit 1
echo ready
exec 1>&2
said=$(LC_ALL=C tr -cd '\11\12\40-\176' <&3)
[ -n "$said" ] || exit 0
stty "$modes"
printf '\033[?1002l\033[?1006l\033[?2004l\033[?1049l\033[?25h\033[0m\ndlock crashed:\n%s\n' "$said"
`

// lastWordsPatience is how long the shell may take to get ready; after that it
// could remember the modes of the screen rather than those before it.
const lastWordsPatience = 300 * time.Millisecond

// newLastWords starts the shell on a terminal. Where that cannot be done
// nothing is lost but this.
func newLastWords(in io.Reader, out io.Writer) *lastWords {
	screen, ok := out.(*os.File)
	if !ok || !term.IsTerminal(screen.Fd()) {
		return nil
	}
	keys, ok := in.(*os.File)
	if !ok || !term.IsTerminal(keys.Fd()) {
		return nil
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		return nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer read.Close()
	ready, told, err := os.Pipe()
	if err != nil {
		write.Close()
		return nil
	}
	defer ready.Close()
	c := exec.Command(shell, "-c", lastWordsScript)
	c.Stdin, c.Stdout, c.Stderr = keys, told, screen
	c.ExtraFiles = []*os.File{read}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what ends or stops the job is not meant for it
	err = c.Start()
	told.Close()
	if err != nil {
		write.Close()
		return nil
	}
	l := &lastWords{c, write}
	ready.SetReadDeadline(time.Now().Add(lastWordsPatience))
	if n, _ := ready.Read(make([]byte, 8)); n == 0 || debug.SetCrashOutput(write, debug.CrashOptions{}) != nil {
		c.Process.Kill()
		l.end()
		return nil
	}
	return l
}

// end lets the shell go, without a word.
func (l *lastWords) end() {
	if l == nil {
		return
	}
	debug.SetCrashOutput(nil, debug.CrashOptions{})
	l.pipe.Close()
	l.cmd.Wait()
}
