// Package store is the database that the demo's workers write to: a stock, a
// balance or a calendar, kept in rows that are read, thought about and written
// back, and a ledger of what was done to them. It counts damage from what is
// stored, never from what a worker says it did.
//
// A row can be written in four ways, one for each answer to the question of
// who keeps two workers from overwriting each other: nobody or a lock outside
// ([Store.Plain]), a fencing token ([Store.Fenced]), a version column
// ([Store.Versioned]), or the database's own lock ([Store.Exclusive]).
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"dlock/lockcore/fence"
)

// ErrConflict is why a versioned write was refused: the row has been written
// since it was read. Read it again and try again.
var ErrConflict = errors.New("somebody else has written the row since it was read")

// Store is an open database. It is safe for concurrent use.
type Store struct {
	name string
	// db is for what is short, patient for transactions that last while a
	// worker works. They are the same pool where the database queues
	// writers itself.
	db, patient *sql.DB
	forUpdate   string // what makes a SELECT lock its row
	guard       *fence.Guard
	drop        func() error
}

// Item is a row: what is left of a stock, say.
type Item struct {
	// Amount is what is left.
	Amount int64
	// Writes counts how often the row has been written, as the writers see
	// it: each writes back the number it read plus one.
	Writes int64
}

// Entry is a line of the ledger, written in one transaction with the row.
type Entry struct {
	Worker string
	// Amount is by how much the entry changes the item's amount.
	Amount int64
	// Ref, if not 0, names something that must be done only once.
	Ref int64
}

// Open opens the database of a URL: "" is an SQLite file in a folder of its
// own that is removed by Close, and on Unix also when the program is killed;
// postgres://… is a server, on which everything is put
// into a schema of its own that Close drops. An error repeats neither the URL
// nor a password.
func Open(ctx context.Context, url string) (*Store, error) {
	open := openPostgres
	if url == "" {
		open = openSQLite
	}
	s, err := open(ctx, url)
	if err != nil {
		return nil, err
	}
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("the tables of the demo cannot be created in %s: %w", s.name, err), s.Close())
	}
	return s, nil
}

// Name says which database it is, without its address.
func (s *Store) Name() string { return s.name }

// Close removes what Open created and closes the connections. All other calls
// must be over.
func (s *Store) Close() error { return s.drop() }

func (s *Store) migrate(ctx context.Context) error {
	for _, statement := range []string{
		`CREATE TABLE item (run BIGINT NOT NULL, id TEXT NOT NULL, initial BIGINT NOT NULL, amount BIGINT NOT NULL, writes BIGINT NOT NULL, PRIMARY KEY (run, id))`,
		`CREATE TABLE entry (run BIGINT NOT NULL, item TEXT NOT NULL, worker TEXT NOT NULL, amount BIGINT NOT NULL, ref BIGINT)`,
		`CREATE INDEX entry_item ON entry (run, item)`,
	} {
		if _, err := s.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return s.guard.Migrate(ctx, s.db)
}

// Add creates an item in a run, unless it is there.
func (s *Store) Add(ctx context.Context, run int, id string, amount int64) error {
	_, err := s.db.ExecContext(ctx,
		`INSERT INTO item (run, id, initial, amount, writes) VALUES ($1, $2, $3, $3, 0) ON CONFLICT DO NOTHING`, run, id, amount)
	return err
}
