package cli

import (
	"errors"
	"fmt"
	"strings"

	"dlock/lockcore"
	"dlock/lockcore/node"
	"dlock/ui/text"
)

// failure is why a lock was not taken, kept or given back: an exit code, one
// sentence, and for -o json one word and whoever is in the way.
type failure struct {
	code     int
	outcome  string // "" for wrong usage, which is no outcome
	sentence string
	holder   *stepHolderJSON
}

// The outcomes of -o json.
const (
	outcomeAcquired    = "acquired"
	outcomeExtended    = "extended"
	outcomeReleased    = "released"
	outcomeNotAcquired = "not-acquired"
	outcomeLost        = "lost"
	outcomeMaxHold     = "max-hold"
	outcomeNotReleased = "not-released"
	outcomeNoQuorum    = "no-quorum"
	outcomeNoNode      = "no-node"
	outcomeRefused     = "refused"
	outcomeFailed      = "failed"
)

// why puts an error of the lock core into a failure. It is pure.
func (l *locking) why(resource string, err error) failure {
	var (
		taken *lockcore.NotAcquiredError
		few   *lockcore.NoQuorumError
		lost  *lockcore.LostError
		kept  *lockcore.NotReleasedError
	)
	switch {
	case errors.As(err, &lost):
		return failure{code: exitNotThere, outcome: outcomeLost, holder: lossHolder(lost),
			sentence: fmt.Sprintf("the lock on %s is lost: %s", quoted(resource), l.loss(lost))}
	case errors.As(err, &kept):
		f := l.silent(kept.Nodes, exitNoQuorum, outcomeNotReleased)
		f.sentence = fmt.Sprintf("the lock on %s could not be released: %s", quoted(resource), l.reasons(kept.Nodes))
		return f
	case errors.As(err, &few):
		f := l.silent(few.Nodes, exitNoQuorum, outcomeNoQuorum)
		switch f.code {
		case exitNoNode:
			f.sentence = "no node answers: " + l.reasons(few.Nodes)
		case exitRefused:
			f.sentence = "no node lets us lock: " + l.reasons(few.Nodes)
		default:
			f.sentence = fmt.Sprintf("no quorum for %s: it needs %d of %d nodes, and %d answered: %s",
				quoted(resource), few.Need, few.Of, few.Reached, l.reasons(few.Nodes))
		}
		return f
	case errors.As(err, &taken):
		return notAcquired(resource, taken)
	case errors.Is(err, lockcore.ErrExpiredDuringAcquire):
		return failure{code: exitNoQuorum, outcome: outcomeNoQuorum,
			sentence: fmt.Sprintf("the nodes granted %s so late that nothing of its time was left; give a longer --ttl", quoted(resource))}
	}
	if wrong, ok := strings.CutPrefix(err.Error(), libraryPrefix); ok {
		return failure{code: exitUsage, sentence: wrong}
	}
	return failure{code: exitFailure, outcome: outcomeFailed, sentence: l.redactor.Redact(err.Error())}
}

// notAcquired says who holds the lock, and for how long.
func notAcquired(resource string, e *lockcore.NotAcquiredError) failure {
	f := failure{code: exitNotAcquired, outcome: outcomeNotAcquired, holder: &stepHolderJSON{Owner: orNull(textForJSON(e.Owner))}}
	who := text.Clean(e.Owner)
	switch {
	case e.Holder == "" && e.Votes > 0:
		who = "several clients at once"
	case e.Owner == "":
		who = "a client of another kind"
	}
	left := text.Safe("without an expiry")
	if e.Remaining >= 0 {
		left = "for at most " + upTo(e.Remaining) + " more unless renewed"
		ms := millis(e.Remaining)
		f.holder.TTLMS = &ms
	}
	f.sentence = fmt.Sprintf("not acquired: %s is held by %s, %s", quoted(resource), who, left)
	return f
}

func lossHolder(e *lockcore.LostError) *stepHolderJSON {
	t, ok := lockcore.ParseToken(e.Holder)
	if !ok {
		return nil
	}
	return &stepHolderJSON{Owner: orNull(textForJSON(t.Owner))}
}

// loss says why a lock was lost, after "is lost: ".
func (l *locking) loss(e *lockcore.LostError) string {
	why := string(e.Reason)
	if t, ok := lockcore.ParseToken(e.Holder); ok {
		why = string(text.Clean(t.Owner)) + " holds it"
	}
	if len(e.Nodes) > 0 {
		why += ": " + l.reasons(e.Nodes)
	}
	return why
}

// silent is the exit code for nodes that gave no answer that counts: 6 if none
// was reached, 7 if each refused us, else the given one.
func (l *locking) silent(nodes []lockcore.NodeError, code int, outcome string) failure {
	unreached, refused := 0, 0
	for _, n := range nodes {
		switch node.Classify(n.Err) {
		case node.Unreachable:
			var quarantine *lockcore.QuarantineError
			if !errors.As(n.Err, &quarantine) {
				unreached++
			}
		case node.TimedOut:
			unreached++
		case node.Unauthorized, node.Forbidden, node.Replica:
			refused++
		}
	}
	switch {
	case unreached == len(l.nodes):
		return failure{code: exitNoNode, outcome: outcomeNoNode}
	case refused > 0 && refused+unreached == len(l.nodes):
		return failure{code: exitRefused, outcome: outcomeRefused}
	}
	return failure{code: code, outcome: outcome}
}

// reasons lists nodes with their addresses and why they do not count.
func (l *locking) reasons(nodes []lockcore.NodeError) string {
	parts := make([]string, len(nodes))
	for i, n := range nodes {
		reason := n.Error()
		for _, known := range l.nodes {
			if rest, ok := strings.CutPrefix(reason, n.Node+": "); ok && known.Name() == n.Node {
				reason = n.Node + " (" + known.Addr() + ") " + rest
				break
			}
		}
		// First, since a password that was escaped is not found any more.
		parts[i] = string(text.CleanMax(l.redactor.Redact(reason), 300))
	}
	return strings.Join(parts, "; ")
}
