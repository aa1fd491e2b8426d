package lockcore

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"dlock/lockcore/node"
)

// The kinds of failure, for errors.Is. What is returned carries more: see
// NotAcquiredError, NoQuorumError, LostError and NotReleasedError.
var (
	// ErrNotAcquired: somebody else holds the lock.
	ErrNotAcquired = errors.New("lock not acquired")
	// ErrNoQuorum: too few nodes answered to decide.
	ErrNoQuorum = errors.New("no quorum")
	// ErrExpiredDuringAcquire: a quorum granted the lock, but so late that
	// nothing of its validity was left. It was given back.
	ErrExpiredDuringAcquire = errors.New("lock expired while it was being acquired")
	// ErrLost: the lock is not ours any more.
	ErrLost = errors.New("lock lost")
	// ErrReleased: the lock was released by its holder. It is the cause of
	// a lock's context after Release.
	ErrReleased = errors.New("lock released")
	// ErrNotReleased: so many nodes could not be reached that the lock
	// stays taken until its TTL ends.
	ErrNotReleased = errors.New("lock not released")
	// ErrClosed: the Locker was closed.
	ErrClosed = errors.New("locker closed")
)

// NotAcquiredError tells who holds a lock that was asked for.
type NotAcquiredError struct {
	Resource string
	// Holder is the value found under the key: a Token's text, or anything
	// at all if a foreign client holds the lock. Raw bytes from Redis.
	Holder string
	// Owner is the owner part of Holder, "" when Holder is not ours.
	Owner string
	// Remaining is how long the holder's lease still ran when it was last
	// seen; negative when it has no expiry.
	Remaining time.Duration
	// Votes is how many nodes were ours when the last attempt failed, Need
	// the quorum, Of all nodes.
	Votes, Need, Of int
}

func (e *NotAcquiredError) Error() string {
	who := "somebody"
	if e.Owner != "" {
		who = e.Owner
	}
	left := fmt.Sprintf("for at most %v more if not renewed", e.Remaining.Round(time.Millisecond))
	if e.Remaining < 0 {
		left = "without an expiry"
	}
	return fmt.Sprintf("%v: %q is held by %s, %s", ErrNotAcquired, e.Resource, who, left)
}

// Unwrap makes errors.Is(err, ErrNotAcquired) true.
func (e *NotAcquiredError) Unwrap() error { return ErrNotAcquired }

// expiredError is the detail of ErrExpiredDuringAcquire.
type expiredError struct {
	resource  string
	ttl, took time.Duration
}

func (e *expiredError) Error() string {
	return fmt.Sprintf("%v: %q: taking it used up %v of a TTL of %v",
		ErrExpiredDuringAcquire, e.resource, e.took.Round(time.Millisecond), e.ttl)
}

func (e *expiredError) Unwrap() error { return ErrExpiredDuringAcquire }

// QuarantineError is why a node that answers does not vote: it has lost its
// data or may have, so that it could have granted locks it does not know of. It
// stays out for the longest TTL that any client has asked it for, or is known
// to the client that finds it so.
type QuarantineError struct {
	// Left is how long it stays out; 0 if that has only just been found.
	Left time.Duration
}

func (e *QuarantineError) Error() string {
	return fmt.Sprintf("in quarantine for %v, since it was restarted and may have forgotten locks", e.Left.Round(time.Millisecond))
}

// NodeError is one node's part in a failure.
type NodeError struct {
	Node string // its name
	Err  error  // a *QuarantineError, or what package node's Classify tells apart
}

func (e NodeError) Error() string {
	var q *QuarantineError
	if errors.As(e.Err, &q) {
		return e.Node + ": " + q.Error()
	}
	return e.Node + ": " + node.Explain(e.Err)
}

// Unwrap returns the node's own error.
func (e NodeError) Unwrap() error { return e.Err }

// NoQuorumError tells why too few nodes answered.
type NoQuorumError struct {
	Resource string
	// Need is the quorum, Reached the nodes that answered, Of all nodes.
	Need, Reached, Of int
	// Nodes has the reason of each node that did not.
	Nodes []NodeError
}

func (e *NoQuorumError) Error() string {
	return fmt.Sprintf("%v for %q: needs %d of %d nodes, reached %d (%s)",
		ErrNoQuorum, e.Resource, e.Need, e.Of, e.Reached, joinNodes(e.Nodes))
}

// Unwrap makes errors.Is work for ErrNoQuorum and for each node's error.
func (e *NoQuorumError) Unwrap() []error { return wrapNodes(ErrNoQuorum, e.Nodes) }

// LossReason says why a lock was lost.
type LossReason string

// The reasons.
const (
	// LossExpired: its validity ended by our clock before a renewal
	// succeeded.
	LossExpired LossReason = "its validity ended before it could be renewed"
	// LossGone: too many nodes no longer store it; somebody released it by
	// force, or nodes lost their data.
	LossGone LossReason = "it is gone from too many nodes"
	// LossTaken: somebody else holds it.
	LossTaken LossReason = "somebody else holds it"
	// LossSuspended: its validity ended while the machine was suspended for
	// more than a second, or its clock was set forward by that much: the wall
	// clock saw that time pass and the monotonic clock did not.
	LossSuspended LossReason = "the machine was suspended or its clock was set"
	// LossClosed: its Locker was closed.
	LossClosed LossReason = "its locker was closed"
	// LossMaxHold: it was held for as long as WithMaxHold allows.
	LossMaxHold LossReason = "it was held for the maximum time"
)

// LostError is the cause of a lost lock's context.
type LostError struct {
	Resource string
	Reason   LossReason
	// Holder is the value found in its place, for LossTaken. Raw bytes.
	Holder string
	// At is when that was noticed, by our clock.
	At time.Time
	// Nodes are the reasons why renewals failed, if they did.
	Nodes []NodeError
}

func (e *LostError) Error() string {
	msg := fmt.Sprintf("%v: %q: %s", ErrLost, e.Resource, e.Reason)
	if t, ok := ParseToken(e.Holder); ok {
		msg += " (" + t.Owner + ")"
	}
	if len(e.Nodes) > 0 {
		msg += " (" + joinNodes(e.Nodes) + ")"
	}
	return msg
}

// Unwrap makes errors.Is work for ErrLost and for each node's error.
func (e *LostError) Unwrap() []error { return wrapNodes(ErrLost, e.Nodes) }

// NotReleasedError tells that a release reached too few nodes. The lock counts
// as ended all the same, and those nodes are tried again in the background.
type NotReleasedError struct {
	Resource string
	// Within is how long the nodes that were not reached may still keep
	// the lock from others.
	Within time.Duration
	// Nodes has the reason of each of them.
	Nodes []NodeError
}

func (e *NotReleasedError) Error() string {
	return fmt.Sprintf("%v: %q stays taken for at most %v more (%s)",
		ErrNotReleased, e.Resource, e.Within.Round(time.Millisecond), joinNodes(e.Nodes))
}

// Unwrap makes errors.Is work for ErrNotReleased and for each node's error.
func (e *NotReleasedError) Unwrap() []error { return wrapNodes(ErrNotReleased, e.Nodes) }

func joinNodes(nodes []NodeError) string {
	parts := make([]string, len(nodes))
	for i, n := range nodes {
		parts[i] = n.Error()
	}
	return strings.Join(parts, "; ")
}

func wrapNodes(kind error, nodes []NodeError) []error {
	errs := []error{kind}
	for _, n := range nodes {
		errs = append(errs, n.Err)
	}
	return errs
}
