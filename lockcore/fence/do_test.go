package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"testing"

	"dlock/lockcore/fence"
)

// wantIdle checks that no connection is left in a transaction. With a single
// connection whatever came next would wait for it.
func (s *store) wantIdle(t *testing.T) {
	t.Helper()
	if n := s.db.Stats().InUse; n != 0 {
		t.Fatalf("%d connections are still in use", n)
	}
}

func TestDoCommits(t *testing.T) {
	onEach(t, func(t *testing.T, s *store) {
		if err := s.guard.Do(t.Context(), s.db, "r", 3, func(tx *sql.Tx) error { return s.put(tx, 1, 10) }); err != nil {
			t.Fatal(err)
		}
		s.wantIdle(t)
		if got := s.amount(t, 1); got != 10 {
			t.Errorf("the row holds %d, want 10", got)
		}
		if got := s.newest(t, "r"); got != 3 {
			t.Errorf("the newest token is %d, want 3", got)
		}
	})
}

func TestDoRollsBack(t *testing.T) {
	sentinel := errors.New("no stock left")
	onEach(t, func(t *testing.T, s *store) {
		for _, c := range []struct {
			what string
			run  func(write func(tx *sql.Tx)) error
			want error
		}{
			{"an error", func(write func(tx *sql.Tx)) error {
				return s.guard.Do(t.Context(), s.db, "r", 3, func(tx *sql.Tx) error { write(tx); return sentinel })
			}, sentinel},
			{"a panic", func(write func(tx *sql.Tx)) (err error) {
				defer func() { err, _ = recover().(error) }()
				return s.guard.Do(t.Context(), s.db, "r", 3, func(tx *sql.Tx) error { write(tx); panic(sentinel) })
			}, sentinel},
			{"the end of the goroutine", func(write func(tx *sql.Tx)) error {
				done := make(chan struct{})
				go func() {
					defer close(done)
					_ = s.guard.DoOnce(t.Context(), s.db, "r", 3, func(tx *sql.Tx) error { write(tx); runtime.Goexit(); return nil })
				}()
				<-done
				return nil
			}, nil},
			{"a rollback of its own", func(write func(tx *sql.Tx)) error {
				return s.guard.DoOnce(t.Context(), s.db, "r", 3, func(tx *sql.Tx) error { write(tx); return tx.Rollback() })
			}, sql.ErrTxDone},
		} {
			err := c.run(func(tx *sql.Tx) {
				if err := s.put(tx, 1, 10); err != nil {
					t.Error(err)
				}
			})
			if !errors.Is(err, c.want) {
				t.Errorf("%s: got %v, want %v", c.what, err, c.want)
			}
			s.wantIdle(t)
			if got := s.amount(t, 1); got != 0 {
				t.Errorf("%s: the write is there: %d", c.what, got)
			}
			if got := s.newest(t, "r"); got != 0 {
				t.Errorf("%s: token %d was recorded", c.what, got)
			}
		}
	})
}

func TestDoDoesNotCallARefusedWrite(t *testing.T) {
	onEach(t, func(t *testing.T, s *store) {
		if err := s.guard.Do(t.Context(), s.db, "r", 6, nothing); err != nil {
			t.Fatal(err)
		}
		called := func(*sql.Tx) error {
			t.Error("a refused write was called")
			return nil
		}
		wantStale(t, s.guard.Do(t.Context(), s.db, "r", 5, called), 5, 6)
		s.wantIdle(t)
		wantStale(t, s.guard.DoOnce(t.Context(), s.db, "r", 6, called), 6, 6)
		s.wantIdle(t)
	})
}

// TestDoTellsWhyTheContextEnded: the loss of a lock is the cause of its
// context, and more use to the caller than "context canceled".
func TestDoTellsWhyTheContextEnded(t *testing.T) {
	lost := errors.New("lock lost")
	onEach(t, func(t *testing.T, s *store) {
		ctx, cancel := context.WithCancelCause(t.Context())
		err := s.guard.Do(ctx, s.db, "r", 3, func(tx *sql.Tx) error {
			if err := s.put(tx, 1, 10); err != nil {
				return err
			}
			cancel(lost)
			return nil
		})
		if !errors.Is(err, lost) {
			t.Errorf("lost during the write: got %v, want %v in it", err, lost)
		}
		if err := s.guard.Do(ctx, s.db, "r", 3, nothing); !errors.Is(err, lost) || !errors.Is(err, context.Canceled) {
			t.Errorf("lost before: got %v, want %v and %v in it", err, lost, context.Canceled)
		}
		if got := s.amount(t, 1); got != 0 {
			t.Errorf("the write is there: %d", got)
		}
		// Nothing may be left that keeps the next holder out.
		if err := s.guard.Do(t.Context(), s.db, "r", 4, func(tx *sql.Tx) error { return s.put(tx, 1, 11) }); err != nil {
			t.Fatal(err)
		}
	})
}

// TestDoOnceSettlesALostCommit: a holder that does not know whether its
// transaction was committed sends it again, and it is done once.
func TestDoOnceSettlesALostCommit(t *testing.T) {
	onEach(t, func(t *testing.T, s *store) {
		take := func(tx *sql.Tx) error {
			_, err := tx.Exec("UPDATE " + s.stock + " SET amount = amount - 1 WHERE id = 1")
			return err
		}
		if err := s.guard.DoOnce(t.Context(), s.db, "r", 3, take); err != nil {
			t.Fatal(err)
		}
		wantStale(t, s.guard.DoOnce(t.Context(), s.db, "r", 3, take), 3, 3)
		if got := s.amount(t, 1); got != -1 {
			t.Errorf("the stock changed by %d, want -1", got)
		}
	})
}

func TestDoOnAClosedDatabase(t *testing.T) {
	guard, err := fence.New(fence.SQLite, "fence")
	if err != nil {
		t.Fatal(err)
	}
	db := connect(t, "sqlite", ":memory:")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := guard.Do(t.Context(), db, "r", 1, nothing); err == nil || errors.Is(err, fence.ErrStale) {
		t.Errorf("got %v, want the database's error", err)
	}
}
