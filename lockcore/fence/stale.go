package fence

import (
	"database/sql"
	"errors"
	"fmt"
)

// ErrStale is why a write was refused: the storage has recorded a newer
// fencing token. From a [Guard] it comes as a *[StaleError].
var ErrStale = errors.New("stale fencing token")

// StaleError is the refusal of a token.
type StaleError struct {
	// Resource is the resource's name as it was passed.
	Resource string
	// Token is the token that was refused.
	Token int64
	// Newest is the newest token recorded for the resource. It is above
	// Token; only AdmitOnce and DoOnce also refuse when it equals Token,
	// and then a transaction under this same grant has been committed.
	Newest int64
}

// Error says what was refused and what to do.
func (e *StaleError) Error() string {
	if e.Newest == e.Token {
		return fmt.Sprintf("%v: %q has token %d on record already, and each grant may write once", ErrStale, e.Resource, e.Token)
	}
	return fmt.Sprintf("%v: %q has token %d on record, so %d is refused: a newer holder has the lock, stop working under this grant",
		ErrStale, e.Resource, e.Newest, e.Token)
}

// Unwrap makes errors.Is(err, ErrStale) true.
func (e *StaleError) Unwrap() error { return ErrStale }

// Applied judges an UPDATE that carries its own condition on a fence column
// (see the package comment). It returns nil if a row was changed, and an error
// that is ErrStale if none was: its fence is above the token, or there is no
// such row. An error of the driver is returned as it is.
func Applied(result sql.Result) error {
	n, err := result.RowsAffected()
	if err != nil {
		return fmt.Errorf("fence: cannot tell whether the update was applied: %w", err)
	}
	if n == 0 {
		return fmt.Errorf("%w: no row was changed, since its fence is above the token or there is no such row", ErrStale)
	}
	return nil
}
