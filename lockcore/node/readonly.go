package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ErrReadOnly is returned for a command that a read-only node does not send.
var ErrReadOnly = errors.New("refused by --read-only")

// reads are the commands that a read-only node lets through, with the
// subcommands that are harmless where not all are. It is a list of what is
// allowed, so that a command nobody thought of is refused.
var reads = map[string][]string{
	"hello": nil, "auth": nil, "select": nil, "ping": nil, "echo": nil, "quit": nil, "readonly": nil, "asking": nil,
	"scan": nil, "pttl": nil, "ttl": nil, "pexpiretime": nil, "type": nil, "exists": nil, "dbsize": nil,
	"get": nil, "strlen": nil, "getrange": nil, "mget": nil,
	"hget": nil, "hmget": nil, "hgetall": nil, "hlen": nil, "hscan": nil,
	"zcard": nil, "zrange": nil, "zrangebyscore": nil, "zscore": nil, "zcount": nil, "zscan": nil,
	"scard": nil, "smembers": nil, "sismember": nil, "sscan": nil,
	"llen": nil, "lrange": nil,
	"time": nil, "role": nil, "info": nil, "lastsave": nil,
	"object":   {"idletime", "encoding", "freq", "refcount"},
	"memory":   {"usage"},
	"config":   {"get"},
	"client":   {"setname", "setinfo", "getname", "id", "info", "list", "no-touch", "no-evict"},
	"pubsub":   {"channels", "numsub", "numpat", "shardnumsub", "shardchannels"},
	"script":   {"exists"},
	"cluster":  {"info", "nodes", "slots", "shards", "keyslot", "myid"},
	"acl":      {"whoami"},
	"command":  nil,
	"sentinel": {"get-master-addr-by-name", "master", "masters", "replicas", "slaves", "sentinels", "ckquorum"},
	"wait":     nil,
}

func onlyReads(cmd redis.Cmder) error {
	args := cmd.Args()
	name := strings.ToLower(cmd.Name())
	subs, ok := reads[name]
	if ok && subs == nil {
		return nil
	}
	if ok && len(args) > 1 {
		sub := strings.ToLower(fmt.Sprint(args[1]))
		for _, s := range subs {
			if s == sub {
				return nil
			}
		}
	}
	return fmt.Errorf("%w: %s was not sent", ErrReadOnly, strings.ToUpper(name))
}

type readOnlyGuard struct{}

func (readOnlyGuard) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (readOnlyGuard) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := onlyReads(cmd); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook refuses the whole pipeline when one of its commands
// writes: half a pipeline is not what the caller asked for.
func (readOnlyGuard) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			if err := onlyReads(cmd); err != nil {
				for _, c := range cmds {
					c.SetErr(err)
				}
				return err
			}
		}
		return next(ctx, cmds)
	}
}
