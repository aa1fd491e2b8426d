package lab

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	redisserver "github.com/alicebob/miniredis/v2/server"
)

// agePeriod is how often times to live are brought up to date. The server can
// do it by itself on each command, but then each command walks all keys.
const agePeriod = 10 * time.Millisecond

// embedded is a server inside this process. It has a listener of its own
// instead of miniredis': so it can get ready before the first client reaches
// it, and break connections whose replies are held back.
type embedded struct {
	addr string

	// redis has the data and outlives the runs. Only the calls that change
	// the node touch it and run.
	redis *miniredis.Miniredis
	run   *run

	ageing sync.Mutex
	aged   time.Time     // until when times to live have been counted down
	ahead  time.Duration // of the machine's clock

	mu  sync.Mutex
	now State
}

// run is the time from a start to the next kill.
type run struct {
	listener net.Listener
	server   *redisserver.Server
	commands *gate
	replies  *gate
	clients  sync.Map      // *redisserver.Peer of connections, as opposed to those of scripts
	over     chan struct{} // closed by the kill
	wg       sync.WaitGroup

	mu     sync.Mutex
	killed bool
	conns  map[*heldConn]struct{}
}

func newEmbedded(port int) server {
	return &embedded{addr: net.JoinHostPort(host, strconv.Itoa(port)), now: Down}
}

func (e *embedded) start(ctx context.Context, wipe bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	listener, err := net.Listen("tcp4", e.addr)
	if err != nil {
		return fmt.Errorf("%w: %w", errPortTaken, err)
	}
	if wipe || e.redis == nil {
		e.redis = miniredis.NewMiniRedis()
		e.aged = time.Now()
	} else {
		// The kill has ended this context, with which blocking commands
		// wait.
		e.redis.Lock()
		e.redis.Ctx, e.redis.CtxCancel = context.WithCancel(context.Background())
		e.redis.Unlock()
	}
	if err := forgetScripts(e.redis); err != nil {
		e.redis.Close()
		listener.Close()
		return err
	}
	e.age(e.redis)

	r := &run{
		listener: listener,
		server:   e.redis.Server(),
		commands: newGate(),
		replies:  newGate(),
		over:     make(chan struct{}),
		conns:    make(map[*heldConn]struct{}),
	}
	r.server.SetPreHook(r.holdCommand)
	r.wg.Go(r.accept)
	redis := e.redis
	r.wg.Go(func() { e.keepAgeing(redis, r) })
	e.run = r
	e.become(Up)
	return nil
}

func (e *embedded) kill() error {
	r := e.run
	if r == nil {
		return nil
	}
	e.run = nil
	r.kill()
	e.redis.Close()
	e.become(Down)
	return nil
}

func (e *embedded) pause() error {
	e.run.commands.close()
	e.run.replies.close()
	e.become(Paused)
	return nil
}

func (e *embedded) resume() error {
	// A command that the pause caught in the middle may be waiting, inside
	// the lock that ageing needs, to hand a message to a subscriber; so
	// replies go first. Commands wait until the keys have got their age.
	e.run.replies.reopen()
	e.age(e.redis)
	e.run.commands.reopen()
	e.become(Up)
	return nil
}

func (e *embedded) state() State {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now
}

func (e *embedded) become(s State) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.now = s
}

func (e *embedded) pid() int { return 0 }

// age counts times to live down by what has passed since the last call,
// whether or not the node was up.
func (e *embedded) age(redis *miniredis.Miniredis) {
	e.ageing.Lock()
	defer e.ageing.Unlock()
	now := time.Now()
	redis.FastForward(now.Sub(e.aged))
	e.aged = now
	if e.ahead != 0 {
		redis.SetTime(now.Add(e.ahead).UTC())
	}
}

// jump moves the clock. Expiry is kept as the time left, so a jump is taken
// from it or added to it.
func (e *embedded) jump(d time.Duration) error {
	e.age(e.redis)
	e.ageing.Lock()
	defer e.ageing.Unlock()
	if d > 0 {
		e.redis.FastForward(d)
	} else {
		for i := range 16 { // as many databases as a server has
			db := e.redis.DB(i)
			for _, key := range db.Keys() {
				if left := db.TTL(key); left > 0 {
					db.SetTTL(key, left-d)
				}
			}
		}
	}
	e.ahead += d
	if e.ahead == 0 {
		e.redis.SetTime(time.Time{})
	} else {
		e.redis.SetTime(time.Now().Add(e.ahead).UTC())
	}
	return nil
}

func (e *embedded) keepAgeing(redis *miniredis.Miniredis, r *run) {
	tick := time.NewTicker(agePeriod)
	defer tick.Stop()
	for {
		select {
		case <-r.over:
			return
		case <-tick.C:
			if e.state() == Up {
				e.age(redis)
			}
		}
	}
}

// forgetScripts starts the server, reachable for nobody else yet, and empties
// its script cache, since that of a real server does not survive a restart.
func forgetScripts(redis *miniredis.Miniredis) error {
	conn, err := redis.Dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "*2\r\n$6\r\nSCRIPT\r\n$5\r\nFLUSH\r\n"); err != nil {
		return err
	}
	reply, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if reply != "+OK\r\n" {
		return fmt.Errorf("SCRIPT FLUSH was answered with %q", strings.TrimSpace(reply))
	}
	return nil
}

// kill ends the run and returns when none of its connections is left.
func (r *run) kill() {
	close(r.over)
	r.listener.Close()
	r.commands.breakDown()
	r.replies.breakDown()

	r.mu.Lock()
	r.killed = true
	var conns []*heldConn
	for c := range r.conns {
		conns = append(conns, c)
	}
	r.mu.Unlock()
	for _, c := range conns {
		c.Close()
	}
	r.wg.Wait()
}

func (r *run) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			select {
			case <-r.over:
				return
			case <-time.After(agePeriod): // out of file descriptors, most likely
				continue
			}
		}
		held := &heldConn{Conn: conn, run: r}
		if !r.add(held) {
			conn.Close()
			continue
		}
		r.server.ServeConn(held)
	}
}

func (r *run) add(c *heldConn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.killed {
		return false
	}
	r.conns[c] = struct{}{}
	return true
}

// holdCommand runs before each command. It tells the server to skip it when
// the node was killed.
func (r *run) holdCommand(p *redisserver.Peer, _ string, _ ...string) (skip bool) {
	// The commands inside a script come through here too. They must run to
	// the end, because the script holds the lock that ageing needs. Their
	// peers are born with a context; that of a connection has none before
	// its first command.
	if _, known := r.clients.Load(p); !known {
		if p.Ctx != nil {
			return false
		}
		r.clients.Store(p, nil)
		p.OnDisconnect(func() { r.clients.Delete(p) })
	}
	if r.commands.pass() {
		return false
	}
	p.Close()
	return true
}

// heldConn is a client's connection that sends nothing during a pause.
type heldConn struct {
	net.Conn
	run *run
}

func (c *heldConn) Write(b []byte) (int, error) {
	if !c.run.replies.pass() {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

func (c *heldConn) Close() error {
	c.run.mu.Lock()
	delete(c.run.conns, c)
	c.run.mu.Unlock()
	return c.Conn.Close()
}
