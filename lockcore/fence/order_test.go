package fence_test

import (
	"database/sql"
	"errors"
	"testing"

	"dlock/lockcore/fence"
)

// contender is a transaction that asks in a goroutine of its own.
type contender struct {
	tx    *sql.Tx
	asked chan error
}

// contend lets a second transaction ask while a first one is open, and returns
// when it waits, where that can be seen. With early it has a snapshot from
// before the first one asked.
func (s *store) contend(t *testing.T, level sql.IsolationLevel, early bool, rule string, token int64, first func()) contender {
	t.Helper()
	c := contender{s.begin(t, level), make(chan error, 1)}
	if early {
		// A row that nobody writes: at SERIALIZABLE MySQL locks what it reads.
		query(t, c.tx, "SELECT amount FROM "+s.stock+" WHERE id = 3")
	}
	var backend int64
	if s.backend != "" && (early || level == sql.LevelDefault || level == sql.LevelReadCommitted) {
		// Elsewhere the query would itself take the snapshot.
		backend = query(t, c.tx, s.backend)
	}
	first()
	go func() { c.asked <- s.ask(c.tx, rule, "r", token) }()
	if backend != 0 {
		s.awaitBlocked(t, backend)
	}
	return c
}

func onEachOrder(t *testing.T, test func(t *testing.T, s *store, level sql.IsolationLevel, early bool)) {
	onEachLevel(t, func(t *testing.T, s *store, level sql.IsolationLevel) {
		t.Run("late", func(t *testing.T) { test(t, s, level, false) })
		must(t, s.db, "DELETE FROM "+s.prefix+"fence")
		must(t, s.db, "UPDATE "+s.stock+" SET amount = 0")
		t.Run("early", func(t *testing.T) { test(t, s, level, true) })
	})
}

// TestNewerFirst: 6 has been admitted but not committed when 5 asks. 5 must
// not get through, whatever it has seen before; not even if the resource had
// no row before 6.
func TestNewerFirst(t *testing.T) {
	onEachOrder(t, func(t *testing.T, s *store, level sql.IsolationLevel, early bool) {
		for _, rule := range []string{"Admit", "AdmitOnce"} {
			six := s.begin(t, level)
			five := s.contend(t, level, early, rule, 5, func() {
				if err := s.ask(six, rule, "r", 6); err != nil {
					t.Fatal(err)
				}
				if err := s.put(six, 1, 600); err != nil {
					t.Fatal(err)
				}
			})
			if err := six.Commit(); err != nil {
				t.Fatal(err)
			}
			err := <-five.asked
			if errors.Is(err, fence.ErrStale) {
				wantStale(t, err, 5, 6)
			} else if !s.aborted(err) {
				t.Fatalf("%s 5 gave %v, want a refusal", rule, err)
			}
			if err := five.tx.Commit(); !errors.Is(err, sql.ErrTxDone) {
				t.Fatalf("%s 5 could commit: %v", rule, err)
			}
			if got := s.amount(t, 1); got != 600 {
				t.Fatalf("the row holds %d, want 600", got)
			}
			must(t, s.db, "DELETE FROM "+s.prefix+"fence")
		}
	})
}

// TestOlderFirst: 5 has been admitted and is still open when 6 asks. 6 waits,
// so that its write comes after 5's, and is admitted.
func TestOlderFirst(t *testing.T) {
	onEachOrder(t, func(t *testing.T, s *store, level sql.IsolationLevel, early bool) {
		for _, commit := range []bool{true, false} {
			five := s.begin(t, level)
			six := s.contend(t, level, early, "AdmitOnce", 6, func() {
				if err := s.ask(five, "AdmitOnce", "r", 5); err != nil {
					t.Fatal(err)
				}
			})
			if err := s.put(five, 1, 500); err != nil {
				t.Fatal(err)
			}
			end := five.Rollback
			if commit {
				end = five.Commit
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
			err := <-six.asked
			if s.aborted(err) {
				// Its snapshot was too old to go on; it tries again.
				err = s.write("AdmitOnce", "r", 6, 1, 600)
			} else if err == nil {
				if err = s.put(six.tx, 1, 600); err == nil {
					err = six.tx.Commit()
				}
			}
			if err != nil {
				t.Fatalf("6 after 5 (committed = %v): %v", commit, err)
			}
			if got := s.amount(t, 1); got != 600 {
				t.Fatalf("the row holds %d, want 600", got)
			}
			if got := s.newest(t, "r"); got != 6 {
				t.Fatalf("the newest token is %d, want 6", got)
			}
			must(t, s.db, "DELETE FROM "+s.prefix+"fence")
		}
	})
}

// TestResourcesDoNotWait: on databases with row locks, an open transaction of
// one resource keeps nobody from another one.
func TestResourcesDoNotWait(t *testing.T) {
	onEachLevel(t, func(t *testing.T, s *store, level sql.IsolationLevel) {
		if s.dialect == fence.SQLite {
			t.Skip("SQLite has one writer at a time")
		}
		for _, name := range []string{"a", "b", "c"} {
			if err := s.guard.Do(t.Context(), s.db, name, 1, nothing); err != nil {
				t.Fatal(err)
			}
		}
		open := s.begin(t, level)
		if err := s.guard.Admit(t.Context(), open, "b", 2); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "c", "d"} {
			tx := s.begin(t, level)
			if err := s.guard.Admit(t.Context(), tx, name, 2); err != nil {
				t.Fatal(err)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		if err := open.Commit(); err != nil {
			t.Fatal(err)
		}
	})
}
