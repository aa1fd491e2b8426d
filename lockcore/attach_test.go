package lockcore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"dlock/lockcore"
)

// left acquires a lock whose holder then goes away without releasing it, and
// waits until the given number of nodes has it.
func (d *deployment) left(resource string, nodes int, opts ...lockcore.Option) (lockcore.Token, int64) {
	d.t.Helper()
	l, err := lockcore.New(d.nodes, append([]lockcore.Option{lockcore.WithNodeTimeout(patient), lockcore.WithOwner("first:1"), lockcore.WithTTL(time.Minute)}, opts...)...)
	if err != nil {
		d.t.Fatal(err)
	}
	k := d.acquire(l, resource)
	eventually(d.t, "the lock on the nodes", func() bool { return d.count(k.Key(), k.Token().String()) == nodes })
	if err := l.Close(); err != nil {
		d.t.Fatal(err)
	}
	return k.Token(), k.Fence()
}

func TestAttachGoesOnWithALock(t *testing.T) {
	onEach(t, 5, func(t *testing.T, d *deployment) {
		token, fence := d.left("job", 5)
		l := d.locker()
		k, err := l.Attach(background, "job", token, fence, lockcore.WithTTL(30*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if k.Token() != token || k.Fence() != fence || k.Resource() != "job" || k.Key() != "lock:job" {
			t.Errorf("got %q with fence %d for %q on %q", k.Token(), k.Fence(), k.Resource(), k.Key())
		}
		if left := k.Remaining(); !k.Valid() || left <= 0 || left > 30*time.Second-300*time.Millisecond {
			t.Errorf("valid %v for %v; the drift allowance must be taken off", k.Valid(), left)
		}
		eventually(t, "the new TTL on every node", func() bool {
			for _, n := range d.nodes {
				if left := n.Client().PTTL(background, k.Key()).Val(); left <= 0 || left > 30*time.Second {
					return false
				}
			}
			return true
		})
		if _, err := d.locker().TryAcquire(background, "job"); !errors.Is(err, lockcore.ErrNotAcquired) {
			t.Errorf("somebody else got: %v", err)
		}
		if err := k.Release(background); err != nil {
			t.Fatal(err)
		}
		eventually(t, "no key on any node", func() bool { return allEqual(d.stored(k.Key()), "") })
		next := d.acquire(l, "job")
		if next.Fence() <= fence {
			t.Errorf("fence %d after %d", next.Fence(), fence)
		}
	})
}

func TestAttachedLockIsWatched(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		token, fence := d.left("job", 3)
		k, err := d.locker().Attach(background, "job", token, fence, lockcore.WithTTL(3*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		before := k.Renewals()
		eventually(t, "a renewal", func() bool { return k.Renewals() > before })
		d.do([]int{0, 1, 2}, "DEL", k.Key())
		ended(t, "the loss is told", k.Done())
		if !errors.Is(k.Err(), lockcore.ErrLost) {
			t.Errorf("got %v", k.Err())
		}
	})
}

// Nobody gets a lock by a token that does not hold it, and whoever holds it
// keeps it.
func TestTokenThatDoesNotHoldTheLock(t *testing.T) {
	for name, use := range map[string]func(*lockcore.Locker, lockcore.Token) error{
		"attach": func(l *lockcore.Locker, token lockcore.Token) error {
			_, err := l.Attach(background, "job", token, 0)
			return err
		},
		"release": func(l *lockcore.Locker, token lockcore.Token) error { return l.ReleaseToken(background, "job", token) },
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, 5, func(t *testing.T, d *deployment) {
				l := d.locker()
				old, _ := d.left("job", 5)
				var lost *lockcore.LostError

				d.do([]int{0, 1, 2}, "DEL", "lock:job")
				if err := use(l, old); !errors.As(err, &lost) || lost.Reason != lockcore.LossGone {
					t.Errorf("with copies on a minority: %v", err)
				}
				eventually(t, "the copies that were left are gone", func() bool { return allEqual(d.stored("lock:job"), "") })
				if err := use(l, old); !errors.As(err, &lost) || lost.Reason != lockcore.LossGone {
					t.Errorf("with nothing there: %v", err)
				}

				now := d.acquire(d.locker(lockcore.WithOwner("second:1")), "job")
				eventually(t, "the new holder everywhere", func() bool { return d.count(now.Key(), now.Token().String()) == 5 })
				if err := use(l, old); !errors.As(err, &lost) || lost.Reason != lockcore.LossTaken || lost.Holder != now.Token().String() {
					t.Errorf("under another holder: %v", err)
				}
				if err := now.Extend(background); err != nil || d.count(now.Key(), now.Token().String()) != 5 {
					t.Errorf("the holder was disturbed: %v, %s", err, show(d.stored(now.Key())))
				}
			})
		})
	}
}

func TestAttachNeedsAQuorum(t *testing.T) {
	onEach(t, 5, func(t *testing.T, d *deployment) {
		token, fence := d.left("job", 5)
		l := d.locker()
		d.kill(3, 4)
		if _, err := l.Attach(background, "job", token, fence); err != nil {
			t.Fatalf("with three of five: %v", err)
		}
		d.kill(2)
		var few *lockcore.NoQuorumError
		if _, err := l.Attach(background, "job", token, fence); !errors.As(err, &few) || few.Reached != 2 || len(few.Nodes) != 3 {
			t.Errorf("with two of five: %v", err)
		}
		if got := d.count("lock:job", token.String()); got != 2 {
			t.Errorf("a lock that may still be held is left on %d of the 2 nodes that are up", got)
		}
		var kept *lockcore.NotReleasedError
		if err := l.ReleaseToken(background, "job", token, lockcore.WithTTL(time.Minute)); !errors.As(err, &kept) || kept.Within <= 0 || kept.Within > time.Minute {
			t.Errorf("release with two of five: %v", err)
		}
	})
}

// With the grant's fencing token a node that lost the entry gets it back, so
// that a lock that is extended from outside does not wear away; without it,
// nobody can tell whether somebody else was granted the lock there.
func TestAttachPutsBackByFence(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		token, fence := d.left("job", 3)
		d.do([]int{2}, "DEL", "lock:job")
		l := d.locker()
		if _, err := l.Attach(background, "job", token, 0); err != nil {
			t.Fatal(err)
		}
		l.Close() // waits for whatever the round still does
		if got := d.count("lock:job", token.String()); got != 2 {
			t.Errorf("put back without a fence: %s", show(d.stored("lock:job")))
		}
		l = d.locker()
		if _, err := l.Attach(background, "job", token, fence); err != nil {
			t.Fatal(err)
		}
		// A program that only extends ends at once; the rest is not lost.
		l.Close()
		if got := d.count("lock:job", token.String()); got != 3 {
			t.Errorf("not put back: %s", show(d.stored("lock:job")))
		}
	})
}

func TestReleaseTokenHandsOver(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		token, _ := d.left("job", 3)
		waiter := d.locker(lockcore.WithOwner("waiter:1"))
		got := make(chan *lockcore.Lock, 1)
		go func() {
			k, err := waiter.Acquire(background, "job", lockcore.WithWait(20*time.Second))
			if err != nil {
				t.Error(err)
			}
			got <- k
		}()
		eventually(t, "a waiter in the queue", func() bool {
			return d.nodes[0].Client().ZCard(background, lockcore.CompanionKey(lockcore.DefaultPrefix, lockcore.QueueCompanion, "lock:job")).Val() == 1
		})
		// A cancelled context does not keep anybody waiting.
		cancelled, cancel := context.WithCancel(background)
		cancel()
		if err := d.locker().ReleaseToken(cancelled, "job", token); err != nil {
			t.Fatal(err)
		}
		if k := <-got; k != nil && (!k.Valid() || k.Token().Owner != "waiter:1") {
			t.Errorf("handed over to %q, valid %v", k.Token(), k.Valid())
		}
	})
}

func TestAttachRefusesWhatCannotBe(t *testing.T) {
	d := deploy(t, "embedded", 1)
	l := d.locker()
	good := lockcore.Token{UUID: uuid.New(), Ticket: 1, Owner: "a:1"}
	for name, c := range map[string]struct {
		resource string
		token    lockcore.Token
		fence    int64
	}{
		"no resource":    {"", good, 1},
		"reserved":       {"node", good, 1},
		"zero token":     {"job", lockcore.Token{}, 1},
		"negative fence": {"job", good, -1},
		"huge fence":     {"job", good, 1 << 53},
	} {
		if _, err := l.Attach(background, c.resource, c.token, c.fence); err == nil || errors.Is(err, lockcore.ErrLost) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := l.ReleaseToken(background, "job", lockcore.Token{}); err == nil || errors.Is(err, lockcore.ErrLost) {
		t.Errorf("release of a zero token: %v", err)
	}
}
