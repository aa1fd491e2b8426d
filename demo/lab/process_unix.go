//go:build unix

package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// signalLimit bounds the wait for a signal to take effect. Only a process
// that hangs inside the system, on a dead disk for instance, reaches it.
const signalLimit = 10 * time.Second

// launcher becomes the server once it is told to. It is told after the
// guardian knows its number; if this program dies before, it reads the end of
// the pipe and goes.
const launcher = `read -r go && exec "$@" </dev/null`

// process is a redis-server child.
type process struct {
	site *site
	port int
	dir  string

	mu    sync.Mutex
	child *child // nil before the first start
	ready bool   // the child has answered
}

func (p *process) start(ctx context.Context, wipe bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if wipe {
		if err := os.RemoveAll(p.dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	c, err := p.launch()
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.child, p.ready = c, false
	p.mu.Unlock()

	if err := p.waitUntilItAnswers(ctx, c); err != nil {
		return errors.Join(err, c.kill())
	}
	p.mu.Lock()
	p.ready = true
	p.mu.Unlock()
	return nil
}

func (p *process) log() string { return filepath.Join(p.dir, "log") }

// launch starts the child and puts it under the guardian's care.
func (p *process) launch() (*child, error) {
	output, err := os.Create(p.log())
	if err != nil {
		return nil, err
	}
	defer output.Close()
	wait, tell, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer wait.Close()
	defer tell.Close()

	argv := []string{"sh", "-c", launcher, "sh", p.site.path,
		"--port", strconv.Itoa(p.port), "--bind", host, "--protected-mode", "yes", "--daemonize", "no",
		"--dir", p.dir,
		// What was acknowledged is in the file when the process is killed,
		// if not on the disk; that would only matter if the machine fell.
		"--save", "", "--appendonly", "yes", "--appendfsync", "no", "--auto-aof-rewrite-percentage", "0",
	}
	started, err := os.StartProcess("/bin/sh", append(argv, p.site.args...), &os.ProcAttr{
		Dir:   p.dir,
		Files: []*os.File{wait, output, output},
		// A session of its own: neither ctrl+c nor the end of the terminal
		// reaches it, and the number of its process group is its own.
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return nil, err
	}
	c := newChild(started.Pid, p.site.guard)
	// From here on the child is waited for by number, which also tells when
	// it stops.
	_ = started.Release()
	go c.observe()
	if err := p.site.guard.watch(c.pid); err != nil {
		return nil, errors.Join(err, c.kill())
	}
	if _, err := tell.WriteString("go\n"); err != nil {
		return nil, errors.Join(err, c.kill())
	}
	return c, nil
}

func (p *process) waitUntilItAnswers(ctx context.Context, c *child) error {
	addr := net.JoinHostPort(host, strconv.Itoa(p.port))
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		got, err := ask(ctx, addr, c.pid)
		switch {
		case err != nil:
			return err
		case got == ours:
			return nil
		case got == unsigned && p.saysReady():
			// One that wants a password first, as a rule.
			return nil
		}
		select {
		case <-c.over:
			return p.whyItEnded()
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again.C:
		}
	}
}

// saysReady tells whether the log of the server says that it listens.
func (p *process) saysReady() bool {
	text, err := os.ReadFile(p.log())
	return err == nil && strings.Contains(string(text), "eady to accept connections")
}

// whyItEnded reads the last words of a server that ended by itself.
func (p *process) whyItEnded() error {
	text, err := os.ReadFile(p.log())
	if err != nil {
		return fmt.Errorf("redis-server ended at once, and its log cannot be read: %w", err)
	}
	if strings.Contains(string(text), "Address already in use") {
		return errPortTaken
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Errorf("redis-server ended at once; its last words: %q", lines[len(lines)-1])
}

func (p *process) jump(time.Duration) error { return ErrNoClock }

// running returns the child if it is alive.
func (p *process) running() (c *child, ready bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child == nil || p.child.ended() {
		return nil, false
	}
	return p.child, p.ready
}

func (p *process) state() State {
	c, ready := p.running()
	switch {
	case !ready:
		return Down
	case c.isStopped():
		return Paused
	default:
		return Up
	}
}

func (p *process) pid() int {
	if c, ready := p.running(); ready {
		return c.pid
	}
	return 0
}

func (p *process) kill() error {
	c, _ := p.running()
	if c == nil {
		return nil
	}
	return c.kill()
}

func (p *process) pause() error {
	c, _ := p.running()
	if c == nil {
		return errEnded
	}
	return c.stop()
}

func (p *process) resume() error {
	c, _ := p.running()
	if c == nil {
		return errEnded
	}
	return c.goOn()
}
