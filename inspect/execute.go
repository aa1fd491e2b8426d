package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dlock/inspect/dialect"
	"dlock/lockcore/node"
)

const (
	// recheckFor is how long a release is watched for its holder creating
	// the lock again, recheckMost how long if the holder was seen to renew.
	recheckFor  = 500 * time.Millisecond
	recheckMost = 2 * time.Second
)

// Execute carries out a plan: on each node that has a step to send, in
// parallel and once, a script that deletes the key if it still holds exactly
// the plan's token. Then it looks again for a short while, to tell whether the
// lock stays free. It never retries. A dry run sends nothing.
//
// The end of ctx stops it before the first command, and afterwards only
// shortens the looking: what was begun is carried out on all nodes, within
// their timeouts.
func (i *Inspector) Execute(ctx context.Context, p Plan, dryRun bool) Result {
	start := i.now()
	r := Result{Plan: p, DryRun: dryRun, At: start, Outcome: OutNotSent}
	err := check(p)
	if dryRun || err != nil || ctx.Err() != nil {
		for _, s := range p.Steps {
			o := NodeOutcome{Node: s.Node, Key: s.Key, Outcome: OutNotSent, Detail: s.Why, Expiry: s.Expiry}
			switch {
			case err != nil:
				r.Outcome, o.Outcome, o.Detail = OutRefused, OutRefused, err.Error()
			case !dryRun:
				o.Detail = "stopped before anything was sent"
			}
			r.Nodes = append(r.Nodes, o)
		}
		r.Took = i.now().Sub(start)
		return r
	}
	detached := context.WithoutCancel(ctx)
	r.Nodes = i.send(detached, p)
	free := i.recheck(ctx, detached, p, r.Nodes)
	r.Outcome = sum(byNode(concerned(p.Steps, r.Nodes)), i.quorum)
	r.Freed = free >= i.quorum
	r.Took = i.now().Sub(start)
	i.note(Event{
		At: i.now(), Kind: Operator, Key: p.ID.Key, Token: p.Token, Owner: p.Owner,
		Text: fmt.Sprintf("force-release: %s; deleted on %d of %d nodes", r.Outcome, countOf(r.Nodes, OutReleased), len(r.Nodes)),
	})
	return r
}

// check refuses a plan that was not made by PlanRelease.
func check(p Plan) error {
	for _, s := range p.Steps {
		if s.Send && !s.made {
			return errors.New("the plan does not say what is to be compared; make one with PlanRelease")
		}
	}
	return nil
}

// send carries out the steps in parallel, once each.
func (i *Inspector) send(ctx context.Context, p Plan) []NodeOutcome {
	out := make([]NodeOutcome, len(p.Steps))
	var wg sync.WaitGroup
	for n, s := range p.Steps {
		o := &out[n]
		*o = NodeOutcome{Node: s.Node, Key: s.Key, Outcome: unsent(s), Detail: s.Why, Expiry: s.Expiry}
		if !s.Send {
			continue
		}
		on, ok := i.deployment.probeOf(s.Node)
		if !ok {
			o.Outcome, o.Detail = OutNotReached, "there is no node of that name"
			continue
		}
		wg.Go(func() {
			client := on.node.Client()
			if all, ok := i.deployment.cluster(); ok {
				// It goes where the slot is by then.
				client = all.Client()
			}
			effect, err := s.release.Run(ctx, client)
			*o = outcomeOf(s, effect, err)
		})
	}
	wg.Wait()
	// A node that was not reached and whose copy is not known has none that
	// lasts longer than the token's others, if nobody renews.
	var longest Expiry
	for _, s := range p.Steps {
		longest = later(longest, s.Expiry)
	}
	for n := range out {
		if out[n].Outcome == OutNotReached && !out[n].Expiry.IsKnown() {
			out[n].Expiry = longest
		}
	}
	return out
}

// unsent is the outcome on a node that nothing is sent to.
func unsent(s Step) Outcome {
	switch s.Why {
	case whyFree:
		return OutAlreadyGone
	case whyOther, whyForeign:
		return OutChanged
	default:
		return OutNotReached
	}
}

func outcomeOf(s Step, effect dialect.Effect, err error) NodeOutcome {
	o := NodeOutcome{Node: s.Node, Key: s.Key}
	switch {
	case err != nil && node.Classify(err) == node.Unreachable, err != nil && node.Classify(err) == node.TimedOut:
		o.Outcome, o.Detail, o.Expiry = OutNotReached, node.Explain(err), s.Expiry
	case err != nil:
		o.Outcome, o.Detail, o.Expiry = OutRefused, node.Explain(err), s.Expiry
	case effect == dialect.Deleted:
		o.Outcome = OutReleased
	case effect == dialect.Gone:
		o.Outcome = OutAlreadyGone
	case effect == dialect.OtherType:
		o.Outcome, o.Detail = OutChanged, "the key is of another type now"
	default:
		o.Outcome = OutChanged
	}
	return o
}

// recheck looks at the key on all nodes, several times if something was
// deleted, corrects the outcomes by what it sees, and returns how many nodes
// have nothing under the key at last.
func (i *Inspector) recheck(ctx, detached context.Context, p Plan, out []NodeOutcome) (free int) {
	looks := []time.Duration{0}
	if countOf(out, OutReleased) > 0 {
		span := min(max(recheckFor, p.Recheck, i.renewalPeriod(p.ID.Key, p.Token)), recheckMost)
		looks = []time.Duration{span / 5, span / 2, span}
	}
	start := i.now()
	silent := make([]bool, len(out))
	for _, at := range looks {
		stopped := sleep(ctx, max(0, at-i.now().Sub(start))) != nil
		free = i.lookBack(detached, p, out, silent)
		if stopped || countOf(out, OutCameBack) >= i.quorum {
			return free
		}
	}
	return free
}

// lookBack reads each step's key once, except on nodes that did not answer an
// earlier look: a node that hangs would make each of them wait.
func (i *Inspector) lookBack(ctx context.Context, p Plan, out []NodeOutcome, silent []bool) (free int) {
	seen := make([]Maybe[sample], len(out))
	var wg sync.WaitGroup
	for n := range out {
		on, ok := i.deployment.probeOf(out[n].Node)
		if !ok || silent[n] {
			continue
		}
		key := cmp.Or(p.Steps[n].Key, p.ID.Key)
		wg.Go(func() {
			var c cost
			nothing := knowledge{before: func(string) (sample, bool) { return sample{}, false }}
			if got, err := on.sample(ctx, &c, []string{key}, nothing); err == nil {
				seen[n] = Known(got[key])
			}
		})
	}
	wg.Wait()
	keys, empty := make(map[string]int), make(map[string]int)
	for n, s := range seen {
		keys[out[n].Node]++
		if !s.Known {
			silent[n] = true
			continue
		}
		if s.Value.free() {
			empty[out[n].Node]++
		}
		out[n] = corrected(out[n], s.Value, p.Steps[n], p.Token)
	}
	for name, of := range keys {
		// Of several keys most must be free.
		if empty[name] >= of/2+1 {
			free++
		}
	}
	return free
}

// corrected is a node's outcome after a later look at it.
func corrected(o NodeOutcome, s sample, step Step, value string) NodeOutcome {
	_, same := s.got.holder(value)
	same = same && s.presence == present
	switch {
	case same && (o.Outcome == OutReleased || o.Outcome == OutAlreadyGone || o.Outcome == OutChanged):
		o.Outcome, o.Expiry, o.Detail = OutCameBack, s.expiry(), ""
	case same:
		o.Expiry = s.expiry()
	case s.presence == forbidden || s.presence == present && s.content() == unread:
	case o.Outcome == OutNotReached && step.Send:
		// Only the answer to the release was lost or late.
		o.Outcome, o.Expiry, o.Detail = OutReleased, Expiry{}, "its answer came too late, and the token is gone"
	case o.Outcome == OutNotReached:
		o.Outcome, o.Expiry, o.Detail = OutAlreadyGone, Expiry{}, "was not reachable before, and has no such token now"
	case o.Outcome == OutCameBack || o.Outcome == OutRefused:
		o.Expiry = Expiry{}
	}
	return o
}

func countOf(nodes []NodeOutcome, o Outcome) int {
	n := 0
	for _, x := range nodes {
		if x.Outcome == o {
			n++
		}
	}
	return n
}

// concerned leaves out the nodes that were known not to store the token before
// anything was sent, and still do not: they say nothing about what became of
// the release. If no other is left, it is about them.
func concerned(steps []Step, nodes []NodeOutcome) []NodeOutcome {
	var out []NodeOutcome
	for n, o := range nodes {
		spared := !steps[n].Send && (o.Outcome == OutChanged || o.Outcome == OutAlreadyGone) && unsent(steps[n]) == o.Outcome
		if !spared {
			out = append(out, o)
		}
	}
	if len(out) == 0 {
		return nodes
	}
	return out
}

// byNode makes one outcome for each node of those of several keys.
func byNode(outcomes []NodeOutcome) []NodeOutcome {
	var out []NodeOutcome
	for len(outcomes) > 0 {
		n := 1
		for n < len(outcomes) && outcomes[n].Node == outcomes[0].Node {
			n++
		}
		out = append(out, NodeOutcome{Node: outcomes[0].Node, Outcome: sum(outcomes[:n], n/2+1)})
		outcomes = outcomes[n:]
	}
	return out
}

// sum is what became of a release on these nodes together. What was refused, was
// not reached or came back may still be there; while that is a quorum the lock
// is not released, whatever was deleted elsewhere.
func sum(nodes []NodeOutcome, quorum int) Outcome {
	back, refused, unreached := countOf(nodes, OutCameBack), countOf(nodes, OutRefused), countOf(nodes, OutNotReached)
	left := back + refused + unreached
	switch {
	case left >= quorum && back > 0:
		return OutCameBack
	case left >= quorum && refused > 0:
		return OutRefused
	case left >= quorum:
		return OutNotReached
	case countOf(nodes, OutReleased) > 0:
		return OutReleased
	case back > 0:
		return OutCameBack
	case countOf(nodes, OutChanged) > 0:
		return OutChanged
	case countOf(nodes, OutAlreadyGone) > 0:
		return OutAlreadyGone
	case refused > 0:
		return OutRefused
	default:
		return OutNotReached
	}
}
