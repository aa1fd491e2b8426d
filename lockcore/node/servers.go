package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// SlotRange is a run of hash slots of a cluster, both ends included.
type SlotRange struct{ From, To int }

// Primary is a server of a deployment that takes writes.
type Primary struct {
	// Addr is host:port, as the sentinels or the cluster tell it. It comes
	// from a server and may be anything.
	Addr string
	// Slots are the hash slots it serves; none where the deployment is no
	// cluster.
	Slots []SlotRange
}

// slotCount is how many hash slots a cluster has.
const slotCount = 16384

// maxServers bounds the servers of one deployment that connections are kept to,
// so that a server that names ever new ones does not make us open ever more.
const maxServers = 1024

// Primaries asks which servers take writes at present: the sentinels for the
// master's address, or the servers of a cluster for all shards. Of a URL for
// one server it is that one. All hosts of the URL are asked at once, and for a
// cluster the addresses in also too; a sentinel's answer counts when more than
// half of them give it, or else the one that most give. Of a cluster it is the
// first usable answer, with hosts that also lists before those of the URL, since
// who asks knows of them that they are well. The result is never empty without
// an error, and waits for a hanging host no longer than the node's timeouts.
func (n *Node) Primaries(ctx context.Context, also ...string) ([]Primary, error) {
	switch n.topology {
	case Sentinel:
		return n.askSentinels(ctx)
	case Cluster:
		if len(also) > 0 {
			if all, err := n.askCluster(ctx, also); err == nil {
				return all, nil
			}
		}
		return n.askCluster(ctx, n.target.addrs)
	default:
		return []Primary{{Addr: n.addr}}, nil
	}
}

// Server returns one server of the node's deployment as a node of its own, with
// the same credentials, timeouts and restrictions, named by its address. It
// does no I/O. It is closed with n, and closing it by itself is allowed. The
// same address gives the same node until that is closed. The error says that
// the address is none, or that there are too many.
func (n *Node) Server(addr string) (*Node, error) {
	host, port, err := net.SplitHostPort(addr)
	if p, bad := strconv.Atoi(port); err != nil || bad != nil || host == "" || p < 1 || p > 65535 {
		return nil, errors.New("a server was named that has no usable address")
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if s, ok := n.servers[addr]; ok && !s.isClosed() {
		return s, nil
	}
	for known, s := range n.servers {
		if s.isClosed() {
			delete(n.servers, known)
		}
	}
	switch {
	case n.closed:
		return nil, redis.ErrClosed
	case len(n.servers) >= maxServers:
		return nil, fmt.Errorf("the deployment names more than %d servers", maxServers)
	}
	t := n.target
	t.topology, t.network, t.addrs = Single, "tcp", []string{addr}
	o := n.options
	o.Name = ""
	s := open(t, o)
	if n.servers == nil {
		n.servers = make(map[string]*Node)
	}
	n.servers[addr] = s
	return s, nil
}

func (n *Node) isClosed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.closed
}

// sentinel returns the client of one sentinel.
func (n *Node) sentinel(addr string) (*redis.Client, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, redis.ErrClosed
	}
	if c, ok := n.sentinels[addr]; ok {
		return c, nil
	}
	t := target{topology: Single, network: "tcp", addrs: []string{addr}, username: n.options.SentinelUsername, password: n.options.SentinelPassword, tls: n.target.tls}
	o := n.options.dialing(&t)
	c, ok := connect(t, o, func(ctx context.Context, cn *redis.Conn) error { return n.introduce(ctx, cn) }).(*redis.Client)
	if !ok {
		return nil, errors.New("no client for a sentinel")
	}
	if s := NewSecrets(t.username, t.password); len(s.words) > 0 {
		c.AddHook(redaction{s})
	}
	watchStages(c, Single)
	if n.sentinels == nil {
		n.sentinels = make(map[string]*redis.Client)
	}
	n.sentinels[addr] = c
	return c, nil
}

// told is one host's answer.
type told struct {
	addr  string
	reply any
	err   error
}

// askAll asks every host the same and returns a channel with their answers.
func (n *Node) askAll(ctx context.Context, addrs []string, ask func(ctx context.Context, addr string) (any, error)) <-chan told {
	answers := make(chan told, len(addrs))
	ctx, cancel := context.WithTimeout(ctx, n.timeout+n.options.DialTimeout)
	var asked sync.WaitGroup
	for _, addr := range addrs {
		asked.Go(func() {
			reply, err := ask(ctx, addr)
			answers <- told{addr, reply, err}
		})
	}
	go func() {
		asked.Wait()
		cancel()
	}()
	return answers
}

func (n *Node) askSentinels(ctx context.Context) ([]Primary, error) {
	addrs := n.target.addrs
	answers := n.askAll(ctx, addrs, func(ctx context.Context, addr string) (any, error) {
		c, err := n.sentinel(addr)
		if err != nil {
			return nil, err
		}
		return c.Do(ctx, "sentinel", "get-master-addr-by-name", n.target.master).Result()
	})
	votes := make(map[string]int)
	best := ""
	var failure error
	for range addrs {
		a := <-answers
		addr, err := readMaster(a.reply, a.err)
		if err != nil {
			// A sentinel that answers and does not know the name says more
			// than one that does not answer.
			if failure == nil || errors.Is(err, errNoMaster) {
				failure = err
			}
			continue
		}
		votes[addr]++
		if best == "" || votes[addr] > votes[best] {
			best = addr
		}
		if votes[addr] > len(addrs)/2 {
			break
		}
	}
	if best == "" {
		return nil, &StageError{SentinelLookup, failure}
	}
	return []Primary{{Addr: best}}, nil
}

// errNoMaster is the sentinels' answer about a name they do not know.
var errNoMaster = errors.New("no sentinel knows a master of this name (SENTINEL MASTERS lists the names)")

func readMaster(reply any, err error) (string, error) {
	if errors.Is(err, redis.Nil) {
		return "", errNoMaster
	}
	if err != nil {
		return "", err
	}
	parts, ok := reply.([]any)
	if !ok || len(parts) != 2 {
		return "", errors.New("a sentinel's answer is not one that sentinels give")
	}
	host, ok1 := parts[0].(string)
	port, ok2 := parts[1].(string)
	if !ok1 || !ok2 || host == "" {
		return "", errors.New("a sentinel's answer is not one that sentinels give")
	}
	return net.JoinHostPort(host, port), nil
}

func (n *Node) askCluster(ctx context.Context, addrs []string) ([]Primary, error) {
	answers := n.askAll(ctx, addrs, func(ctx context.Context, addr string) (any, error) {
		s, err := n.Server(addr)
		if err != nil {
			return nil, err
		}
		return s.client.Do(ctx, "cluster", "slots").Result()
	})
	var failure error
	for range addrs {
		a := <-answers
		if a.err != nil {
			if failure == nil || Classify(failure) == Unreachable {
				failure = a.err
			}
			continue
		}
		all, err := readSlots(a.reply, a.addr)
		if err == nil {
			return all, nil
		}
		failure = err
	}
	return nil, failure
}

var errBadSlots = errors.New("the answer to CLUSTER SLOTS is not one that a cluster gives")

// readSlots reads the answer to CLUSTER SLOTS. A server leaves its own address
// empty where it does not know it; then it is the one that was asked.
func readSlots(reply any, asked string) ([]Primary, error) {
	ranges, ok := reply.([]any)
	if !ok || len(ranges) > slotCount {
		return nil, errBadSlots
	}
	var out []Primary
	at := make(map[string]int)
	for _, r := range ranges {
		parts, ok := r.([]any)
		if !ok || len(parts) < 3 {
			return nil, errBadSlots
		}
		from, ok1 := parts[0].(int64)
		to, ok2 := parts[1].(int64)
		server, ok3 := parts[2].([]any)
		if !ok1 || !ok2 || !ok3 || from < 0 || to < from || to >= slotCount || len(server) < 2 {
			return nil, errBadSlots
		}
		host, _ := server[0].(string)
		port, ok := server[1].(int64)
		if !ok || port < 0 || port > 65535 {
			return nil, errBadSlots
		}
		if host == "" || host == "?" {
			host, _, _ = net.SplitHostPort(asked)
		}
		addr := net.JoinHostPort(host, strconv.FormatInt(port, 10))
		n, known := at[addr]
		if !known {
			n = len(out)
			at[addr] = n
			out = append(out, Primary{Addr: addr})
		}
		out[n].Slots = append(out[n].Slots, SlotRange{int(from), int(to)})
	}
	if len(out) == 0 {
		return nil, errors.New("no server of the cluster serves a slot; it is not set up, or the URL names a server that has left it")
	}
	if len(out) > maxServers {
		return nil, fmt.Errorf("the deployment names more than %d servers", maxServers)
	}
	return out, nil
}

// Slot returns the hash slot that a key is in: that of its hash tag, if it has
// one.
func Slot(key string) int {
	if _, after, found := strings.Cut(key, "{"); found {
		if tag, _, found := strings.Cut(after, "}"); found && tag != "" {
			key = tag
		}
	}
	// CRC-16/XMODEM, bit by bit: keys are short and few.
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc % slotCount)
}

// Redirect is a server's answer that another one serves the key.
type Redirect struct {
	Addr string
	// Once says that only this command is meant, and must be preceded by
	// ASKING: the slot is on its way there.
	Once bool
}

// Redirected reads a redirection out of an error.
func Redirected(err error) (Redirect, bool) {
	if Classify(err) != Moved {
		return Redirect{}, false
	}
	var reply redis.Error
	if !errors.As(err, &reply) {
		return Redirect{}, false
	}
	words := strings.Fields(strings.TrimPrefix(reply.Error(), scriptError))
	if len(words) != 3 {
		return Redirect{}, false
	}
	return Redirect{Addr: words[2], Once: words[0] == "ASK"}, true
}
