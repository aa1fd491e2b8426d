package lockcore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"dlock/demo/lab"
	"dlock/lockcore"
	"dlock/lockcore/node"
)

var background = context.Background()

func TestAcquireStoresOneTokenEverywhereAndReleaseLeavesNothing(t *testing.T) {
	onEach(t, 5, func(t *testing.T, d *deployment) {
		l := d.locker(lockcore.WithTTL(30 * time.Second))
		k := d.acquire(l, "orders:42")
		if k.Key() != "lock:orders:42" || k.Resource() != "orders:42" || k.Token().Owner != "tester:1" || k.Fence() < 1 {
			t.Errorf("got key %q, resource %q, token %q, fence %d", k.Key(), k.Resource(), k.Token(), k.Fence())
		}
		if !k.Valid() || k.Remaining() > 30*time.Second-300*time.Millisecond || k.Err() != nil {
			t.Errorf("valid %v for %v, err %v; the drift allowance must be taken off", k.Valid(), k.Remaining(), k.Err())
		}
		eventually(t, "the token on all five nodes", func() bool { return allEqual(d.stored(k.Key()), k.Token().String()) })
		for _, n := range d.nodes {
			if left := n.Client().PTTL(background, k.Key()).Val(); left <= 0 || left > 30*time.Second {
				t.Errorf("%s: the key lives for %v", n.Name(), left)
			}
		}
		if err := k.Release(background); err != nil {
			t.Fatal(err)
		}
		if k.Valid() || !errors.Is(k.Err(), lockcore.ErrReleased) {
			t.Errorf("after release: valid %v, err %v", k.Valid(), k.Err())
		}
		eventually(t, "no key on any node", func() bool { return allEqual(d.stored(k.Key()), "") })
		if err := k.Release(background); err != nil {
			t.Errorf("a second release says %v", err)
		}
	})
}

func TestHeldLockIsRefusedWithItsHolder(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		k := d.acquire(d.locker(lockcore.WithOwner("web-3:4711"), lockcore.WithTTL(time.Minute)), "job")
		eventually(t, "the lock everywhere", func() bool { return d.count(k.Key(), k.Token().String()) == 3 })
		other := d.locker(lockcore.WithOwner("web-4:1"))
		_, err := other.TryAcquire(background, "job")
		var held *lockcore.NotAcquiredError
		if !errors.As(err, &held) || !errors.Is(err, lockcore.ErrNotAcquired) || errors.Is(err, lockcore.ErrNoQuorum) {
			t.Fatalf("got %v", err)
		}
		if held.Owner != "web-3:4711" || held.Holder != k.Token().String() || held.Remaining <= 0 || held.Remaining > time.Minute {
			t.Errorf("got %+v", held)
		}
		if got := d.count(k.Key(), k.Token().String()); got != 3 {
			t.Errorf("a refused attempt left the holder on %d of 3 nodes", got)
		}
	})
}

func TestAcquireWaitsForTheHolder(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		l := d.locker()
		k := d.acquire(l, "job")
		got := make(chan error, 1)
		go func() {
			next, err := l.Acquire(background, "job", lockcore.WithWait(20*time.Second))
			if err == nil {
				err = next.Release(background)
			}
			got <- err
		}()
		if err := k.Release(background); err != nil {
			t.Fatal(err)
		}
		if err := <-got; err != nil {
			t.Error(err)
		}
	})
}

func TestWaitEndsWithTheContextAndSaysBoth(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		l := d.locker()
		d.acquire(l, "job")
		ctx, cancel := context.WithTimeout(background, 200*time.Millisecond)
		defer cancel()
		_, err := l.Acquire(ctx, "job", lockcore.WithWait(time.Hour))
		if !errors.Is(err, lockcore.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v; both the contention and the deadline must be told", err)
		}
		cancel()
		if _, err := l.Acquire(ctx, "free"); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, lockcore.ErrNotAcquired) {
			t.Errorf("with a context that has ended: %v; nothing is known about a holder", err)
		}
	})
}

// A client in another language: SET NX EX and the compare-and-delete script.
func TestPlainSetNXClientExcludesAndIsExcluded(t *testing.T) {
	const compareAndDelete = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`
	onEach(t, 1, func(t *testing.T, d *deployment) {
		l := d.locker()
		client := d.nodes[0].Client()
		foreign := uuid.NewString()
		if !client.SetNX(background, "lock:x", foreign, 10*time.Second).Val() {
			t.Fatal("the foreign client did not get a free lock")
		}
		_, err := l.TryAcquire(background, "x")
		var held *lockcore.NotAcquiredError
		if !errors.As(err, &held) || held.Holder != foreign || held.Owner != "" {
			t.Fatalf("with a foreign holder: %v", err)
		}
		if n := client.Eval(background, compareAndDelete, []string{"lock:x"}, foreign).Val(); n != int64(1) {
			t.Fatalf("the foreign release deleted %v", n)
		}
		k := d.acquire(l, "x")
		if client.SetNX(background, "lock:x", uuid.NewString(), 10*time.Second).Val() {
			t.Error("the foreign client got a lock that is held")
		}
		if n := client.Eval(background, compareAndDelete, []string{"lock:x"}, foreign).Val(); n != int64(0) {
			t.Errorf("a foreign late release deleted %v of our keys", n)
		}
		if err := k.Release(background); err != nil {
			t.Error(err)
		}
	})
}

func TestTwoOfFiveDownIsEnoughThreeIsNot(t *testing.T) {
	onEach(t, 5, func(t *testing.T, d *deployment) {
		l := d.locker()
		d.kill(0, 3)
		k := d.acquire(l, "job")
		if got := d.count(k.Key(), k.Token().String()); got != 3 {
			t.Errorf("held on %d nodes %s", got, show(d.stored(k.Key())))
		}
		if err := k.Release(background); err != nil {
			t.Error(err)
		}
		d.kill(4)
		_, err := l.TryAcquire(background, "job")
		var nq *lockcore.NoQuorumError
		if !errors.As(err, &nq) || !errors.Is(err, lockcore.ErrNoQuorum) || errors.Is(err, lockcore.ErrNotAcquired) {
			t.Fatalf("got %v", err)
		}
		if nq.Need != 3 || nq.Of != 5 || nq.Reached != 2 || len(nq.Nodes) != 3 {
			t.Errorf("got %+v", nq)
		}
		for _, n := range nq.Nodes {
			if node.Classify(n.Err) != node.Unreachable {
				t.Errorf("%s: %v", n.Node, n.Err)
			}
		}
		eventually(t, "the two grants to be given back", func() bool { return d.count("lock:job", "") == 2 })
		// Servers that were restarted may have forgotten their last grants
		// and stay out for a TTL.
		d.restart(false, 0, 3, 4)
		d.acquire(l, "job", lockcore.WithWait(time.Minute))
	})
}

func TestHungMinorityDoesNotHoldAnybodyUp(t *testing.T) {
	onEach(t, 5, func(t *testing.T, d *deployment) {
		l := d.locker()
		d.pause(1, 2)
		k := d.acquire(l, "job") // would wait for patient if it waited for all
		if err := k.Release(background); err != nil {
			t.Error(err)
		}
		d.resume(1, 2)
		eventually(t, "no key on the nodes that woke up", func() bool { return allEqual(d.stored("lock:job"), "") })
	})
}

func TestHungMajorityIsNoQuorumAndLeavesNothing(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		l := d.locker(lockcore.WithNodeTimeout(50 * time.Millisecond))
		d.pause(1, 2)
		_, err := l.TryAcquire(background, "job")
		if !errors.Is(err, lockcore.ErrNoQuorum) {
			t.Fatalf("got %v", err)
		}
		d.resume(1, 2)
		eventually(t, "no key anywhere", func() bool { return allEqual(d.stored("lock:job"), "") })
	})
}

func TestCancelledAttemptLeavesNoMinority(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		l := d.locker()
		// The nodes get their markers; otherwise the first one would wait
		// for the others before it grants anything.
		if err := d.acquire(l, "job").Release(background); err != nil {
			t.Fatal(err)
		}
		d.pause(1, 2)
		ctx, cancel := context.WithCancel(background)
		failed := make(chan error, 1)
		go func() {
			_, err := l.Acquire(ctx, "job", lockcore.WithTTL(time.Minute))
			failed <- err
		}()
		eventually(t, "the first node to grant", func() bool { return d.stored("lock:job")[0] != "" })
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		eventually(t, "the minority to be given back", func() bool { return d.stored("lock:job")[0] == "" })
		d.resume(1, 2)
		eventually(t, "no key anywhere", func() bool { return allEqual(d.stored("lock:job"), "") })
	})
}

func TestReleaseWorksOnACancelledContext(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		ctx, cancel := context.WithCancel(background)
		k, err := d.locker().Acquire(ctx, "job", lockcore.WithTTL(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if !k.Valid() {
			t.Error("the lock ended with the context it was acquired under")
		}
		if err := k.Release(ctx); err != nil {
			t.Error(err)
		}
		eventually(t, "no key", func() bool { return allEqual(d.stored(k.Key()), "") })
	})
}

func TestReleaseNeverTouchesASuccessor(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		k := d.acquire(d.locker(lockcore.WithWatchdog(false)), "job")
		eventually(t, "the lock everywhere", func() bool { return d.count(k.Key(), k.Token().String()) == 3 })
		d.do([]int{0, 1, 2}, "SET", k.Key(), "successor", "PX", 60000)
		err := k.Release(background)
		var lost *lockcore.LostError
		if !errors.As(err, &lost) || lost.Reason != lockcore.LossTaken || lost.Holder != "successor" {
			t.Errorf("got %v", err)
		}
		if got := d.count(k.Key(), "successor"); got != 3 {
			t.Errorf("the successor is left on %d of 3 nodes", got)
		}
	})
}

func TestReleaseThatReachesTooFewSaysHowLongItStaysTaken(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		k := d.acquire(d.locker(lockcore.WithTTL(time.Minute)), "job")
		d.kill(0, 1)
		err := k.Release(background)
		var not *lockcore.NotReleasedError
		if !errors.As(err, &not) || len(not.Nodes) != 2 || not.Within <= 0 || not.Within > time.Minute {
			t.Fatalf("got %v", err)
		}
	})
}

func TestWatchdogKeepsTheLockBeyondItsTTL(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		k := d.acquire(d.locker(lockcore.WithTTL(600*time.Millisecond), lockcore.WithNodeTimeout(300*time.Millisecond)), "job")
		eventually(t, "five renewals, or the loss", func() bool { return k.Renewals() >= 5 || k.Err() != nil })
		if !k.Valid() || d.count(k.Key(), k.Token().String()) < 2 {
			t.Errorf("after five renewals: %v, %s", k.Err(), show(d.stored(k.Key())))
		}
	})
}

func TestWithoutWatchdogTheHolderIsToldWhenValidityEnds(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		k := d.acquire(d.locker(lockcore.WithTTL(300*time.Millisecond), lockcore.WithNodeTimeout(250*time.Millisecond), lockcore.WithWatchdog(false)), "job")
		ended(t, "the loss", k.Done())
		var lost *lockcore.LostError
		if !errors.As(k.Err(), &lost) || lost.Reason != lockcore.LossExpired || !errors.Is(k.Context().Err(), context.Canceled) {
			t.Errorf("got %v", k.Err())
		}
		if err := k.Extend(background); !errors.Is(err, lockcore.ErrLost) {
			t.Errorf("extending a lost lock says %v", err)
		}
		if err := k.Release(background); !errors.Is(err, lockcore.ErrLost) {
			t.Errorf("releasing a lost lock says %v", err)
		}
	})
}

func TestHolderIsToldThoughNoNodeCanBeReached(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		k := d.acquire(d.locker(lockcore.WithTTL(500*time.Millisecond), lockcore.WithNodeTimeout(250*time.Millisecond)), "job")
		d.kill(0, 1, 2)
		ended(t, "the loss", k.Done())
		var lost *lockcore.LostError
		if !errors.As(k.Err(), &lost) || lost.Reason != lockcore.LossExpired || len(lost.Nodes) == 0 {
			t.Errorf("got %v; it must say why renewing failed", k.Err())
		}
	})
}

func TestForcedReleaseIsNoticedAndNotUndone(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		k := d.acquire(d.locker(lockcore.WithTTL(900*time.Millisecond), lockcore.WithNodeTimeout(500*time.Millisecond)), "job")
		eventually(t, "the lock everywhere", func() bool { return d.count(k.Key(), k.Token().String()) == 3 })
		d.do([]int{0, 1, 2}, "DEL", k.Key())
		ended(t, "the loss", k.Done())
		var lost *lockcore.LostError
		if !errors.As(k.Err(), &lost) || lost.Reason != lockcore.LossGone {
			t.Errorf("got %v", k.Err())
		}
		if got := d.stored(k.Key()); !allEqual(got, "") {
			t.Errorf("the watchdog brought a released lock back: %s", show(got))
		}
	})
}

func TestExtendPutsBackWhatAMinorityForgotAndFailsWithoutAMajority(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		k := d.acquire(d.locker(lockcore.WithTTL(time.Minute), lockcore.WithNodeTimeout(5*time.Second), lockcore.WithWatchdog(false)), "job")
		eventually(t, "the lock everywhere", func() bool { return d.count(k.Key(), k.Token().String()) == 3 })
		d.do([]int{0}, "DEL", k.Key())
		if err := k.Extend(background); err != nil {
			t.Fatalf("with two of three: %v", err)
		}
		eventually(t, "the lost copy to be put back", func() bool { return d.count(k.Key(), k.Token().String()) == 3 })
		d.do([]int{0}, "DEL", k.Key())
		d.kill(1)
		if err := k.Extend(background); !errors.Is(err, lockcore.ErrNoQuorum) || !k.Valid() {
			t.Fatalf("with one that has it and one that is down: %v, valid %v; it may come back", err, k.Valid())
		}
		d.restart(true, 1)
		if err := k.Extend(background); !errors.Is(err, lockcore.ErrLost) || k.Valid() {
			t.Errorf("with one of three: %v, valid %v", err, k.Valid())
		}
		if got := d.count(k.Key(), k.Token().String()); got != 1 {
			t.Errorf("a lost lock was brought back: %s", show(d.stored(k.Key())))
		}
	})
}

func TestANewerGrantIsNeverOverwrittenByPuttingBack(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		k := d.acquire(d.locker(lockcore.WithTTL(time.Minute), lockcore.WithWatchdog(false)), "job")
		eventually(t, "the lock everywhere", func() bool { return d.count(k.Key(), k.Token().String()) == 3 })
		d.do([]int{0}, "DEL", k.Key())
		d.setFence(0, k.Key(), k.Fence()+1)
		for range 3 {
			if err := k.Extend(background); err != nil {
				t.Fatal(err)
			}
		}
		if err := k.Release(background); err != nil {
			t.Fatal(err)
		}
		if got := d.stored(k.Key()); got[0] != "" {
			t.Errorf("put back although somebody had been granted it there: %s", show(got))
		}
	})
}

func TestMaxHoldEndsRenewal(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *deployment) {
		k := d.acquire(d.locker(lockcore.WithTTL(600*time.Millisecond), lockcore.WithNodeTimeout(300*time.Millisecond), lockcore.WithMaxHold(700*time.Millisecond)), "job")
		ended(t, "the maximum hold time", k.Done())
		var lost *lockcore.LostError
		if !errors.As(k.Err(), &lost) || lost.Reason != lockcore.LossMaxHold {
			t.Errorf("got %v", k.Err())
		}
		eventually(t, "the key to expire", func() bool { return allEqual(d.stored(k.Key()), "") })
	})
}

func TestLateQuorumIsNotALock(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *deployment) {
		// The node answers, but only after what was promised is over.
		l := d.locker(lockcore.WithTTL(800*time.Millisecond), lockcore.WithNodeTimeout(799*time.Millisecond), lockcore.WithDrift(0.9))
		d.pause(0)
		resumed := time.AfterFunc(300*time.Millisecond, func() { d.resume(0) })
		defer resumed.Stop()
		_, err := l.TryAcquire(background, "job")
		if !errors.Is(err, lockcore.ErrExpiredDuringAcquire) {
			t.Fatalf("got %v", err)
		}
		eventually(t, "the late grant to be given back", func() bool { return allEqual(d.stored("lock:job"), "") })
	})
}

func TestForgottenScriptsAreNoError(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		l := d.locker(lockcore.WithWatchdog(false))
		for range 3 {
			k := d.acquire(l, "job")
			d.do([]int{0, 1, 2}, "SCRIPT", "FLUSH")
			if err := k.Extend(background); err != nil {
				t.Fatal(err)
			}
			d.do([]int{0, 1, 2}, "SCRIPT", "FLUSH")
			if err := k.Release(background); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestAForeignTypeUnderTheKeyIsARefusal(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *deployment) {
		d.do([]int{0}, "RPUSH", "lock:job", "x")
		_, err := d.locker().TryAcquire(background, "job")
		var held *lockcore.NotAcquiredError
		if !errors.As(err, &held) || held.Remaining >= 0 {
			t.Errorf("got %v", err)
		}
	})
}

// Contenders never meet inside, and the fencing token grows from grant to
// grant, while nodes die and come back with their data.
func TestExclusionAndFenceUnderNodeLoss(t *testing.T) {
	onEach(t, 5, func(t *testing.T, d *deployment) {
		const workers, rounds = 6, 12
		var inside atomic.Int32
		var mu sync.Mutex
		var fences []int64
		var running sync.WaitGroup
		for w := range workers {
			l := d.locker(lockcore.WithOwner(fmt.Sprintf("w%d", w)), lockcore.WithDurable())
			running.Go(func() {
				for range rounds {
					k, err := l.Acquire(background, "shared", lockcore.WithWait(time.Minute))
					if err != nil {
						t.Errorf("acquire: %v", err)
						return
					}
					if inside.Add(1) != 1 {
						t.Error("two holders at once")
					}
					mu.Lock()
					fences = append(fences, k.Fence())
					mu.Unlock()
					inside.Add(-1)
					if err := k.Release(background); err != nil && !errors.Is(err, lockcore.ErrNotReleased) {
						t.Errorf("release: %v", err)
					}
				}
			})
		}
		stop := make(chan struct{})
		chaos := make(chan struct{})
		go func() {
			defer close(chaos)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(60 * time.Millisecond):
				}
				n := d.lab.Nodes()[i%5]
				if n.Kill() != nil || n.Restart(background, false) != nil {
					t.Error("the lab failed")
					return
				}
			}
		}()
		running.Wait()
		close(stop)
		<-chaos
		if len(fences) != workers*rounds {
			t.Errorf("%d grants, want %d", len(fences), workers*rounds)
		}
		for i := 1; i < len(fences); i++ {
			if fences[i] <= fences[i-1] {
				t.Fatalf("grant %d has fence %d after %d", i, fences[i], fences[i-1])
			}
		}
	})
}

// A node that missed grants must not make the fence go back: this is where
// "the largest counter of the nodes that answered" alone fails.
func TestFenceGrowsAcrossDisjointMinorities(t *testing.T) {
	onEach(t, 5, func(t *testing.T, d *deployment) {
		l := d.locker(lockcore.WithDurable())
		d.setFence(0, "lock:job", 10)
		d.kill(3, 4)
		first := d.acquire(l, "job")
		if first.Fence() != 11 {
			t.Fatalf("first fence %d, want 11", first.Fence())
		}
		if err := first.Release(background); err != nil {
			t.Fatal(err)
		}
		d.restart(false, 3, 4)
		d.kill(0, 1)
		second := d.acquire(l, "job")
		if second.Fence() <= first.Fence() {
			t.Errorf("fence %d after %d", second.Fence(), first.Fence())
		}
	})
}

func TestLargeFencesKeepAllTheirDigits(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *deployment) {
		const large = 1<<53 - 100
		d.setFence(0, "lock:job", large)
		if k := d.acquire(d.locker(), "job"); k.Fence() != large+1 {
			t.Errorf("got %d, want %d", k.Fence(), large+1)
		}
	})
}

func TestConstructionRefusesWhatCannotWork(t *testing.T) {
	open := func(urls ...string) []*node.Node {
		var nodes []*node.Node
		for _, u := range urls {
			n, err := node.Open(u, node.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { n.Close() })
			nodes = append(nodes, n)
		}
		return nodes
	}
	one := open("redis://127.0.0.1:1")
	for name, build := range map[string]func() (*lockcore.Locker, error){
		"no nodes": func() (*lockcore.Locker, error) { return lockcore.New(nil) },
		"one node twice": func() (*lockcore.Locker, error) {
			return lockcore.New(open("redis://127.0.0.1:1", "redis://127.0.0.1:1/0"))
		},
		"TTL within the drift": func() (*lockcore.Locker, error) { return lockcore.New(one, lockcore.WithTTL(2*time.Millisecond)) },
		"timeout over TTL": func() (*lockcore.Locker, error) {
			return lockcore.New(one, lockcore.WithTTL(time.Second), lockcore.WithNodeTimeout(time.Second))
		},
		"empty prefix":   func() (*lockcore.Locker, error) { return lockcore.New(one, lockcore.WithPrefix("")) },
		"owner in words": func() (*lockcore.Locker, error) { return lockcore.New(one, lockcore.WithOwner("two words")) },
		"negative wait":  func() (*lockcore.Locker, error) { return lockcore.New(one, lockcore.WithWait(-1)) },
		"silly drift":    func() (*lockcore.Locker, error) { return lockcore.New(one, lockcore.WithDrift(1)) },
	} {
		if l, err := build(); err == nil || l != nil {
			t.Errorf("%s: accepted", name)
		}
	}
	l, err := lockcore.New(one)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, resource := range []string{"", "node", "fence:x"} {
		if _, err := l.TryAcquire(background, resource); err == nil || errors.Is(err, lockcore.ErrNoQuorum) {
			t.Errorf("resource %q: %v", resource, err)
		}
	}
}

func TestCloseEndsHeldLocksAndLeavesNoGoroutine(t *testing.T) {
	d := deploy(t, lab.Embedded, 3)
	l := d.locker()
	k := d.acquire(l, "job")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var lost *lockcore.LostError
	if !errors.As(k.Err(), &lost) || lost.Reason != lockcore.LossClosed {
		t.Errorf("got %v", k.Err())
	}
	if _, err := l.TryAcquire(background, "other"); !errors.Is(err, lockcore.ErrClosed) {
		t.Errorf("acquiring on a closed locker says %v", err)
	}
}
