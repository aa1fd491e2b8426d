package lockcore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"dlock/lockcore"
)

func queueKey(key string) string {
	return lockcore.CompanionKey("lock:", lockcore.QueueCompanion, key)
}

func waitKey(key string) string {
	return lockcore.CompanionKey("lock:", lockcore.WaitCompanion, key)
}

// waiting is how many tokens node i has queued for a key.
func (d *deployment) waiting(i int, key string) int {
	d.t.Helper()
	n, err := d.nodes[i].Client().ZCard(background, queueKey(key)).Result()
	if err != nil {
		d.t.Fatal(err)
	}
	return int(n)
}

func (d *deployment) waitingEverywhere(key string, want int) func() bool {
	return func() bool {
		for i := range d.nodes {
			if d.waiting(i, key) != want {
				return false
			}
		}
		return true
	}
}

func (d *deployment) nothingLeft(key string) {
	d.t.Helper()
	eventually(d.t, "no lock, no queue and no waiter on any node", func() bool {
		for i := range d.nodes {
			n, err := d.nodes[i].Client().Exists(background, key, queueKey(key), waitKey(key)).Result()
			if err != nil || n != 0 {
				return false
			}
		}
		return true
	})
}

func TestWaitersAreServedInTheOrderTheyAsked(t *testing.T) {
	for _, n := range []int{1, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			onEach(t, n, func(t *testing.T, d *deployment) {
				const waiters = 6
				first := d.acquire(d.locker(), "job")
				order := make(chan int, waiters)
				failed := make(chan error, waiters)
				for w := range waiters {
					l := d.locker(lockcore.WithOwner(fmt.Sprintf("w%d", w)))
					go func() {
						k, err := l.Acquire(background, "job", lockcore.WithWait(time.Minute))
						if err == nil {
							order <- w
							err = k.Release(background)
						}
						failed <- err
					}()
					eventually(t, "the waiter to be queued everywhere", d.waitingEverywhere("lock:job", w+1))
				}
				if err := first.Release(background); err != nil {
					t.Fatal(err)
				}
				for range waiters {
					if err := <-failed; err != nil {
						t.Fatal(err)
					}
				}
				for want := range waiters {
					if got := <-order; got != want {
						t.Errorf("place %d went to waiter %d", want, got)
					}
				}
				d.nothingLeft("lock:job")
			})
		})
	}
}

func TestAWaiterThatGivesUpLeavesNothing(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		k := d.acquire(d.locker(), "job")
		ctx, cancel := context.WithCancel(background)
		given := make(chan error, 1)
		l := d.locker()
		go func() {
			_, err := l.Acquire(ctx, "job", lockcore.WithWait(time.Minute))
			given <- err
		}()
		eventually(t, "the waiter to be queued", d.waitingEverywhere("lock:job", 1))
		cancel()
		if err := <-given; !errors.Is(err, context.Canceled) || !errors.Is(err, lockcore.ErrNotAcquired) {
			t.Errorf("got %v", err)
		}
		eventually(t, "the queue to be empty", d.waitingEverywhere("lock:job", 0))
		if err := k.Release(background); err != nil {
			t.Error(err)
		}
		d.nothingLeft("lock:job")
	})
}

// A waiter whose process has died, or that nobody can reach, stands in front.
func TestADeadWaiterHoldsNobodyUp(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		dead := func(until time.Time) {
			token := uuid.NewString() + "/1/dead:1"
			d.do([]int{0, 1, 2}, "ZADD", queueKey("lock:job"), 1, token)
			d.do([]int{0, 1, 2}, "HSET", waitKey("lock:job"), token, fmt.Sprintf("%d 10000 1 0 lock:wake:nobody", until.UnixMilli()))
		}
		k := d.acquire(d.locker(), "job")
		eventually(t, "the lock everywhere", func() bool { return d.count(k.Key(), k.Token().String()) == 3 })
		dead(time.Now().Add(time.Hour))  // says it waits, and does not listen
		dead(time.Now().Add(-time.Hour)) // has not asked for an hour
		got := make(chan error, 1)
		l := d.locker()
		go func() {
			next, err := l.Acquire(background, "job", lockcore.WithWait(time.Minute))
			if err == nil {
				err = next.Release(background)
			}
			got <- err
		}()
		eventually(t, "the live waiter to be queued behind them", d.waitingEverywhere("lock:job", 3))
		if err := k.Release(background); err != nil {
			t.Fatal(err)
		}
		if err := <-got; err != nil {
			t.Error(err)
		}
		d.nothingLeft("lock:job")
	})
}

// Whoever comes later does not get past those who wait, even when the lock is
// free at that moment because its holder, a foreign client, just deleted it.
func TestANewcomerDoesNotOvertakeTheQueue(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *deployment) {
		d.do([]int{0}, "SET", "lock:job", "foreign", "PX", 60000)
		l := d.locker(lockcore.WithOwner("patient:1"), lockcore.WithTTL(time.Minute))
		got := make(chan *lockcore.Lock, 1)
		go func() {
			k, err := l.Acquire(background, "job", lockcore.WithWait(time.Minute))
			if err != nil {
				t.Error(err)
			}
			got <- k
		}()
		eventually(t, "the waiter to be queued", d.waitingEverywhere("lock:job", 1))
		d.do([]int{0}, "DEL", "lock:job")
		_, err := d.locker(lockcore.WithOwner("hasty:1")).TryAcquire(background, "job")
		var held *lockcore.NotAcquiredError
		if !errors.As(err, &held) || held.Owner != "patient:1" {
			t.Errorf("got %v", err)
		}
		if k := <-got; k != nil {
			if err := k.Release(background); err != nil {
				t.Error(err)
			}
		}
		d.nothingLeft("lock:job")
	})
}

func TestTheHolderDiesAndTheFirstWaiterFollows(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		dying := d.locker(lockcore.WithTTL(700*time.Millisecond), lockcore.WithNodeTimeout(500*time.Millisecond), lockcore.WithWatchdog(false))
		d.acquire(dying, "job") // and never released
		k := d.acquire(d.locker(lockcore.WithOwner("next:1")), "job", lockcore.WithWait(time.Minute))
		if err := k.Release(background); err != nil {
			t.Error(err)
		}
		d.nothingLeft("lock:job")
	})
}

// The nodes tell nobody, as when every message is lost: asking again finds it.
func TestLostWakeUpsOnlyCostTime(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		k := d.acquire(d.locker(), "job")
		got := make(chan error, 1)
		l := d.locker()
		go func() {
			next, err := l.Acquire(background, "job", lockcore.WithWait(time.Minute))
			if err == nil {
				err = next.Release(background)
			}
			got <- err
		}()
		eventually(t, "the waiter to be queued", d.waitingEverywhere("lock:job", 1))
		d.do([]int{0, 1, 2}, "DEL", queueKey("lock:job"), waitKey("lock:job"))
		if err := k.Release(background); err != nil {
			t.Fatal(err)
		}
		if err := <-got; err != nil {
			t.Error(err)
		}
		d.nothingLeft("lock:job")
	})
}

// A node hung through acquire and release, and may carry them out in any
// order when it wakes up.
func TestAHungNodeIsLeftWithNothing(t *testing.T) {
	onEach(t, 5, func(t *testing.T, d *deployment) {
		l := d.locker(lockcore.WithTTL(10 * time.Minute))
		for range 5 {
			d.pause(2)
			k := d.acquire(l, "job")
			if err := k.Release(background); err != nil {
				t.Fatal(err)
			}
			// Both requests have to be on their way or given up.
			l.Close()
			d.resume(2)
			l = d.locker(lockcore.WithTTL(10 * time.Minute))
			next := d.acquire(l, "job")
			if err := next.Release(background); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "no lock on any node", func() bool { return allEqual(d.stored("lock:job"), "") })
	})
}

func TestANodeThatForgotStaysOutAndComesBack(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		l := d.locker(lockcore.WithTTL(1500*time.Millisecond), lockcore.WithNodeTimeout(time.Second))
		k := d.acquire(l, "job")
		eventually(t, "the lock everywhere", func() bool { return d.count(k.Key(), k.Token().String()) == 3 })
		d.restart(true, 0)
		d.kill(1)
		// The node that forgot would make a quorum with the one that holds
		// nothing of the other resource, and must not.
		_, err := l.TryAcquire(background, "other")
		var nq *lockcore.NoQuorumError
		if !errors.As(err, &nq) || len(nq.Nodes) != 2 || !strings.Contains(err.Error(), "quarantine") {
			t.Fatalf("got %v", err)
		}
		other := d.acquire(l, "other", lockcore.WithWait(time.Minute))
		if err := other.Release(background); err != nil {
			t.Error(err)
		}
	})
}

func TestFenceSurvivesNodesThatForget(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		l := d.locker(lockcore.WithTTL(300*time.Millisecond), lockcore.WithNodeTimeout(250*time.Millisecond))
		var last int64
		for i := range 6 {
			k := d.acquire(l, "job", lockcore.WithWait(time.Minute))
			if k.Fence() <= last {
				t.Fatalf("fence %d after %d", k.Fence(), last)
			}
			last = k.Fence()
			if err := k.Release(background); err != nil && !errors.Is(err, lockcore.ErrLost) {
				t.Fatal(err)
			}
			d.restart(true, i%3)
		}
	})
}
