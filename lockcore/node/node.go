// Package node turns a URL into a named, connected Redis node. It is the one
// place that knows URLs, credentials, timeouts, what go-redis must be told so
// that a hanging server cannot hold its caller, and how to speak of a failure
// without telling a secret.
//
// Opening a node does no I/O: the connection is made by the first command and
// made again by every later one that needs it, so a node that is down when the
// program starts is used as soon as it is up.
package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

func init() {
	// go-redis reports refused connections on stderr by itself, four lines
	// each. The caller gets the error anyway, and stderr may be a terminal
	// somebody is looking at.
	logging.Disable()
}

// Defaults of [Options].
const (
	DefaultTimeout     = 300 * time.Millisecond
	DefaultDialTimeout = 300 * time.Millisecond
)

// Options says how to talk to a node. The zero value is usable.
type Options struct {
	// Name is how the node is called on screen and in errors. Empty means
	// its address.
	Name string
	// Timeout bounds each command on the wire, also while the server
	// hangs. A caller's context may be shorter, never longer.
	Timeout time.Duration
	// DialTimeout bounds the connection set-up.
	DialTimeout time.Duration
	// Username and Password are used where the URL has none.
	Username, Password string
	// SentinelUsername and SentinelPassword are for the sentinels, which
	// have accounts of their own. They are not given the data nodes'.
	SentinelUsername, SentinelPassword string
	// DB is used where the URL names none.
	DB int
	// PoolSize bounds the connections to the node; 0 means go-redis'
	// default of ten per CPU.
	PoolSize int
	// TLS encrypts connections to redis://, redis+sentinel:// and
	// redis+cluster:// too; rediss:// always is. A unix socket never is.
	TLS bool
	// TLSConfig says whom to trust and who we are wherever TLS is used; see
	// [TLSParts]. nil means the system's authorities and no certificate of
	// our own. An empty ServerName means the host that is connected to.
	TLSConfig *tls.Config
	// ReadOnly refuses, before anything is sent, each command that is not
	// known to only read. It is the last line of --read-only.
	ReadOnly bool
	// Dialer makes the connections instead of net.Dialer, for a network of
	// the caller's own: a tunnel, or one that breaks on purpose. It is told
	// the network ("tcp" or "unix") and the address as the URL has it, gets
	// a context that ends with DialTimeout, must be safe for concurrent use,
	// and does TLS itself where the URL asks for it. nil means net.Dialer.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Topology is what stands behind a URL.
type Topology string

// The topologies.
const (
	// Single is one server.
	Single Topology = "single"
	// Sentinel is the present master of a replicated deployment, as its
	// sentinels name it; a failover is followed.
	Sentinel Topology = "sentinel"
	// Cluster is all shards of a Redis Cluster, each key on its own.
	Cluster Topology = "cluster"
)

// Node is one Redis deployment that commands can be sent to: a server, or what
// sentinels or a cluster make look like one. It is safe for concurrent use.
// Close it when done.
type Node struct {
	name       string
	addr       string
	topology   Topology
	db         int
	timeout    time.Duration
	client     redis.UniversalClient
	target     target
	options    Options
	nameless   atomic.Bool // the server refuses CLIENT SETNAME
	untouching atomic.Bool // our commands are not to count as use of the keys

	mu        sync.Mutex
	onConnect []func(context.Context, *redis.Conn) error
	servers   map[string]*Node         // by address, see Server
	sentinels map[string]*redis.Client // by address
	closed    bool
}

// Open makes a node of a URL:
//
//	redis://[user:password@]host[:port][/db]       one server
//	rediss://…                                     the same over TLS
//	unix://[user:password@]/path/to.sock[?db=N]    a socket
//	redis+sentinel://[user:password@]h1,h2,h3/master[/db]
//	redis+cluster://[user:password@]h1,h2,h3
//
// It does no I/O. The error never repeats the URL, which may hold a password.
func Open(rawURL string, o Options) (*Node, error) {
	t, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	if t.username == "" {
		t.username = o.Username
	}
	if t.password == "" {
		t.password = o.Password
	}
	if t.db < 0 {
		t.db = o.DB
	}
	if t.topology == Cluster && t.db != 0 {
		return nil, errors.New("a cluster has only database 0")
	}
	if t.username != "" && t.password == "" || o.SentinelUsername != "" && o.SentinelPassword == "" {
		return nil, errors.New("a user name is given without its password, so nobody can be logged in; a password alone is written redis://:password@host")
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.DialTimeout <= 0 {
		o.DialTimeout = DefaultDialTimeout
	}
	return open(t, o), nil
}

// open makes a node of a target and options that are complete.
func open(t target, o Options) *Node {
	n := &Node{name: o.Name, addr: t.display(), topology: t.topology, db: t.db, timeout: o.Timeout, target: t, options: o}
	if n.name == "" {
		n.name = n.addr
	}
	o = o.dialing(&t)
	n.client = connect(t, o, n.connected)
	if s := NewSecrets(t.username, t.password, o.SentinelUsername, o.SentinelPassword); len(s.words) > 0 {
		n.client.AddHook(redaction{s})
	}
	watchStages(n.client, t.topology)
	if o.ReadOnly {
		n.client.AddHook(readOnlyGuard{})
	}
	return n
}

// The settings below are the same for each client, and each has its reason:
//
//   - ContextTimeoutEnabled: without it go-redis ignores the context's
//     deadline while it waits for a reply, and one hanging node holds its
//     caller for seconds.
//   - MaxRetries -1, DialerRetries 1: a retry on a fresh connection would turn
//     a lost reply of SET NX into "taken"; whoever may retry safely does so
//     knowingly.
//   - DisableIdentity, no maintenance notifications: servers older than 7.2
//     and some proxies answer that handshake with errors, for nothing we use.
func connect(t target, o Options, connected func(context.Context, *redis.Conn) error) redis.UniversalClient {
	quiet := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	poolTimeout := o.Timeout + o.DialTimeout
	switch t.topology {
	case Sentinel:
		return redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: t.master, SentinelAddrs: t.addrs,
			SentinelUsername: o.SentinelUsername, SentinelPassword: o.SentinelPassword,
			Username: t.username, Password: t.password, DB: t.db, TLSConfig: t.tls, Protocol: 2,
			DialTimeout: o.DialTimeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout, PoolTimeout: poolTimeout, PoolSize: o.PoolSize,
			ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true, Dialer: o.Dialer, OnConnect: connected,
		})
	case Cluster:
		return redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: t.addrs, Username: t.username, Password: t.password, TLSConfig: t.tls, Protocol: 2,
			DialTimeout: o.DialTimeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout, PoolTimeout: poolTimeout, PoolSize: o.PoolSize,
			// MaxRedirects stays: a moved slot is no failure.
			ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true, MaintNotificationsConfig: quiet, Dialer: o.Dialer, OnConnect: connected,
		})
	default:
		return redis.NewClient(&redis.Options{
			Network: t.network, Addr: t.addrs[0], Username: t.username, Password: t.password, DB: t.db, TLSConfig: t.tls, Protocol: 2,
			DialTimeout: o.DialTimeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout, PoolTimeout: poolTimeout, PoolSize: o.PoolSize,
			ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true, MaintNotificationsConfig: quiet, Dialer: o.Dialer, OnConnect: connected,
		})
	}
}

// OpenAll opens one node per URL and names them n1, n2, … in order. It refuses
// two URLs with the same address and database, since a server that is counted
// twice would fake a quorum. On error nothing stays open.
func OpenAll(urls []string, o Options) ([]*Node, error) {
	var nodes []*Node
	seen := make(map[string]string)
	for i, u := range urls {
		o.Name = "n" + strconv.Itoa(i+1)
		n, err := Open(u, o)
		if err != nil {
			CloseAll(nodes)
			return nil, fmt.Errorf("node %d: %w", i+1, err)
		}
		nodes = append(nodes, n)
		if other, dup := seen[n.addr]; dup {
			CloseAll(nodes)
			return nil, fmt.Errorf("node %d: %s is the same server as %s; each voter must be a server of its own", i+1, n.addr, other)
		}
		seen[n.addr] = n.name
	}
	return nodes, nil
}

// CloseAll closes every node.
func CloseAll(nodes []*Node) {
	for _, n := range nodes {
		n.Close()
	}
}

// Name is how the node is called: n1, n2, … or its address.
func (n *Node) Name() string { return n.name }

// Addr is host:port, a socket's path, or for a sentinel or cluster URL its list
// of hosts, without user name or password.
func (n *Node) Addr() string { return n.addr }

// Topology is what stands behind the node's URL.
func (n *Node) Topology() Topology { return n.topology }

// DB is the number of the database that is used.
func (n *Node) DB() int { return n.db }

// Timeout is the limit of one command on the wire.
func (n *Node) Timeout() time.Duration { return n.timeout }

// Client is the connection pool to the node. The errors of its commands do not
// repeat the node's own user name and password, even where the server does;
// those of subscriptions and of single connections taken from it may.
func (n *Node) Client() redis.UniversalClient { return n.client }

// OnConnect adds something to do on each new connection, before any command is
// sent on it; an error of it fails the connection. It does not concern
// connections that are open already. It is safe for concurrent use.
func (n *Node) OnConnect(do func(context.Context, *redis.Conn) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.onConnect = append(n.onConnect, do)
}

func (n *Node) connected(ctx context.Context, cn *redis.Conn) error {
	if err := n.introduce(ctx, cn); err != nil {
		return err
	}
	if err := n.leaveIdleTimes(ctx, cn); err != nil {
		return err
	}
	n.mu.Lock()
	all := n.onConnect
	n.mu.Unlock()
	for _, do := range all {
		if err := do(ctx, cn); err != nil {
			return err
		}
	}
	return nil
}

// ClientName is what connections call themselves in CLIENT LIST, where the
// server permits it.
const ClientName = "dlock"

// introduce gives a new connection its name. A server that refuses is not asked
// again.
func (n *Node) introduce(ctx context.Context, cn *redis.Conn) error {
	if n.nameless.Load() {
		return nil
	}
	err := cn.ClientSetName(ctx, ClientName).Err()
	var reply redis.Error
	if !errors.As(err, &reply) {
		return err
	}
	switch Classify(err) {
	case Forbidden, Refused:
		n.nameless.Store(true)
	}
	return nil
}

// Close drops all connections, also those to the node's servers. Commands sent
// afterwards fail.
func (n *Node) Close() error {
	n.mu.Lock()
	n.closed = true
	servers, sentinels := n.servers, n.sentinels
	n.servers, n.sentinels = nil, nil
	n.mu.Unlock()
	err := n.client.Close()
	for _, s := range servers {
		err = errors.Join(err, s.Close())
	}
	for _, c := range sentinels {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Ping reports whether the node answers at all, even with an error: a server
// that refuses PING to this user is there.
func (n *Node) Ping(ctx context.Context) error {
	err := n.client.Ping(ctx).Err()
	var reply redis.Error
	if errors.As(err, &reply) {
		return nil
	}
	return err
}
