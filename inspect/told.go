package inspect

import (
	"math"
	"time"

	"dlock/inspect/dialect"
)

// told is what companions tell of one lock on one node, packed, since many a
// lock has as much of it as there are nodes. nil is nothing.
type told struct {
	fence, granted int64 // granted in microseconds since 1970
	waiting        int32
	fenceKnown, grantedKnown, waitingKnown,
	processes bool
	waiters *[]dialect.Waiter
}

func pack(x dialect.Extra) *told {
	t := &told{
		fence: x.Fence, fenceKnown: x.FenceKnown,
		waiting: int32(min(max(x.Waiting, 0), math.MaxInt32)), waitingKnown: x.WaitingKnown, processes: x.WaitingProcesses,
	}
	if !x.Granted.IsZero() {
		t.granted, t.grantedKnown = x.Granted.UnixMicro(), true
	}
	if len(x.Waiters) > 0 {
		t.waiters = &x.Waiters
	}
	if *t == (told{}) {
		return nil
	}
	return t
}

func (t *told) unpack() dialect.Extra {
	if t == nil {
		return dialect.Extra{}
	}
	x := dialect.Extra{
		Fence: t.fence, FenceKnown: t.fenceKnown,
		Waiting: int(t.waiting), WaitingKnown: t.waitingKnown, WaitingProcesses: t.processes,
	}
	if t.grantedKnown {
		x.Granted = time.UnixMicro(t.granted)
	}
	if t.waiters != nil {
		x.Waiters = *t.waiters
	}
	return x
}
