package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Access reads a row and, after the worker has thought about it, writes it
// back. It belongs to one worker and one visit.
type Access interface {
	// Read returns the row as it is.
	Read(ctx context.Context) (Item, error)
	// Write stores what the row becomes, given as it was read and with the
	// entry that changes it, and the entry, or neither. The error is
	// [fence.ErrStale] or [ErrConflict] where the kind of access refuses.
	Write(ctx context.Context, read Item, e Entry) error
}

// row is an item by name.
type row struct {
	store *Store
	run   int
	id    string
}

// querier is a pool or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (r row) read(ctx context.Context, q querier, suffix string) (it Item, err error) {
	err = q.QueryRowContext(ctx, `SELECT amount, writes FROM item WHERE run = $1 AND id = $2`+suffix, r.run, r.id).Scan(&it.Amount, &it.Writes)
	if err != nil {
		err = fmt.Errorf("%s cannot be read: %w", r.id, err)
	}
	return it, err
}

// write writes back what the worker has made of the row, over whatever is
// there now: the update that gets lost when two of them do it.
func (r row) write(ctx context.Context, q querier, read Item, e Entry) error {
	if _, err := q.ExecContext(ctx, `UPDATE item SET amount = $1, writes = $2 WHERE run = $3 AND id = $4`,
		read.Amount+e.Amount, read.Writes+1, r.run, r.id); err != nil {
		return err
	}
	return r.enter(ctx, q, e)
}

func (r row) enter(ctx context.Context, q querier, e Entry) error {
	ref := sql.NullInt64{Int64: e.Ref, Valid: e.Ref != 0}
	_, err := q.ExecContext(ctx, `INSERT INTO entry (run, item, worker, amount, ref) VALUES ($1, $2, $3, $4, $5)`,
		r.run, r.id, e.Worker, e.Amount, ref)
	return err
}

// transact runs do in a transaction.
func transact(ctx context.Context, db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

type plain struct{ row }

// Plain reads and writes without asking: whether the row may be written is
// decided elsewhere, by a lock or by nobody.
func (s *Store) Plain(run int, id string) Access { return plain{row{s, run, id}} }

func (p plain) Read(ctx context.Context) (Item, error) { return p.read(ctx, p.store.db, "") }

func (p plain) Write(ctx context.Context, read Item, e Entry) error {
	return transact(ctx, p.store.db, func(tx *sql.Tx) error { return p.write(ctx, tx, read, e) })
}

type fenced struct {
	row
	token int64
}

// Fenced shows a fencing token with each read and write, and is refused, with
// [fence.ErrStale], once the database has seen a newer one of this row.
//
// The reading counts as much as the writing: were the token shown only with
// the write, an older holder could still write between what the newer one has
// read and what it is going to write, and be overwritten by it.
func (s *Store) Fenced(run int, id string, token int64) Access { return fenced{row{s, run, id}, token} }

// resource is what the guard calls the row.
func (f fenced) resource() string { return fmt.Sprintf("%d/%s", f.run, f.id) }

func (f fenced) Read(ctx context.Context) (it Item, err error) {
	err = f.store.guard.Do(ctx, f.store.db, f.resource(), f.token, func(tx *sql.Tx) error {
		it, err = f.read(ctx, tx, "")
		return err
	})
	return it, err
}

func (f fenced) Write(ctx context.Context, read Item, e Entry) error {
	return f.store.guard.Do(ctx, f.store.db, f.resource(), f.token, func(tx *sql.Tx) error { return f.write(ctx, tx, read, e) })
}

type versioned struct{ row }

// Versioned writes a row only if nobody has written it since it was read, and
// reports [ErrConflict] otherwise.
func (s *Store) Versioned(run int, id string) Access { return versioned{row{s, run, id}} }

func (v versioned) Read(ctx context.Context) (Item, error) { return v.read(ctx, v.store.db, "") }

func (v versioned) Write(ctx context.Context, read Item, e Entry) error {
	return transact(ctx, v.store.db, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `UPDATE item SET amount = $1, writes = $2 + 1 WHERE run = $3 AND id = $4 AND writes = $2`,
			read.Amount+e.Amount, read.Writes, v.run, v.id)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			if err == nil {
				err = ErrConflict
			}
			return err
		}
		return v.enter(ctx, tx, e)
	})
}

type exclusive struct {
	row
	tx *sql.Tx
}

// Exclusive takes the database's own lock on a row, for as long as work takes
// and no longer than ctx: SELECT … FOR UPDATE on PostgreSQL, and on SQLite,
// which has no locks on rows, BEGIN IMMEDIATE, which makes all other writers
// wait. The access is good inside work; what it wrote is kept if work returns
// nil.
func (s *Store) Exclusive(ctx context.Context, run int, id string, work func(Access) error) error {
	return transact(ctx, s.patient, func(tx *sql.Tx) error {
		x := exclusive{row{s, run, id}, tx}
		if _, err := x.Read(ctx); err != nil {
			return err
		}
		return work(x)
	})
}

func (x exclusive) Read(ctx context.Context) (Item, error) {
	return x.read(ctx, x.tx, x.store.forUpdate)
}

func (x exclusive) Write(ctx context.Context, read Item, e Entry) error {
	return x.write(ctx, x.tx, read, e)
}
