package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"dlock/demo/store"
	"dlock/lockcore"
	"dlock/lockcore/node"
)

// way is a mode at work: it lets a worker into a resource, runs the visit, and
// lets it out again.
type way interface {
	// do runs visit inside the resource. ctx ends the waiting; patience, if
	// not 0, bounds it. The error is that of visit, or says why the worker
	// did not get in: errGaveUp, or that of ctx.
	do(ctx context.Context, w *worker, resource, item string, patience time.Duration, visit func(context.Context, inside) error) error
}

// inside is what a worker has while it is inside a resource.
type inside struct {
	// fence is the grant's fencing token, 0 where there is none.
	fence int64
	// valid tells whether the worker may still believe that it is alone.
	valid func() bool
	// rows is the way to the item. Its writes are refused or not according
	// to the mode.
	rows store.Access
}

// errGaveUp is why a worker that already holds something did not wait longer.
var errGaveUp = errors.New("gave up waiting")

// errCrashed ends a visit of a worker that died in it. Nothing is given back.
var errCrashed = errors.New("the worker crashed")

func believes() bool { return true }

// ways are the modes at work.
var ways = map[Mode]way{
	None:    noWay{},
	Naive:   naiveWay{},
	Single:  coreWay{mode: Single},
	Replica: coreWay{mode: Replica},
	Redlock: coreWay{mode: Redlock},
	Fenced:  coreWay{mode: Fenced, fence: true},

	Optimistic:  optimisticWay{},
	Pessimistic: pessimisticWay{},
}

// noWay lets everybody in.
type noWay struct{}

func (noWay) do(ctx context.Context, w *worker, _, item string, _ time.Duration, visit func(context.Context, inside) error) error {
	return visit(ctx, inside{valid: believes, rows: w.demo.store.Plain(w.round.run, item)})
}

// naiveWay is the lock that everybody writes first, with its three faults:
// two steps to take it, nobody's name in it, and a DEL that does not look.
type naiveWay struct{}

// naivePoll is how long it waits between two tries, at most.
const naivePoll = 10 * time.Millisecond

func (naiveWay) do(ctx context.Context, w *worker, resource, item string, patience time.Duration, visit func(context.Context, inside) error) error {
	redis := w.client.nodes[0].Client()
	key := lockcore.Key(lockcore.DefaultPrefix, resource)
	started := time.Now()
	for {
		took, err := redis.SetNX(ctx, key, w.name, 0).Result()
		if took {
			break
		}
		if err != nil {
			w.blocked(ctx, Waiting, resource, err)
		} else {
			w.held(ctx, redis, key, resource)
		}
		if patience > 0 && time.Since(started) > patience {
			return errGaveUp
		}
		if !w.sleep(ctx, time.Millisecond+time.Duration(rand.Int64N(int64(naivePoll)))) {
			return ctx.Err()
		}
	}
	if w.takeCrash() {
		// Dead between the two steps: the key has no expiry, and nobody
		// will ever delete it.
		w.round.count(func(t *tally) { t.stuck++ })
		return errCrashed
	}
	redis.Expire(context.WithoutCancel(ctx), key, w.demo.config.TTL)
	err := visit(ctx, inside{valid: believes, rows: w.demo.store.Plain(w.round.run, item)})
	if !errors.Is(err, errCrashed) {
		redis.Del(context.WithoutCancel(ctx), key)
	}
	return err
}

// held notes who is inside, as far as the key tells.
func (w *worker) held(ctx context.Context, redis redis.UniversalClient, key, resource string) {
	if w.state() == Waiting {
		return // noted already
	}
	note := "somebody is inside"
	if holder, err := redis.Get(ctx, key).Result(); err == nil {
		note = holder + " is inside"
	}
	w.demo.set(w, Waiting, resource, 0, note)
}

// coreWay is the lock core.
type coreWay struct {
	mode  Mode
	fence bool // the store is shown the fencing token
}

// freshness is how long one attempt waits, so that the reason on screen is a
// fresh one.
const freshness = time.Second

func (k coreWay) do(ctx context.Context, w *worker, resource, item string, patience time.Duration, visit func(context.Context, inside) error) error {
	lock, err := k.acquire(ctx, w, resource, patience)
	if err != nil {
		return err
	}
	in := inside{fence: lock.Fence(), valid: lock.Valid, rows: w.demo.store.Plain(w.round.run, item)}
	if k.fence {
		in.rows = w.demo.store.Fenced(w.round.run, item, lock.Fence())
	}
	err = visit(lock.Context(), in)
	if errors.Is(err, errCrashed) {
		return err
	}
	var lost *lockcore.LostError
	if errors.As(lock.Err(), &lost) {
		w.round.count(func(t *tally) { t.losses++ })
		w.demo.set(w, Lost, resource, lock.Fence(), "lock lost: "+string(lost.Reason))
		if err == nil || errors.Is(err, context.Canceled) {
			err = lost
		}
	}
	// It works although the lock is lost, and then takes away what is left of
	// it on nodes that still have it.
	lock.Release(ctx)
	return err
}

// acquire tries until it has the lock or ctx ends, telling each time why not.
func (k coreWay) acquire(ctx context.Context, w *worker, resource string, patience time.Duration) (*lockcore.Lock, error) {
	locker, err := w.client.locker(k.mode, w.demo)
	if err != nil {
		return nil, err
	}
	wait := freshness
	if patience > 0 {
		wait = patience
	}
	for {
		lock, err := locker.Acquire(ctx, resource, lockcore.WithWait(wait))
		if err == nil {
			return lock, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		w.blocked(ctx, Waiting, resource, err)
		if patience > 0 {
			return nil, errGaveUp
		}
	}
}

// blocked notes why a worker did not get in.
func (w *worker) blocked(ctx context.Context, state WorkerState, resource string, err error) {
	if ctx.Err() != nil {
		return
	}
	var nq *lockcore.NoQuorumError
	var held *lockcore.NotAcquiredError
	note := node.Explain(err)
	switch {
	case errors.As(err, &nq):
		w.round.count(func(t *tally) { t.noQuorum++ })
		note = fmt.Sprintf("no quorum: needs %d of %d nodes, reached %d", nq.Need, nq.Of, nq.Reached)
	case errors.As(err, &held) && held.Owner != "":
		note = held.Owner + " is inside"
	case errors.As(err, &held):
		note = "a foreign client is inside"
	default:
		w.round.count(func(t *tally) { t.noQuorum++ })
	}
	w.demo.set(w, state, resource, 0, note)
}

// optimisticWay lets everybody in and has the store refuse all but one.
type optimisticWay struct{}

func (optimisticWay) do(ctx context.Context, w *worker, _, item string, _ time.Duration, visit func(context.Context, inside) error) error {
	for {
		err := visit(ctx, inside{valid: believes, rows: w.demo.store.Versioned(w.round.run, item)})
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		w.round.count(func(t *tally) { t.conflicts++ })
		// The one that wins goes on; the others look again.
		if !w.sleep(ctx, time.Duration(rand.Int64N(int64(time.Millisecond)))) {
			return ctx.Err()
		}
	}
}

// pessimisticWay has the database lock the row.
type pessimisticWay struct{}

func (pessimisticWay) do(ctx context.Context, w *worker, _, item string, _ time.Duration, visit func(context.Context, inside) error) error {
	return w.demo.store.Exclusive(ctx, w.round.run, item, func(rows store.Access) error {
		return visit(ctx, inside{valid: believes, rows: rows})
	})
}
