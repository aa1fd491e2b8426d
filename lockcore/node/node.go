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
	"net/url"
	"strconv"
	"strings"
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
	// DB is used where the URL names none.
	DB int
	// PoolSize bounds the connections to the node; 0 means go-redis'
	// default of ten per CPU.
	PoolSize int
	// ReadOnly refuses, before anything is sent, each command that is not
	// known to only read. It is the last line of --read-only.
	ReadOnly bool
}

// Node is one Redis server that commands can be sent to. It is safe for
// concurrent use. Close it when done.
type Node struct {
	name    string
	addr    string
	db      int
	timeout time.Duration
	client  redis.UniversalClient
}

// Open makes a node of a URL: redis://[user:password@]host[:port][/db],
// rediss:// for the same over TLS, or unix://[user:password@]/path/to.sock[?db=N].
// It does no I/O. The error never
// repeats the URL, which may hold a password.
func Open(rawURL string, o Options) (*Node, error) {
	ro, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	if ro.Username == "" {
		ro.Username = o.Username
	}
	if ro.Password == "" {
		ro.Password = o.Password
	}
	if ro.DB < 0 {
		ro.DB = o.DB
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.DialTimeout <= 0 {
		o.DialTimeout = DefaultDialTimeout
	}
	ro.DialTimeout = o.DialTimeout
	ro.ReadTimeout = o.Timeout
	ro.WriteTimeout = o.Timeout
	ro.PoolTimeout = o.Timeout + o.DialTimeout
	ro.PoolSize = o.PoolSize
	// Without this go-redis ignores the context's deadline while it waits
	// for a reply, and one hanging node holds its caller for seconds.
	ro.ContextTimeoutEnabled = true
	// A retry on a fresh connection would turn a lost reply of SET NX into
	// "taken"; whoever may retry safely does so knowingly.
	ro.MaxRetries = -1
	ro.DialerRetries = 1
	// Servers older than 7.2 and some proxies answer CLIENT SETINFO and the
	// maintenance handshake with errors, for nothing we use.
	ro.DisableIdentity = true
	ro.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	ro.Protocol = 2

	client := redis.NewClient(ro)
	if o.ReadOnly {
		client.AddHook(readOnlyGuard{})
	}
	n := &Node{name: o.Name, addr: ro.Addr, db: ro.DB, timeout: o.Timeout, client: client}
	if n.name == "" {
		n.name = n.addr
	}
	return n, nil
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

// Addr is host:port or the socket's path, without user name or password.
func (n *Node) Addr() string { return n.addr }

// DB is the number of the database that is used.
func (n *Node) DB() int { return n.db }

// Timeout is the limit of one command on the wire.
func (n *Node) Timeout() time.Duration { return n.timeout }

// Client is the connection pool to the node.
func (n *Node) Client() redis.UniversalClient { return n.client }

// Close drops all connections. Commands sent afterwards fail.
func (n *Node) Close() error { return n.client.Close() }

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

// parse reads a node URL. Its errors never contain any part of the URL, since
// every part of a mistyped URL may be a piece of a password. DB is -1 when the
// URL names none.
func parse(rawURL string) (*redis.Options, error) {
	const hint = "in a user name or password the characters # % / ? @ : must be percent-encoded"
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, errors.New("the URL cannot be read; it looks like redis://[user:password@]host[:port][/db], and " + hint)
	}
	if u.Fragment != "" || u.RawFragment != "" {
		return nil, errors.New("the URL has a '#' in it; " + hint)
	}
	o := &redis.Options{DB: -1}
	if u.User != nil {
		o.Username = u.User.Username()
		o.Password, _ = u.User.Password()
	}
	query := u.Query()
	for name := range query {
		if name != "db" {
			return nil, errors.New("the URL has an unknown parameter after '?'; only db=N is accepted there, and " + hint)
		}
	}
	db := query.Get("db")

	switch u.Scheme {
	case "redis", "rediss":
		host, port := u.Hostname(), u.Port()
		if host == "" {
			host = "127.0.0.1"
		}
		if port == "" {
			port = "6379"
		}
		if p, err := strconv.Atoi(port); err != nil || p < 1 || p > 65535 {
			return nil, errors.New("the URL has a port that is not between 1 and 65535; " + hint)
		}
		o.Network, o.Addr = "tcp", net.JoinHostPort(host, port)
		if u.Scheme == "rediss" {
			o.TLSConfig = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
		}
		if path := strings.Trim(u.Path, "/"); path != "" {
			if db != "" {
				return nil, errors.New("the URL names the database twice, as a path and as db=N")
			}
			db = path
		}
	case "unix":
		if u.Host != "" || u.Path == "" {
			return nil, errors.New("a unix URL needs an absolute path: unix:///run/redis.sock")
		}
		o.Network, o.Addr = "unix", u.Path
	case "redis+sentinel", "redis+cluster":
		return nil, fmt.Errorf("%s:// is not supported by this version of dlock; use redis://, rediss:// or unix://", u.Scheme)
	default:
		return nil, errors.New("the URL must start with redis://, rediss:// or unix://")
	}
	if db != "" {
		n, err := strconv.Atoi(db)
		if err != nil || n < 0 {
			return nil, errors.New("the database in the URL is not a number; write redis://host:port/0, and " + hint)
		}
		o.DB = n
	}
	return o, nil
}
