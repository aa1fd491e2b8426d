package fence_test

import (
	"database/sql"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"dlock/lockcore/fence"
)

// TestAgainstMap runs random transactions against the guard and against a map,
// which must agree on each answer and on what is stored in the end.
func TestAgainstMap(t *testing.T) {
	onEach(t, func(t *testing.T, s *store) {
		rapid.Check(t, func(rt *rapid.T) {
			must(t, s.db, "DELETE FROM "+s.prefix+"fence")
			must(t, s.db, "UPDATE "+s.stock+" SET amount = 0")
			names := rapid.SliceOfNDistinct(resourceName(), 1, 3, rapid.ID).Draw(rt, "names")
			newest, amounts := map[string]int64{}, map[int]int64{}
			for step := range rapid.IntRange(1, 15).Draw(rt, "transactions") {
				if s.agree(rt, names, newest, amounts, int64(step+1)); rt.Failed() {
					return
				}
			}
			for i, name := range names {
				if got := s.newest(t, name); got != newest[name] {
					rt.Errorf("%q has token %d, want %d", name, got, newest[name])
				}
				if got := s.amount(t, i+1); got != amounts[i+1] {
					rt.Errorf("row %d holds %d, want %d", i+1, got, amounts[i+1])
				}
			}
		})
	})
}

// agree runs one transaction with a few questions and writes.
func (s *store) agree(rt *rapid.T, names []string, newest map[string]int64, amounts map[int]int64, amount int64) {
	tx, err := s.db.Begin()
	if err != nil {
		rt.Fatal(err)
	}
	defer tx.Rollback()
	pending, written := map[string]int64{}, map[int]int64{}
	for range rapid.IntRange(1, 4).Draw(rt, "questions") {
		i := rapid.IntRange(0, len(names)-1).Draw(rt, "resource")
		name := names[i]
		token := rapid.OneOf(rapid.Int64Range(1, 6), rapid.Int64Range(1, 1<<63-1)).Draw(rt, "token")
		rule := rapid.SampledFrom([]string{"Admit", "AdmitOnce"}).Draw(rt, "rule")
		known, ok := pending[name]
		if !ok {
			known = newest[name]
		}
		err := s.ask(tx, rule, name, token)
		if token < known || token == known && rule == "AdmitOnce" {
			var stale *fence.StaleError
			if !errors.As(err, &stale) || *stale != (fence.StaleError{Resource: name, Token: token, Newest: known}) {
				rt.Fatalf("%s(%q, %d) with newest %d gave %v", rule, name, token, known, err)
			}
			if err := tx.Commit(); !errors.Is(err, sql.ErrTxDone) {
				rt.Fatalf("commit after a refusal gave %v", err)
			}
			return
		}
		if err != nil {
			rt.Fatalf("%s(%q, %d) with newest %d gave %v", rule, name, token, known, err)
		}
		pending[name] = token
		if err := s.put(tx, i+1, amount); err != nil {
			rt.Fatal(err)
		}
		written[i+1] = amount
	}
	if !rapid.Bool().Draw(rt, "commit") {
		if err := tx.Rollback(); err != nil {
			rt.Fatal(err)
		}
		return
	}
	if err := tx.Commit(); err != nil {
		rt.Fatal(err)
	}
	for name, token := range pending {
		newest[name] = token
	}
	for id, amount := range written {
		amounts[id] = amount
	}
}

// resourceName draws any bytes, with a liking for those that differ by what
// databases like to ignore.
func resourceName() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[aA]{1,2}[ \x00]{0,2}`),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, fence.MaxResource), func(b []byte) string { return string(b) }),
	)
}
