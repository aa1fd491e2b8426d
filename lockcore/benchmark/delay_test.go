package main

import (
	"bytes"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// clock is one that only moves when it is told to, or slept by.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestLineKeepsOrderAndDelay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pauses := rapid.SliceOfN(rapid.Int64Range(0, 20), 1, 50).Draw(t, "pauses in ms")
		delay := time.Duration(rapid.Int64Range(0, 30).Draw(t, "delay in ms")) * time.Millisecond
		c := &clock{now: time.Unix(0, 0)}
		l := newLine(delay, c.read, c.pass)
		var order []int
		for i, pause := range pauses {
			c.pass(time.Duration(pause) * time.Millisecond)
			sent := c.read()
			l.send(func() {
				order = append(order, i)
				if now := c.read(); now.Before(sent.Add(delay)) {
					t.Errorf("parcel %d came after %v instead of %v", i, now.Sub(sent), delay)
				}
			})
		}
		l.close()
		if len(order) != len(pauses) || !slices.IsSorted(order) {
			t.Fatalf("%d parcels came as %v", len(pauses), order)
		}
	})
}

// tunnel is a proxy before a server that does with each connection what serve
// does.
func tunnel(t *testing.T, serve func(net.Conn)) *proxy {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	way := newLine(time.Millisecond, time.Now, time.Sleep)
	p, err := newProxy(way, server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.close()
		way.close()
		server.Close()
		serving.Wait()
	})
	return p
}

func dial(t *testing.T, p *proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestProxyBringsEveryByteInOrder(t *testing.T) {
	p := tunnel(t, func(c net.Conn) { io.Copy(c, c) })
	var all sync.WaitGroup
	for first := range byte(4) {
		c := dial(t, p)
		sent := make([]byte, 3*chunk+17)
		for i := range sent {
			sent[i] = first + byte(i%251)
		}
		all.Go(func() {
			if _, err := c.Write(sent); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			got := make([]byte, len(sent))
			if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, sent) {
				t.Errorf("what came back is not what was sent (%v)", err)
			}
		})
	}
	all.Wait()
}

// What a server said last arrives although it hung up after it.
func TestProxyEndsBehindTheLastByte(t *testing.T) {
	p := tunnel(t, func(c net.Conn) { io.WriteString(c, "bye") })
	got, err := io.ReadAll(dial(t, p))
	if err != nil || string(got) != "bye" {
		t.Errorf("got %q (%v)", got, err)
	}
}

func TestClosingAProxyBreaksItsConnections(t *testing.T) {
	p := tunnel(t, func(c net.Conn) { io.Copy(c, c) })
	c := dial(t, p)
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("read %d bytes through a proxy that is closed", n)
	}
}
