package lockcore

import (
	"context"
	"errors"
	"sync"
	"testing"
)

type valueKey struct{}

// The context tells the same whether it was asked for before or after the end,
// and outlives the one whose values it carries.
func TestTheContextOfALockTellsHowItEnded(t *testing.T) {
	for name, early := range map[string]bool{"asked before": true, "asked after": false} {
		t.Run(name, func(t *testing.T) {
			values, cancel := context.WithCancel(context.WithValue(context.Background(), valueKey{}, "v"))
			e := ending{values: values}
			if early && e.context().Err() != nil {
				t.Error("it has ended already")
			}
			cancel()
			if early && e.context().Err() != nil || e.cause() != nil {
				t.Error("it ended with the acquisition's context")
			}
			first := errors.New("first")
			e.end(first)
			e.end(errors.New("second"))
			if ctx := e.context(); ctx.Err() == nil || context.Cause(ctx) != first || e.cause() != first || ctx.Value(valueKey{}) != "v" {
				t.Errorf("%v, cause %v and %v", ctx.Err(), context.Cause(ctx), e.cause())
			}
		})
	}
}

func TestOneOfManyEndsCounts(t *testing.T) {
	for range 100 {
		e := ending{values: context.Background()}
		causes := []error{errors.New("a"), errors.New("b"), errors.New("c")}
		var all sync.WaitGroup
		for _, c := range causes {
			all.Go(func() { e.end(c) })
			all.Go(func() { e.context() })
		}
		all.Wait()
		if got := context.Cause(e.context()); got == nil || got != e.cause() {
			t.Fatalf("the context says %v, the lock %v", got, e.cause())
		}
	}
}
