package lockcore_test

import (
	"errors"
	"testing"
	"time"

	"dlock/lockcore"
)

// The nodes of a new deployment are marked together, also one whose answer
// comes after the others have granted the first lock: it would not be asked
// again for as long as they are quicker.
func TestNewDeploymentIsMarkedAsOne(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		d.pause(2)
		k, err := d.locker().TryAcquire(background, "job")
		if err != nil {
			t.Fatal(err)
		}
		d.resume(2)
		eventually(t, "a marker on each node", func() bool {
			for _, marker := range d.stored(lockcore.NodeKey(lockcore.DefaultPrefix)) {
				if marker == "" {
					return false
				}
			}
			return true
		})
		if err := k.Extend(background); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the lock on the third node", func() bool { return d.count(k.Key(), k.Token().String()) == 3 })
	})
}

// A node that has lost its data is brought back although the others decide
// without it, and votes again when the longest lock that it may have forgotten
// is over.
func TestNodeThatForgotIsBroughtBackWhileTheOthersDecide(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		l := d.locker(lockcore.WithTTL(3 * time.Second))
		k := d.acquire(l, "job")
		eventually(t, "the lock everywhere", func() bool { return d.count(k.Key(), k.Token().String()) == 3 })
		if err := k.Release(background); err != nil {
			t.Fatal(err)
		}
		d.do([]int{2}, "FLUSHALL")
		eventually(t, "the lock on all three again", func() bool {
			k := d.acquire(l, "job")
			defer k.Release(background)
			return d.count(k.Key(), k.Token().String()) == 3
		})
	})
}

// A quorum of nodes that forgot is no new deployment as long as one remembers,
// however slow it is to say so: they must not help to elect a second holder.
// Whoever asks only once, as a program that is started for it, gets them on
// their way back all the same.
func TestNodesThatForgotAreNotNew(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		k := d.acquire(d.locker(), "job", lockcore.WithTTL(3*time.Second), lockcore.WithWatchdog(false))
		eventually(t, "the lock everywhere", func() bool { return d.count(k.Key(), k.Token().String()) == 3 })
		d.do([]int{1, 2}, "FLUSHALL")
		eventually(t, "a grant", func() bool {
			l, err := lockcore.New(d.nodes, lockcore.WithNodeTimeout(patient), lockcore.WithTTL(3*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			next, err := l.TryAcquire(background, "job")
			if err != nil {
				if !errors.Is(err, lockcore.ErrNoQuorum) && !errors.Is(err, lockcore.ErrNotAcquired) {
					t.Fatal(err)
				}
				return false
			}
			if k.Valid() {
				t.Error("two hold the lock")
			}
			return next.Release(background) == nil
		})
	})
}
