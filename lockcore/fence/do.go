package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Do begins a transaction at the database's default isolation level, asks
// [Guard.Admit], calls write and commits. If the token is refused, write is
// not called. If write returns an error, panics or ends its goroutine, or the
// context ends first, the transaction is rolled back. Pass the lock's own
// context, so that losing the lock ends the transaction.
//
// The error is that of the refusal, of write, or of the database; if the
// context has ended, its cause is joined to it. After an error from the commit
// itself it is not known whether the transaction was committed; only
// [Guard.DoOnce] can simply be called again then.
//
// Nothing is tried again: a serialization failure, a deadlock or "database is
// locked" comes back as the driver's error. Calling Do again is then safe, and
// useful while the lock is still valid. Write must leave committing and
// rolling back to Do.
func (g *Guard) Do(ctx context.Context, db *sql.DB, resource string, token int64, write func(tx *sql.Tx) error) error {
	return withCause(ctx, g.do(ctx, db, resource, token, false, write))
}

// DoOnce is [Guard.Do] with the rule of [Guard.AdmitOnce]: one committed
// transaction for each grant. A *[StaleError] whose Newest equals the Token
// says that it was committed before, which settles the outcome of an earlier
// call whose commit returned an error.
func (g *Guard) DoOnce(ctx context.Context, db *sql.DB, resource string, token int64, write func(tx *sql.Tx) error) error {
	return withCause(ctx, g.do(ctx, db, resource, token, true, write))
}

func (g *Guard) do(ctx context.Context, db *sql.DB, resource string, token int64, once bool, write func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("fence: cannot begin a transaction: %w", err)
	}
	if err := g.admit(ctx, tx, resource, token, once); err != nil {
		return err
	}
	returned := false
	defer func() {
		if !returned {
			// A panic goes on to the caller, and its connection must not
			// stay in the transaction. There is no way to report an error.
			_ = tx.Rollback()
		}
	}()
	err = write(tx)
	returned = true
	if err != nil {
		return rollBack(tx, err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("fence: cannot commit the write to %q under token %d: %w", resource, token, err)
	}
	return nil
}

// withCause adds why the context ended, such as the loss of the lock, to an
// error that the end of the context may have caused.
func withCause(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	cause := context.Cause(ctx)
	if errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w (%w)", err, cause)
}
