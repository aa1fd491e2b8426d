package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"dlock/lockcore/fence"
)

func TestNewTakesPlainNames(t *testing.T) {
	long := strings.Repeat("x", 63)
	for _, c := range []struct {
		table string
		ok    bool
	}{
		{"fence", true}, {"app.fence", true}, {"_f1", true}, {"order", true}, {long, true}, {long + "." + long, true},
		{"", false}, {".", false}, {"a.", false}, {".a", false}, {"a.b.c", false}, {"1a", false}, {"a.1", false},
		{"Fence", false}, {"a b", false}, {`a"b`, false}, {"a`b", false}, {"a;b", false}, {"a-b", false}, {"a\x00", false}, {"é", false},
		{long + "x", false},
	} {
		for _, dialect := range []fence.Dialect{fence.PostgreSQL, fence.MySQL, fence.SQLite} {
			guard, err := fence.New(dialect, c.table)
			if (err == nil) != c.ok || (guard != nil) != c.ok {
				t.Errorf("New(%v, %q) = %v, %v; want ok = %v", dialect, c.table, guard, err, c.ok)
			}
		}
	}
}

func TestNewRefusesUnknownDialects(t *testing.T) {
	for _, dialect := range []fence.Dialect{0, -1, 4} {
		if _, err := fence.New(dialect, "fence"); err == nil || !strings.Contains(err.Error(), dialect.String()) {
			t.Errorf("New(%v) = %v, want an error that names it", dialect, err)
		}
	}
}

func TestSchema(t *testing.T) {
	for dialect, want := range map[fence.Dialect]string{
		fence.PostgreSQL: `CREATE TABLE IF NOT EXISTS "app"."fence" (resource BYTEA NOT NULL PRIMARY KEY, token BIGINT NOT NULL)`,
		fence.SQLite:     `CREATE TABLE IF NOT EXISTS "app"."fence" (resource BLOB NOT NULL PRIMARY KEY, token INTEGER NOT NULL)`,
		fence.MySQL: "CREATE TABLE IF NOT EXISTS `app`.`fence`" +
			" (resource VARBINARY(512) NOT NULL, token BIGINT NOT NULL, PRIMARY KEY (resource)) ENGINE = InnoDB",
	} {
		guard, err := fence.New(dialect, "app.fence")
		if err != nil {
			t.Fatal(err)
		}
		if got := guard.Schema(); got != want {
			t.Errorf("%v:\n got %s\nwant %s", dialect, got, want)
		}
	}
}

// FuzzTable: whatever the name, it is refused or stands in the statement
// between quotes, with nothing in it that could end them.
func FuzzTable(f *testing.F) {
	for _, seed := range []string{"fence", "a.b", `x"; DROP TABLE y; --`, "`", "", "a..b", "ſ"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, table string) {
		for dialect, mark := range map[fence.Dialect]string{fence.PostgreSQL: `"`, fence.SQLite: `"`, fence.MySQL: "`"} {
			guard, err := fence.New(dialect, table)
			if err != nil {
				continue
			}
			rest, ok := strings.CutPrefix(guard.Schema(), "CREATE TABLE IF NOT EXISTS "+mark)
			if !ok {
				t.Fatalf("%v: %q became %s", dialect, table, guard.Schema())
			}
			name, _, _ := strings.Cut(rest, mark+" (")
			if strings.ReplaceAll(name, mark+"."+mark, ".") != table || strings.Trim(table, "abcdefghijklmnopqrstuvwxyz0123456789_.") != "" {
				t.Fatalf("%v: %q became %s", dialect, table, guard.Schema())
			}
		}
	})
}

func TestMigrateAgain(t *testing.T) {
	onEach(t, func(t *testing.T, s *store) {
		if err := s.guard.Do(t.Context(), s.db, "r", 7, nothing); err != nil {
			t.Fatal(err)
		}
		if err := s.guard.Migrate(t.Context(), s.db); err != nil {
			t.Fatal(err)
		}
		if got := s.newest(t, "r"); got != 7 {
			t.Errorf("a second Migrate left token %d, want 7", got)
		}
	})
}

func TestMigrateByManyAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s *store) {
		for _, table := range []string{"one", "two", "three", "four"} {
			guard, err := fence.New(s.dialect, s.prefix+table)
			if err != nil {
				t.Fatal(err)
			}
			var group sync.WaitGroup
			for range 8 {
				group.Go(func() {
					if err := guard.Migrate(t.Context(), s.db); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
		}
	})
}

func TestMigrateSeesAnotherKindOfTable(t *testing.T) {
	onEach(t, func(t *testing.T, s *store) {
		guard, err := fence.New(s.dialect, s.stock)
		if err != nil {
			t.Fatal(err)
		}
		if err := guard.Migrate(t.Context(), s.db); err == nil || !strings.Contains(err.Error(), s.stock) {
			t.Errorf("Migrate over a table without the columns: %v", err)
		}
	})
}

func TestMigrateSaysWhyItCannotCreate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "test.db")
	db := connect(t, "sqlite", file+"?_pragma=query_only(1)")
	guard, err := fence.New(fence.SQLite, "fence")
	if err != nil {
		t.Fatal(err)
	}
	if err := guard.Migrate(t.Context(), db); err == nil || !strings.Contains(err.Error(), "cannot create table fence") {
		t.Errorf("Migrate on a database that cannot be written: %v", err)
	}
}

// TestRules goes through what the two rules say to a token that is below, at
// and above the newest.
func TestRules(t *testing.T) {
	onEach(t, func(t *testing.T, s *store) {
		for _, c := range []struct {
			rule   string
			token  int64
			ok     bool
			newest int64
		}{
			{"Admit", 5, true, 5},
			{"Admit", 5, true, 5},
			{"AdmitOnce", 5, false, 5},
			{"AdmitOnce", 4, false, 5},
			{"Admit", 4, false, 5},
			{"Admit", 1, false, 5},
			{"AdmitOnce", 6, true, 6},
			{"AdmitOnce", 6, false, 6},
			{"Admit", 6, true, 6},
			{"AdmitOnce", 1 << 62, true, 1 << 62},
			{"Admit", 1<<63 - 1, true, 1<<63 - 1},
			{"AdmitOnce", 1<<63 - 1, false, 1<<63 - 1},
			{"AdmitOnce", 1<<63 - 2, false, 1<<63 - 1},
		} {
			tx := s.begin(t, sql.LevelDefault)
			err := s.ask(tx, c.rule, "r", c.token)
			if c.ok {
				if err != nil {
					t.Fatalf("%s %d: %v", c.rule, c.token, err)
				}
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
			} else {
				wantStale(t, err, c.token, c.newest)
				s.wantIdle(t)
			}
			if got := s.newest(t, "r"); got != c.newest {
				t.Fatalf("after %s %d the newest is %d, want %d", c.rule, c.token, got, c.newest)
			}
		}
	})
}

func TestWhatIsRolledBackDoesNotCount(t *testing.T) {
	onEach(t, func(t *testing.T, s *store) {
		for range 2 { // once with no row, once with one
			tx := s.begin(t, sql.LevelDefault)
			if err := s.guard.AdmitOnce(t.Context(), tx, "r", 9); err != nil {
				t.Fatal(err)
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			if err := s.guard.Do(t.Context(), s.db, "r", 8, nothing); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.guard.DoOnce(t.Context(), s.db, "r", 9, nothing); err != nil {
			t.Fatal(err)
		}
	})
}

// TestRefusalEndsTheTransaction: also a write that came before the question is
// gone, and a caller that overlooks the error cannot commit.
func TestRefusalEndsTheTransaction(t *testing.T) {
	onEach(t, func(t *testing.T, s *store) {
		if err := s.guard.Do(t.Context(), s.db, "r", 6, nothing); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			what, rule, resource string
			token                int64
			stale                bool
		}{
			{"stale", "Admit", "r", 5, true},
			{"stale once", "AdmitOnce", "r", 6, true},
			{"token 0", "Admit", "r", 0, false},
			{"negative token", "AdmitOnce", "r", -1, false},
			{"no name", "Admit", "", 7, false},
			{"long name", "Admit", strings.Repeat("x", fence.MaxResource+1), 7, false},
		} {
			tx := s.begin(t, sql.LevelDefault)
			if err := s.put(tx, 1, 666); err != nil {
				t.Fatal(err)
			}
			if err := s.ask(tx, c.rule, c.resource, c.token); err == nil || errors.Is(err, fence.ErrStale) != c.stale {
				t.Fatalf("%s: got %v, want stale = %v", c.what, err, c.stale)
			}
			if err := s.put(tx, 2, 666); !errors.Is(err, sql.ErrTxDone) {
				t.Fatalf("%s: a further write gave %v, want %v", c.what, err, sql.ErrTxDone)
			}
			if err := tx.Commit(); !errors.Is(err, sql.ErrTxDone) {
				t.Errorf("%s: Commit gave %v, want %v", c.what, err, sql.ErrTxDone)
			}
			if a, b := s.amount(t, 1), s.amount(t, 2); a != 0 || b != 0 {
				t.Errorf("%s: the rows hold %d and %d, want 0", c.what, a, b)
			}
		}
	})
}

// TestDatabaseErrorIsNotARefusal: without its table the guard admits nothing.
func TestDatabaseErrorIsNotARefusal(t *testing.T) {
	onEach(t, func(t *testing.T, s *store) {
		guard, err := fence.New(s.dialect, s.prefix+"missing")
		if err != nil {
			t.Fatal(err)
		}
		err = guard.Do(t.Context(), s.db, "r", 1, func(*sql.Tx) error {
			t.Error("the write was called")
			return nil
		})
		if err == nil || errors.Is(err, fence.ErrStale) || !strings.Contains(err.Error(), "missing") {
			t.Errorf("got %v, want the database's error", err)
		}
	})
}

// TestResourceNames: names that some database takes for equal are two
// resources, and none of them is more than a name.
func TestResourceNames(t *testing.T) {
	full := strings.Repeat("x", fence.MaxResource)
	names := []string{
		"a", "A", "a ", "a  ", " a", "a\t", "a\n", "a\x00", "a\x00\x00", "\x00", "\x00a", " ", "  ",
		"\u00e9", "e\u0301", "\u00c9", "\u00df", "ss", "\u0130", "i", "I", "\u212a", "K", "k", "\U0001f512", "\u200b", "\ufeff", "\u202e",
		"'", "''", `"`, "`", `\`, `\\`, `\x00`, `\0`, "%", "_", "?", "$1", ":a", "@a", "NULL",
		"'; DROP TABLE stock; --", `"); DELETE FROM fence; --`, "a' OR '1'='1",
		"\xff", "\xff\xfe", "\xc3", "\xed\xa0\x80", "1", "1.0", "01", "0x31",
		full, full[1:], full[1:] + "y", full[1:] + " ", full[1:] + "\x00", strings.Repeat("\x00", fence.MaxResource), strings.Repeat("\u00e9", fence.MaxResource/2),
	}
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	if len(slices.Compact(sorted)) != len(names) {
		t.Fatal("a name is there twice")
	}
	onEach(t, func(t *testing.T, s *store) {
		// Falling tokens: two names in one row would refuse the second.
		for i, name := range names {
			if err := s.guard.DoOnce(t.Context(), s.db, name, int64(len(names)-i), nothing); err != nil {
				t.Fatalf("%q: %v", name, err)
			}
		}
		for i, name := range names {
			token := int64(len(names) - i)
			wantStale(t, s.guard.DoOnce(t.Context(), s.db, name, token, nothing), token, token)
			if got := s.newest(t, name); got != token {
				t.Errorf("%q has token %d, want %d", name, got, token)
			}
		}
		if got := query(t, s.db, "SELECT COUNT(*) FROM "+s.prefix+"fence"); got != int64(len(names)) {
			t.Errorf("%d rows for %d names", got, len(names))
		}
	})
}

func TestStaleErrorNamesTheCase(t *testing.T) {
	older := (&fence.StaleError{Resource: "a\x1b[31m", Token: 5, Newest: 6}).Error()
	again := (&fence.StaleError{Resource: "a\x1b[31m", Token: 6, Newest: 6}).Error()
	if older == again {
		t.Errorf("a newer holder and a second write read alike: %s", older)
	}
	for _, text := range []string{older, again} {
		if strings.Contains(text, "\x1b") || !strings.Contains(text, `"a\x1b[31m"`) || !strings.Contains(text, "6") {
			t.Errorf("%q does not say what it should", text)
		}
	}
}

func nothing(*sql.Tx) error { return nil }

// ask puts the question by the name of the method.
func (s *store) ask(tx *sql.Tx, rule, resource string, token int64) error {
	if rule == "AdmitOnce" {
		return s.guard.AdmitOnce(context.Background(), tx, resource, token)
	}
	return s.guard.Admit(context.Background(), tx, resource, token)
}
