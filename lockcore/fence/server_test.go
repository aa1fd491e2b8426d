package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/goleak"
	"modernc.org/sqlite"

	"dlock/demo/lab/labtest"
	"dlock/lockcore/fence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The environment variables of the tests on PostgreSQL: the URL of a server
// with a database to work in, and whether a missing one is a failure.
const (
	postgresURL     = "DLOCK_TEST_POSTGRES"
	requirePostgres = "DLOCK_REQUIRE_POSTGRES"
)

// patience bounds each test's waiting. Only what hangs reaches it.
const patience = time.Minute

// server is a database that the tests run on.
type server struct {
	name    string
	dialect fence.Dialect
	// open returns a connection pool to an empty place.
	open func(t *testing.T) place
	// single: there is one connection only, so nothing runs concurrently.
	single bool
	levels []sql.IsolationLevel
	// aborted tells a transaction that the server gave up in favour of
	// another one from one that failed.
	aborted func(error) bool
	// backend is a query for the connection's own number, and blocked one
	// that counts the backends a backend waits for. Empty where they cannot
	// be told.
	backend, blocked string
}

// place is a database or schema of a test's own.
type place struct {
	db *sql.DB
	// prefix is put before a table's name.
	prefix string
}

var servers = []server{
	{
		name:    "sqlite file",
		dialect: fence.SQLite,
		open: func(t *testing.T) place {
			file := filepath.Join(t.TempDir(), "test.db")
			return place{db: connect(t, "sqlite", file+"?_pragma=busy_timeout(30000)&_pragma=journal_mode(WAL)")}
		},
		levels:  []sql.IsolationLevel{sql.LevelDefault},
		aborted: busy,
	},
	{
		name:    "sqlite file with rollback journal",
		dialect: fence.SQLite,
		open: func(t *testing.T) place {
			file := filepath.Join(t.TempDir(), "test.db")
			return place{db: connect(t, "sqlite", file+"?_pragma=busy_timeout(30000)"), prefix: "main."}
		},
		levels:  []sql.IsolationLevel{sql.LevelDefault},
		aborted: busy,
	},
	{
		name:    "sqlite in memory",
		dialect: fence.SQLite,
		open: func(t *testing.T) place {
			db := connect(t, "sqlite", ":memory:")
			db.SetMaxOpenConns(1) // each connection would be a database of its own
			return place{db: db}
		},
		single:  true,
		levels:  []sql.IsolationLevel{sql.LevelDefault},
		aborted: busy,
	},
	postgres("postgres", ""),
	// What a pooler between client and server needs.
	postgres("postgres by simple protocol", "simple_protocol"),
}

func postgres(name, mode string) server {
	return server{
		name:    name,
		dialect: fence.PostgreSQL,
		open: func(t *testing.T) place {
			raw := os.Getenv(postgresURL)
			if raw == "" {
				if os.Getenv(requirePostgres) == "1" {
					t.Fatalf("%s is 1 and %s has no URL", requirePostgres, postgresURL)
				}
				t.Skipf("needs a PostgreSQL server: set %s to its URL", postgresURL)
			}
			if mode != "" {
				u, err := url.Parse(raw)
				if err != nil {
					t.Fatalf("%s is not a URL", postgresURL)
				}
				q := u.Query()
				q.Set("default_query_exec_mode", mode)
				u.RawQuery = q.Encode()
				raw = u.String()
			}
			db := connect(t, "pgx", raw)
			schema := fmt.Sprintf("dlock_test_%d", rand.Uint64())
			must(t, db, "CREATE SCHEMA "+schema)
			t.Cleanup(func() { must(t, db, "DROP SCHEMA "+schema+" CASCADE") })
			return place{db: db, prefix: schema + "."}
		},
		levels: []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable},
		aborted: func(err error) bool {
			var pg *pgconn.PgError
			return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01")
		},
		backend: "SELECT pg_backend_pid()",
		blocked: "SELECT cardinality(pg_blocking_pids(?))",
	}
}

func busy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == 5
}

func connect(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatalf("the driver does not take its DSN: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("closing the database: %v", err)
		}
	})
	return db
}

// store is a database with a guard and a table of things worth guarding.
type store struct {
	server
	place
	guard *fence.Guard
	// stock has the columns id, amount and fence.
	stock string
}

// onEach runs a test on each server there is.
func onEach(t *testing.T, test func(t *testing.T, s *store)) {
	for _, srv := range servers {
		t.Run(srv.name, func(t *testing.T) { test(t, newStore(t, srv)) })
	}
}

// onEachLevel runs a test with each isolation level of each server on which
// transactions can run side by side.
func onEachLevel(t *testing.T, test func(t *testing.T, s *store, level sql.IsolationLevel)) {
	for _, srv := range servers {
		if srv.single {
			continue
		}
		for _, level := range srv.levels {
			t.Run(srv.name+"/"+level.String(), func(t *testing.T) { test(t, newStore(t, srv), level) })
		}
	}
}

func newStore(t *testing.T, srv server) *store {
	t.Helper()
	s := &store{server: srv, place: srv.open(t)}
	s.stock = s.prefix + "stock"
	guard, err := fence.New(srv.dialect, s.prefix+"fence")
	if err != nil {
		t.Fatal(err)
	}
	if err := guard.Migrate(t.Context(), s.db); err != nil {
		t.Fatal(err)
	}
	s.guard = guard
	must(t, s.db, "CREATE TABLE "+s.stock+" (id BIGINT NOT NULL PRIMARY KEY, amount BIGINT NOT NULL, fence BIGINT NOT NULL DEFAULT 0)"+s.engine())
	for id := 1; id <= 3; id++ {
		must(t, s.db, s.bind("INSERT INTO "+s.stock+" (id, amount) VALUES (?, 0)"), id)
	}
	return s
}

func (s *store) engine() string {
	if s.dialect == fence.MySQL {
		return " ENGINE = InnoDB"
	}
	return ""
}

// bind puts a query's placeholders as the dialect wants them.
func (s *store) bind(query string) string {
	if s.dialect != fence.PostgreSQL {
		return query
	}
	var b strings.Builder
	n := 0
	for _, c := range query {
		if c == '?' {
			n++
			b.WriteString("$" + strconv.Itoa(n))
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

func (s *store) begin(t *testing.T, level sql.IsolationLevel) *sql.Tx {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback(); cancel() })
	return tx
}

// put sets the amount of a row in a transaction.
func (s *store) put(tx *sql.Tx, id int, amount int64) error {
	_, err := tx.Exec(s.bind("UPDATE "+s.stock+" SET amount = ? WHERE id = ?"), amount, id)
	return err
}

// amount reads a row outside of every transaction.
func (s *store) amount(t *testing.T, id int) int64 {
	t.Helper()
	return query(t, s.db, s.bind("SELECT amount FROM "+s.stock+" WHERE id = ?"), id)
}

// newest reads the newest token of a resource, 0 if there is none.
func (s *store) newest(t *testing.T, resource string) int64 {
	t.Helper()
	return query(t, s.db, s.bind("SELECT COALESCE(MAX(token), 0) FROM "+s.prefix+"fence WHERE resource = ?"), []byte(resource))
}

// awaitBlocked waits until a backend waits for another one's lock.
func (s *store) awaitBlocked(t *testing.T, backend int64) {
	t.Helper()
	labtest.Eventually(t, fmt.Sprintf("backend %d waiting", backend), func() bool {
		return query(t, s.db, s.bind(s.blocked), backend) > 0
	})
}

type querier interface {
	QueryRow(query string, args ...any) *sql.Row
}

func query(t *testing.T, q querier, text string, args ...any) int64 {
	t.Helper()
	var n int64
	if err := q.QueryRow(text, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return n
}

func must(t *testing.T, db *sql.DB, text string, args ...any) {
	t.Helper()
	if _, err := db.Exec(text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// wantStale checks that an error is the refusal of a token.
func wantStale(t *testing.T, err error, token, newest int64) {
	t.Helper()
	var stale *fence.StaleError
	if !errors.Is(err, fence.ErrStale) || !errors.As(err, &stale) {
		t.Fatalf("token %d: got %v, want a StaleError", token, err)
	}
	if stale.Token != token || stale.Newest != newest {
		t.Fatalf("refused token %d with newest %d, want %d with %d", stale.Token, stale.Newest, token, newest)
	}
}
