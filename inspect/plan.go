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
	if c := l.Companion; c != nil {
		return Plan{}, ErrCannotRelease{Reason: fmt.Sprintf("this is the %s of the lock %s and no lock itself.", c.Role, dialect.Quote(c.Of))}
	}
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
	model, fence := modelOf(l, token), fenceOf(l, token)
	p := Plan{ID: l.ID, Library: model.decoded.Library, Type: model.entry.Type, Token: token, Owner: owner.Name}
	for _, c := range l.Copies {
		if len(c.Parts) == 0 {
			step, err := stepOf(c, l.ID.Key, c.read, model, owner, fence)
			if err != nil {
				return Plan{}, ErrCannotRelease{Reason: err.Error()}
			}
			p.Steps = append(p.Steps, step)
			continue
		}
		for _, part := range c.Parts {
			step, err := stepOf(partCopy(c, part, token), part.Key, part.read, model, owner, fence)
			if err != nil {
				return Plan{}, ErrCannotRelease{Reason: err.Error()}
			}
			p.Steps = append(p.Steps, step)
		}
	}
	if l.Habits.Recreates || l.Renewals > 0 {
		p.Recheck = max(l.RenewalPeriod, l.Habits.Renews)
	}
	p.Warnings = warnings(l, owner)
	return p, nil
}

// modelOf is a reading that has the token: what a node that does not tell is
// taken to have if it has it too.
func modelOf(l Lock, token string) *reading {
	for _, c := range l.Copies {
		if _, ok := c.read.holder(token); ok {
			return c.read
		}
		for _, part := range c.Parts {
			if _, ok := part.read.holder(token); ok {
				return part.read
			}
		}
	}
	return decode(dialect.Text(l.ID.Key, token), nil)
}

// fenceOf is the largest fencing token that any node tells for the owner's
// grant, 0 when none does.
func fenceOf(l Lock, token string) int64 {
	fence := int64(0)
	for _, c := range l.Copies {
		if h, ok := c.read.holder(token); ok {
			fence = max(fence, h.Fence)
		}
	}
	return fence
}

// partCopy is a node's copy of one of a lock's keys.
func partCopy(c Copy, part Part, token string) Copy {
	out := Copy{Node: c.Node, Answer: c.Answer, Error: c.Error, Expiry: part.Expiry}
	if c.Answer == AnswerHeld || c.Answer == AnswerOther || c.Answer == AnswerFree {
		_, has := part.read.holder(token)
		switch {
		case part.Entry == nil && !part.Expiry.IsKnown():
			out.Answer = AnswerFree
		case has:
			out.Answer, out.Token, out.HasToken = AnswerHeld, token, true
		case part.Entry != nil:
			out.Answer, out.Token, out.HasToken = AnswerOther, part.Entry.Value, true
		default:
			out.Answer = AnswerDenied
		}
	}
	return out
}

// stepOf says what to send to a node about a key: the release of exactly what
// it has of the token, or of what another node has where it does not tell.
func stepOf(c Copy, key string, read, model *reading, owner Owner, fence int64) (Step, error) {
	if _, ok := read.holder(owner.Token); !ok {
		read = model
	}
	entry := read.entry
	entry.Key = key
	h, ok := read.holder(owner.Token)
	if !ok {
		h = dialect.Holder{Token: owner.Token, Count: 1}
	}
	h.Fence = max(h.Fence, fence)
	release, err := read.dialect.Release(entry, h)
	if err != nil {
		return Step{}, err
	}
	step := Step{Node: c.Node, Key: key, Send: true, Command: release.Command(), Expiry: c.Expiry, release: release, made: true}
	same := c.Stores(owner.Token)
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
	return step, nil
}

func whyNoOwner(l Lock) string {
	for _, c := range l.Copies {
		switch {
		case c.read.usable() && c.read.decoded.Separate && len(l.Copies) > 1:
			return fmt.Sprintf("%s writes another token on each node, so dlock cannot tell which of them belong together.", l.Library)
		case c.read.usable() && !c.read.decoded.Anonymous:
		case c.read.usable() && c.read.decoded.Library != dialect.Unknown:
			// The library knows best why what records no holders is not
			// to be touched.
			if _, err := c.read.dialect.Release(c.read.entry, dialect.Holder{}); err != nil {
				return err.Error()
			}
			return "its library records no holders, so there is nothing to compare before deleting."
		case c.Error == errLongValue, c.Error == errNoString, c.Error == errTooLarge:
			return c.Error + "."
		case c.Type != "" && c.Type != "string":
			return fmt.Sprintf("the key is a %s, not a string with a token, and its library is not known, so there is nothing to compare before deleting.", c.Type)
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
	if l.Renewals > 0 && !l.Habits.Recreates {
		out = append(out, fmt.Sprintf("It was renewed %s while we looked, so its client is alive; some libraries create the key again at the next renewal.", times(l.Renewals)))
	}
	if h := l.Habits; h.Recreates {
		within := ""
		if p := max(l.RenewalPeriod, h.Renews); p > 0 {
			within = ", within " + human(p)
		}
		out = append(out, fmt.Sprintf("%s makes a deleted lock again at its next renewal%s: look again after that, and stop the holder if it did.", l.Library, within))
	}
	if l.Habits.Careless {
		out = append(out, fmt.Sprintf("The release of %s does not check whose lock it deletes: when the old holder ends, it can free the next one's lock.", l.Library))
	}
	if l.Habits.Enqueued {
		out = append(out, fmt.Sprintf("%s takes the lock when work is queued: if that work still runs later, it runs without the lock.", l.Library))
	}
	if c := l.Habits.Consequence; c != "" {
		out = append(out, "Beside that, "+c+".")
	}
	if len(l.Holders()) > 1 {
		out = append(out, fmt.Sprintf("Only this one of %d holders is released; the others keep their parts.", len(l.Holders())))
	}
	if len(o.Token) < shortToken {
		out = append(out, "Its value is too short to be unique, so a new holder with the same value would lose the lock instead.")
	}
	var silent, others []string
	for _, c := range l.Copies {
		switch {
		case c.Answer == AnswerUnreachable:
			silent = append(silent, c.Node)
		case c.HasToken && !c.Stores(o.Token):
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
