package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"dlock/demo/lab"
	"dlock/lockcore/node"
)

const (
	// lag is how far the replica of an embedded node is behind, and how often
	// what a replica has is looked at.
	lag = 20 * time.Millisecond
	// syncLimit bounds the first copy of a replica.
	syncLimit = 20 * time.Second
	// blindLimit bounds each wait for something that the replica misses.
	blindLimit = 2 * time.Second
)

// pair is one Redis with an asynchronous replica, behind one address that
// clients are sent to: the primary's, whichever that is.
//
// Between redis-server processes it is Redis' own replication. Embedded nodes
// have none, so a loop copies what the primary stores every 20 ms, which is
// asynchronous too.
type pair struct {
	lab   *lab.Lab
	links map[string]*lab.Link

	mu      sync.Mutex
	nodes   [2]*lab.Node // the primary and the other one
	clients map[*lab.Node]*node.Node
	copying context.CancelFunc // ends the copying of embedded nodes
	copied  sync.WaitGroup
}

func startPair(ctx context.Context, kind lab.Kind) (*pair, error) {
	l, err := lab.Start(ctx, lab.Config{Nodes: 2, Kind: kind, Prefix: "r", Args: []string{"--repl-diskless-sync-delay", "0"}})
	if err != nil {
		return nil, err
	}
	p := &pair{lab: l, nodes: [2]*lab.Node(l.Nodes()), clients: make(map[*lab.Node]*node.Node), links: make(map[string]*lab.Link)}
	for _, n := range l.Nodes() {
		p.links[n.Name()] = &lab.Link{}
		if p.clients[n], err = node.Open(n.URL(), node.Options{Name: n.Name(), Timeout: time.Second}); err != nil {
			return nil, errors.Join(err, p.close())
		}
	}
	if err := p.follow(ctx); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *pair) close() error {
	p.unfollow()
	for _, c := range p.clients {
		c.Close()
	}
	return p.lab.Close()
}

// url is what clients are given; where it leads is up to dialer.
func (p *pair) url() string { return p.lab.URLs()[0] }

// dialer connects to whichever node is the primary, over a client's cable.
func (p *pair) dialer(cable *lab.Link) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		primary := p.primary()
		return cable.Over(ctx, func(ctx context.Context) (net.Conn, error) {
			return p.links[primary.Name()].Dial(ctx, network, primary.Addr())
		})
	}
}

func (p *pair) primary() *lab.Node {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.nodes[0]
}

func (p *pair) both() (primary, replica *lab.Node) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.nodes[0], p.nodes[1]
}

// follow makes the other node a replica of the primary and returns when it has
// everything.
func (p *pair) follow(ctx context.Context) error {
	primary, replica := p.both()
	if p.lab.Kind() == lab.Embedded {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		p.copying = cancel
		p.copied.Go(func() { p.copy(ctx, primary, replica) })
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, syncLimit)
	defer cancel()
	host, port, err := net.SplitHostPort(primary.Addr())
	if err != nil {
		return err
	}
	c := p.clients[replica].Client()
	if err := c.Do(ctx, "REPLICAOF", host, port).Err(); err != nil {
		return fmt.Errorf("%s cannot be made a replica: %w", replica.Name(), err)
	}
	tick := time.NewTicker(lag)
	defer tick.Stop()
	for {
		info, err := c.Info(ctx, "replication").Result()
		if err == nil && strings.Contains(info, "master_link_status:up") {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s did not become a replica: %w", replica.Name(), errors.Join(err, ctx.Err()))
		case <-tick.C:
		}
	}
}

// unfollow ends the copying between embedded nodes.
func (p *pair) unfollow() {
	if p.copying != nil {
		p.copying()
		p.copying = nil
	}
	p.copied.Wait()
}

// missed is what a replica did not know when it took over.
type missed struct {
	key string // "" if it knew everything
	// grant says that the lock was granted behind its back, so that two can
	// believe in it; otherwise it still has a lock that was released, and
	// keeps everybody out until that expires.
	grant bool
}

// fail is a failover as asynchronous replication allows it: the replica loses
// sight of the primary, which goes on granting; then the primary dies, the
// replica is promoted, and clients are sent there. It waits for a moment in
// which there is something to lose, and tells what that was.
func (p *pair) fail(ctx context.Context, keys []string) (m missed, err error) {
	primary, replica := p.both()
	crown, heir := p.clients[primary].Client(), p.clients[replica].Client()
	// What the replica knows to be free when it loses sight can be granted
	// behind its back.
	_ = p.wait(ctx, func(ctx context.Context) bool {
		for _, key := range keys {
			there, err := crown.Exists(ctx, key).Result()
			here, failed := heir.Exists(ctx, key).Result()
			if err == nil && failed == nil && there+here == 0 {
				return true
			}
		}
		return false
	})
	p.unfollow()
	if p.lab.Kind() == lab.Process {
		if err := heir.Do(ctx, "REPLICAOF", "NO", "ONE").Err(); err != nil {
			return m, fmt.Errorf("%s cannot be promoted: %w", replica.Name(), err)
		}
	}
	_ = p.wait(ctx, func(ctx context.Context) bool {
		for _, key := range keys {
			there, err := crown.Get(ctx, key).Result()
			if err != nil {
				continue
			}
			switch here, err := heir.Get(ctx, key).Result(); {
			case errors.Is(err, redis.Nil):
				m = missed{key, true}
				return true
			case err == nil && here != there:
				m = missed{key, false}
			}
		}
		return false
	})
	if err := primary.Kill(); err != nil {
		return m, err
	}
	p.mu.Lock()
	p.nodes[0], p.nodes[1] = replica, primary
	p.mu.Unlock()
	return m, nil
}

// wait asks again and again until ok says yes, for no longer than blindLimit.
func (p *pair) wait(ctx context.Context, ok func(ctx context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, blindLimit)
	defer cancel()
	tick := time.NewTicker(lag / 10)
	defer tick.Stop()
	for !ok(ctx) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// rejoin brings the node that died back as a replica.
func (p *pair) rejoin(ctx context.Context) error {
	_, replica := p.both()
	if replica.State() == lab.Up && p.copying != nil {
		return nil
	}
	// What it had is of no use to it: a replica takes over all of the primary's.
	if err := replica.Restart(ctx, true); err != nil {
		return err
	}
	p.unfollow()
	return p.follow(ctx)
}

// copy makes the replica's contents those of the primary, over and over. It
// knows the types that locks are made of.
func (p *pair) copy(ctx context.Context, primary, replica *lab.Node) {
	tick := time.NewTicker(lag)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			// A node that does not answer is behind for longer.
			_ = copyOnce(ctx, p.clients[primary].Client(), p.clients[replica].Client())
		}
	}
}

func copyOnce(ctx context.Context, from, to redis.UniversalClient) error {
	keys, err := from.Keys(ctx, "*").Result()
	if err != nil {
		return err
	}
	has, err := to.Keys(ctx, "*").Result()
	if err != nil {
		return err
	}
	pipe := to.TxPipeline()
	for _, key := range has {
		pipe.Del(ctx, key)
	}
	for _, key := range keys {
		kind, err := from.Type(ctx, key).Result()
		if err != nil {
			return err
		}
		switch kind {
		case "string":
			v, err := from.Get(ctx, key).Result()
			if errors.Is(err, redis.Nil) {
				continue // gone meanwhile
			} else if err != nil {
				return err
			}
			pipe.Set(ctx, key, v, 0)
		case "hash":
			v, err := from.HGetAll(ctx, key).Result()
			if err != nil {
				return err
			}
			for field, value := range v {
				pipe.HSet(ctx, key, field, value)
			}
		case "zset":
			v, err := from.ZRangeWithScores(ctx, key, 0, -1).Result()
			if err != nil {
				return err
			}
			pipe.ZAdd(ctx, key, v...)
		default:
			continue
		}
		left, err := from.PTTL(ctx, key).Result()
		if err != nil {
			return err
		}
		if left > 0 {
			pipe.PExpire(ctx, key, left)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	_, err = pipe.Exec(ctx)
	return err
}

// needPair starts the Redis with a replica, if it is not there yet. Workers
// connect to it when they need it.
func (d *Demo) needPair(ctx context.Context) error {
	if d.thePair() != nil {
		return nil
	}
	p, err := startPair(ctx, d.config.Kind)
	if err != nil {
		return fmt.Errorf("the Redis with a replica does not start: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pair = p
	return nil
}

func (d *Demo) thePair() *pair {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pair
}
