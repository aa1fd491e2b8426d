package lab

import (
	"context"
	"net"
	"os"
	"sync"
	"time"
)

// linkPatience bounds a connection attempt over a cut link. It is what a
// packet that nobody answers costs, without the minutes that a kernel would
// spend on it.
const linkPatience = 300 * time.Millisecond

// Link is a client's way to its nodes, which can be cut and slowed without
// the node or other clients noticing. Clients use it as their dialer. The zero
// value is an unbroken link; its methods may be called from any goroutine.
type Link struct {
	mu     sync.Mutex
	healed chan struct{} // not nil while the link is cut
	delay  time.Duration
	conns  map[*linkConn]struct{}
}

// Dial connects over the link. Over a cut one it waits until the link is
// healed, for 300 ms or until ctx ends, and then fails with a time-out.
func (l *Link) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return l.Over(ctx, func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	})
}

// Over is [Link.Dial] with a connection that dial makes, so that links can be
// laid one behind the other.
func (l *Link) Over(ctx context.Context, dial func(context.Context) (net.Conn, error)) (net.Conn, error) {
	if healed := l.cut(); healed != nil {
		patience := time.NewTimer(linkPatience)
		defer patience.Stop()
		select {
		case <-healed:
		case <-ctx.Done():
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
		case <-patience.C:
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
		}
	}
	conn, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &linkConn{Conn: conn, link: l, closed: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns == nil {
		l.conns = make(map[*linkConn]struct{})
	}
	l.conns[c] = struct{}{}
	return c, nil
}

// Cut drops whatever is sent either way from now on. Connections stay open, as
// they do when a cable is pulled, and nobody is told.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.healed == nil {
		l.healed = make(chan struct{})
	}
}

// Slow makes everything sent to the nodes arrive that much later; 0 ends it.
// What is under way is not overtaken.
func (l *Link) Slow(by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = by
}

// Heal ends a cut. Connections that lived through it are broken, since they
// lack what was dropped. It does nothing to a link that is not cut.
func (l *Link) Heal() {
	l.mu.Lock()
	if l.healed == nil {
		l.mu.Unlock()
		return
	}
	close(l.healed)
	l.healed = nil
	broken := l.conns
	l.conns = nil
	l.mu.Unlock()
	for c := range broken {
		c.Close()
	}
}

// State tells whether the link is cut and by how much it is slowed.
func (l *Link) State() (cut bool, delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.healed != nil, l.delay
}

func (l *Link) cut() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.healed
}

func (l *Link) forget(c *linkConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// linkConn is a connection over a link.
type linkConn struct {
	net.Conn
	link   *Link
	closed chan struct{}
	once   sync.Once

	writing sync.Mutex
	late    chan parcel // made by the first write that is delayed
}

// parcel is what arrives late.
type parcel struct {
	data []byte
	due  time.Time
}

func (c *linkConn) Write(b []byte) (int, error) {
	cut, delay := c.link.State()
	if cut {
		return len(b), nil
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.late == nil {
		if delay == 0 {
			return c.Conn.Write(b)
		}
		c.late = make(chan parcel, 64)
		go c.deliver()
	}
	select {
	case c.late <- parcel{append([]byte(nil), b...), time.Now().Add(delay)}:
		return len(b), nil
	case <-c.closed:
		return 0, net.ErrClosed
	}
}

// deliver writes what is late, in order, until the connection is closed.
func (c *linkConn) deliver() {
	for {
		select {
		case <-c.closed:
			return
		case p := <-c.late:
			wait := time.NewTimer(time.Until(p.due))
			select {
			case <-c.closed:
				wait.Stop()
				return
			case <-wait.C:
			}
			if c.link.cut() != nil {
				continue
			}
			// The write deadline is that of a sender who has long gone on.
			if _, err := c.Conn.Write(p.data); err != nil {
				c.Close()
				return
			}
		}
	}
}

func (c *linkConn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil || c.link.cut() == nil {
			return n, err
		}
	}
}

// SetDeadline and SetWriteDeadline leave writes alone that are late already:
// to the sender they have succeeded.
func (c *linkConn) SetDeadline(t time.Time) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.late != nil {
		return c.Conn.SetReadDeadline(t)
	}
	return c.Conn.SetDeadline(t)
}

func (c *linkConn) SetWriteDeadline(t time.Time) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.late != nil {
		return nil
	}
	return c.Conn.SetWriteDeadline(t)
}

func (c *linkConn) Close() error {
	var err error
	c.once.Do(func() {
		close(c.closed)
		c.link.forget(c)
		err = c.Conn.Close()
	})
	return err
}
