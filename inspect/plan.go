package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"dlock/inspect/dialect"
)

// ErrGone is returned by [PlanRelease] for a lock that no node has any more.
var ErrGone = errors.New("the lock is already gone; there is nothing to release")

// ErrOwnerChanged is returned by [PlanRelease] when no node stores the token.
// Seen lists who is there instead.
type ErrOwnerChanged struct{ Seen []Owner }

func (e ErrOwnerChanged) Error() string {
	return "no node stores that token any more: the lock has changed hands; look again before you release it"
}

// ErrCannotRelease is returned by [PlanRelease] for a lock that cannot be
// released safely. Reason is one sentence; bytes from Redis may be in it.
type ErrCannotRelease struct{ Reason string }

func (e ErrCannotRelease) Error() string { return "dlock cannot release this safely: " + e.Reason }

// shortToken is the length below which a value is hardly unique.
const shortToken = 8

// Why nothing is sent to a node that can be reached.
const (
	whyFree    = "has no such key"
	whyOther   = "stores another token"
	whyForeign = "stores something that is no token"
)

// PlanRelease says what has to be sent where to take this token, and no other,
// off the nodes. The token must be that of one of l.Owners. It is a pure
// function. The error is [ErrGone], an [ErrOwnerChanged] or an
// [ErrCannotRelease].
func PlanRelease(l Lock, token string) (Plan, error) {
	if l.State == Expired {
		return Plan{}, ErrGone
	}
	at := slices.IndexFunc(l.Owners, func(o Owner) bool { return o.Token == token })
	if at < 0 {
		if len(l.Owners) > 0 {
			return Plan{}, ErrOwnerChanged{Seen: slices.Clone(l.Owners)}
		}
		return Plan{}, ErrCannotRelease{Reason: whyNoOwner(l)}
	}
	owner := l.Owners[at]
	entry := dialect.Text(l.ID.Key, token)
	decoded, d := dialect.Recognise(entry)
	release, err := d.Release(entry, dialect.Holder{Token: token})
	if err != nil {
		return Plan{}, ErrCannotRelease{Reason: err.Error()}
	}
	p := Plan{ID: l.ID, Library: decoded.Library, Type: "string", Token: token, Owner: owner.Name}
	for _, c := range l.Copies {
		step := Step{Node: c.Node, Send: true, Command: release.Command(), Expiry: c.Expiry}
		same := c.HasToken && c.Token == token
		switch {
		case c.Answer == AnswerUnreachable:
			step.Send, step.Why = false, cmp.Or(c.Error, "no answer")
			if c.HasToken && !same {
				step.Expiry = Expiry{}
			}
			if !step.Expiry.IsKnown() {
				step.Expiry = owner.Expiry
			}
		case c.Answer == AnswerFree:
			step.Send, step.Why = false, whyFree
		case c.HasToken && !same:
			step.Send, step.Why = false, whyOther
		case c.Answer == AnswerOther && !same:
			step.Send, step.Why = false, whyForeign
		}
		p.Steps = append(p.Steps, step)
	}
	p.Warnings = warnings(l, owner)
	return p, nil
}

func whyNoOwner(l Lock) string {
	for _, c := range l.Copies {
		switch {
		case c.Type != "" && c.Type != "string":
			return fmt.Sprintf("the key is a %s, not a string with a token, and its library is not known, so there is nothing to compare before deleting.", c.Type)
		case c.Error == errLongValue, c.Error == errNoString:
			return c.Error + "."
		}
	}
	for _, c := range l.Copies {
		if c.Error != "" {
			return fmt.Sprintf("the value could not be read on %s (%s), so there is nothing to compare with.", c.Node, c.Error)
		}
	}
	return "no node tells what its value is, so there is nothing to compare with."
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// warnings lists the consequences a person should read before saying yes.
func warnings(l Lock, o Owner) []string {
	out := []string{"Its holder is not stopped by this: until it notices, it works on as if it held the lock, beside whoever takes it next."}
	if l.Renewals > 0 {
		out = append(out, fmt.Sprintf("It was renewed %s while we looked, so its client is alive; some libraries create the key again at the next renewal.", times(l.Renewals)))
	}
	if len(o.Token) < shortToken {
		out = append(out, "Its value is too short to be unique, so a new holder with the same value would lose the lock instead.")
	}
	var silent, others []string
	for _, c := range l.Copies {
		switch {
		case c.Answer == AnswerUnreachable:
			silent = append(silent, c.Node)
		case c.HasToken && c.Token != o.Token:
			others = append(others, c.Node)
		}
	}
	if len(silent) > 0 {
		out = append(out, fmt.Sprintf("%s cannot be reached; a copy that is there stays until it expires.", list(silent)))
	}
	if len(others) > 0 {
		out = append(out, fmt.Sprintf("%s %s another token, which is not touched.", list(others), plural(len(others), "stores", "store")))
	}
	if l.Library == dialect.Unknown {
		out = append(out, "The library is not known; clients that wait for a message instead of polling are not woken by this.")
	}
	return out
}
