package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// peerClient connects as the READMEs of the other libraries show: an address
// and nothing else, except for the size of the pool, which is the same for all.
func peerClient(addr string, pool int) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, PoolSize: pool})
}

// peerPrefix keeps the locks of the others apart from dlock's.
const peerPrefix = "peer:"

type redsyncClient struct {
	clients  []*redis.Client
	sync     *redsync.Redsync
	failFast bool
}

func openRedsync(failFast bool) func(connect) (locker, error) {
	return func(c connect) (locker, error) {
		r := &redsyncClient{failFast: failFast}
		var pools []redsyncredis.Pool
		for _, addr := range c.addrs {
			client := peerClient(addr, c.pool)
			r.clients = append(r.clients, client)
			pools = append(pools, goredis.NewPool(client))
		}
		r.sync = redsync.New(pools...)
		return r, nil
	}
}

// acquire waits for a mutex with all defaults. Its 32 tries are begun again
// when they are over, so that it waits for as long as the others.
func (r *redsyncClient) acquire(ctx context.Context, name string) (grant, error) {
	var options []redsync.Option
	if r.failFast {
		options = append(options, redsync.WithFailFast(true))
	}
	m := r.sync.NewMutex(peerPrefix+name, options...)
	for {
		err := m.LockContext(ctx)
		if err == nil {
			return redsyncGrant{m}, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var taken *redsync.ErrTaken
		var nodeTaken *redsync.ErrNodeTaken
		if !errors.As(err, &taken) && !errors.As(err, &nodeTaken) {
			return nil, err
		}
	}
}

func (r *redsyncClient) close() error { return closeAll(r.clients) }

type redsyncGrant struct{ mutex *redsync.Mutex }

func (redsyncGrant) fence() int64 { return 0 }

func (g redsyncGrant) release(ctx context.Context) error {
	ok, err := g.mutex.UnlockContext(ctx)
	if ok {
		// The error tells of nodes that the quorum did not need.
		return nil
	}
	return fmt.Errorf("redsync did not unlock: %w", err)
}

// redislockPause is the pause between two tries: the one in redislock's example
// of how to wait. It has no default.
const redislockPause = 100 * time.Millisecond

type redislockClient struct {
	client *redis.Client
	locks  *redislock.Client
}

func openRedislock(c connect) (locker, error) {
	if len(c.addrs) != 1 {
		return nil, fmt.Errorf("redislock locks on one node, not on %d", len(c.addrs))
	}
	client := peerClient(c.addrs[0], c.pool)
	return &redislockClient{client: client, locks: redislock.New(client)}, nil
}

func (r *redislockClient) acquire(ctx context.Context, name string) (grant, error) {
	// Without a deadline of the context redislock stops waiting after a TTL.
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	lock, err := r.locks.Obtain(ctx, peerPrefix+name, ttl, &redislock.Options{RetryStrategy: redislock.LinearBackoff(redislockPause)})
	if err != nil {
		return nil, err
	}
	return redislockGrant{lock}, nil
}

func (r *redislockClient) close() error { return r.client.Close() }

type redislockGrant struct{ lock *redislock.Lock }

func (redislockGrant) fence() int64                        { return 0 }
func (g redislockGrant) release(ctx context.Context) error { return g.lock.Release(ctx) }

func closeAll(clients []*redis.Client) error {
	var errs []error
	for _, c := range clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
