//go:build unix

package lab

import (
	"os/exec"
	"strings"
	"testing"
)

// The launcher must not become a server unless it is told to: if the program
// dies before, the guardian may not know of it.
func TestLauncher(t *testing.T) {
	for input, want := range map[string]string{"": "", "g": "", "go\n": "a server\n"} {
		cmd := exec.Command("/bin/sh", "-c", launcher, "sh", "/bin/echo", "a server")
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.Output()
		if string(out) != want || (err == nil) != (want != "") {
			t.Errorf("told %q, it says %q (%v), want %q", input, out, err, want)
		}
	}
}
