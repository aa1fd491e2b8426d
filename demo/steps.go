package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dlock/demo/store"
	"dlock/lockcore"
	"dlock/lockcore/fence"
	"dlock/lockcore/node"
)

// Steps are the stops of the tour.
var Steps = []Step{
	{
		Name: "acquire", Title: "Take a lock",
		Text: "Alice asks five independent nodes at once for the lock on tour:order. Three of them must say yes; each stores her token under one key, with a time to live.",
		do: func(ctx context.Context, s *stage) error {
			lock, err := s.alice.locker.Acquire(ctx, "tour:order")
			if err != nil {
				return err
			}
			defer lock.Release(ctx)
			// The quorum is enough; the rest settle at once.
			if err := until(ctx, "her token on all nodes", func() bool { return s.votes(ctx, lock.Key(), lock.Token().String()) == tourNodes }); err != nil {
				return err
			}
			s.say("The key %s holds alice's token on %d of %d nodes; %d were needed.", lock.Key(), tourNodes, tourNodes, s.alice.locker.Quorum())
			s.say("It is the lock's first grant: its fencing token is %d.", lock.Fence())
			if lock.Fence() != 1 || !lock.Valid() {
				return errors.New("it is not a valid first grant")
			}
			return nil
		},
	},
	{
		Name: "refuse", Title: "Keep others out",
		Text: "Bob asks for the same lock. He is refused, told who holds it, and queues; the release hands the lock to him.",
		do: func(ctx context.Context, s *stage) error {
			lock, err := s.alice.locker.Acquire(ctx, "tour:order")
			if err != nil {
				return err
			}
			defer lock.Release(ctx)
			_, err = s.bob.locker.TryAcquire(ctx, "tour:order")
			var held *lockcore.NotAcquiredError
			if !errors.As(err, &held) {
				return fmt.Errorf("bob was not refused: %v", err)
			}
			s.say("Bob is refused: %s holds the lock.", held.Owner)
			got := make(chan error, 1)
			go func() {
				theirs, err := s.bob.locker.Acquire(ctx, "tour:order")
				if err == nil {
					err = theirs.Release(ctx)
				}
				got <- err
			}()
			queue := lockcore.CompanionKey(lockcore.DefaultPrefix, lockcore.QueueCompanion, lock.Key())
			err = until(ctx, "bob in the queue", func() bool {
				// He queues on each node as soon as he hears from it.
				return slices.ContainsFunc(s.operator, func(o *node.Node) bool {
					n, err := o.Client().ZCard(ctx, queue).Result()
					return err == nil && n == 1
				})
			})
			if err == nil {
				s.say("He waits, and the nodes know it: one waiter in the queue.")
				err = lock.Release(ctx)
			}
			if err := errors.Join(err, <-got); err != nil {
				return err
			}
			s.say("Alice releases, and the lock is his.")
			return nil
		},
	},
	{
		Name: "ttl", Title: "A lock is a lease",
		Text: "Every key has a time to live. Alice takes the lock without renewing it and forgets it: it ends by itself, and she is told.",
		do: func(ctx context.Context, s *stage) error {
			lock, err := s.alice.locker.Acquire(ctx, "tour:order", lockcore.WithWatchdog(false))
			if err != nil {
				return err
			}
			defer lock.Release(ctx)
			// The first three nodes have it; which these are is not settled.
			var left time.Duration
			if err := until(ctx, "a time to live", func() bool {
				left, err = s.operator[0].Client().PTTL(ctx, lock.Key()).Result()
				return err == nil && left > 0
			}); err != nil {
				return err
			}
			if left > tourTTL {
				return fmt.Errorf("the key's time to live is %v", left)
			}
			s.say("The key has a time to live of no more than %v on each node.", tourTTL)
			select {
			case <-lock.Done():
			case <-ctx.Done():
				return ctx.Err()
			}
			s.say("Alice is told: %v.", lostReason(lock))
			if err := until(ctx, "the key gone from all nodes", func() bool { return s.votes(ctx, lock.Key(), lock.Token().String()) == 0 }); err != nil {
				return err
			}
			s.say("The key is gone from all nodes, and nobody had to clean up.")
			return wantLoss(lock, lockcore.LossExpired)
		},
	},
	{
		Name: "watchdog", Title: "The watchdog renews it",
		Text: "While alice lives, a watchdog extends her lease at a third of its time, so that slow work does not lose the lock.",
		do: func(ctx context.Context, s *stage) error {
			lock, err := s.alice.locker.Acquire(ctx, "tour:order")
			if err != nil {
				return err
			}
			defer lock.Release(ctx)
			began := time.Now()
			if err := until(ctx, "work longer than the lease", func() bool { return time.Since(began) > tourTTL*3/2 || lock.Err() != nil }); err != nil {
				return err
			}
			if err := lock.Err(); err != nil {
				return err
			}
			if lock.Renewals() < 1 {
				return errors.New("it was never renewed")
			}
			s.say("She has worked for longer than %v and still holds the lock: it was renewed meanwhile.", tourTTL)
			return nil
		},
	},
	{
		Name: "dead-holder", Title: "A holder dies",
		Text: "Alice's machine is cut off in the middle of her work. Nobody can tell her from a dead one; her lease runs out, and bob goes on.",
		do: func(ctx context.Context, s *stage) error {
			lock, err := s.alice.locker.Acquire(ctx, "tour:order")
			if err != nil {
				return err
			}
			s.alice.cable.Cut()
			theirs, err := s.bob.locker.Acquire(ctx, "tour:order")
			if err != nil {
				return err
			}
			defer theirs.Release(ctx)
			s.say("Bob waited out the rest of her lease and holds the lock, under fencing token %d; hers was %d.", theirs.Fence(), lock.Fence())
			if lock.Valid() {
				return errors.New("alice still believes in hers")
			}
			s.say("Alice's own clock has told her, with no node in reach: %v.", lostReason(lock))
			if theirs.Fence() <= lock.Fence() {
				return errors.New("his token is not larger than hers")
			}
			return nil
		},
	},
	{
		Name: "minority", Title: "Nodes die",
		Text: "Two of five nodes are killed. A majority is left, so the lock stays held and new ones can be taken.",
		do: func(ctx context.Context, s *stage) error {
			lock, err := s.alice.locker.Acquire(ctx, "tour:order")
			if err != nil {
				return err
			}
			defer lock.Release(ctx)
			dead, err := s.kill(tourNodes - s.alice.locker.Quorum())
			if err != nil {
				return err
			}
			slices.Sort(dead)
			s.say("%s are dead.", strings.Join(dead, " and "))
			if err := lock.Extend(ctx); err != nil {
				return err
			}
			s.say("Alice's lock was extended on the other three.")
			theirs, err := s.bob.locker.Acquire(ctx, "tour:invoice")
			if err != nil {
				return err
			}
			s.say("Bob took another one there.")
			return theirs.Release(ctx)
		},
	},
	{
		Name: "no-quorum", Title: "Too many die",
		Text: "A third node is killed. Two cannot decide for five: nobody gets a lock, and who holds one is told before anybody else could have it.",
		do: func(ctx context.Context, s *stage) error {
			lock, err := s.alice.locker.Acquire(ctx, "tour:order")
			if err != nil {
				return err
			}
			defer lock.Release(ctx)
			dead, err := s.kill(s.alice.locker.Quorum())
			if err != nil {
				return err
			}
			slices.Sort(dead)
			s.say("%s are dead.", strings.Join(dead, ", "))
			_, err = s.bob.locker.TryAcquire(ctx, "tour:invoice")
			var nq *lockcore.NoQuorumError
			if !errors.As(err, &nq) {
				return fmt.Errorf("bob was not told that there is no quorum: %v", err)
			}
			s.say("Bob is told: needs %d of %d nodes, reached %d.", nq.Need, nq.Of, nq.Reached)
			select {
			case <-lock.Done():
			case <-ctx.Done():
				return ctx.Err()
			}
			s.say("Alice is told: %v.", lostReason(lock))
			return nil
		},
	},
	{
		Name: "two-steps", Title: "Why not SETNX and then EXPIRE",
		Text: "A client in a hurry takes the lock with SETNX and means to send EXPIRE next, and dies in between.",
		do: func(ctx context.Context, s *stage) error {
			redis, key := s.operator[0].Client(), lockcore.Key(lockcore.DefaultPrefix, "tour:report")
			if err := redis.SetNX(ctx, key, "mallory", 0).Err(); err != nil {
				return err
			}
			left, err := redis.PTTL(ctx, key).Result()
			if err != nil {
				return err
			}
			if left != -1 {
				return fmt.Errorf("the key has a time to live of %v", left)
			}
			s.say("The key has no time to live. Nothing will ever end it, and everybody waits.")
			s.say("One command does both: SET key token NX PX ttl.")
			return nil
		},
	},
	{
		Name: "bare-del", Title: "Why DEL is wrong",
		Text: "Mallory's work takes longer than her lease. Bob has the lock when she is done, and her DEL removes his. Then the same with a release that compares.",
		do: func(ctx context.Context, s *stage) error {
			redis, key := s.operator[0].Client(), lockcore.Key(lockcore.DefaultPrefix, "tour:report")
			if err := redis.SetNX(ctx, key, "mallory", tourTTL/10).Err(); err != nil {
				return err
			}
			if err := until(ctx, "bob's turn", func() bool {
				got, err := redis.SetNX(ctx, key, "bob", tourPatience).Result()
				return err == nil && got
			}); err != nil {
				return err
			}
			if n, err := redis.Del(ctx, key).Result(); err != nil || n != 1 {
				return fmt.Errorf("mallory's DEL removed %d keys: %v", n, err)
			}
			s.say("Mallory's DEL removed bob's lock: the next one enters while he is inside.")

			lock, err := s.alice.locker.Acquire(ctx, "tour:order", lockcore.WithWatchdog(false))
			if err != nil {
				return err
			}
			theirs, err := s.bob.locker.Acquire(ctx, "tour:order")
			if err != nil {
				return err
			}
			defer theirs.Release(ctx)
			if err := lock.Release(ctx); !errors.Is(err, lockcore.ErrLost) {
				return fmt.Errorf("alice's late release says: %v", err)
			}
			if !theirs.Valid() || s.votes(ctx, theirs.Key(), theirs.Token().String()) < s.bob.locker.Quorum() {
				return errors.New("bob's lock was touched")
			}
			s.say("Alice's late release compared her token with what is stored, found bob's, and touched nothing.")
			return nil
		},
	},
	{
		Name: "paused-holder", Title: "What no lock can help",
		Text: "Alice reads the stock and is paused, by a garbage collection say, until after her lease. Bob sells a phone meanwhile. She wakes and writes what she had in mind.",
		do:   func(ctx context.Context, s *stage) error { return s.pausedHolder(ctx, false) },
	},
	{
		Name: "fence", Title: "What helps: the fence",
		Text: "The same, but the store keeps the largest fencing token it has seen and refuses a smaller one.",
		do:   func(ctx context.Context, s *stage) error { return s.pausedHolder(ctx, true) },
	},
}

// pausedHolder is the story of the last two steps.
func (s *stage) pausedHolder(ctx context.Context, fenced bool) error {
	const item = "phone"
	st, run := s.tour.store, s.tour.runs
	if err := st.Add(ctx, run, item, 10); err != nil {
		return err
	}
	rows := func(lock *lockcore.Lock) store.Access {
		if fenced {
			return st.Fenced(run, item, lock.Fence())
		}
		return st.Plain(run, item)
	}
	lock, err := s.alice.locker.Acquire(ctx, "tour:phone")
	if err != nil {
		return err
	}
	hers := rows(lock)
	stock, err := hers.Read(ctx)
	if err != nil {
		return err
	}
	s.say("Alice, under token %d, reads a stock of %d and is paused.", lock.Fence(), stock.Amount)
	// Paused, her process reaches nothing; it does not renew.
	s.alice.cable.Cut()

	theirs, err := s.bob.locker.Acquire(ctx, "tour:phone")
	if err != nil {
		return err
	}
	defer theirs.Release(ctx)
	his := rows(theirs)
	read, err := his.Read(ctx)
	if err != nil {
		return err
	}
	if err := his.Write(ctx, read, store.Entry{Worker: "bob", Amount: -1}); err != nil {
		return err
	}
	s.say("Bob, under token %d, sells one: the stock is %d.", theirs.Fence(), read.Amount-1)

	s.alice.cable.Heal()
	err = hers.Write(ctx, stock, store.Entry{Worker: "alice", Amount: -1})
	audit, failed := st.Audit(ctx, run)
	if failed != nil {
		return failed
	}
	if !fenced {
		if err != nil || audit.Lost != 1 {
			return fmt.Errorf("her write was not the damage it should be: %v, %+v", err, audit)
		}
		s.say("Alice wakes and writes a stock of %d over it: two phones are sold and one is counted.", stock.Amount-1)
		return nil
	}
	var stale *fence.StaleError
	if !errors.As(err, &stale) || audit.Damaged() || audit.Entries != 1 {
		return fmt.Errorf("her write was not refused: %v, %+v", err, audit)
	}
	s.say("Alice wakes and writes under token %d; the store has seen %d and refuses. The stock is exact.", stale.Token, stale.Newest)
	return nil
}

func lostReason(lock *lockcore.Lock) string {
	var lost *lockcore.LostError
	if errors.As(lock.Err(), &lost) {
		return "the lock is lost, " + string(lost.Reason)
	}
	return "nothing"
}

func wantLoss(lock *lockcore.Lock, want lockcore.LossReason) error {
	var lost *lockcore.LostError
	if !errors.As(lock.Err(), &lost) || lost.Reason != want {
		return fmt.Errorf("the lock ended with %v", lock.Err())
	}
	return nil
}
