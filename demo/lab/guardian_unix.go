//go:build unix

package lab

import (
	"bufio"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

//go:embed guardian.sh
var guardianScript string

// guardian is a shell process that owns the folder of a lab and outlives this
// program for a moment, to kill the servers and remove the folder.
type guardian struct {
	dir string
	cmd *exec.Cmd

	mu    sync.Mutex
	lines io.WriteCloser
}

// startGuardian starts a guardian and with it creates a folder in parent that
// only this user can enter.
func startGuardian(parent string) (*guardian, error) {
	cmd := exec.Command("/bin/sh", "-c", guardianScript, "dlock-lab-guardian", parent)
	cmd.Dir = "/"
	// A session of its own: neither ctrl+c nor the end of the terminal
	// reaches it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	lines, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("the lab's guardian process could not be started: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("the lab's guardian process could not be started: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the lab's guardian process could not be started: %w", err)
	}
	dir, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		lines.Close()
		return nil, fmt.Errorf("no folder for the lab could be made in %s: %w", parent, errors.Join(cmd.Wait(), said(complaint.String())))
	}
	return &guardian{dir: strings.TrimSuffix(dir, "\n"), cmd: cmd, lines: lines}, nil
}

func said(text string) error {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	return errors.New(text)
}

// watch makes the guardian kill the process group pid when this program ends.
func (g *guardian) watch(pid int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, err := fmt.Fprintf(g.lines, "+ %d\n", pid); err != nil {
		return fmt.Errorf("the lab's guardian process is gone; close this lab and start another one: %w", err)
	}
	return nil
}

// forget takes a watch back once the process is over and its number may be
// given to another one.
func (g *guardian) forget(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	// Nobody is left to kill it if this fails.
	_, _ = fmt.Fprintf(g.lines, "- %d\n", pid)
}

// close removes the folder and ends the guardian. No process must be watched
// any more.
func (g *guardian) close() error {
	// The guardian removes the folder too, unless somebody has killed it.
	err := os.RemoveAll(g.dir)
	g.mu.Lock()
	g.lines.Close()
	g.mu.Unlock()
	_ = g.cmd.Wait()
	if err != nil {
		return fmt.Errorf("the lab's folder could not be removed: %w", err)
	}
	return nil
}
