package main

import (
	"context"
	"time"
)

// contestant is one way to lock that is measured.
type contestant struct {
	name string
	// most is how many nodes it can use; 0 means any number.
	most int
	// waits says that it has a way of its own to wait for a lock that is
	// taken, so that it can be measured where clients contend.
	waits bool
	// slow says that a node that hangs holds it for seconds.
	slow bool
	// commands are the commands it sends to a node to take and release,
	// as INFO commandstats spells them. None of its scripts calls one.
	commands []string
	open     func(c connect) (locker, error)
}

// connect says where a client of a contestant connects to, and how.
type connect struct {
	addrs []string // host:port, one per node
	pool  int      // connections per node; 0 means go-redis' default
}

// locker is a client of a contestant. It is safe for concurrent use.
type locker interface {
	// acquire takes the lock of a name and waits for it, in the way of the
	// contestant, until ctx ends.
	acquire(ctx context.Context, name string) (grant, error)
	// close ends the client, and returns when nothing of it runs any more.
	close() error
}

// grant is a lock that is held.
type grant interface {
	// fence is its fencing token, or 0 if the contestant has none.
	fence() int64
	release(ctx context.Context) error
}

// ttl is the time to live of locks where the contestant has no default.
const ttl = 10 * time.Second

// dlock is the contestant that the targets are about.
const dlock = "dlock"

// contestants lists all. The floor comes last, as what the others stand on.
func contestants() []contestant {
	return []contestant{
		{name: dlock, waits: true, commands: []string{"evalsha", "eval"}, open: openDlock},
		{name: "redsync", waits: true, slow: true, commands: []string{"set", "evalsha", "eval"}, open: openRedsync(false)},
		{name: "redsync-failfast", waits: true, slow: true, commands: []string{"set", "evalsha", "eval"}, open: openRedsync(true)},
		{name: "redislock", most: 1, waits: true, commands: []string{"evalsha", "eval"}, open: openRedislock},
		{name: "floor", commands: []string{"set", "evalsha", "eval"}, open: openFloor},
	}
}
