package fence_test

import (
	"database/sql"
	"errors"
	"testing"

	"dlock/lockcore/fence"
)

// TestPausedHolder: the holder of token 5 stalls after it has checked its
// lock, the lock passes to token 6, 6 writes, and 5 wakes up and writes too.
func TestPausedHolder(t *testing.T) {
	onEach(t, func(t *testing.T, s *store) {
		for _, c := range []struct {
			rule     string
			resource string
			id       int
		}{{"Admit", "many", 1}, {"AdmitOnce", "once", 2}} {
			resumes, wrote := make(chan struct{}), make(chan error, 1)
			go func() {
				<-resumes
				wrote <- s.write(c.rule, c.resource, 5, c.id, 500)
			}()
			if err := s.write(c.rule, c.resource, 6, c.id, 600); err != nil {
				t.Fatal(err)
			}
			close(resumes)
			wantStale(t, <-wrote, 5, 6)
			if got := s.amount(t, c.id); got != 600 {
				t.Errorf("%s: the row holds %d, want the newer holder's 600", c.rule, got)
			}
		}
	})
}

// TestReadAfterAdmit: the holder of 6 asks before it reads, and so what it has
// read cannot be overwritten by 5 before it writes.
func TestReadAfterAdmit(t *testing.T) {
	onEachLevel(t, func(t *testing.T, s *store, level sql.IsolationLevel) {
		six := s.begin(t, level)
		if err := s.guard.Admit(t.Context(), six, "r", 6); err != nil {
			t.Fatal(err)
		}
		seen := query(t, six, "SELECT amount FROM "+s.stock+" WHERE id = 1")
		wrote := make(chan error, 1)
		go func() { wrote <- s.write("Admit", "r", 5, 1, 500) }()
		if err := s.put(six, 1, seen+1); err != nil {
			t.Fatal(err)
		}
		if err := six.Commit(); err != nil {
			t.Fatal(err)
		}
		// 5 asked while 6 was open, or after it; it is too late either way.
		wantStale(t, <-wrote, 5, 6)
		if got := s.amount(t, 1); got != 1 {
			t.Errorf("the row holds %d, want 1", got)
		}
	})
}

// TestFenceColumn: the same story where the row keeps its own fence.
func TestFenceColumn(t *testing.T) {
	onEach(t, func(t *testing.T, s *store) {
		update := func(condition string, token int64, id int, amount int64) error {
			result, err := s.db.Exec(s.bind("UPDATE "+s.stock+" SET amount = ?, fence = ? WHERE id = ? AND fence "+condition+" ?"),
				amount, token, id, token)
			if err != nil {
				t.Fatal(err)
			}
			return fence.Applied(result)
		}
		for i, c := range []struct {
			condition string
			token     int64
			id        int
			ok        bool
		}{
			{"<=", 6, 1, true}, {"<=", 5, 1, false}, {"<=", 6, 1, true}, {"<=", 7, 1, true}, {"<=", 6, 1, false},
			{"<", 6, 2, true}, {"<", 5, 2, false}, {"<", 6, 2, false}, {"<", 7, 2, true},
			{"<=", 6, 99, false}, // no such row
		} {
			before := int64(-1)
			if c.id != 99 {
				before = s.amount(t, c.id)
			}
			err := update(c.condition, c.token, c.id, int64(i+1))
			if (err == nil) != c.ok || errors.Is(err, fence.ErrStale) == c.ok {
				t.Errorf("step %d, fence %s %d: got %v, want ok = %v", i, c.condition, c.token, err, c.ok)
			}
			if !c.ok && c.id != 99 && s.amount(t, c.id) != before {
				t.Errorf("step %d, fence %s %d: a refused update changed the row", i, c.condition, c.token)
			}
		}
	})
}

// mute is a result whose driver cannot count.
type mute struct{ error }

func (m mute) LastInsertId() (int64, error) { return 0, m.error }
func (m mute) RowsAffected() (int64, error) { return 0, m.error }

func TestAppliedIsNotSureWithoutACount(t *testing.T) {
	sentinel := errors.New("not supported")
	if err := fence.Applied(mute{sentinel}); !errors.Is(err, sentinel) || errors.Is(err, fence.ErrStale) {
		t.Errorf("got %v, want %v", err, sentinel)
	}
}

// write is a holder's transaction: ask, write, commit.
func (s *store) write(rule, resource string, token int64, id int, amount int64) error {
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := s.ask(tx, rule, resource, token); err != nil {
		return err
	}
	if err := s.put(tx, id, amount); err != nil {
		return err
	}
	return tx.Commit()
}
