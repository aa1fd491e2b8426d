//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// What never ends or never begins keeps nobody waiting.
func TestPasswordFilesThatAreNone(t *testing.T) {
	if _, err := passwordFile("/dev/zero", "it"); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("/dev/zero: %v", err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := passwordFile(pipe, "it"); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("a pipe without a writer: %v", err)
	}
	// As <(…) of a shell is: what was written waits in the pipe.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("piped\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	name := fmt.Sprintf("/dev/fd/%d", r.Fd())
	if got, err := passwordFile(name, "it"); got != "piped" || err != nil {
		t.Errorf("%s: %q, %v", name, got, err)
	}
}

// askpassChild is set in a process that runs the command line on its terminal.
const askpassChild = "DLOCK_TEST_ASKPASS"

func TestAskpassChild(t *testing.T) {
	if os.Getenv(askpassChild) == "" {
		t.Skip("is run by another test")
	}
	var errs bytes.Buffer
	p := newProgram([]string{"DLOCK_NODES=redis://127.0.0.1:1"}, strings.NewReader(""), &errs, &errs)
	code := p.main(context.Background(), []string{"ls", "--askpass"})
	fmt.Printf("code %d, %d bytes, %s", code, len(p.settings.password), errs.String())
}

// The prompt is on the terminal, the answer is not.
func TestAskpassOnATerminal(t *testing.T) {
	for _, c := range []struct{ typed, want string }{
		{"hunter22\r", "code 6, 8 bytes"},
		{"\r", "code 2, 0 bytes"},
		{"\x03", "code 130, 0 bytes"},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAskpassChild$")
		cmd.Env = append(os.Environ(), askpassChild+"=1")
		tty, err := pty.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		var screen strings.Builder
		r := bufio.NewReader(tty)
		for {
			b, err := r.ReadByte()
			if err != nil {
				break // the terminal is gone with its last user
			}
			screen.WriteByte(b)
			if strings.HasSuffix(screen.String(), "Redis password: ") {
				if _, err := tty.WriteString(c.typed); err != nil {
					t.Error(err)
				}
			}
		}
		_ = cmd.Wait()
		tty.Close()
		if got := screen.String(); !strings.Contains(got, c.want) || strings.Contains(got, "hunter22") {
			t.Errorf("%q: %q", c.typed, got)
		}
	}
}
