package lockcore_test

import (
	"testing"
	"time"

	"dlock/lockcore"
)

// evict sends an eviction to the nodes with the given indexes.
func (d *deployment) evict(e lockcore.Eviction, nodes ...int) []int64 {
	d.t.Helper()
	args := make([]any, len(e.Args))
	for i, a := range e.Args {
		args[i] = a
	}
	var out []int64
	for _, i := range nodes {
		n, err := d.nodes[i].Client().Eval(background, e.Script, e.Keys, args...).Int64()
		if err != nil {
			d.t.Fatalf("%s: %v", d.nodes[i].Name(), err)
		}
		out = append(out, n)
	}
	return out
}

func TestEvictionServesTheNextWithALargerFence(t *testing.T) {
	onEach(t, 3, func(t *testing.T, d *deployment) {
		stuck := d.acquire(d.locker(lockcore.WithTTL(time.Minute), lockcore.WithWatchdog(false)), "job")
		l := d.locker(lockcore.WithOwner("next:1"), lockcore.WithTTL(time.Minute))
		got := make(chan *lockcore.Lock, 1)
		go func() {
			k, err := l.Acquire(background, "job", lockcore.WithWait(time.Minute))
			if err != nil {
				t.Error(err)
			}
			got <- k
		}()
		eventually(t, "the waiter to be queued", d.waitingEverywhere("lock:job", 1))
		e := lockcore.Evict(lockcore.DefaultPrefix, stuck.Key(), stuck.Token().String(), stuck.Fence(), false)
		for i, n := range d.evict(e, 0, 1, 2) {
			if n != 1 {
				t.Errorf("node %d answers %d", i, n)
			}
		}
		// It was handed over by the eviction itself.
		if holder := d.stored("lock:job"); !allEqual(holder, holder[0]) || holder[0] == "" || holder[0] == stuck.Token().String() {
			t.Errorf("afterwards the nodes store %s", show(holder))
		}
		k := <-got
		if k == nil {
			return
		}
		if k.Fence() <= stuck.Fence()+1 {
			t.Errorf("fence %d after the evicted one's %d", k.Fence(), stuck.Fence())
		}
		for i, n := range d.evict(e, 0, 1, 2) {
			if n != -1 {
				t.Errorf("node %d answers %d to the eviction of one who holds nothing", i, n)
			}
		}
		if err := k.Release(background); err != nil {
			t.Error(err)
		}
		d.nothingLeft("lock:job")
	})
}

func TestAHolderDoesNotComeBackWhereItWasEvicted(t *testing.T) {
	onEach(t, 5, func(t *testing.T, d *deployment) {
		l := d.locker(lockcore.WithTTL(time.Minute), lockcore.WithWatchdog(false))
		k := d.acquire(l, "job")
		token := k.Token().String()
		eventually(t, "every node to store it", func() bool { return allEqual(d.stored("lock:job"), token) })
		d.evict(lockcore.Evict(lockcore.DefaultPrefix, k.Key(), token, k.Fence(), false), 0)
		d.do([]int{1}, "DEL", "lock:job") // what it does put back
		if err := k.Extend(background); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the entry to be put back where it was only deleted", func() bool { return d.stored("lock:job")[1] == token })
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if v := d.stored("lock:job")[0]; v != "" {
			t.Errorf("the holder came back: %q", v)
		}
	})
}

func TestEvictionTouchesNothingElse(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *deployment) {
		token := lockcore.Token{Owner: "a:1"}.String()
		for _, alone := range []bool{true, false} {
			e := lockcore.Evict("app:", "app:x", token, 41, alone)
			d.do([]int{0}, "FLUSHALL")
			if n := d.evict(e, 0)[0]; n != 0 {
				t.Errorf("no key: %d", n)
			}
			if n := d.nodes[0].Client().DBSize(background).Val(); n != 0 {
				t.Errorf("the eviction of nothing left %d keys", n)
			}
			d.do([]int{0}, "SET", "app:x", "foreign")
			if n := d.evict(e, 0)[0]; n != -1 {
				t.Errorf("another token: %d", n)
			}
			if v := d.stored("app:x")[0]; v != "foreign" {
				t.Errorf("another's entry became %q", v)
			}
			d.do([]int{0}, "DEL", "app:x")
			d.do([]int{0}, "LPUSH", "app:x", token)
			if n := d.evict(e, 0)[0]; n != -2 {
				t.Errorf("another type: %d", n)
			}
		}
	})
}

// The life of the fencing counter is its clients' affair: for ever with
// WithDurable.
func TestEvictionKeepsTheLifeOfTheCounter(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *deployment) {
		for _, durable := range []bool{false, true} {
			opts := []lockcore.Option{lockcore.WithWatchdog(false)}
			if durable {
				opts = append(opts, lockcore.WithDurable())
			}
			k := d.acquire(d.locker(opts...), "job")
			fence := lockcore.CompanionKey(lockcore.DefaultPrefix, lockcore.FenceCompanion, k.Key())
			if n := d.evict(lockcore.Evict(lockcore.DefaultPrefix, k.Key(), k.Token().String(), k.Fence(), true), 0)[0]; n != 1 {
				t.Errorf("durable %v: %d", durable, n)
			}
			life := d.nodes[0].Client().PTTL(background, fence).Val()
			if forever := life == -1; forever != durable || !forever && life < 24*time.Hour {
				t.Errorf("durable %v: the counter lives for %v", durable, life)
			}
			d.do([]int{0}, "FLUSHALL")
		}
	})
}
