//go:build unix

package lab_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
)

func init() { beVictim = victim }

// scene is what a victim leaves to be looked at.
type scene struct {
	Dir   string
	PIDs  []int // servers and guardian
	Addrs []string
}

// victim runs a lab and does not close it. It tells the scene on standard
// output and then dies, or waits to be killed.
func victim(mode string) {
	l, err := lab.Start(context.Background(), lab.Config{Kind: lab.Process, Nodes: 3})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	s := scene{Dir: l.Dir(), PIDs: []int{l.GuardianPID()}}
	for _, n := range l.Nodes() {
		s.PIDs = append(s.PIDs, n.PID())
		s.Addrs = append(s.Addrs, n.Addr())
	}
	if mode == "paused" {
		for _, n := range l.Nodes() {
			if err := n.Pause(); err != nil {
				panic(err)
			}
		}
	}
	json.NewEncoder(os.Stdout).Encode(s)
	switch mode {
	case "exit":
		os.Exit(0)
	case "panic":
		panic("as the test wants it")
	case "restart": // is killed at any point of starting and ending servers
		for i := 0; ; i++ {
			if err := l.Nodes()[i%3].Restart(context.Background(), i%2 == 0); err != nil {
				panic(err)
			}
		}
	default:
		select {}
	}
}

// runVictim starts a victim with its files in temp.
func runVictim(t *testing.T, mode, temp string) (*exec.Cmd, io.Reader) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self, "-test.run=^$")
	cmd.Env = append(os.Environ(), victimMode+"="+mode, "TMPDIR="+temp)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, out
}

// alive tells whether a process runs. One that has ended and that nobody has
// waited for does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == nil
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// inside lists the processes that work in a folder below dir, where the
// system can tell.
func inside(dir string) []int {
	var pids []int
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, dir+"/") {
			pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
			if alive(pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// wantNothingLeft waits until all processes and files are gone.
func wantNothingLeft(t *testing.T, temp string, pids []int) {
	t.Helper()
	var files []string
	var left []int
	defer func() {
		if t.Failed() {
			t.Logf("left behind: processes %v, files %v", left, files)
		}
	}()
	labtest.Eventually(t, "nothing to be left", func() bool {
		files, _ = filepath.Glob(filepath.Join(temp, "*"))
		left = append(slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return !alive(pid) }), inside(temp)...)
		return len(files) == 0 && len(left) == 0
	})
}

func TestNothingIsLeftBehind(t *testing.T) {
	labtest.NeedServer(t)
	kill := func(s syscall.Signal) func(*exec.Cmd) error {
		return func(c *exec.Cmd) error { return c.Process.Signal(s) }
	}
	none := func(*exec.Cmd) error { return nil }
	for _, c := range []struct {
		name, mode string
		end        func(*exec.Cmd) error
	}{
		{"exit", "exit", none},
		{"panic", "panic", none},
		{"kill -9", "wait", kill(syscall.SIGKILL)},
		{"terminate", "wait", kill(syscall.SIGTERM)},
		{"interrupt", "wait", kill(syscall.SIGINT)},
		{"hang up", "wait", kill(syscall.SIGHUP)},
		{"kill -9 with paused nodes", "paused", kill(syscall.SIGKILL)},
	} {
		t.Run(c.name, func(t *testing.T) {
			temp := t.TempDir()
			cmd, out := runVictim(t, c.mode, temp)
			var s scene
			must(t, json.NewDecoder(out).Decode(&s))
			if filepath.Dir(s.Dir) != temp || len(s.PIDs) != 4 {
				t.Fatalf("the victim's lab is not as expected: %+v", s)
			}
			must(t, c.end(cmd))
			_ = cmd.Wait()
			wantNothingLeft(t, temp, s.PIDs)
			for _, addr := range s.Addrs {
				wantRefused(t, addr)
			}
		})
	}
}

// The program is killed at any point of a start and of restarts.
func TestNothingIsLeftBehindInTheMiddle(t *testing.T) {
	labtest.NeedServer(t)
	for i := range 8 {
		temp := t.TempDir()
		cmd, out := runVictim(t, "restart", temp)
		if i%2 == 0 {
			_, err := bufio.NewReader(out).ReadString('\n')
			must(t, err)
		}
		time.Sleep(rand.N(40 * time.Millisecond)) // any point will do
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		wantNothingLeft(t, temp, nil)
	}
}

// Closing removes everything, and takes the guardian along.
func TestCloseRemovesEverything(t *testing.T) {
	labtest.NeedServer(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	l := labtest.Start(t, lab.Config{Kind: lab.Process, Nodes: 2})
	pids := []int{l.GuardianPID()}
	for _, n := range l.Nodes() {
		pids = append(pids, n.PID())
	}
	if mode, err := os.Stat(l.Dir()); err != nil || mode.Mode().Perm() != 0o700 {
		t.Errorf("the folder is open to others: %v, %v", mode.Mode(), err)
	}
	if got := inside(l.Dir()); len(got) == 0 {
		if _, err := os.Stat("/proc/self/cwd"); err == nil {
			t.Error("this test does not see the servers it looks for")
		}
	}
	must(t, l.Close())
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d has outlived the close", pid)
		}
	}
	wantNothingLeft(t, temp, nil)
}

// A guardian that is asked to end stays; one that was killed is missed at the
// next start, and Close does its work.
func TestGuardianUnderAttack(t *testing.T) {
	labtest.NeedServer(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	l := labtest.Start(t, lab.Config{Kind: lab.Process, Nodes: 1})
	n := l.Nodes()[0]
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		must(t, syscall.Kill(l.GuardianPID(), s))
	}
	must(t, n.Restart(t.Context(), false))

	must(t, syscall.Kill(l.GuardianPID(), syscall.SIGKILL))
	labtest.Eventually(t, "the end of the guardian", func() bool { return !alive(l.GuardianPID()) })
	if err := n.Restart(t.Context(), false); err == nil || !strings.Contains(err.Error(), "guardian") {
		t.Errorf("a restart without a guardian: %v", err)
	}
	wantState(t, n, lab.Down)
	must(t, l.Close())
	wantNothingLeft(t, temp, nil)
}

// What others do to a server shows in its state.
func TestServerChangesByItself(t *testing.T) {
	labtest.NeedServer(t)
	n, c := startOne(t, lab.Process)
	must(t, c.Set(t.Context(), "key", "x", 0).Err())

	must(t, syscall.Kill(n.PID(), syscall.SIGSTOP))
	awaitState(t, n, lab.Paused)
	must(t, n.Resume())
	must(t, c.Ping(t.Context()).Err())

	must(t, syscall.Kill(n.PID(), syscall.SIGKILL))
	awaitState(t, n, lab.Down)
	if err := n.Pause(); err == nil {
		t.Error("a server that is gone was paused")
	}
	must(t, n.Restart(t.Context(), false))
	if got := labtest.Client(t, n).Get(t.Context(), "key").Val(); got != "x" {
		t.Errorf("the restarted server has %q", got)
	}
}

// Arguments for tests reach the server, and a server that wants a password
// counts as one that answers.
func TestArguments(t *testing.T) {
	labtest.NeedServer(t)
	args := []string{"--requirepass", "secret", "--maxmemory-policy", "allkeys-lru"}
	l := labtest.Start(t, lab.Config{Kind: lab.Process, Nodes: 1, Args: args})
	args[1] = "changed"
	n := l.Nodes()[0]
	must(t, n.Restart(t.Context(), false))
	c := labtest.Client(t, n)
	if err := c.Ping(t.Context()).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOAUTH") {
		t.Errorf("PING without a password: %v", err)
	}
	conn := c.Conn()
	defer conn.Close()
	must(t, conn.Auth(t.Context(), "secret").Err())
	got, err := conn.Do(t.Context(), "CONFIG", "GET", "maxmemory-policy").StringSlice()
	if err != nil || !slices.Contains(got, "allkeys-lru") {
		t.Errorf("the policy is %v (%v)", got, err)
	}
}
