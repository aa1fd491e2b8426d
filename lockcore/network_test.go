package lockcore_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// network carries connections from clients to nodes, late or never, and cuts
// them on command. It uses no clock but the current goroutine's, so that it
// works on real and on fake time, and on any connection.
type network struct {
	sites []*site // by node
	// instant lets a connection's handshake take no time. go-redis does it
	// under a mutex, and fake time stands still while anybody waits for one.
	instant bool

	mu     sync.Mutex
	rng    *rand.Rand
	faults map[string]int // by kind
}

// site is a node as the network sees it.
type site struct {
	dial   func(context.Context) (net.Conn, error)
	before func() // called before anything is handed to the node

	hung   barrier     // shut while the node does nothing
	silent atomic.Bool // while its answers are lost

	mu    sync.Mutex
	down  bool
	wires map[*wire]struct{}
}

// link is what one client's connections to one node have in common.
type link struct {
	net    *network
	site   *site
	asleep barrier // shut while the client sleeps and nothing gets through
	deaf   barrier // shut while it sleeps and no answers get through
	frozen barrier // shut while nothing gets through
	// holdsUp picks requests that, with whatever follows on their connection,
	// are held up while heldUp is shut; other connections overtake them.
	holdsUp func(request []byte) bool
	heldUp  barrier
	latency time.Duration
	odds
}

// odds are the probabilities, per message, of what a link does by itself.
type odds struct {
	spike     float64 // that it takes up to spikes as long
	spikes    time.Duration
	cutBefore float64 // that the connection breaks instead of a request being carried out
	cutAfter  float64 // that it breaks after the request was carried out
	mute      float64 // that nothing comes back any more
	stall     float64 // that a request is held up for up to stalls, while others of its client overtake it
	stalls    time.Duration
	losePush  float64 // that a published message is lost
	latePush  float64 // that it takes up to spikes as long
}

func newNetwork(seed uint64, dials ...func(context.Context) (net.Conn, error)) *network {
	n := &network{rng: rand.New(rand.NewPCG(seed, 1)), faults: make(map[string]int)}
	for _, dial := range dials {
		n.sites = append(n.sites, &site{dial: dial, before: func() {}, wires: make(map[*wire]struct{})})
	}
	return n
}

func (n *network) count(kind string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults[kind]++
}

// chance reports true with probability p and counts that as a fault.
func (n *network) chance(p float64, kind string) bool {
	if p == 0 {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.rng.Float64() >= p {
		return false
	}
	n.faults[kind]++
	return true
}

func (n *network) upTo(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Duration(n.rng.Int64N(int64(d)))
}

var errSiteDown = errors.New("connection refused")

// connect opens a connection over the link.
func (l *link) connect(ctx context.Context) (net.Conn, error) {
	s := l.site
	s.mu.Lock()
	down := s.down
	s.mu.Unlock()
	if down {
		return nil, errSiteDown
	}
	server, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	client, inner := net.Pipe()
	w := &wire{link: l, client: inner, server: server, broken: make(chan struct{}), up: make(chan parcel, 4096), back: make(chan parcel, 4096)}
	s.mu.Lock()
	if s.down {
		s.mu.Unlock()
		client.Close()
		w.cut()
		return nil, errSiteDown
	}
	s.wires[w] = struct{}{}
	s.mu.Unlock()
	go w.collect(w.client, w.up)
	go w.collect(w.server, w.back)
	go w.forward()
	go w.answer()
	return client, nil
}

// crash breaks all connections and refuses new ones.
func (s *site) crash() {
	s.mu.Lock()
	s.down = true
	s.mu.Unlock()
	s.cutAll()
}

func (s *site) recover() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = false
}

// cutAll breaks all connections; what is on its way is lost.
func (s *site) cutAll() {
	s.mu.Lock()
	wires := make([]*wire, 0, len(s.wires))
	for w := range s.wires {
		wires = append(wires, w)
	}
	s.mu.Unlock()
	for _, w := range wires {
		w.cut()
	}
}

// hangUp ends the clients' side of all connections; what is on its way to the
// server still arrives.
func (s *site) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.wires {
		w.client.Close()
	}
}

// wire is one connection. What the client sent before it hung up still
// arrives, as it does with a server that was stopped for a while.
type wire struct {
	link           *link
	client, server net.Conn
	up, back       chan parcel
	broken         chan struct{}
	once           sync.Once

	mu        sync.Mutex
	shaking   int  // handshake requests that were not answered yet
	pushes    bool // it subscribed
	dropReply bool // the next reply is lost, and the connection with it
	muted     bool
}

type parcel struct {
	data []byte
	due  time.Time
	free bool // nothing happens to it
	end  bool
}

func (w *wire) cut() {
	w.once.Do(func() {
		close(w.broken)
		w.client.Close()
		w.server.Close()
		s := w.link.site
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.wires, w)
	})
}

// collect reads one end, always without delay: a writer that is held up could
// hold up others, which a network does not do.
func (w *wire) collect(from net.Conn, to chan<- parcel) {
	l := w.link
	last := time.Now()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		p := parcel{data: bytes.Clone(buffer[:n]), due: time.Now().Add(l.latency + l.net.upTo(l.latency)), end: err != nil}
		if l.net.instant && w.handshake(p.data, to == w.up) {
			p.due, p.free = time.Now(), true
		} else if n > 0 && l.net.chance(l.spike, "slow message") {
			p.due = p.due.Add(l.net.upTo(l.spikes))
		}
		if p.due.Before(last) {
			p.due = last // a connection keeps its order
		}
		last = p.due
		select {
		case to <- p:
		case <-w.broken:
			return
		}
		if err != nil {
			return
		}
	}
}

// handshake reports whether this is a request that a client sends before it
// uses a connection, or the answer to one.
func (w *wire) handshake(data []byte, up bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if up && (bytes.Contains(data, []byte("$5\r\nhello\r\n")) || bytes.HasPrefix(data, []byte("*3\r\n$6\r\nclient\r\n")) || bytes.HasPrefix(data, []byte("*2\r\n$4\r\ninfo\r\n"))) {
		w.shaking++
		return true
	}
	if !up && w.shaking > 0 {
		w.shaking--
		return true
	}
	return false
}

// next waits for something to arrive.
func (w *wire) next(from <-chan parcel) (parcel, bool) {
	var p parcel
	select {
	case p = <-from:
	case <-w.broken:
		return p, false
	}
	if !w.wait(time.Until(p.due)) {
		return p, false
	}
	if p.free {
		return p, true
	}
	if from == w.back && !w.link.deaf.pass(w.broken) {
		return p, false
	}
	return p, w.link.frozen.pass(w.broken) && w.link.asleep.pass(w.broken) && w.link.site.hung.pass(w.broken)
}

// wait waits; false means that the connection broke meanwhile.
func (w *wire) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.broken:
		return false
	}
}

func (w *wire) forward() {
	l := w.link
	for {
		p, ok := w.next(w.up)
		if !ok {
			return
		}
		if p.free {
			l.site.before()
			if _, err := w.server.Write(p.data); err != nil {
				w.cut()
				return
			}
		} else if len(p.data) > 0 {
			if bytes.Contains(p.data, []byte("subscribe")) {
				w.mu.Lock()
				w.pushes = true
				w.mu.Unlock()
			}
			if l.holdsUp != nil && l.holdsUp(p.data) && !l.heldUp.pass(w.broken) {
				return
			}
			if l.net.chance(l.stall, "overtaken request") && !w.wait(l.net.upTo(l.stalls)) {
				return
			}
			if l.net.chance(l.cutBefore, "cut before execution") {
				w.cut()
				return
			}
			if l.net.chance(l.cutAfter, "cut after execution") {
				w.mu.Lock()
				w.dropReply = true
				w.mu.Unlock()
			}
			if l.net.chance(l.mute, "lost reply") {
				w.mu.Lock()
				w.muted = true
				w.mu.Unlock()
			}
			l.site.before()
			if _, err := w.server.Write(p.data); err != nil {
				w.cut()
				return
			}
		}
		if p.end {
			w.server.Close() // which ends the answers too
			return
		}
	}
}

func (w *wire) answer() {
	l := w.link
	defer w.cut()
	for {
		p, ok := w.next(w.back)
		if !ok {
			return
		}
		w.mu.Lock()
		dropReply, muted, pushes := w.dropReply, w.muted, w.pushes
		w.mu.Unlock()
		if len(p.data) > 0 && dropReply {
			return
		}
		lost := pushes && bytes.Contains(p.data, []byte("granted ")) && l.net.chance(l.losePush, "lost message")
		if pushes && bytes.Contains(p.data, []byte("granted ")) && l.net.chance(l.latePush, "late message") {
			time.Sleep(l.net.upTo(l.spikes))
		}
		if len(p.data) > 0 && !muted && !lost && (p.free || !l.site.silent.Load()) {
			_, _ = w.client.Write(p.data) // nobody may be there any more
		}
		if p.end {
			return
		}
	}
}

// barrier holds goroutines back while it is shut.
type barrier struct {
	mu   sync.Mutex
	shut chan struct{} // nil while open
}

func (b *barrier) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shut == nil {
		b.shut = make(chan struct{})
	}
}

func (b *barrier) open() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shut != nil {
		close(b.shut)
		b.shut = nil
	}
}

func (b *barrier) isShut() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.shut != nil
}

// pass waits until the barrier is open; false means that there is no need to.
func (b *barrier) pass(stop <-chan struct{}) bool {
	for {
		b.mu.Lock()
		shut := b.shut
		b.mu.Unlock()
		select {
		case <-stop:
			return false
		default:
		}
		if shut == nil {
			return true
		}
		select {
		case <-shut:
		case <-stop:
			return false
		}
	}
}
