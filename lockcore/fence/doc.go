// Package fence is the storage half of fencing tokens, over database/sql.
//
// A lock with a lease cannot stop its holder from writing after the lease has
// ended: the holder may be paused between the moment it sees that it still
// holds the lock and the moment its write arrives. Each grant of a dlock lock
// therefore carries a fencing token that is larger than that of every earlier
// grant of the resource (Lock.Fence of package lockcore). A [Guard] keeps the
// newest token the storage has seen for each resource, in a table beside the
// data, and refuses in the same transaction as the write what an older holder
// still sends.
//
//	guard, err := fence.New(fence.PostgreSQL, "fence")
//	…
//	err = guard.Migrate(ctx, db) // or put guard.Schema() into your migrations
//	…
//	err = guard.Do(lock.Context(), db, "stock:42", lock.Fence(), func(tx *sql.Tx) error {
//		_, err := tx.Exec("UPDATE stock SET amount = amount - 1 WHERE id = 42")
//		return err
//	})
//	if errors.Is(err, fence.ErrStale) {
//		// A newer holder has been here; nothing was written. Stop.
//	}
//
// # Two rules
//
// [Guard.Admit] refuses a token below the newest, so that a holder may write
// as often as it likes under one grant. [Guard.AdmitOnce] refuses a token at
// or below the newest: one committed transaction for each grant, which also
// makes it safe to send again a transaction whose outcome is not known.
// [Guard.Do] and [Guard.DoOnce] put a transaction around the one and the
// other. Both rules keep the same number, so they can be mixed.
//
// # What is promised
//
// Once a transaction admitted under one token has committed, no transaction
// under a smaller token of that resource can commit. The first of two
// transactions to be admitted keeps the other waiting until it has committed
// or rolled back, and the other is judged after that. This holds at READ
// COMMITTED and above on PostgreSQL, on MySQL and MariaDB with InnoDB, and on
// SQLite. At REPEATABLE READ and SERIALIZABLE PostgreSQL reports the second of
// two such transactions as a serialization failure; it has been rolled back
// and may be tried again as a whole, as long as the lock is still valid.
//
// A refusal ends the transaction. It is rolled back before the error is
// returned, so that nothing of it can be committed even where the error is
// overlooked.
//
// # How to use it well
//
// Ask first, then read, then write, in one transaction. What was read before
// the newer token was recorded may be overwritten by an older holder whose
// transaction was under way; what is read after Admit in the same transaction
// stays true until it ends. On SQLite the same order avoids "database is
// locked" errors, since the transaction then starts as a writer; set a
// busy_timeout so that it waits for its turn.
//
// A transaction that touches several resources should ask for them in sorted
// order, as with all row locks, or two of them can deadlock.
//
// The guard protects what goes through it. Every writer of the data must ask
// for the same resource in the same table, and in the same database as the
// data.
//
// The table has one small row for each resource that was ever written. A row
// may be deleted only when no holder of an older grant can still be alive,
// since the newest token is forgotten with it. For the same reason restoring a
// backup of the table reopens the door to holders as old as the backup. If the
// locks' tokens ever start again from a smaller number, start with an empty
// table.
//
// # Without a table: a fence column
//
// Where a lock guards exactly one row, that row can keep the newest token
// itself, in a column declared BIGINT NOT NULL DEFAULT 0:
//
//	result, err := db.ExecContext(ctx,
//		"UPDATE stock SET amount = $1, fence = $2 WHERE id = $3 AND fence <= $2",
//		amount, lock.Fence(), id)
//	if err == nil {
//		err = fence.Applied(result)
//	}
//
// Write fence < $2 instead for one write for each grant. On MySQL connect with
// clientFoundRows=true, or an update that changes nothing counts as refused.
package fence
