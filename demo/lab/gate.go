package lab

import "sync"

// gate holds goroutines back while it is shut and turns them away once it is
// broken. It starts open.
type gate struct {
	broken chan struct{}

	mu   sync.Mutex
	open chan struct{} // closed while the gate is open
	shut bool
}

func newGate() *gate {
	g := &gate{broken: make(chan struct{}), open: make(chan struct{})}
	close(g.open)
	return g
}

// pass waits until the gate is open and reports true, or false when it is
// broken.
func (g *gate) pass() bool {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	select {
	case <-g.broken:
		return false
	default:
	}
	select {
	case <-g.broken:
		return false
	case <-open:
		return true
	}
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.shut {
		g.shut, g.open = true, make(chan struct{})
	}
}

func (g *gate) reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		g.shut = false
		close(g.open)
	}
}

// breakDown turns away everybody, now and later. It must be called once only.
func (g *gate) breakDown() { close(g.broken) }
