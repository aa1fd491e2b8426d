package demo

import (
	"time"

	"dlock/demo/lab"
)

// WorkerState is what a worker is doing.
type WorkerState string

// The worker states.
const (
	Idle    WorkerState = "idle"    // thinks before it wants a lock again
	Waiting WorkerState = "waiting" // has asked for a lock and does not have it
	Working WorkerState = "working" // inside, holding the lock
	Lost    WorkerState = "lost"    // its lock was lost while it was inside
)

// Worker is one contending client at a moment.
type Worker struct {
	Name     string // as it stands in the lock's token
	State    WorkerState
	Resource string    // what it wants or holds, "" when idle
	Fence    int64     // the fencing token it works under, 0 when it holds nothing
	Since    time.Time // when it entered State
	Note     string    // why it is in State, in words ("needs 3 of 5, reached 2"), "" if there is nothing to add
}

// Status is the demo at a moment. It is a copy and safe to keep.
type Status struct {
	Started time.Time
	Kind    lab.Kind
	TTL     time.Duration
	Workers []Worker
	Nodes   []lab.Status
	// Grants counts locks taken, Contended the waits that found somebody
	// else inside, NoQuorum the attempts that failed for want of nodes,
	// Losses the locks lost while held. Violations counts moments in which
	// the checker saw two workers inside one resource under valid locks; it
	// must stay 0.
	Grants, Contended, NoQuorum, Losses, Violations uint64
}
