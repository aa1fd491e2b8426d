package main

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"dlock/lockcore"
	"dlock/lockcore/node"
)

// deleteOwn is the compare-and-delete that every lock of this kind needs.
var deleteOwn = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)

var (
	errTaken       = errors.New("the lock is taken")
	errNotReleased = errors.New("the lock was not released on a quorum of nodes")
)

// floor does what no lock of this kind can do without, and nothing else: no
// validity, no fencing, no renewal, no queue.
type floor struct {
	nodes  []*node.Node
	quorum int
	run    sync.WaitGroup
}

func openFloor(c connect) (locker, error) {
	nodes, err := openNodes(c)
	if err != nil {
		return nil, err
	}
	return &floor{nodes: nodes, quorum: lockcore.Quorum(len(nodes))}, nil
}

func (f *floor) close() error {
	f.run.Wait()
	node.CloseAll(f.nodes)
	return nil
}

// Bounds of the pause after which the floor asks again for a lock that is
// taken. It is not measured there, but keeps the promise of a locker.
const (
	floorShortest = time.Millisecond
	floorLongest  = 5 * time.Millisecond
)

func (f *floor) acquire(ctx context.Context, name string) (grant, error) {
	for {
		g, err := f.try(ctx, peerPrefix+name)
		if !errors.Is(err, errTaken) {
			return g, err
		}
		pause := time.NewTimer(floorShortest + mathrand.N(floorLongest-floorShortest))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

func (f *floor) try(ctx context.Context, key string) (grant, error) {
	if len(f.nodes) == 1 {
		return f.tryOne(ctx, key)
	}
	return f.tryAll(ctx, key)
}

// oneGrant is a grant of a single node, for which the floor needs no goroutine.
type oneGrant struct {
	client     redis.UniversalClient
	key, token string
}

func (f *floor) tryOne(ctx context.Context, key string) (grant, error) {
	g := oneGrant{f.nodes[0].Client(), key, rand.Text()}
	ok, err := g.client.SetNX(ctx, key, g.token, ttl).Result()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errTaken
	}
	return g, nil
}

func (oneGrant) fence() int64 { return 0 }

func (g oneGrant) release(ctx context.Context) error {
	deleted, err := deleteOwn.Run(ctx, g.client, []string{g.key}, g.token).Bool()
	if err == nil && !deleted {
		err = errNotReleased
	}
	return err
}

// manyGrant is a grant of a quorum. On each node one goroutine sets the key and
// then, once it is told to, deletes it, so that the deletion comes after the set
// also where its answer was not waited for.
type manyGrant struct {
	quorum int
	drop   chan struct{} // closed to have the key deleted
	voted  chan answer
	gone   chan answer
}

type answer struct {
	ok  bool
	err error
}

func (f *floor) tryAll(ctx context.Context, key string) (grant, error) {
	g := &manyGrant{
		quorum: f.quorum,
		drop:   make(chan struct{}),
		voted:  make(chan answer, len(f.nodes)),
		gone:   make(chan answer, len(f.nodes)),
	}
	token := rand.Text()
	// A node's answer is of use after the caller has gone.
	background := context.WithoutCancel(ctx)
	for _, n := range f.nodes {
		client := n.Client()
		f.run.Go(func() {
			ok, err := client.SetNX(background, key, token, ttl).Result()
			g.voted <- answer{ok, err}
			<-g.drop
			deleted, err := deleteOwn.Run(background, client, []string{key}, token).Bool()
			g.gone <- answer{deleted, err}
		})
	}
	if ok, errs := await(g.voted, g.quorum); !ok {
		close(g.drop)
		if errs != nil {
			return nil, errs
		}
		return nil, errTaken
	}
	return g, nil
}

func (*manyGrant) fence() int64 { return 0 }

func (g *manyGrant) release(context.Context) error {
	close(g.drop)
	if ok, errs := await(g.gone, g.quorum); !ok {
		return errors.Join(errNotReleased, errs)
	}
	return nil
}

// await reads answers until a quorum is yes or cannot become so any more.
func await(answers chan answer, quorum int) (bool, error) {
	yes := 0
	var errs error
	for i := range cap(answers) {
		if yes+cap(answers)-i < quorum {
			break
		}
		a := <-answers
		if a.ok {
			yes++
		}
		errs = errors.Join(errs, a.err)
		if yes >= quorum {
			return true, nil
		}
	}
	return false, errs
}
