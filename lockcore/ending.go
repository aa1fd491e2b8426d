package lockcore

import (
	"context"
	"sync"
)

// ending is how a lock ended, if it has. Its context is made when somebody asks
// for it: most locks are released before anybody does. The zero value with
// values set is ready; it is safe for concurrent use.
type ending struct {
	values context.Context // what the context carries, but for its end

	mu     sync.Mutex
	err    error
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// end ends the lock with a cause. Only the first one counts.
func (e *ending) end(cause error) {
	e.mu.Lock()
	if e.err == nil {
		e.err = cause
	}
	cancel := e.cancel
	cause = e.err
	e.mu.Unlock()
	if cancel != nil {
		cancel(cause) // outside the mutex: it runs what others have attached
	}
}

// cause is nil until end.
func (e *ending) cause() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// context ends with the lock, with its cause.
func (e *ending) context() context.Context {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx == nil {
		e.ctx, e.cancel = context.WithCancelCause(context.WithoutCancel(e.values))
		if e.err != nil {
			e.cancel(e.err)
		}
	}
	return e.ctx
}
