package lockcore

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// ear hears of grants that nodes made to this process' waiters while handing a
// released lock on. There is one subscription per node, whatever the number of
// waiters, made when something is first waited for. What it misses is found by
// asking again.
type ear struct {
	channel string
	once    sync.Once
	// ready[i] is true while node i is known to deliver to us. Queueing
	// there before would only get us dropped, as one nobody can reach.
	ready []atomic.Bool

	mu      sync.Mutex
	hearers map[string]func(node int, fence int64) // by token
}

func newEar(prefix string, nodes int) *ear {
	return &ear{
		channel: prefix + wakeName + ":" + uuid.NewString(),
		ready:   make([]atomic.Bool, nodes),
		hearers: make(map[string]func(int, int64)),
	}
}

// listen registers who hears of grants to a token. It replaces an earlier one.
func (e *ear) listen(token string, hear func(node int, fence int64)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hearers[token] = hear
}

// forget ends listen. A later grant to the token is nobody's and is returned.
func (e *ear) forget(token string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.hearers, token)
}

// open starts the subscriptions, once, and does not wait for them.
func (l *Locker) open() {
	l.ear.once.Do(func() {
		for i, v := range l.voters {
			l.background.Go(func() { l.subscribe(i, v) })
		}
	})
}

// subscriber is a server that can be subscribed to.
type subscriber interface {
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
}

// subscribe listens to one node until the Locker is closed. A cluster is
// listened to master by master: only the one that hands over counts who hears
// it, and which one that is depends on the key.
func (l *Locker) subscribe(i int, v voter) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l.background.Go(func() {
		select {
		case <-l.closing:
			cancel()
		case <-ctx.Done():
		}
	})
	cluster, ok := v.Client().(*redis.ClusterClient)
	if !ok {
		l.listen(ctx, i, v.Client())
		return
	}
	listening := make(map[string]context.CancelFunc) // by address
	for ctx.Err() == nil {
		present := make(map[string]*redis.Client)
		var mu sync.Mutex
		err := cluster.ForEachMaster(ctx, func(_ context.Context, master *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			present[master.Options().Addr] = master
			return nil
		})
		if err == nil {
			for addr, stop := range listening {
				if present[addr] == nil {
					stop()
					delete(listening, addr)
				}
			}
			for addr, master := range present {
				if listening[addr] != nil {
					continue
				}
				ctx, stop := context.WithCancel(ctx)
				listening[addr] = stop
				l.background.Go(func() { l.listen(ctx, i, master) })
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(shardCheck):
		}
	}
	for _, stop := range listening {
		stop()
	}
}

// shardCheck is how often a cluster is asked for masters it may have gained.
const shardCheck = 5 * time.Second

// listen hears what one server has to say until ctx ends.
func (l *Locker) listen(ctx context.Context, i int, server subscriber) {
	sub := server.Subscribe(ctx) // connects with the first channel, below
	defer sub.Close()
	stop := context.AfterFunc(ctx, func() { sub.Close() })
	defer stop()
	// An error here is not the end: the channel below connects again and
	// subscribes to what it was asked for.
	_ = sub.Subscribe(ctx, l.ear.channel)
	for message := range sub.ChannelWithSubscriptions(redis.WithChannelSize(1024)) {
		switch m := message.(type) {
		case *redis.Subscription:
			l.ear.ready[i].Store(m.Kind == "subscribe")
		case *redis.Message:
			l.heard(i, m.Payload)
		}
	}
	if ctx.Err() != nil {
		l.ear.ready[i].Store(false)
	}
}

// heard deals with a message, which is written by serve in common.lua:
// granted FENCE TOKEN KEY. Anybody who may publish can send anything here;
// whatever does not concern a token of ours is answered with a release of
// exactly that token, which does no harm if it holds nothing.
func (l *Locker) heard(i int, payload string) {
	fields := strings.SplitN(payload, " ", 4)
	if len(fields) != 4 || fields[0] != "granted" {
		return
	}
	fence, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return
	}
	token, ok := ParseToken(fields[2])
	if !ok {
		return
	}
	l.ear.mu.Lock()
	hear := l.ear.hearers[fields[2]]
	l.ear.mu.Unlock()
	if hear != nil {
		hear(i, fence)
		return
	}
	if _, mine := strings.CutPrefix(fields[3], l.cfg.prefix); !mine {
		return
	}
	// An abandoned attempt was served after all.
	l.voters[i].release(newEntry(&l.cfg, l.quarantine, fields[3], token, ""), 0, 0, 0, func(answer) {})
}
