package lab

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"testing"
	"time"
)

func TestGate(t *testing.T) {
	g := newGate()
	if !g.pass() {
		t.Fatal("a new gate does not let anybody pass")
	}
	g.reopen() // open already
	g.close()
	g.close()
	passed := make(chan bool)
	for range 3 {
		go func() { passed <- g.pass() }()
	}
	select {
	case <-passed:
		t.Fatal("somebody passed a closed gate")
	default:
	}
	g.reopen()
	for range 3 {
		if !<-passed {
			t.Fatal("the gate turned somebody away when it was opened")
		}
	}
	g.close()
	go func() { passed <- g.pass() }()
	g.breakDown()
	if <-passed {
		t.Fatal("somebody passed a broken gate")
	}
	g.reopen()
	if g.pass() {
		t.Fatal("a broken gate was opened again")
	}
}

// The reply to a command that was under way when the pause began.
func TestPauseHoldsReplies(t *testing.T) {
	r := &run{replies: newGate(), conns: map[*heldConn]struct{}{}}
	server, client := net.Pipe()
	defer client.Close()
	held := &heldConn{Conn: server, run: r}
	defer held.Close()
	r.replies.close()
	wrote := make(chan error, 1)
	go func() {
		_, err := held.Write([]byte("+OK"))
		wrote <- err
	}()
	reply := make([]byte, 3)
	client.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := client.Read(reply); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("during the pause: %q, %v", reply, err)
	}
	client.SetReadDeadline(time.Time{})
	r.replies.reopen()
	if _, err := io.ReadFull(client, reply); err != nil || string(reply) != "+OK" {
		t.Fatalf("after the pause: %q, %v", reply, err)
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	r.replies.breakDown()
	if _, err := held.Write([]byte("+OK")); !errors.Is(err, net.ErrClosed) {
		t.Fatalf("after the kill: %v", err)
	}
}

func TestReservedPorts(t *testing.T) {
	seen := map[int]bool{}
	for range 200 {
		p, err := reservePort()
		if err != nil {
			t.Fatal(err)
		}
		defer p.release()
		if p.number < firstPort || p.number > lastPort || seen[p.number] {
			t.Fatalf("port %d is out of range or was given twice", p.number)
		}
		seen[p.number] = true
	}
}

// A port can be taken between the moment it was found free and the moment the
// server wants it.
func TestStartOnPortJustTaken(t *testing.T) {
	kinds := map[string]func(name string, port int) server{
		"embedded": func(_ string, port int) server { return newEmbedded(port) },
	}
	if _, ok := FindServer(); ok {
		s, err := openSite("", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		kinds["process"] = s.newServer
	}
	for kind, build := range kinds {
		t.Run(kind, func(t *testing.T) {
			taken := map[int]bool{}
			n, err := startNode(t.Context(), context.Background(), "n1", func(name string, port int) server {
				if len(taken) < 3 {
					taken[port] = true
					thief := newEmbedded(port) // one that answers like a server
					if err := thief.start(t.Context(), true); err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { thief.kill() })
				}
				return build(name, port)
			})
			if err != nil {
				t.Fatal(err)
			}
			defer n.close()
			_, port, _ := net.SplitHostPort(n.Addr())
			if number, _ := strconv.Atoi(port); len(taken) != 3 || taken[number] {
				t.Errorf("the node is on port %s; taken were %v", port, taken)
			}
		})
	}
}

func TestStartWithoutAnyPort(t *testing.T) {
	tries := 0
	_, err := startNode(t.Context(), context.Background(), "n1", func(string, int) server {
		tries++
		return stub{startErr: errPortTaken}
	})
	if !errors.Is(err, errPortTaken) || tries != portTries {
		t.Errorf("after %d tries: %v; want %d and that the port is taken", tries, err, portTries)
	}
}

// stub is a server that does not start.
type stub struct{ startErr error }

func (s stub) start(context.Context, bool) error { return s.startErr }
func (stub) kill() error                         { return nil }
func (stub) pause() error                        { return nil }
func (stub) resume() error                       { return nil }
func (stub) jump(time.Duration) error            { return nil }
func (stub) state() State                        { return Down }
func (stub) pid() int                            { return 0 }
