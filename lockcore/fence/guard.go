package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// MaxResource is the longest resource name a [Guard] takes, in bytes. It is
// what an index on any of the databases can hold.
const MaxResource = 512

// maxIdentifier is the length at which PostgreSQL cuts names off in silence.
const maxIdentifier = 63

// Guard keeps the newest fencing token of each resource in one table and
// refuses writes under older ones. It is immutable and safe for concurrent
// use; each transaction passed to it is used by one goroutine at a time, as
// always.
type Guard struct {
	table string
	sql   statements
}

// New returns a guard that keeps its tokens in a table, which [Guard.Migrate]
// or the statement of [Guard.Schema] creates. It does no I/O. The name is
// table or schema.table, each of lower-case letters, digits and '_', not
// starting with a digit, at most 63 long; it is quoted, so that a reserved
// word will do. An error means that the dialect or the name is not one of
// these.
func New(dialect Dialect, table string) (*Guard, error) {
	parts := strings.Split(table, ".")
	if len(parts) > 2 {
		return nil, badTable(table)
	}
	for _, part := range parts {
		if !identifier(part) {
			return nil, badTable(table)
		}
	}
	g := &Guard{table: table}
	switch dialect {
	case PostgreSQL:
		g.sql = postgresStatements(quote(`"`, parts))
	case MySQL:
		g.sql = mysqlStatements(quote("`", parts))
	case SQLite:
		g.sql = sqliteStatements(quote(`"`, parts))
	default:
		return nil, fmt.Errorf("fence: %v is not a dialect: pass PostgreSQL, MySQL or SQLite", dialect)
	}
	return g, nil
}

func badTable(table string) error {
	return fmt.Errorf("fence: %q cannot be the table: use table or schema.table, each of at most %d lower-case letters, digits and '_', not starting with a digit",
		table, maxIdentifier)
}

// identifier reports whether a name means the same quoted and unquoted: by
// hand people write it unquoted, and PostgreSQL folds that to lower case.
func identifier(s string) bool {
	if s == "" || len(s) > maxIdentifier {
		return false
	}
	for i, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

func quote(mark string, parts []string) string {
	return mark + strings.Join(parts, mark+"."+mark) + mark
}

// Schema returns the CREATE TABLE IF NOT EXISTS statement of the table,
// without a semicolon, for those who keep their migrations elsewhere. The
// primary key, and InnoDB on MySQL, are what the guard stands on.
func (g *Guard) Schema() string { return g.sql.schema }

// Migrate creates the table unless it is there. It may be called at every
// start and by many processes at once, and by a user who may not create tables
// if the table is there. An error means that there is no table that can be
// read, or that it has not the columns of one.
func (g *Guard) Migrate(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, g.sql.schema)
	// Two CREATE TABLE IF NOT EXISTS at once can fail one another on
	// PostgreSQL, so what counts is whether the table is there afterwards.
	var none int64
	probed := db.QueryRowContext(ctx, g.sql.probe).Scan(&none)
	switch {
	case probed == nil:
		return nil
	case err != nil:
		return fmt.Errorf("fence: cannot create table %s: %w", g.table, err)
	default:
		return fmt.Errorf("fence: table %s cannot be read as a fence table; if it is something else choose another name: %w", g.table, probed)
	}
}

// Admit lets a transaction go on under a token that is not below the newest
// one recorded for the resource, and records it. A holder may call it in any
// number of transactions under one grant. See [Guard.AdmitOnce] for the
// stricter rule.
//
// The resource is any string of 1 to [MaxResource] bytes, by custom the
// lock's. The token is the grant's, 1 or more. Call it before the transaction
// reads what it is going to change.
//
// It waits while another transaction of this resource is open, as long as the
// context and the database's own limits allow. A token that is too old is
// refused with a *[StaleError]; any other error is a wrong argument or comes
// from the database. With each error the transaction is over: it has been
// rolled back.
func (g *Guard) Admit(ctx context.Context, tx *sql.Tx, resource string, token int64) error {
	return g.admit(ctx, tx, resource, token, false)
}

// AdmitOnce is [Guard.Admit] for holders that write once under each grant: it
// refuses tokens at or below the newest one recorded. A *[StaleError] whose
// Newest equals the Token says that a transaction under this grant has been
// committed before (or that this one has asked already); one that was rolled
// back does not count.
func (g *Guard) AdmitOnce(ctx context.Context, tx *sql.Tx, resource string, token int64) error {
	return g.admit(ctx, tx, resource, token, true)
}

func (g *Guard) admit(ctx context.Context, tx *sql.Tx, resource string, token int64, once bool) error {
	err := g.check(ctx, tx, resource, token, once)
	if err == nil {
		return nil
	}
	// A caller that overlooks the error must not be able to commit.
	return rollBack(tx, err)
}

func (g *Guard) check(ctx context.Context, tx *sql.Tx, resource string, token int64, once bool) error {
	switch {
	case resource == "":
		return errors.New("fence: the resource has no name")
	case len(resource) > MaxResource:
		return fmt.Errorf("fence: the resource's name has %d bytes, at most %d are possible", len(resource), MaxResource)
	case token <= 0:
		return fmt.Errorf("fence: %d is not a fencing token of %q: pass the number its lock was granted with, which is 1 or more", token, resource)
	}
	key := []byte(resource)
	if g.sql.seed != "" {
		if _, err := tx.ExecContext(ctx, g.sql.seed, key); err != nil {
			return g.failed(resource, token, err)
		}
	}
	result, err := tx.ExecContext(ctx, g.sql.record, g.sql.recordArgs(key, token)...)
	if err != nil {
		return g.failed(resource, token, err)
	}
	recorded, err := result.RowsAffected()
	if err != nil {
		return g.failed(resource, token, err)
	}
	if recorded > 0 {
		return nil
	}
	var newest int64
	if err := tx.QueryRowContext(ctx, g.sql.newest, key).Scan(&newest); err != nil {
		return g.failed(resource, token, err)
	}
	if newest > token || newest == token && once {
		return &StaleError{Resource: resource, Token: token, Newest: newest}
	}
	return nil
}

func (g *Guard) failed(resource string, token int64, err error) error {
	return fmt.Errorf("fence: cannot check token %d of %q in table %s: %w", token, resource, g.table, err)
}

// rollBack ends a transaction because of an error and returns that error, with
// what went wrong in rolling back, if anything did.
func rollBack(tx *sql.Tx, cause error) error {
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return errors.Join(cause, fmt.Errorf("fence: the rollback failed as well: %w", err))
	}
	return cause
}
