package store

import "context"

// Audit is what a run has done to its items, counted from the database alone.
type Audit struct {
	// Entries is how much was done.
	Entries int64
	// Oversold is what was sold and was not there, or withdrawn and not in
	// the account, in units.
	Oversold int64
	// Lost counts updates that were overwritten by somebody who had not
	// seen them.
	Lost int64
	// OffBy is by how much the items' amounts differ from what the ledger
	// says, over all items.
	OffBy int64
	// Twice counts what must be done only once and was done again.
	Twice int64
}

// Damaged tells whether anything is wrong.
func (a Audit) Damaged() bool { return a.Oversold != 0 || a.Lost != 0 || a.OffBy != 0 || a.Twice != 0 }

// Add returns the sum of two runs' audits.
func (a Audit) Add(b Audit) Audit {
	return Audit{a.Entries + b.Entries, a.Oversold + b.Oversold, a.Lost + b.Lost, a.OffBy + b.OffBy, a.Twice + b.Twice}
}

// Audit counts what a run has done. It is one statement and therefore sees one
// moment, also while workers are at work.
func (s *Store) Audit(ctx context.Context, run int) (a Audit, err error) {
	err = s.db.QueryRowContext(ctx, `
SELECT COALESCE(SUM(done), 0),
	COALESCE(SUM(CASE WHEN initial + moved < 0 THEN -(initial + moved) ELSE 0 END), 0),
	COALESCE(SUM(CASE WHEN done > writes THEN done - writes ELSE 0 END), 0),
	COALESCE(SUM(ABS(initial + moved - amount)), 0),
	COALESCE(SUM(twice), 0)
FROM (
	SELECT i.initial, i.amount, i.writes, COUNT(e.item) AS done, COALESCE(SUM(e.amount), 0) AS moved, COUNT(e.ref) - COUNT(DISTINCT e.ref) AS twice
	FROM item i LEFT JOIN entry e ON e.run = i.run AND e.item = i.id
	WHERE i.run = $1
	GROUP BY i.run, i.id, i.initial, i.amount, i.writes
) AS items`, run).Scan(&a.Entries, &a.Oversold, &a.Lost, &a.OffBy, &a.Twice)
	return a, err
}
