package inspect

import (
	"testing"
	"time"

	"dlock/demo/lab"
	"dlock/lockcore"
	"dlock/lockcore/node"
)

// The whole way with a real lock: it is seen being taken, with its owner and
// fence, its watchdog's renewals are told, a force-release frees it, and its
// holder learns of that.
func TestRealLock(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind lab.Kind) {
		f, i := hand(t, kind, 3)
		i.SetInterval(MinInterval)
		locker, err := lockcore.New(open(t, f.lab.URLs(), node.Options{}),
			lockcore.WithTTL(3*time.Second), lockcore.WithNodeTimeout(time.Second), lockcore.WithOwner("web-3:4711"), lockcore.WithDurable())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { locker.Close() })
		w := watchOf(t, i)
		w.until("an empty look", func(s Snapshot) bool { return s.Complete && len(s.Locks) == 0 })

		held, err := locker.TryAcquire(t.Context(), "orders:42")
		if err != nil {
			t.Fatal(err)
		}
		l := w.untilLock("it on all nodes", held.Key(), func(l Lock) bool { return l.Votes.Agree == 3 && l.Fence.Known })
		o, _ := l.Holder()
		if l.State != Held || l.Library != "dlock" || o.Name != "web-3:4711" || o.PID != 4711 || o.Token != held.Token().String() || l.Fence.Value != held.Fence() {
			t.Errorf("%+v", l)
		}
		if l.HeldSince.IsZero() || l.HeldIsMinimum {
			t.Errorf("held since %v, minimum %v", l.HeldSince, l.HeldIsMinimum)
		}
		snap := w.until("a renewal", func(s Snapshot) bool { return hasEvent(s.Events, held.Key(), Renewed) })
		if len(snap.Locks) != 1 {
			t.Errorf("%d rows for one lock", len(snap.Locks))
		}
		if !hasEvent(snap.Events, held.Key(), Taken) {
			t.Errorf("%v", kinds(snap.Events, held.Key()))
		}

		p, err := PlanRelease(lock(t, snap, held.Key()), o.Token)
		if err != nil {
			t.Fatal(err)
		}
		result := make(chan Result, 1)
		go func() { result <- i.Execute(t.Context(), p, false) }()
		w.untilLock("it gone", held.Key(), func(l Lock) bool { return l.State == Expired })
		if r := <-result; r.Outcome != OutReleased || !r.Freed {
			t.Errorf("%+v", r)
		}
		<-held.Done() // its watchdog found out
	})
}
