// Package lockcore takes, keeps and releases distributed locks in Redis: on
// one server, or on several independent ones that vote (Redlock), or on what
// Sentinel or a Cluster make look like one.
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
// # What it does
//
// Taking a lock is one Lua script per node, sent to all nodes at once. The
// script sets the key only if it is free, with a unique [Token] and a time to
// live, in one atomic step, and counts up the resource's fencing token. A
// quorum of the configured nodes must agree, each within the node timeout; a
// single Redis is a quorum of one and takes the same path. The lock is then
// valid for
//
//	TTL − (time since before the request was sent) − (1 % of the TTL + 2 ms)
//
// and if that is not positive, or no quorum agrees, whatever was taken is
// given back on every node. The other steps compare first and act only on
// their own token.
//
// Whoever is refused and waits is queued on the nodes by the refusal itself,
// and the release hands the lock to whoever has waited longest: one round trip
// from the release to the next holder, first come, first served, and about two
// commands a grant and node however many wait. Asking again is only the safety
// net, for holders that die and for messages that are lost.
//
// A watchdog renews a held lock at about a third of its TTL until it is
// released, lost, or held for as long as [WithMaxHold] allows. The end of a
// lock is told once, by [Lock.Context] and [Lock.Done], with its cause.
//
// Each grant carries a fencing token that is larger than that of every earlier
// grant of the resource (see [Lock.Fence]), whichever nodes fail and come back.
// A node that comes back without its data, or from a restart that may have
// cost it the last of it, does not vote until every lock it may have forgotten
// is over.
//
// Concurrent callers share round trips: what is to be sent to a node while
// other requests are on their way goes out in one pipeline.
//
// A client in any language that does SET key value NX PX ttl on the same key
// excludes this package's locks and is excluded by them; it does not see the
// queue.
//
// # Errors
//
// Acquire and TryAcquire return a [NotAcquiredError], a [NoQuorumError], or an error
// that is [ErrExpiredDuringAcquire] or [ErrClosed]; what their context ended with
// is joined to it, or stands alone if nothing else is known. Lost locks have a
// [LostError], releases that reached too few nodes a [NotReleasedError]. All are
// found by errors.Is with the variables below and by errors.As with a pointer to
// the type; any other error says what is wrong with an argument. Texts may hold
// bytes from Redis, but none of a node's credentials.
//
// # What is stored
//
// The lock on "orders:42" is the string key lock:orders:42. Its value is a
// [Token]:
//
//	6f1c1e1e-0d3c-4c1a-9a57-2f6a2f0c9b11/1796118050123456/web-3:4711
//
// A resource may have any name, but none that would be one of the keys below:
// node, or one that starts with fence:, queue:, wait: or wake:.
//
// Beside it stand lock:fence:{…}, lock:queue:{…} and lock:wait:{…} (see
// [Companion]), and lock:node once per node. What belongs to a resource that
// nobody uses any more disappears by itself.
//
// # What it does not promise
//
// A lock of this kind is a lease. A holder that is paused after it has checked
// that it holds the lock, and before it acts, can act while somebody else
// holds it; only the storage that it writes to can refuse such a write, by the
// fencing token (package lockcore/fence does it for SQL databases). The same
// holds for a node whose clock jumps ahead or that evicts a lock: enough of
// these at once give the lock to two. A Sentinel deployment or a Cluster can
// forget a lock in a failover ([WithReplicas] makes it less likely).
//
// # When to use something else
//
//   - Work that ends in one database: a row lock (SELECT … FOR UPDATE) or a
//     version column there needs no second system and cannot be outlived.
//   - One Redis is the fastest and right for locks that save work rather than
//     data: if it dies, so does the lock.
//   - Several independent Redis servers keep the lock through the loss of a
//     minority, for a little more time per lock and sane clocks.
//   - If two holders must never happen and the storage cannot check a fencing
//     token, no lease in any system helps; if it only must not happen through
//     clocks and failovers, use a consensus store such as etcd or ZooKeeper.
package lockcore
