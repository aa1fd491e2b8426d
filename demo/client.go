package demo

import (
	"context"
	"net"
	"time"

	"dlock/demo/lab"
	"dlock/lockcore"
	"dlock/lockcore/node"
)

// connections is how many a client may have to each node. It does one thing at
// a time, and what it does in the background is little.
const connections = 4

// network is what lies between the clients and the nodes.
type network struct {
	links []*lab.Link // one to each node, for all clients
}

func newNetwork(nodes int) *network {
	n := &network{links: make([]*lab.Link, nodes)}
	for i := range n.links {
		n.links[i] = &lab.Link{}
	}
	return n
}

// client is one process of a fleet: connections and lockers of its own, and a
// cable of its own, so that it can be stopped as a whole.
type client struct {
	name    string
	cable   lab.Link
	nodes   []*node.Node
	pair    *node.Node // the Redis with a replica, nil without
	lockers map[Mode]*lockcore.Locker
}

// connect makes a client that reaches each URL over the network's link to it
// and over its own cable.
func connect(name string, urls []string, net *network) (*client, error) {
	k := &client{name: name, lockers: make(map[Mode]*lockcore.Locker)}
	for i, url := range urls {
		n, err := node.Open(url, node.Options{
			Name: nodeName(i), Timeout: time.Second, PoolSize: connections, Dialer: k.over(net.links[i]),
		})
		if err != nil {
			k.close()
			return nil, err
		}
		k.nodes = append(k.nodes, n)
	}
	return k, nil
}

// locker returns the client's locker for a mode, which it makes when it is
// first asked for. Only the worker whose client it is asks.
func (k *client) locker(mode Mode, d *Demo) (*lockcore.Locker, error) {
	if mode == Fenced {
		mode = Redlock // the difference is in the store
	}
	if l := k.lockers[mode]; l != nil {
		return l, nil
	}
	voters := k.nodes
	switch mode {
	case Single:
		voters = k.nodes[:1]
	case Replica:
		p := d.thePair()
		n, err := node.Open(p.url(), node.Options{Name: "service", Timeout: time.Second, PoolSize: connections, Dialer: p.dialer(&k.cable)})
		if err != nil {
			return nil, err
		}
		k.pair, voters = n, []*node.Node{n}
	}
	options := []lockcore.Option{
		lockcore.WithOwner(k.name), lockcore.WithTTL(d.config.TTL), lockcore.WithNodeTimeout(nodeTimeout),
	}
	if !d.config.Quarantine {
		options = append(options, lockcore.WithDurable())
	}
	locker, err := lockcore.New(voters, options...)
	if err != nil {
		return nil, err
	}
	k.lockers[mode] = locker
	return locker, nil
}

// over is a dialer for a link that also is cut when the client's cable is.
func (k *client) over(link *lab.Link) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		return k.cable.Over(ctx, func(ctx context.Context) (net.Conn, error) { return link.Dial(ctx, network, addr) })
	}
}

// close ends what the client does and breaks its connections. Locks that it
// holds end with their TTL.
func (k *client) close() {
	for _, locker := range k.lockers {
		locker.Close()
	}
	node.CloseAll(k.nodes)
	if k.pair != nil {
		k.pair.Close()
	}
}
