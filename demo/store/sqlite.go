package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver

	"dlock/demo/lab"
	"dlock/lockcore/fence"
)

// exclusiveConns is how many transactions may ask SQLite for its lock at once.
// Others wait for one of them in the order in which they came.
const exclusiveConns = 8

func openSQLite(ctx context.Context, _ string) (*Store, error) {
	dir, remove, err := lab.TempDir()
	if err != nil {
		return nil, fmt.Errorf("there is no place for the demo's database: %w", err)
	}
	fail := func(err error) (*Store, error) {
		return nil, errors.Join(fmt.Errorf("the demo's SQLite database cannot be opened: %w", err), remove())
	}
	guard, err := fence.New(fence.SQLite, "fence")
	if err != nil {
		return fail(err)
	}
	// Nothing here outlives the program, so nothing is synced to the disk.
	path := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(dir, "demo.db")),
		RawQuery: "_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=busy_timeout(30000)"}
	s := &Store{guard: guard}
	for _, pool := range []struct {
		db    **sql.DB
		conns int
	}{
		// One connection, because SQLite lets one write at a time and makes
		// the others sleep; a pool of one wakes them in their turn.
		{&s.db, 1},
		{&s.patient, exclusiveConns},
	} {
		db, err := sql.Open("sqlite", path.String())
		if err != nil {
			return fail(err)
		}
		db.SetMaxOpenConns(pool.conns)
		db.SetMaxIdleConns(pool.conns)
		*pool.db = db
	}
	var version string
	if err := s.db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		s.db.Close()
		s.patient.Close()
		return fail(err)
	}
	s.name = "SQLite " + version
	s.drop = func() error {
		// Both pools have the file open, and some systems do not remove
		// open files.
		return errors.Join(s.db.Close(), s.patient.Close(), remove())
	}
	return s, nil
}
