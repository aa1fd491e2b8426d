package store_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/goleak"

	"dlock/demo/store"
	"dlock/lockcore/fence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The environment variables of the tests on PostgreSQL: the URL of a server
// with a database to work in, and whether a missing one is a failure.
const (
	postgresURL     = "DLOCK_TEST_POSTGRES"
	requirePostgres = "DLOCK_REQUIRE_POSTGRES"
)

func onEach(t *testing.T, test func(t *testing.T, s *store.Store)) {
	open := func(t *testing.T, url string) {
		s, err := store.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		if err := s.Add(t.Context(), 1, "phone", 10); err != nil {
			t.Fatal(err)
		}
		test(t, s)
	}
	t.Run("sqlite", func(t *testing.T) { open(t, "") })
	t.Run("postgres", func(t *testing.T) {
		url := os.Getenv(postgresURL)
		if url == "" {
			if os.Getenv(requirePostgres) == "1" {
				t.Fatalf("%s is not set, and %s=1 says that it must be", postgresURL, requirePostgres)
			}
			t.Skipf("needs a PostgreSQL server; set %s to its URL", postgresURL)
		}
		open(t, url)
	})
}

func sell(t *testing.T, a store.Access) store.Item {
	t.Helper()
	read, err := a.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Write(t.Context(), read, store.Entry{Worker: "w", Amount: -1}); err != nil {
		t.Fatal(err)
	}
	return read
}

func wantAudit(t *testing.T, s *store.Store, want store.Audit) {
	t.Helper()
	if got, err := s.Audit(t.Context(), 1); err != nil || got != want {
		t.Errorf("the audit says %+v, %v; want %+v", got, err, want)
	}
}

func TestPlainLosesUpdates(t *testing.T) {
	onEach(t, func(t *testing.T, s *store.Store) {
		old, err := s.Plain(1, "phone").Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			sell(t, s.Plain(1, "phone"))
		}
		wantAudit(t, s, store.Audit{Entries: 10})
		if err := s.Plain(1, "phone").Write(t.Context(), old, store.Entry{Amount: -1}); err != nil {
			t.Fatal(err)
		}
		// Eleven of ten are sold, the row says one write and nine left.
		wantAudit(t, s, store.Audit{Entries: 11, Oversold: 1, Lost: 10, OffBy: 10})
		if a, err := s.Audit(t.Context(), 2); err != nil || a.Damaged() {
			t.Errorf("another run has %+v, %v", a, err)
		}
	})
}

func TestFencedRefusesWhatIsStaleAlsoBeforeANewerWrite(t *testing.T) {
	onEach(t, func(t *testing.T, s *store.Store) {
		older, newer := s.Fenced(1, "phone", 5), s.Fenced(1, "phone", 6)
		old, err := older.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// The newer holder has only read.
		now, err := newer.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := older.Write(t.Context(), old, store.Entry{Amount: -1}); !errors.Is(err, fence.ErrStale) {
			t.Errorf("the older write: %v", err)
		}
		if err := newer.Write(t.Context(), now, store.Entry{Amount: -1}); err != nil {
			t.Fatal(err)
		}
		if _, err := older.Read(t.Context()); !errors.Is(err, fence.ErrStale) {
			t.Errorf("the older read: %v", err)
		}
		wantAudit(t, s, store.Audit{Entries: 1})
	})
}

func TestVersionedRefusesConflicts(t *testing.T) {
	onEach(t, func(t *testing.T, s *store.Store) {
		old, err := s.Versioned(1, "phone").Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sell(t, s.Versioned(1, "phone"))
		if err := s.Versioned(1, "phone").Write(t.Context(), old, store.Entry{Amount: -1}); !errors.Is(err, store.ErrConflict) {
			t.Errorf("the older write: %v", err)
		}
		wantAudit(t, s, store.Audit{Entries: 1})
	})
}

func TestExclusiveLosesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, s *store.Store) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				err := s.Exclusive(t.Context(), 1, "phone", func(a store.Access) error {
					read, err := a.Read(t.Context())
					if err != nil {
						return err
					}
					return a.Write(t.Context(), read, store.Entry{Amount: -1})
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		wantAudit(t, s, store.Audit{Entries: 8})
		// What fails is not kept.
		boom := errors.New("boom")
		err := s.Exclusive(t.Context(), 1, "phone", func(a store.Access) error {
			sell(t, a)
			return boom
		})
		if !errors.Is(err, boom) {
			t.Errorf("it says %v", err)
		}
		wantAudit(t, s, store.Audit{Entries: 8})
	})
}

func TestDoneTwiceIsCounted(t *testing.T) {
	onEach(t, func(t *testing.T, s *store.Store) {
		for range 2 {
			read, err := s.Plain(1, "phone").Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Plain(1, "phone").Write(t.Context(), read, store.Entry{Ref: 7}); err != nil {
				t.Fatal(err)
			}
		}
		wantAudit(t, s, store.Audit{Entries: 2, Twice: 1})
	})
}

func TestNothingRemains(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	s, err := store.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Fatalf("while it is open there is %q", left)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestNoSchemaRemains(t *testing.T) {
	url := os.Getenv(postgresURL)
	if url == "" {
		t.Skipf("needs a PostgreSQL server; set %s to its URL", postgresURL)
	}
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	schemas := func() (names string) {
		if err := db.QueryRow(`SELECT COALESCE(string_agg(nspname, ' ' ORDER BY nspname), '') FROM pg_namespace WHERE nspname LIKE 'dlock\_demo\_%'`).Scan(&names); err != nil {
			t.Fatal(err)
		}
		return names
	}
	before := schemas()
	s, err := store.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if schemas() == before {
		t.Error("there is no schema of its own")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after := schemas(); after != before {
		t.Errorf("the schemas are %q, and were %q", after, before)
	}
}

func TestErrorsTellNoPassword(t *testing.T) {
	const password = "s3cr3t%21"
	for _, url := range []string{
		"mysql://u:" + password + "@127.0.0.1/x",
		"postgres://u:" + password + "@127.0.0.1:1/x",
		"postgres://u:" + password + "@127.0.0.1:port/x",
		"postgres://u:" + password + "@127.0.0.1/x?sslmode=" + password,
		password,
	} {
		s, err := store.Open(context.Background(), url)
		if err == nil {
			s.Close()
			t.Fatalf("%q opens", url)
		}
		if strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%v", err)
		}
	}
}
