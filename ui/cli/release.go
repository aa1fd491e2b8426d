package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dlock/inspect"
	"dlock/ui/text"
)

// releaseOptions are the flags of `dlock release`.
type releaseOptions struct {
	token      string
	hasToken   bool
	ifNoExpiry bool
	ifHeldFor  time.Duration
	dryRun     bool
	yes        bool
	reason     string
}

// conditional reports whether the options by themselves say which holder is
// meant, so that nobody needs to be asked.
func (o releaseOptions) conditional() bool { return o.hasToken || o.ifNoExpiry || o.ifHeldFor > 0 }

func (p *program) releaseCommand() *cobra.Command {
	var o releaseOptions
	c := &cobra.Command{
		Use:               "release KEY… --token T [options]",
		SuggestFor:        []string{"delete", "del", "rm", "clear", "free", "force-release"},
		Short:             "Delete a lock that is stuck, if it still is the one that was seen",
		Long:              releaseHelp,
		Example:           releaseExamples,
		Args:              needKeys,
		ValidArgsFunction: p.completeKeys,
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := p.format("text"); err != nil {
				return err
			}
			keys, err := keyArgs(c, args)
			if err != nil {
				return err
			}
			o.hasToken = c.Flags().Changed("token")
			return p.release(c.Context(), o, keys)
		},
	}
	f := c.Flags()
	f.StringVar(&o.token, "token", "", "release only if this `value` is stored, as ls -o json or get prints it")
	f.BoolVar(&o.ifNoExpiry, "if-no-expiry", false, "release only if the lock has no time to live")
	f.Var(newDuration(&o.ifHeldFor, 0, time.Millisecond), "if-held-for", "release only if there is evidence that it is held this long")
	f.BoolVar(&o.dryRun, "dry-run", false, "say what would be sent, send nothing")
	f.BoolVar(&o.yes, "yes", false, "do not ask (the comparison is made all the same)")
	f.StringVar(&o.reason, "reason", "", "`text` for the audit file")
	return c
}

func (p *program) release(ctx context.Context, o releaseOptions, keys []string) error {
	ask, err := p.mustAsk(o, keys)
	if err != nil {
		return err
	}
	if p.settings.readOnly && !o.dryRun {
		return exitWith(exitRefused, "refused by %s: nothing was sent", p.settings.readOnlyBy)
	}
	var audit *auditor
	if !o.dryRun {
		if audit, err = p.openAudit("release", o.reason); err != nil {
			return exitWith(exitFailure, "nothing was released, since the audit file cannot be written: %s; name another with --audit FILE, or --audit none", err)
		}
		defer audit.close()
	}
	in, _, done, err := p.open(o.dryRun)
	if err != nil {
		return err
	}
	defer done()
	s, err := in.Get(ctx, keys...)
	if err := looked(ctx, s, err); err != nil {
		return err
	}

	items := planAll(s, keys, o)
	if len(keys) > 1 {
		p.listMatched(s, items)
	}
	if ask && anySent(items) {
		if agreed, err := p.askRelease(ctx, s, items); err != nil || !agreed {
			return err
		}
	}
	return p.carryOut(ctx, in, audit, s, items, o)
}

// mustAsk decides whether a person has to agree first, and refuses a command
// line that says neither which holder is meant nor leaves anybody to ask.
func (p *program) mustAsk(o releaseOptions, keys []string) (bool, error) {
	if o.hasToken && o.token == "" {
		return false, usage("--token is empty; give the value that dlock get prints")
	}
	if o.dryRun {
		return false, nil
	}
	if o.yes {
		if !o.conditional() {
			return false, usage("--yes alone does not say which holder is meant; add --token T, --if-no-expiry or --if-held-for 10m")
		}
		return false, nil
	}
	if o.conditional() && len(keys) == 1 {
		return false, nil
	}
	_, canAnswer := p.terminal(p.stdin)
	_, canRead := p.terminal(p.stderr)
	switch {
	case canAnswer && canRead:
		return true, nil
	case !o.conditional():
		return false, usage("release needs --token T (see dlock get), --if-no-expiry or --if-held-for 10m, since there is no terminal to ask on")
	default:
		return false, usage("releasing several keys needs --yes, since there is no terminal to ask on")
	}
}

// item is one key of a release: a plan, or the reason why there is none.
type item struct {
	lock  inspect.Lock
	token string
	plan  inspect.Plan
	// outcome and detail are set when nothing will be sent.
	outcome string
	detail  string
	code    int
}

func (it item) sent() bool { return it.outcome == "" }

func anySent(items []item) bool {
	for _, it := range items {
		if it.sent() {
			return true
		}
	}
	return false
}

const notReleased = "not released"

func planAll(s inspect.Snapshot, keys []string, o releaseOptions) []item {
	byKey := make(map[string]inspect.Lock, len(s.Locks))
	for _, l := range s.Locks {
		byKey[l.ID.Key] = l
	}
	items := make([]item, 0, len(keys))
	for _, key := range keys {
		l, ok := byKey[key]
		if !ok {
			l = inspect.Lock{ID: inspect.ID{Key: key}, State: inspect.Expired}
		}
		items = append(items, planOne(l, s.At, o))
	}
	return items
}

// planOne decides over one key. It is pure: the lock as it was read, the time
// of the reading and what was asked for.
func planOne(l inspect.Lock, now time.Time, o releaseOptions) item {
	it := item{lock: l}
	switch owner, ok := wanted(l, o); {
	case ok:
		it.token = owner.Token
		if why := unmet(l, owner, now, o); why != "" {
			it.outcome, it.detail, it.code = notReleased, why, exitNotThere
			return it
		}
	case o.hasToken:
		it.token = o.token
	case l.State == inspect.Split, l.Contested():
		it.outcome, it.code = notReleased, exitNotThere
		it.detail = "it is split between " + count(len(l.Owners), "token") + "; say which with --token (see dlock get)"
		return it
	}
	plan, err := inspect.PlanRelease(l, it.token)
	if err == nil {
		it.plan = plan
		return it
	}
	it.outcome, it.detail, it.code = planRefusal(l, it.token, err)
	return it
}

// planRefusal puts into an outcome why there is no plan. It goes by the lock
// rather than by the error: what a script needs to know is what stands in
// Redis now.
func planRefusal(l inspect.Lock, token string, err error) (outcome, detail string, code int) {
	known := slices.ContainsFunc(l.Owners, func(o inspect.Owner) bool { return o.Token == token })
	switch {
	case l.State == inspect.Expired:
		return string(inspect.OutAlreadyGone), "", exitNotThere
	case len(l.Owners) > 0 && !known:
		now := l.Owners[0].Name
		if now == "" {
			now = "another token"
		}
		return string(inspect.OutChanged), "now " + now, exitNotThere
	case allDenied(l):
		return string(inspect.OutRefused), l.Copies[0].Error, exitRefused
	case !slices.ContainsFunc(l.Copies, func(c inspect.Copy) bool { return c.Answer == inspect.AnswerHeld || c.Answer == inspect.AnswerOther }):
		return string(inspect.OutNotReached), "the nodes that answer do not have it, the others may", exitIncomplete
	default:
		return string(inspect.OutRefused), err.Error(), exitRefused
	}
}

// wanted finds the owner that the options mean. A token is first taken as it
// is and then, as everything dlock prints can be pasted back, in its quoted
// form. Without a token the only owner is meant.
func wanted(l inspect.Lock, o releaseOptions) (inspect.Owner, bool) {
	if !o.hasToken {
		if l.State == inspect.Split || l.Contested() {
			return inspect.Owner{}, false
		}
		return l.Holder()
	}
	for _, owner := range l.Owners {
		if owner.Token == o.token {
			return owner, true
		}
	}
	decoded, err := text.Unquote(o.token)
	if err != nil {
		return inspect.Owner{}, false
	}
	for _, owner := range l.Owners {
		if owner.Token == decoded {
			return owner, true
		}
	}
	return inspect.Owner{}, false
}

// unmet says which condition does not hold, "" when all do.
func unmet(l inspect.Lock, owner inspect.Owner, now time.Time, o releaseOptions) string {
	if o.ifNoExpiry {
		expiry := owner.Expiry
		if first, ok := l.Holder(); ok && first.Token == owner.Token {
			expiry = l.Expiry
		}
		if !expiry.Never {
			if left, known := expiry.Remaining(now); known {
				return "it has an expiry, in " + durationText(left)
			}
			return "it is not known whether it has an expiry"
		}
	}
	if o.ifHeldFor > 0 {
		held, known := heldAtLeast(l, now)
		first, _ := l.Holder()
		switch {
		case first.Token != owner.Token:
			return "what is known of how long it is held concerns another token"
		case !known:
			return "there is no evidence of how long it is held"
		case held < o.ifHeldFor:
			return fmt.Sprintf("there is evidence of %s only, not of %s", durationText(held), durationText(o.ifHeldFor))
		}
	}
	return ""
}

// heldAtLeast is how long the first owner surely holds the lock: since it was
// taken, where that is known, and at least since anybody last touched the key,
// since taking it writes it.
func heldAtLeast(l inspect.Lock, now time.Time) (time.Duration, bool) {
	held, known := time.Duration(0), false
	if !l.HeldSince.IsZero() {
		held, known = max(0, now.Sub(l.HeldSince)), true
	}
	if l.Idle.Known && (!known || l.Idle.Value > held) {
		held, known = l.Idle.Value, true
	}
	return held, known
}

// carryOut releases one key after the other, records and prints each result.
func (p *program) carryOut(ctx context.Context, in inspector, audit *auditor, s inspect.Snapshot, items []item, o releaseOptions) error {
	code := exitOK
	var failed error
	for _, it := range items {
		if ctx.Err() != nil {
			p.write(&failed, fmt.Sprintf("%s: %s: interrupted before anything was sent\n", quoted(it.lock.ID.Key), notReleased))
			code = worse(code, exitInterrupted)
			continue
		}
		var recorded error
		if !it.sent() {
			if audit != nil {
				recorded = audit.notSent(it.lock, it.token, it.outcome, it.detail, s.At)
			}
			p.write(&failed, fmt.Sprintf("%s: %s\n", quoted(it.lock.ID.Key), outcomeLine(it.outcome, it.detail)))
			code = worse(code, it.code)
		} else {
			r := in.Execute(ctx, it.plan, o.dryRun)
			if !o.dryRun {
				recorded = audit.released(r)
			}
			p.write(&failed, resultText(p.look(p.stdout), r))
			code = worse(code, resultCode(r))
		}
		if recorded != nil {
			p.say("%s: %s", quoted(it.lock.ID.Key), recorded)
			code = worse(code, exitFailure)
		}
	}
	if failed != nil && !brokenPipe(failed) {
		return failed
	}
	return quiet(code)
}

// write prints and remembers the first failure. A reader that went away does
// not stop a release that is under way.
func (p *program) write(failed *error, s string) {
	if _, err := io.WriteString(p.stdout, s); err != nil && *failed == nil {
		*failed = err
	}
}

func outcomeLine(outcome, detail string) text.Safe {
	if detail == "" {
		return text.Clean(outcome)
	}
	return text.Clean(outcome) + ": " + text.CleanMax(detail, 500)
}

// resultText is what became of one release, in sum and per node.
func resultText(l look, r inspect.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", quoted(r.Plan.ID.Key), sumText(r))
	if r.DryRun {
		writeSteps(&b, r.Plan, l.width)
		return b.String()
	}
	width := 0
	for _, n := range r.Nodes {
		width = max(width, text.Width(text.Clean(n.Node)))
	}
	for _, n := range r.Nodes {
		fmt.Fprintf(&b, "  %s  %s\n", l.fitter().Fit(text.Clean(n.Node), width), l.nodeText(n, r.At))
	}
	return b.String()
}

func sumText(r inspect.Result) text.Safe {
	switch {
	case r.DryRun:
		return "dry run, nothing was sent"
	case r.Outcome == inspect.OutReleased && r.Freed:
		return "released, it can be taken now"
	case r.Outcome == inspect.OutReleased:
		return "released, but other copies still keep it from being taken"
	default:
		return text.Clean(string(r.Outcome))
	}
}

func (l look) nodeText(n inspect.NodeOutcome, now time.Time) text.Safe {
	s := outcomeLine(string(n.Outcome), n.Detail)
	if n.Outcome != inspect.OutNotReached && n.Outcome != inspect.OutRefused {
		return s
	}
	if n.Expiry.Never {
		return s + "; its copy has no expiry"
	}
	if left, known := n.Expiry.Remaining(now); known {
		return s + "; expires in " + l.choose("≤ ", "<= ") + text.Duration(left)
	}
	return s
}

// writeSteps prints what a plan sends where, and what to think of before;
// nodes that get the same share a line. Prose stays within the given cells,
// commands are never broken.
func writeSteps(b *strings.Builder, plan inspect.Plan, cells int) {
	type group struct {
		nodes []string
		what  string
	}
	var groups []group
	for _, step := range plan.Steps {
		what := "nothing: " + string(text.CleanMax(step.Why, 300))
		if step.Send {
			what = string(text.Escaped(step.Command))
		}
		i := slices.IndexFunc(groups, func(g group) bool { return g.what == what })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{what: what})
		}
		groups[i].nodes = append(groups[i].nodes, string(text.Clean(step.Node)))
	}
	for _, g := range groups {
		fmt.Fprintf(b, "  %s\n    %s\n", strings.Join(g.nodes, " "), g.what)
	}
	for _, w := range plan.Warnings {
		for i, part := range text.Wrap(text.CleanMax(w, 1000), cells-labelCells) {
			name := "warning"
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(b, "%s%s\n", label(name), part)
		}
	}
}

// resultCode is the exit code of one release.
func resultCode(r inspect.Result) int {
	if r.DryRun {
		return exitOK
	}
	unreached, kept := 0, 0
	for _, n := range r.Nodes {
		switch n.Outcome {
		case inspect.OutNotReached:
			unreached++
			kept++
		case inspect.OutRefused, inspect.OutCameBack:
			kept++
		}
	}
	switch r.Outcome {
	case inspect.OutReleased:
		if kept > 0 {
			return exitIncomplete
		}
		return exitOK
	case inspect.OutAlreadyGone, inspect.OutChanged, inspect.OutCameBack:
		return exitNotThere
	case inspect.OutRefused:
		return exitRefused
	case inspect.OutNotReached:
		if unreached == len(r.Nodes) {
			return exitNoNode
		}
		return exitIncomplete
	case inspect.OutNotSent:
		return exitInterrupted
	default:
		return exitFailure
	}
}
