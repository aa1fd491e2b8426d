package inspect

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dlock/inspect/dialect"
)

func TestPack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := dialect.Extra{
			Fence: rapid.Int64().Draw(t, "fence"), FenceKnown: rapid.Bool().Draw(t, "fenceKnown"),
			Waiting: rapid.IntRange(0, 1<<31-1).Draw(t, "waiting"), WaitingKnown: rapid.Bool().Draw(t, "waitingKnown"),
			WaitingProcesses: rapid.Bool().Draw(t, "processes"),
		}
		if rapid.Bool().Draw(t, "granted") {
			x.Granted = time.UnixMicro(rapid.Int64Range(-1<<50, 1<<50).Draw(t, "at"))
		}
		for n := range rapid.IntRange(0, 3).Draw(t, "waiters") {
			x.Waiters = append(x.Waiters, dialect.Waiter{Token: string(rune('a' + n))})
		}
		if got := pack(x).unpack(); !reflect.DeepEqual(got, x) {
			t.Fatalf("%+v became %+v", x, got)
		}
	})
	if pack(dialect.Extra{}) != nil {
		t.Error("nothing takes room")
	}
}
