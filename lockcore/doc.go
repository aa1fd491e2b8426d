// Package lockcore takes, keeps and releases distributed locks in Redis: on
// one server, or on several independent ones that vote (Redlock).
//
//	nodes, err := node.OpenAll([]string{"redis://10.0.0.1", "redis://10.0.0.2", "redis://10.0.0.3"}, node.Options{Timeout: time.Second})
//	…
//	locker, err := lockcore.New(nodes)
//	…
//	lock, err := locker.Acquire(ctx, "orders:42")
//	if err != nil {
//		return err // errors.Is(err, lockcore.ErrNotAcquired), ErrNoQuorum, …
//	}
//	defer lock.Release(ctx)
//	work(lock.Context(), lock.Fence())
//
// # The protocol
//
// Taking a lock is one Lua script per node, sent to all nodes at once. The
// script sets the key only if it is free, with a unique [Token] and a time to
// live, in one atomic step, and counts up the resource's fencing token. A
// quorum of the configured nodes must agree, each within the node timeout; a
// single Redis is a quorum of one and takes the same path. The lock is then
// valid for
//
//	TTL − (time since before the first request was sent) − (1 % of the TTL + 2 ms)
//
// and if that is not positive, or no quorum agrees, whatever was taken is
// given back on every node. The other steps compare first and act only on
// their own token: release deletes, extend sets a new time to live. Extend
// never re-creates a key that is gone.
//
// A client in any language that does SET key value NX PX ttl on the same key
// excludes this package's locks and is excluded by them.
//
// Each grant carries a fencing token that is larger than that of every earlier
// grant of the resource (see [Lock.Fence]), across nodes that fail and come
// back with their data. Nodes that come back empty are covered as far as the
// clients' clocks agree, since tokens are seeded from the clock.
//
// A watchdog renews a held lock at a third of its TTL until it is released,
// lost, or held for as long as [WithMaxHold] allows.
//
// # What is stored
//
// The lock on "orders:42" is the string key lock:orders:42. Its value is a
// [Token]:
//
//	6f1c1e1e-0d3c-4c1a-9a57-2f6a2f0c9b11/1796118050123456/web-3:4711
//
// Beside it stands the hash lock:fence:{lock:orders:42} with the fields fence
// and since (see [Companion]). It disappears by itself a week after it was
// last used.
//
// # What it does not promise
//
// A lock of this kind is a lease. A holder that is paused after it has checked
// that it holds the lock, and before it acts, can act while somebody else
// holds it; only the storage that it writes to can refuse such a write, by the
// fencing token. The same holds for a node that loses a lock it has granted
// (restarted without its data, failed over to a replica that had not got it,
// evicted) or whose clock jumps ahead: enough of these at once give the lock
// to two. Nodes should not evict, should persist with appendfsync always or be
// kept out for one TTL after a restart, and must not be replicas of one
// another.
package lockcore
