package lockcore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
	"dlock/lockcore"
	"dlock/lockcore/node"
)

// Failures that users of other lock libraries have reported, and the test that
// shows what happens here:
//
//	release on a cancelled context           TestReleaseWorksOnACancelledContext, TestReleaseThatReachesTooFewSaysHowLongItStaysTaken
//	our own lock reported as taken           TestALostReplyIsNotARefusal, TestAReplyThatNeverComesLeavesNothing
//	a hung node ignores the deadline         TestHungMinorityDoesNotHoldAnybodyUp, TestACallersDeadlineIsKeptThoughAllNodesHang
//	a cancelled attempt leaves a minority    TestCancelledAttemptLeavesNoMinority
//	quorum of the reachable, or fractions    TestQuorumIsAMajorityOfTheConfiguredNodes, TestTwoHalvesDoNotBothWin
//	a node restarts empty                    TestExtendPutsBackWhatAMinorityForgotAndFailsWithoutAMajority, TestANewerGrantIsNeverOverwrittenByPuttingBack
//	extend brings a lost lock back           TestForcedReleaseIsNoticedAndNotUndone, TestExtendOnOneNodeBringsNothingBack
//	validity from the wrong moment           TestLateQuorumIsNotALock, TestValidityCountsFromTheRoundThatSucceeded
//	acquire in two steps                     TestAcquireStoresOneTokenEverywhereAndReleaseLeavesNothing
//	a node misses the release                TestANodeThatMissedAReleaseIsToldWhenItIsBack
//	a blind delete                           TestReleaseNeverTouchesASuccessor
//	one token for a whole process            TestTokensAreNeverReused, TestOneProcessDoesNotReleaseItsOwnSuccessor, TestAnEmptyValueIsAHolder
//	errors that say the wrong thing          TestHeldLockIsRefusedWithItsHolder, TestWaitEndsWithTheContextAndSaysBoth, TestReleaseSaysWhatCameOfIt,
//	                                         TestLateNewsDoesNotReleaseTwice
//	renewal outlives the lock                TestNothingRenewsALockThatWasGivenUp, TestARenewalInFlightDoesNotOutliveItsLock,
//	                                         TestAPutBackThatComesAfterTheReleaseBringsNothingBack
//	renewal stops after an error             TestRenewalGoesOnAfterEachTransientFailure, TestExtendWaitsForAnotherOneNoLongerThanItsContext
//	the owner is never told                  TestHolderIsToldThoughNoNodeCanBeReached, TestHolderIsToldInTimeThoughAllNodesHang,
//	                                         TestWithoutWatchdogTheHolderIsToldWhenValidityEnds
//	renewal without a bound                  TestMaxHoldEndsRenewal
//	scripts forgotten by the server          TestForgottenScriptsAreNoError
//	helper keys break clusters and ACLs      TestCompanionKeys, TestAnACLOfOnePatternIsEnough, TestAllKeysAreInOneClusterSlot
//	fencing numbers that go back             TestFenceGrowsAcrossDisjointMinorities, TestLargeFencesKeepAllTheirDigits, TestFenceSurvivesNodesThatForget,
//	                                         TestALongWaitDoesNotAgeTheFence, TestASpentFenceIsAnErrorAndNotARepetition

// played runs something on n nodes and fake time in which nothing goes wrong by
// itself, and holds it to all promises.
func played(t *testing.T, n int, ttl time.Duration, play func(t *testing.T, b *bubble)) {
	t.Helper()
	p := plan{nodes: n, ttl: ttl, nodeTimeout: min(50*time.Millisecond, ttl/4), latency: time.Millisecond, calm: true}
	p.bubble(t, func(b *bubble) {
		play(t, b)
		for _, what := range b.book.verdict(inModel) {
			t.Error(what)
		}
	})
}

// stored is what a node of the bubble has under a key, "" for nothing.
func (b *bubble) stored(i int, key string) string {
	b.nodes[i].tick()
	v, _ := b.nodes[i].redis.Get(key)
	return v
}

func (b *bubble) leftovers() []string {
	var left []string
	for i, n := range b.nodes {
		for _, k := range n.leftovers() {
			left = append(left, fmt.Sprint(i, ":", k))
		}
	}
	return left
}

func TestALostReplyIsNotARefusal(t *testing.T) {
	played(t, 1, time.Minute, func(t *testing.T, b *bubble) {
		c := b.actor(0)
		defer c.close()
		c.take("warm", 0).release() // the scripts are known now
		got := make(chan *holding, 1)
		go func() { got <- c.take("job", 0) }()
		for b.stored(0, "lock:job") == "" {
			time.Sleep(10 * time.Microsecond)
		}
		b.net.sites[0].cutAll() // the answer is on its way
		select {
		case <-got:
			t.Error("the answer had come already")
		default:
			(<-got).release()
		}
	})
}

func TestAReplyThatNeverComesLeavesNothing(t *testing.T) {
	played(t, 1, time.Minute, func(t *testing.T, b *bubble) {
		c := b.actor(0)
		c.take("warm", 0).release() // the scripts are known now
		b.net.sites[0].silent.Store(true)
		if _, err := c.locker.TryAcquire(background, "job"); !errors.Is(err, lockcore.ErrNoQuorum) || errors.Is(err, lockcore.ErrNotAcquired) {
			t.Errorf("got %v", err)
		}
		if v := b.stored(0, "lock:job"); v == "" {
			t.Error("the node did not grant, so nothing was shown")
		}
		c.close() // the release follows the acquire when that is given up
		if v := b.stored(0, "lock:job"); v != "" {
			t.Errorf("left behind: %s", v)
		}
	})
}

func TestACallersDeadlineIsKeptThoughAllNodesHang(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			played(t, n, time.Minute, func(t *testing.T, b *bubble) {
				c := b.actor(0)
				c.take("warm", 0).release()
				for _, s := range b.net.sites {
					s.hung.close()
				}
				ctx, cancel := context.WithTimeout(background, 30*time.Millisecond)
				defer cancel()
				start := time.Now()
				_, err := c.locker.Acquire(ctx, "job", lockcore.WithNodeTimeout(10*time.Second))
				if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != 30*time.Millisecond {
					t.Errorf("after %v: %v", took, err)
				}
				for _, s := range b.net.sites {
					s.hung.open()
				}
				c.close()
				time.Sleep(5 * time.Minute) // the mark of a release that may have come before its acquire ends by itself
				if left := b.leftovers(); len(left) > 0 {
					t.Errorf("left behind: %q", left)
				}
			})
		})
	}
}

func TestTwoHalvesDoNotBothWin(t *testing.T) {
	played(t, 5, time.Minute, func(t *testing.T, b *bubble) {
		few, many := b.actor(0), b.actor(1)
		defer few.close()
		defer many.close()
		many.take("warm", 0).release()
		for i := range b.nodes {
			if i < 2 {
				many.links[i].frozen.close()
				defer many.links[i].frozen.open()
			} else {
				few.links[i].frozen.close()
				defer few.links[i].frozen.open()
			}
		}
		_, err := few.locker.TryAcquire(background, "job")
		var nq *lockcore.NoQuorumError
		if !errors.As(err, &nq) || nq.Need != 3 || nq.Reached != 2 || nq.Of != 5 {
			t.Errorf("with two of five: %v", err)
		}
		many.take("job", 0).release()
	})
}

func TestExtendOnOneNodeBringsNothingBack(t *testing.T) {
	played(t, 1, time.Minute, func(t *testing.T, b *bubble) {
		c := b.actor(0)
		defer c.close()
		h := c.take("job", 0, lockcore.WithWatchdog(false))
		b.nodes[0].redis.Del("lock:job")
		if err := h.lock.Extend(background); !errors.Is(err, lockcore.ErrLost) {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Second)
		if v := b.stored(0, "lock:job"); v != "" {
			t.Errorf("brought back: %s", v)
		}
	})
}

// The wait must not be taken off the validity, whether the lock was handed over
// or found free by asking.
func TestValidityCountsFromTheRoundThatSucceeded(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		t.Run(fmt.Sprint("foreign holder ", foreign), func(t *testing.T) {
			const ttl = time.Second
			played(t, 3, ttl, func(t *testing.T, b *bubble) {
				holder, waiter := b.actor(0), b.actor(1)
				defer holder.close()
				defer waiter.close()
				var h *holding
				if foreign {
					for _, n := range b.nodes {
						n.redis.Set("lock:job", "foreign")
						n.redis.SetTTL("lock:job", 10*ttl)
					}
				} else {
					h = holder.take("job", 0)
				}
				waits := waiter.willTake("job")
				time.Sleep(5 * ttl)
				if foreign {
					for _, n := range b.nodes {
						n.redis.Del("lock:job")
					}
				} else {
					h.release()
				}
				w := <-waits
				// What a waiter was handed counts from when it last asked.
				if left := w.lock.Remaining(); left < ttl*6/10 || left > ttl-ttl/100 {
					t.Errorf("of a TTL of %v there are %v left", ttl, left)
				}
				w.release()
			})
		})
	}
}

func TestOneProcessDoesNotReleaseItsOwnSuccessor(t *testing.T) {
	played(t, 3, time.Second, func(t *testing.T, b *bubble) {
		c := b.actor(0)
		defer c.close()
		first := c.take("job", 0, lockcore.WithWatchdog(false))
		second := c.take("job", time.Minute)
		if err := first.lock.Release(background); !errors.Is(err, lockcore.ErrLost) {
			t.Errorf("the first release says %v", err)
		}
		time.Sleep(5 * time.Second)
		if !second.lock.Valid() || b.stored(0, "lock:job") != second.lock.Token().String() {
			t.Errorf("the second lock is gone: %v", second.lock.Err())
		}
		second.release()
	})
}

func TestAnEmptyValueIsAHolder(t *testing.T) {
	played(t, 1, time.Second, func(t *testing.T, b *bubble) {
		c := b.actor(0)
		b.nodes[0].redis.Set("lock:job", "")
		var held *lockcore.NotAcquiredError
		if _, err := c.locker.TryAcquire(background, "job"); !errors.As(err, &held) || held.Holder != "" || held.Remaining >= 0 {
			t.Errorf("got %v", err)
		}
		c.close()
		b.nodes[0].tick()
		if !b.nodes[0].redis.Exists("lock:job") {
			t.Error("somebody else's key was deleted")
		}
	})
}

func TestReleaseSaysWhatCameOfIt(t *testing.T) {
	for name, c := range map[string]struct {
		before func(b *bubble, h *holding)
		want   error
		reason lockcore.LossReason
	}{
		"held":                 {func(*bubble, *holding) {}, nil, ""},
		"one of three is down": {func(b *bubble, _ *holding) { b.net.sites[1].crash() }, nil, ""},
		"two of three are down": {func(b *bubble, _ *holding) { b.net.sites[0].crash(); b.net.sites[1].crash() },
			lockcore.ErrNotReleased, ""},
		"expired": {func(_ *bubble, h *holding) { time.Sleep(2 * time.Second) }, lockcore.ErrLost, lockcore.LossExpired},
		"gone": {func(b *bubble, _ *holding) {
			for _, n := range b.nodes {
				n.redis.Del("lock:job")
			}
		}, lockcore.ErrLost, lockcore.LossGone},
		"taken": {func(b *bubble, _ *holding) {
			for _, n := range b.nodes {
				n.redis.Set("lock:job", "somebody")
			}
		}, lockcore.ErrLost, lockcore.LossTaken},
	} {
		t.Run(name, func(t *testing.T) {
			played(t, 3, time.Second, func(t *testing.T, b *bubble) {
				client := b.actor(0)
				h := client.take("job", 0, lockcore.WithWatchdog(false))
				time.Sleep(20 * time.Millisecond)
				c.before(b, h)
				start := time.Now()
				h.releasing()
				err := h.lock.Release(background)
				var lost *lockcore.LostError
				if !errors.Is(err, c.want) || errors.As(err, &lost) && lost.Reason != c.reason {
					t.Errorf("got %v", err)
				}
				if took := time.Since(start); took > b.plan.nodeTimeout {
					t.Errorf("it took %v; whatever the outcome, there is nothing to try again", took)
				}
				for _, s := range b.net.sites {
					s.recover()
				}
				client.close()
			})
		})
	}
}

// Nodes that are restarted one after the other, each with its data, must not
// each keep a lock that was released meanwhile until its TTL ends.
func TestANodeThatMissedAReleaseIsToldWhenItIsBack(t *testing.T) {
	played(t, 3, time.Hour, func(t *testing.T, b *bubble) {
		c := b.actor(0)
		for i, n := range b.nodes {
			h := c.take("job", 0)
			time.Sleep(20 * time.Millisecond)
			n.site.crash()
			h.release()
			if v := b.stored(i, "lock:job"); v != h.lock.Token().String() {
				t.Errorf("node %d was not to be reached and has %q", i, v)
			}
			time.Sleep(time.Minute)
			n.site.recover()
			time.Sleep(2 * time.Second)
			if left := b.leftovers(); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		}
		// Nothing is owed to anybody for ever, nor holds up the end.
		h := c.take("job", 0)
		b.nodes[0].site.crash()
		h.release()
		start := time.Now()
		c.close()
		if took := time.Since(start); took > time.Second {
			t.Errorf("closing took %v", took)
		}
	})
}

// The book watches that Done is closed when the validity ends, not later.
func TestHolderIsToldInTimeThoughAllNodesHang(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			played(t, n, 600*time.Millisecond, func(t *testing.T, b *bubble) {
				c := b.actor(0)
				h := c.take("job", 0)
				for _, s := range b.net.sites {
					s.hung.close()
				}
				<-h.record.settled
				var lost *lockcore.LostError
				if !errors.As(h.lock.Err(), &lost) || lost.Reason != lockcore.LossExpired {
					t.Errorf("got %v", h.lock.Err())
				}
				for _, s := range b.net.sites {
					s.hung.open()
				}
				c.close()
			})
		})
	}
}

// News of a hand-over may come when the lock, won by asking, is being released
// already. Whoever answered it with a release of its own would make the first
// one find the successor, and call the lock lost.
func TestLateNewsDoesNotReleaseTwice(t *testing.T) {
	played(t, 1, time.Minute, func(t *testing.T, b *bubble) {
		c, next := b.actor(0), b.actor(1)
		defer c.close()
		defer next.close()
		for range 20 {
			h := c.take("job", 0)
			successor := next.willTake("job")
			time.Sleep(20 * time.Millisecond)
			done := make(chan error, 1)
			go func() {
				h.releasing()
				done <- h.lock.Release(background)
			}()
			time.Sleep(time.Microsecond)
			c.locker.Hear(0, fmt.Sprintf("granted %d %s lock:job", h.lock.Fence(), h.lock.Token()))
			if err := <-done; err != nil {
				t.Fatalf("the release says %v", err)
			}
			(<-successor).release()
		}
	})
}

func TestNothingRenewsALockThatWasGivenUp(t *testing.T) {
	const ttl = time.Second
	played(t, 3, ttl, func(t *testing.T, b *bubble) {
		c := b.actor(0)
		c.take("warm", 0).release()
		for _, s := range b.net.sites {
			s.hung.close()
		}
		ctx, cancel := context.WithCancel(background)
		timer := time.AfterFunc(10*time.Millisecond, cancel)
		defer timer.Stop()
		if _, err := c.locker.Acquire(ctx, "job"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		time.Sleep(100 * time.Millisecond)
		for _, s := range b.net.sites {
			s.hung.open() // the acquires are carried out now
		}
		time.Sleep(50 * time.Millisecond)
		for range 30 {
			if v := b.stored(0, "lock:job"); v != "" {
				t.Fatalf("it is back: %s", v)
			}
			time.Sleep(ttl / 10)
		}
		c.close()
	})
}

func TestARenewalInFlightDoesNotOutliveItsLock(t *testing.T) {
	const ttl = time.Second
	played(t, 3, ttl, func(t *testing.T, b *bubble) {
		c := b.actor(0)
		defer c.close()
		h := c.take("job", 0)
		time.Sleep(ttl/3 - 5*time.Millisecond)
		for _, l := range c.links {
			l.frozen.close()
		}
		time.Sleep(10 * time.Millisecond) // the renewal is on its way
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.release()
		}()
		time.Sleep(10 * time.Millisecond)
		for _, l := range c.links {
			l.frozen.open()
		}
		<-done
		time.Sleep(20 * time.Millisecond)
		for range 30 {
			if left := b.leftovers(); len(left) > 0 {
				t.Fatalf("it is back: %q", left)
			}
			time.Sleep(ttl / 10)
		}
	})
}

// A put-back that was given up may be under way still, and be carried out
// after the release has been answered on another connection.
func TestAPutBackThatComesAfterTheReleaseBringsNothingBack(t *testing.T) {
	played(t, 3, time.Minute, func(t *testing.T, b *bubble) {
		c := b.actor(0)
		defer c.close()
		h := c.take("job", 0, lockcore.WithWatchdog(false))
		if err := h.lock.Extend(background); err != nil { // the script is known now
			t.Fatal(err)
		}
		b.nodes[0].tick()
		b.nodes[0].redis.Del("lock:job")
		arrived := make(chan struct{})
		putBack := lockcore.PutBackRequest(h.lock)
		c.links[0].heldUp.close()
		c.links[0].holdsUp = func(request []byte) bool {
			if !bytes.Contains(request, putBack) {
				return false
			}
			close(arrived)
			return true
		}
		if err := h.lock.Extend(background); err != nil {
			t.Fatal(err)
		}
		ended(t, "the put-back", arrived)
		time.Sleep(2 * c.nodes[0].Timeout()) // it is given up
		h.release()
		synctest.Wait()
		c.links[0].heldUp.open()
		time.Sleep(time.Second)
		for i := range b.nodes {
			if v := b.stored(i, "lock:job"); v != "" {
				t.Errorf("node %d has it again: %s", i, v)
			}
		}
		c.take("job", 0).release()
	})
}

// An acquire that is sent again because its connection broke may have been
// received all the same, and be carried out after the release.
func TestAnAcquireThatWasSentTwiceBringsNothingBack(t *testing.T) {
	played(t, 1, time.Minute, func(t *testing.T, b *bubble) {
		c := b.actor(0)
		defer c.close()
		c.take("warm", 0).release() // the script is known now
		arrived := make(chan struct{})
		var once sync.Once
		c.links[0].heldUp.close()
		c.links[0].holdsUp = func(request []byte) bool {
			first := false
			if bytes.Contains(request, []byte("lock:job")) {
				once.Do(func() { first = true; close(arrived) })
			}
			return first
		}
		got := make(chan *holding, 1)
		go func() { got <- c.take("job", 0) }()
		ended(t, "the first request", arrived)
		b.net.sites[0].hangUp()
		(<-got).release()
		synctest.Wait()
		c.links[0].heldUp.open()
		time.Sleep(time.Second)
		if v := b.stored(0, "lock:job"); v != "" {
			t.Errorf("the node has it again: %s", v)
		}
	})
}

// Whoever extends by hand waits for a renewal that is under way, but not longer
// than its context.
func TestExtendWaitsForAnotherOneNoLongerThanItsContext(t *testing.T) {
	played(t, 3, time.Minute, func(t *testing.T, b *bubble) {
		c := b.actor(0)
		defer c.close()
		h := c.take("job", 0, lockcore.WithWatchdog(false), lockcore.WithNodeTimeout(time.Second))
		for _, l := range c.links {
			l.frozen.close()
		}
		first := make(chan error, 1)
		go func() { first <- h.lock.Extend(background) }()
		time.Sleep(10 * time.Millisecond)
		ctx, cancel := context.WithTimeout(background, 20*time.Millisecond)
		defer cancel()
		start := time.Now()
		err := h.lock.Extend(ctx)
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, lockcore.ErrLost) || took != 20*time.Millisecond {
			t.Errorf("after %v: %v", took, err)
		}
		for _, l := range c.links {
			l.frozen.open()
		}
		if err := <-first; err != nil || !h.lock.Valid() {
			t.Errorf("the extension under way: %v", err)
		}
		h.release()
	})
}

func TestRenewalGoesOnAfterEachTransientFailure(t *testing.T) {
	const ttl = 3 * time.Second
	for name, fail := range map[string]func(b *bubble, on bool){
		"BUSY":        refuseWith("BUSY Redis is busy running a script"),
		"LOADING":     refuseWith("LOADING Redis is loading the dataset in memory"),
		"OOM":         refuseWith("OOM command not allowed when used memory > 'maxmemory'"),
		"MISCONF":     refuseWith("MISCONF Redis is configured to save RDB snapshots"),
		"NOREPLICAS":  refuseWith("NOREPLICAS Not enough good replicas to write"),
		"CLUSTERDOWN": refuseWith("CLUSTERDOWN The cluster is down"),
		"READONLY":    refuseWith("READONLY You can't write against a read only replica."),
		"hang": func(b *bubble, on bool) {
			for _, s := range b.net.sites {
				if on {
					s.hung.close()
				} else {
					s.hung.open()
				}
			}
		},
		"cut and refused": func(b *bubble, on bool) {
			for _, s := range b.net.sites {
				if on {
					s.crash()
				} else {
					s.recover()
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			played(t, 3, ttl, func(t *testing.T, b *bubble) {
				c := b.actor(0)
				defer c.close()
				// The second lock of the name must be renewed as the first.
				for range 2 {
					h := c.take("job", 0)
					for range 3 {
						time.Sleep(ttl / 4)
						fail(b, true)
						time.Sleep(ttl / 3) // a renewal falls into this
						fail(b, false)
						time.Sleep(ttl)
					}
					if !h.lock.Valid() || h.lock.Renewals() < 4 {
						t.Fatalf("after %d renewals: %v", h.lock.Renewals(), h.lock.Err())
					}
					h.release()
				}
			})
		})
	}
}

func refuseWith(text string) func(*bubble, bool) {
	return func(b *bubble, on bool) {
		for _, n := range b.nodes {
			if on {
				n.redis.SetError(text)
			} else {
				n.redis.SetError("")
			}
		}
	}
}

// A waiter's numbers must not be as old as its wait. It asks before everybody
// else, and cannot reach a quorum until one node of the earlier grant has
// forgotten it and served its quarantine.
func TestALongWaitDoesNotAgeTheFence(t *testing.T) {
	const ttl = time.Second
	played(t, 5, ttl, func(t *testing.T, b *bubble) {
		patient, other := b.actor(0), b.actor(1)
		defer patient.close()
		other.take("warm", 0).release()
		time.Sleep(2 * ttl)
		for i := range b.nodes {
			patient.links[i].frozen.close()
			if i > 2 {
				other.links[i].frozen.close()
			}
		}
		waits := patient.willTake("job")
		time.Sleep(5 * ttl)
		first := other.take("job", 0) // on nodes 0, 1 and 2
		other.stop()                  // and left there
		b.nodes[2].site.crash()
		b.nodes[2].redis.FlushAll()
		b.nodes[2].site.recover()
		for i := 2; i < 5; i++ {
			patient.links[i].frozen.open()
		}
		second := <-waits // on nodes 2, 3 and 4
		if first.lock.Fence() >= second.lock.Fence() {
			t.Errorf("fence %d after %d", second.lock.Fence(), first.lock.Fence())
		}
		second.release()
		for i := range b.nodes {
			patient.links[i].frozen.open()
		}
	})
}

// Beyond 2^53 the nodes' arithmetic has no next number.
func TestASpentFenceIsAnErrorAndNotARepetition(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *deployment) {
		l := d.locker(lockcore.WithDurable())
		companion := lockcore.CompanionKey("lock:", lockcore.FenceCompanion, "lock:job")
		for _, spent := range []string{"9007199254740992 0", "9223372036854775807 0", strings.Repeat("9", 400) + " 0", "1e300 0", "nan 0", "many 0", "-1 0", "41", "", "hash"} {
			d.do([]int{0}, "DEL", companion)
			if spent == "hash" { // as builds before the first release kept it
				d.do([]int{0}, "HSET", companion, "fence", 41, "since", 0)
			} else {
				d.do([]int{0}, "SET", companion, spent)
			}
			k, err := l.TryAcquire(background, "job")
			if err == nil {
				t.Errorf("with the counter at %s it granted %d", spent, k.Fence())
				if err := k.Release(background); err != nil {
					t.Error(err)
				}
				continue
			}
			if errors.Is(err, lockcore.ErrNotAcquired) || !strings.Contains(err.Error(), "fencing") {
				t.Errorf("with the counter at %s: %v", spent, err)
			}
			eventually(t, "nothing to be left", func() bool { return allEqual(d.stored("lock:job"), "") })
		}
	})
}

// One client whose clock is far ahead must not lift the counter for good.
func TestAClockThatIsFarAheadGrantsNothing(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *deployment) {
		ahead := d.locker(lockcore.WithNow(func() time.Time { return time.Now().Add(2 * time.Hour) }))
		k, err := ahead.TryAcquire(background, "job")
		if err == nil {
			t.Fatalf("granted %d", k.Fence())
		}
		if !errors.Is(err, lockcore.ErrNoQuorum) || !strings.Contains(err.Error(), "clock") {
			t.Errorf("got %v", err)
		}
		if keys := d.nodes[0].Client().Keys(background, "lock:*").Val(); len(keys) != 0 {
			t.Errorf("it left %q", keys)
		}
		// A counter that is ahead already is counted on from, by anybody.
		const lifted = 1 << 52
		d.setFence(0, "lock:job", lifted)
		right := d.acquire(d.locker(), "job")
		if right.Fence() != lifted+1 {
			t.Errorf("got %d, want %d", right.Fence(), lifted+1)
		}
	})
}

// A user that may touch nothing but lock:* can do all there is to do.
func TestAnACLOfOnePatternIsEnough(t *testing.T) {
	l := labtest.Start(t, lab.Config{Nodes: 3, Kind: lab.Process})
	var urls []string
	for _, n := range l.Nodes() {
		err := labtest.Client(t, n).Do(background, "ACL", "SETUSER", "locker", "on", ">secret", "resetkeys", "~lock:*", "resetchannels", "&lock:*",
			"nocommands", "+@read", "+@write", "+@scripting", "+@pubsub", "+@connection", "+time", "-@dangerous").Err()
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, "redis://locker:secret@"+n.Addr())
	}
	nodes, err := node.OpenAll(urls, node.Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { node.CloseAll(nodes) })
	d := &deployment{t: t, lab: l, nodes: nodes}
	locker := d.locker()
	k := d.acquire(locker, "job")
	got := make(chan error, 1)
	go func() {
		next, err := locker.Acquire(background, "job", lockcore.WithWait(time.Minute))
		if err == nil {
			err = next.Release(background)
		}
		got <- err
	}()
	eventually(t, "the waiter to be queued", d.waitingEverywhere("lock:job", 1))
	d.do([]int{0}, "DEL", k.Key())
	if err := k.Extend(background); err != nil {
		t.Error(err)
	}
	if err := k.Release(background); err != nil {
		t.Error(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
	d.nothingLeft("lock:job")
}

func TestAllKeysAreInOneClusterSlot(t *testing.T) {
	l := labtest.Start(t, lab.Config{Nodes: 1, Kind: lab.Process, Args: []string{"--cluster-enabled", "yes"}})
	admin := labtest.Client(t, l.Nodes()[0])
	if err := admin.Do(background, "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the cluster to be ready", func() bool {
		return strings.Contains(admin.ClusterInfo(background).Val(), "cluster_state:ok")
	})
	nodes, err := node.OpenAll(l.URLs(), node.Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { node.CloseAll(nodes) })
	d := &deployment{t: t, lab: l, nodes: nodes}
	locker := d.locker()
	for _, resource := range []string{"plain", "order:{42}:x", "{", "{tag}", "a{", "ü{x}"} {
		k := d.acquire(locker, resource)
		if err := k.Extend(background); err != nil {
			t.Errorf("%q: %v", resource, err)
		}
		if err := k.Release(background); err != nil {
			t.Errorf("%q: %v", resource, err)
		}
	}
}
