package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

const (
	// startLimit bounds how long a node may take until it answers, so that
	// a server that never does cannot hold its node for good.
	startLimit = 20 * time.Second
	// portTries is how many ports are tried for a node before giving up.
	portTries = 20
)

// errPortTaken is why a server could not start when another program listens
// on its port.
var errPortTaken = errors.New("another program has taken its port")

// server is what a node is made of. A node makes its calls one after the
// other; only state and pid may be called at any time.
type server interface {
	// start brings up a server that is down and returns when it answers.
	// When it fails the server is down.
	start(ctx context.Context, wipe bool) error
	// kill takes it down from any state.
	kill() error
	pause() error               // of one that is up
	resume() error              // of one that is paused
	jump(d time.Duration) error // moves the clock of one that is up
	state() State
	pid() int
}

// ErrNoClock is why a node's clock cannot be moved: a redis-server reads that
// of the machine.
var ErrNoClock = errors.New("a redis-server has the machine's clock, which is not ours to move; use embedded nodes")

// Node is one Redis server of a lab. Its methods may be called from any
// goroutine at any time; what changes the node is done one after the other.
type Node struct {
	name   string
	addr   string
	life   context.Context // the lab's
	server server
	port   *port
	turn   chan struct{} // holds one element while somebody changes the node
}

// startNode starts a server on a port that is free and stays reserved.
func startNode(ctx, life context.Context, name string, build func(name string, port int) server) (*Node, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("no answer within %v", startLimit))
	defer cancel()
	var err error
	for range portTries {
		var p *port
		if p, err = reservePort(); err != nil {
			break
		}
		n := &Node{
			name:   name,
			addr:   net.JoinHostPort(host, strconv.Itoa(p.number)),
			life:   life,
			server: build(name, p.number),
			port:   p,
			turn:   make(chan struct{}, 1),
		}
		if err = n.server.start(ctx, true); err == nil {
			return n, nil
		}
		p.release()
		if !errors.Is(err, errPortTaken) {
			break
		}
	}
	return nil, fmt.Errorf("%s could not be started: %w", name, err)
}

// Name returns n1, n2, …
func (n *Node) Name() string { return n.name }

// Addr returns 127.0.0.1:port. It never changes.
func (n *Node) Addr() string { return n.addr }

// URL returns redis://127.0.0.1:port. It never changes.
func (n *Node) URL() string { return "redis://" + n.addr }

// State tells what the node is at present. A node that is being restarted is
// down until it answers. It does not wait for anything.
func (n *Node) State() State { return n.server.state() }

// PID returns the process number of a running redis-server, paused or not,
// and 0 for one that is down and for embedded nodes.
func (n *Node) PID() int { return n.server.pid() }

// Kill ends the node as kill -9 does: connections break, later ones are
// refused, and what was acknowledged is kept for a [Node.Restart]. It does
// nothing when the node is down already.
func (n *Node) Kill() error {
	n.turn <- struct{}{}
	defer n.leave()
	return n.do("killed", n.server.kill)
}

// Restart kills the node if it is not down and starts it again on the same
// port, with the data it had or, with wipe, empty. It returns when the node
// answers, within 20 seconds. On error, also of the context, the node is down;
// only when the context ends while somebody else still changes the node is it
// left as it is.
func (n *Node) Restart(ctx context.Context, wipe bool) error {
	if err := n.enter(ctx); err != nil {
		return err
	}
	defer n.leave()
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("no answer within %v", startLimit))
	defer cancel()
	ctx, interrupt := context.WithCancelCause(ctx)
	defer interrupt(nil)
	defer context.AfterFunc(n.life, func() { interrupt(ErrClosed) })()

	return n.do("restarted", func() error {
		if err := n.server.kill(); err != nil {
			return err
		}
		return n.server.start(ctx, wipe)
	})
}

// Pause makes the node hang: it keeps its connections and accepts new ones,
// but executes and answers nothing until [Node.Resume], which also makes it
// execute what it was sent in the meantime. It does nothing when the node is
// paused already, and is an error when it is down.
func (n *Node) Pause() error { return n.toggle("paused", Up, Paused, n.server.pause) }

// Resume ends a pause. It does nothing when the node is up, and is an error
// when it is down.
func (n *Node) Resume() error { return n.toggle("resumed", Paused, Up, n.server.resume) }

// JumpClock sets the node's clock forward by d or, if d is negative, back: its
// TIME moves, and so does the moment at which each key expires as others see
// it, since a server expires keys by its own clock. Jumps add up, and outlast
// a kill. It is an error for a node that is not up, and [ErrNoClock] for those
// that have no clock of their own.
func (n *Node) JumpClock(d time.Duration) error {
	if err := n.enter(context.Background()); err != nil {
		return err
	}
	defer n.leave()
	if n.server.state() != Up {
		return fmt.Errorf("%s is not up, so that its clock cannot be set; bring it back first", n.name)
	}
	return n.do("set to another time", func() error { return n.server.jump(d) })
}

func (n *Node) toggle(what string, from, to State, change func() error) error {
	if err := n.enter(context.Background()); err != nil {
		return err
	}
	defer n.leave()
	switch n.server.state() {
	case from:
		return n.do(what, change)
	case to:
		return nil
	default:
		return fmt.Errorf("%s is down and cannot be %s; restart it first", n.name, what)
	}
}

// enter waits until nobody else changes the node.
func (n *Node) enter(ctx context.Context) error {
	select {
	case n.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%s is busy: %w", n.name, context.Cause(ctx))
	}
	if n.life.Err() != nil {
		n.leave()
		return fmt.Errorf("%s: %w", n.name, ErrClosed)
	}
	return nil
}

func (n *Node) leave() { <-n.turn }

func (n *Node) do(what string, change func() error) error {
	if err := change(); err != nil {
		return fmt.Errorf("%s could not be %s: %w", n.name, what, err)
	}
	return nil
}

// close takes the node down for good. The lab's life is over by then, so
// nobody brings it up again.
func (n *Node) close() error {
	n.turn <- struct{}{}
	defer n.leave()
	err := n.do("killed", n.server.kill)
	n.port.release()
	return err
}
