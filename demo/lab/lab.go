// Package lab runs Redis nodes that can be broken on purpose: started, killed,
// restarted with or without their data, paused, put into another time, and cut
// off from a client or slowed towards it (see [Link]). The demo breaks them in
// front of people, the tests of every package behind them.
//
// Nodes are of one of two kinds. Embedded nodes live in this process and need
// nothing installed. Process nodes are redis-server children, for what only
// the real thing can show. A node keeps its port from its start to the end of
// the lab, also while it is down.
//
// Nothing is left behind, however the program ends: [Lab.Close] kills the
// nodes and removes their files, and when the program dies without closing
// the lab (a panic, a signal, kill -9), a small guardian process does the
// same.
//
// # What embedded nodes do like a server, and what not
//
// Times to live run in real time, also while a node is down or paused, as
// they do for a server that is restarted from its append-only file; they are
// applied every 10 ms, so a key may live that much longer. TIME is the time of
// this machine. A kill breaks all connections, forgets loaded scripts and
// keeps the data; a pause keeps connections open and holds commands and
// replies back. Embedded nodes know neither CLIENT LIST nor CONFIG, answer a
// SCAN in one page, and run scripts many times slower than a server does:
// they show what happens, not how fast.
package lab

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"sync"
)

// Kind says what the nodes are made of.
type Kind string

// The kinds. Embedded nodes live in this process and need nothing installed;
// Process nodes are redis-server child processes.
const (
	Embedded Kind = "embedded"
	Process  Kind = "redis-server"
)

// State is what a node of the lab is at present.
type State string

// The states of a lab node.
const (
	Up     State = "up"
	Down   State = "down"   // killed: connections are refused
	Paused State = "paused" // accepts connections and does not answer
)

// Status is one node at a moment.
type Status struct {
	Name  string
	Addr  string
	State State
}

// DefaultNodes is how many nodes a lab has unless [Config] says otherwise.
const DefaultNodes = 5

// MaxNodes is the largest lab that is accepted.
const MaxNodes = 64

// ErrClosed is returned for what is asked of a lab, or of a node of a lab,
// that was closed.
var ErrClosed = errors.New("the lab is closed")

// Config says what lab to start. The zero value is usable.
type Config struct {
	// Nodes is how many nodes to start, 1 to [MaxNodes]; 0 means
	// [DefaultNodes].
	Nodes int
	// Prefix is what the numbers of their names follow; empty means "n".
	Prefix string
	// Kind is what they are made of; empty means [Embedded].
	Kind Kind
	// ServerPath is the redis-server to run for [Process]; empty means the
	// one that [FindServer] finds.
	ServerPath string
	// Args are given to redis-server after the lab's own arguments and
	// prevail over them. They must not change its address or its log.
	// Embedded nodes ignore them.
	Args []string
}

// Lab is a number of running nodes. Its methods may be called from any
// goroutine at any time.
type Lab struct {
	kind  Kind
	nodes []*Node
	life  context.Context // ends when closing begins
	end   context.CancelFunc
	site  *site // what Process nodes share, nil for Embedded

	closing  sync.Once
	closeErr error
}

// FindServer looks for an installed redis-server and returns its path.
func FindServer() (path string, ok bool) {
	path, err := exec.LookPath("redis-server")
	return path, err == nil
}

// Start starts a lab and returns it when every node answers. The context
// bounds the start only; the lab lives until it is closed. On error nothing is
// left running or on disk.
func Start(ctx context.Context, c Config) (*Lab, error) {
	if c.Nodes == 0 {
		c.Nodes = DefaultNodes
	}
	if c.Nodes < 1 || c.Nodes > MaxNodes {
		return nil, fmt.Errorf("a lab of %d nodes is not possible; ask for 1 to %d", c.Nodes, MaxNodes)
	}
	if c.Kind == "" {
		c.Kind = Embedded
	}
	if c.Prefix == "" {
		c.Prefix = "n"
	}
	l := &Lab{kind: c.Kind, nodes: make([]*Node, c.Nodes)}
	l.life, l.end = context.WithCancel(context.Background())

	var build func(name string, port int) server
	switch c.Kind {
	case Embedded:
		build = func(_ string, port int) server { return newEmbedded(port) }
	case Process:
		var err error
		if l.site, err = openSite(c.ServerPath, c.Args); err != nil {
			l.end()
			return nil, err
		}
		build = l.site.newServer
	default:
		l.end()
		return nil, fmt.Errorf("there is no kind of node %q; use %q or %q", c.Kind, Embedded, Process)
	}

	// The first failure stops the others: they would mostly fail for the same
	// reason, and the caller is told it once.
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	var wg sync.WaitGroup
	for i := range l.nodes {
		wg.Go(func() {
			var err error
			if l.nodes[i], err = startNode(ctx, l.life, c.Prefix+strconv.Itoa(i+1), build); err != nil {
				giveUp(err)
			}
		})
	}
	wg.Wait()
	if slices.Contains(l.nodes, nil) {
		return nil, errors.Join(context.Cause(ctx), l.Close())
	}
	return l, nil
}

// Kind tells what the nodes are made of.
func (l *Lab) Kind() Kind { return l.kind }

// Nodes returns the nodes n1, n2, … (or with another prefix) in this order. The slice is the caller's.
func (l *Lab) Nodes() []*Node { return slices.Clone(l.nodes) }

// Node returns the node with the given name.
func (l *Lab) Node(name string) (*Node, bool) {
	for _, n := range l.nodes {
		if n.name == name {
			return n, true
		}
	}
	return nil, false
}

// URLs returns redis://127.0.0.1:port for every node, in the order of
// [Lab.Nodes].
func (l *Lab) URLs() []string {
	urls := make([]string, len(l.nodes))
	for i, n := range l.nodes {
		urls[i] = n.URL()
	}
	return urls
}

// Status returns what every node is at present, in the order of [Lab.Nodes].
// It does not wait for anything.
func (l *Lab) Status() []Status {
	all := make([]Status, len(l.nodes))
	for i, n := range l.nodes {
		all[i] = Status{Name: n.name, Addr: n.addr, State: n.State()}
	}
	return all
}

// Close kills every node, breaks off a [Node.Restart] that is under way, and
// removes all files. It may be called more than once and returns the same
// error each time. An error means that something could not be removed.
func (l *Lab) Close() error {
	l.closing.Do(func() {
		l.end()
		var errs []error
		for _, n := range l.nodes {
			if n != nil { // a lab whose start failed has gaps
				errs = append(errs, n.close())
			}
		}
		if l.site != nil {
			errs = append(errs, l.site.close())
		}
		l.closeErr = errors.Join(errs...)
	})
	return l.closeErr
}
