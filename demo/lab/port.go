package lab

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
)

// host is where all nodes listen. An address, not a name: what "localhost"
// resolves to differs between machines.
const host = "127.0.0.1"

// The ports of nodes lie below the range from which systems pick the ports of
// outgoing connections. Otherwise a client's connection could take the port
// of a node that is down, and the node could not come back.
const (
	firstPort = 21000
	lastPort  = 31999
)

// port is a TCP port that belongs to one node while the node is up and while
// it is down.
type port struct {
	number int
	mark   io.Closer
}

// reservePort finds a port that nothing uses. A node that is down does not
// listen, so other labs, in this process or another one, could take its port
// for free; the UDP port of the same number is held to tell them otherwise.
// The system gives it back when the process ends, however it ends.
func reservePort() (*port, error) {
	var last error
	for range 1000 {
		number := firstPort + rand.IntN(lastPort-firstPort+1)
		addr := net.JoinHostPort(host, strconv.Itoa(number))
		mark, err := net.ListenPacket("udp4", addr)
		if err != nil {
			last = err
			continue
		}
		probe, err := net.Listen("tcp4", addr)
		if err != nil {
			mark.Close()
			last = err
			continue
		}
		probe.Close()
		return &port{number: number, mark: mark}, nil
	}
	return nil, fmt.Errorf("no free port between %d and %d on %s: %w", firstPort, lastPort, host, last)
}

// release gives the port back. It may be called more than once.
func (p *port) release() { p.mark.Close() }
