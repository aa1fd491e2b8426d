package main

import (
	"errors"
	"net"
	"sync"
	"time"
)

// parcel is something to be handed over at a moment.
type parcel struct {
	due  time.Time
	hand func()
}

// line hands parcels over after a delay that is the same for all, in the order
// in which they came. Because the delay is the same, one queue and one goroutine
// serve every connection of every proxy, whatever their number.
type line struct {
	delay   time.Duration
	now     func() time.Time
	wait    func(time.Duration)
	parcels chan parcel
	done    chan struct{}
}

// parcelsUnderWay bounds what is on a line at a time. A proxy that reaches it
// stops reading, as a link that is full does.
const parcelsUnderWay = 1 << 16

func newLine(delay time.Duration, now func() time.Time, wait func(time.Duration)) *line {
	l := &line{
		delay: delay, now: now, wait: wait,
		parcels: make(chan parcel, parcelsUnderWay), done: make(chan struct{}),
	}
	go l.run()
	return l
}

func (l *line) run() {
	defer close(l.done)
	for p := range l.parcels {
		if left := p.due.Sub(l.now()); left > 0 {
			l.wait(left)
		}
		p.hand()
	}
}

// send has hand called after the delay. It must not block.
func (l *line) send(hand func()) { l.parcels <- parcel{l.now().Add(l.delay), hand} }

// close delivers what is under way and ends the line. Nothing may be sent any
// more.
func (l *line) close() {
	close(l.parcels)
	<-l.done
}

// proxy stands before one node and makes the way to it and back longer. What
// goes in comes out in the same order, later by the line's delay each way.
type proxy struct {
	line     *line
	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]bool
}

func newProxy(l *line, target string) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{line: l, target: target, listener: listener, open: make(map[net.Conn]bool)}
	p.running.Go(p.accept)
	return p, nil
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

// close breaks every connection and returns when nothing of the proxy runs any
// more. The line must still be open.
func (p *proxy) close() error {
	p.mu.Lock()
	p.closed = true
	for c := range p.open {
		c.Close()
	}
	p.mu.Unlock()
	err := p.listener.Close()
	p.running.Wait()
	return err
}

func (p *proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		p.running.Go(func() { p.join(near) })
	}
}

// join copies between a client and the node until either of them ends.
func (p *proxy) join(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer far.Close()
	for _, c := range []net.Conn{near, far} {
		if !p.track(c) {
			return
		}
		defer p.untrack(c)
		// Small commands must leave at once: it is our delay that is
		// measured, not that of an algorithm which gathers them.
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetNoDelay(true)
		}
	}
	var ways sync.WaitGroup
	ways.Go(func() { p.carry(near, far) })
	ways.Go(func() { p.carry(far, near) })
	ways.Wait()
}

func (p *proxy) track(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.open[c] = true
	}
	return !p.closed
}

func (p *proxy) untrack(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

const (
	// chunk is the most that is read from a connection at a time.
	chunk = 64 << 10
	// chunksBehind is how far a receiver may fall behind.
	chunksBehind = 1 << 12
)

// carry takes what comes from one connection to the other until from ends.
// Then, behind the last of it, both are closed.
func (p *proxy) carry(from, to net.Conn) {
	// Each direction has its writer, so that a receiver that does not read
	// holds up nobody else on the line.
	arrived := make(chan []byte, chunksBehind)
	var writer sync.WaitGroup
	writer.Go(func() {
		defer from.Close()
		defer to.Close()
		broken := false
		for b := range arrived {
			if !broken {
				_, err := to.Write(b)
				broken = err != nil
			}
		}
	})
	buffer := make([]byte, chunk)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			b := append([]byte(nil), buffer[:n]...)
			p.line.send(func() {
				select {
				case arrived <- b:
				default: // to take no more is to lose the connection
					from.Close()
					to.Close()
				}
			})
		}
		if err != nil {
			break
		}
	}
	p.line.send(func() { close(arrived) })
	writer.Wait()
}
