package inspect

import (
	"time"

	"dlock/inspect/dialect"
)

// Plan says what a release will send where. It is a value: it can be shown,
// dry-run, executed with [Inspector.Execute] and audited. Build one with
// [PlanRelease].
type Plan struct {
	ID      ID
	Library string
	Type    string
	// Token is the exact value that was seen; a node that stores anything
	// else is not touched.
	Token string
	Owner string
	Steps []Step
	// Recheck is after how long a holder whose library makes a deleted lock
	// again would have done so; zero when that is not known.
	Recheck time.Duration
	// Warnings are consequences a person should read before saying yes.
	Warnings []string
}

// Step is what is sent to one node about one key. A lock that consists of
// several keys has several steps for each node.
type Step struct {
	Node string
	Key  string // raw bytes
	// Send is false for a node that is known to store nothing of this
	// token, or did not answer; Why then says so.
	Send bool
	Why  string
	// Command is the exact command as one would type it into redis-cli,
	// with key and token quoted as redis-cli reads them.
	Command string
	// Expiry is when the node's own copy ends, as far as is known.
	Expiry Expiry

	release dialect.Release // what Command says
	made    bool            // it was made by PlanRelease
}

// Outcome is what became of a release, on one node or in sum.
type Outcome string

// The outcomes, in the words the command line prints.
const (
	OutReleased    Outcome = "released"
	OutAlreadyGone Outcome = "already gone"
	OutChanged     Outcome = "owner changed, not touched"
	OutCameBack    Outcome = "came back (its holder re-created it)"
	OutRefused     Outcome = "refused"
	OutNotReached  Outcome = "not reached"
	OutNotSent     Outcome = "not sent" // dry run
)

// Result tells what a release did.
type Result struct {
	Plan   Plan
	DryRun bool
	// Outcome is the sum: OutReleased when at least one node deleted the
	// token and no quorum of nodes stores it afterwards.
	Outcome Outcome
	// Nodes has one entry for each of the plan's steps, in their order.
	Nodes []NodeOutcome
	// Freed says that a client can take the lock now: fewer nodes than
	// would block a quorum still store anything for the key, that of others
	// who share the lock included.
	Freed bool
	At    time.Time
	Took  time.Duration
}

// NodeOutcome is what happened on one node. Detail is the server's or the
// network's word, raw, for OutRefused and OutNotReached. Expiry is when the
// copy that is still there ends, as far as is known.
type NodeOutcome struct {
	Node    string
	Key     string // raw bytes
	Outcome Outcome
	Detail  string
	Expiry  Expiry
}
