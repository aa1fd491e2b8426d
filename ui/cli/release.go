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
	owner      string
	hasOwner   bool
	ifNoExpiry bool
	ifHeldFor  time.Duration
	dryRun     bool
	yes        bool
	reason     string
}

// conditional reports whether the options by themselves say which holder is
// meant, so that nobody needs to be asked.
func (o releaseOptions) conditional() bool {
	return o.hasToken || o.hasOwner || o.ifNoExpiry || o.ifHeldFor > 0
}

// bulk reports whether what is meant has to be listed first.
func (o releaseOptions) bulk(keys []string) bool { return len(keys) != 1 || o.hasOwner }

// owns reports whether a token is of the owner that is meant, as the column
// OWNER of a list calls it: by its name, or where it has none by the token.
func (o releaseOptions) owns(owner inspect.Owner) bool {
	if owner.Name != "" {
		return owner.Name == o.owner
	}
	if owner.Token == o.owner {
		return true
	}
	decoded, err := text.Unquote(o.owner)
	return err == nil && owner.Token == decoded
}

func (p *program) releaseCommand() *cobra.Command {
	var o releaseOptions
	c := &cobra.Command{
		Use:               "release KEY… --token T [options]",
		SuggestFor:        []string{"delete", "del", "rm", "clear", "free", "force-release"},
		Short:             "Delete a lock that is stuck, if it still is the one that was seen",
		Long:              releaseHelp,
		Example:           releaseExamples,
		ValidArgsFunction: p.completeKeys,
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := p.format("text"); err != nil {
				return err
			}
			o.hasToken, o.hasOwner = c.Flags().Changed("token"), c.Flags().Changed("owner")
			if err := needKeys(c, args); err != nil && !o.hasOwner {
				return err
			}
			keys, err := keyArgs(c, args)
			if err != nil {
				return err
			}
			return p.release(c.Context(), o, keys)
		},
	}
	f := c.Flags()
	f.StringVar(&o.token, "token", "", "release only if this `value` is stored, as ls -o json or get prints it")
	f.StringVar(&o.owner, "owner", "", "release only what belongs to this `name`, as the column OWNER of ls has it; without a key, all of it")
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
	if audit != nil {
		in = &recorded{in, audit}
	}
	var s inspect.Snapshot
	if len(keys) > 0 {
		s, err = in.Get(ctx, keys...)
	} else {
		s, err = in.Look(ctx)
	}
	if err := looked(ctx, s, err); err != nil {
		return err
	}

	items := planAll(s, keys, o)
	bulk := o.bulk(keys)
	if bulk && len(items) > 0 {
		p.listMatched(s, items)
	}
	if ask && anySent(items) {
		if agreed, err := p.askRelease(ctx, s, items); err != nil || !agreed {
			return err
		}
	}
	code, err := p.carryOut(ctx, in, audit, s, items, o, bulk)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		// What the scan did not see was not released either.
		if len(items) == 0 {
			p.say("no lock of %s was found; dlock ls shows the owners", quoted(o.owner))
			code = worse(code, exitNotThere)
		}
		if gap := silent(s); gap.code != exitOK {
			p.say("%s", gap.sentence)
			if len(items) == 0 {
				return quiet(gap.code)
			}
			code = worse(code, gap.code)
		}
	}
	return quiet(code)
}

// mustAsk decides whether a person has to agree first, and refuses a command
// line that says neither which holder is meant nor leaves anybody to ask.
func (p *program) mustAsk(o releaseOptions, keys []string) (bool, error) {
	if o.hasToken && o.token == "" {
		return false, usage("--token is empty; give the value that dlock get prints")
	}
	if o.hasOwner && o.owner == "" {
		return false, usage("--owner is empty; give the name that dlock ls prints")
	}
	if o.dryRun {
		return false, nil
	}
	if o.yes {
		if !o.conditional() {
			return false, usage("--yes alone does not say which holder is meant; add --token T, --owner NAME, --if-no-expiry or --if-held-for 10m")
		}
		return false, nil
	}
	if o.conditional() && !o.bulk(keys) {
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
		return false, usage("releasing several keys, or all of an owner, needs --yes, since there is no terminal to ask on; see what it would do with --dry-run")
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
		if owned := planOwned(l, s.At, o); len(owned) > 0 {
			items = append(items, owned...)
			continue
		}
		items = append(items, planOne(l, s.At, o))
	}
	if len(keys) == 0 {
		for _, l := range s.Locks {
			items = append(items, planOwned(l, s.At, o)...)
		}
	}
	return items
}

// planOwned has an item for each token of the owner that is meant: of a lock
// that may be shared there can be several. It is empty if there is none, or if
// no owner was named.
func planOwned(l inspect.Lock, now time.Time, o releaseOptions) []item {
	if !o.hasOwner {
		return nil
	}
	var items []item
	for _, owner := range l.Owners {
		if o.owns(owner) && (!o.hasToken || o.means(owner)) && l.State != inspect.Expired {
			items = append(items, planOwner(l, owner, now, o))
		}
	}
	return items
}

// planOne decides over one key. It is pure: the lock as it was read, the time
// of the reading and what was asked for.
func planOne(l inspect.Lock, now time.Time, o releaseOptions) item {
	it := item{lock: l}
	switch owner, ok := wanted(l, o); {
	case o.hasOwner && len(l.Owners) > 0 && l.State != inspect.Expired:
		it.outcome, it.code, it.detail = notReleased, exitNotThere, "it is not of this owner, but of "+nameOrAnother(l.Owners[0])
		return it
	case ok:
		return planOwner(l, owner, now, o)
	case o.hasToken:
		it.token = o.token
	case l.State == inspect.Split, l.Contested():
		it.outcome, it.code = notReleased, exitNotThere
		it.detail = "it is split between " + count(len(l.Owners), "token") + "; say which with --token (see dlock get)"
		return it
	}
	return it.planned()
}

// planOwner decides over one token.
func planOwner(l inspect.Lock, owner inspect.Owner, now time.Time, o releaseOptions) item {
	it := item{lock: l, token: owner.Token}
	if why := unmet(l, owner, now, o); why != "" {
		it.outcome, it.detail, it.code = notReleased, why, exitNotThere
		return it
	}
	return it.planned()
}

// planned has the plan to take the item's token off the nodes, or why there is
// none.
func (it item) planned() item {
	plan, err := inspect.PlanRelease(it.lock, it.token)
	if err == nil {
		it.plan = plan
		return it
	}
	it.outcome, it.detail, it.code = planRefusal(it.lock, it.token, err)
	return it
}

// nameOrAnother is what the record of a release calls an owner: tokens do not
// go there.
func nameOrAnother(o inspect.Owner) string {
	if o.Name != "" {
		return o.Name
	}
	return "another token"
}

// nameOrToken is what a person calls an owner.
func nameOrToken(o inspect.Owner) string {
	if o.Name != "" {
		return o.Name
	}
	return string(quoted(o.Token))
}

// planRefusal puts into an outcome why there is no plan. It goes by the lock
// rather than by the error: what a script needs to know is what stands in
// Redis now.
func planRefusal(l inspect.Lock, token string, err error) (outcome, detail string, code int) {
	known := slices.ContainsFunc(l.Owners, func(o inspect.Owner) bool { return o.Token == token })
	switch {
	case l.Companion != nil:
		return string(inspect.OutRefused), err.Error(), exitRefused
	case l.State == inspect.Expired:
		if names := untold(l); len(names) > 0 {
			return string(inspect.OutAlreadyGone), "from the nodes that tell; a copy may be left on " + strings.Join(names, " "), exitIncomplete
		}
		return string(inspect.OutAlreadyGone), "", exitNotThere
	case len(l.Owners) > 0 && !known:
		return string(inspect.OutChanged), "now " + nameOrAnother(l.Owners[0]), exitNotThere
	case allDenied(l):
		return string(inspect.OutRefused), l.Copies[0].Error, exitRefused
	case !slices.ContainsFunc(l.Copies, func(c inspect.Copy) bool { return c.Answer == inspect.AnswerHeld || c.Answer == inspect.AnswerOther }):
		return string(inspect.OutNotReached), "the nodes that answer do not have it, the others may", exitIncomplete
	default:
		return string(inspect.OutRefused), err.Error(), exitRefused
	}
}

// untold lists the nodes that do not tell whether they have the lock.
func untold(l inspect.Lock) []string {
	var names []string
	for _, c := range l.Copies {
		switch c.Answer {
		case inspect.AnswerUnreachable, inspect.AnswerDenied, inspect.AnswerPending:
			names = append(names, c.Node)
		}
	}
	return names
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
	for _, owner := range l.Owners {
		if o.means(owner) {
			return owner, true
		}
	}
	return inspect.Owner{}, false
}

// means reports whether --token is this one, as it is or in its quoted form.
func (o releaseOptions) means(owner inspect.Owner) bool {
	if owner.Token == o.token {
		return true
	}
	decoded, err := text.Unquote(o.token)
	return err == nil && owner.Token == decoded
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

// atOnce is how many releases are under way at the same time. Each looks back
// for a while, so that a thousand one after the other would take very long.
const atOnce = 16

// ended is what became of one item, to be printed.
type ended struct {
	text    string
	outcome string
	code    int
	// recorded is why there is no line in the audit file.
	recorded error
}

// carryOut releases the items, a few at a time, and prints what became of each
// in their order. It returns the exit code.
func (p *program) carryOut(ctx context.Context, in inspector, audit *auditor, s inspect.Snapshot, items []item, o releaseOptions, bulk bool) (int, error) {
	results := make([]chan ended, len(items))
	for i := range results {
		results[i] = make(chan ended, 1)
	}
	l := p.look(p.stdout)
	go func() {
		free := make(chan struct{}, atOnce)
		for i, it := range items {
			free <- struct{}{}
			go func() {
				defer func() { <-free }()
				results[i] <- carryOutOne(ctx, in, audit, l, s.At, it, o.dryRun, bulk)
			}()
		}
	}()
	code := exitOK
	var failed error
	counts := newOutcomeCounts()
	for i, it := range items {
		e := <-results[i]
		p.write(&failed, e.text)
		code = worse(code, e.code)
		counts.add(e.outcome)
		if e.recorded != nil {
			p.say("%s: %s", quoted(it.lock.ID.Key), e.recorded)
			code = worse(code, exitFailure)
		}
	}
	if bulk && len(items) > 1 {
		p.write(&failed, counts.String()+"\n")
	}
	if failed != nil && !brokenPipe(failed) {
		return code, failed
	}
	return code, nil
}

// outcomeCounts counts outcomes in the order in which they first came.
type outcomeCounts struct {
	order []string
	of    map[string]int
}

func newOutcomeCounts() *outcomeCounts { return &outcomeCounts{of: make(map[string]int)} }

func (t *outcomeCounts) add(outcome string) {
	if t.of[outcome]++; t.of[outcome] == 1 {
		t.order = append(t.order, outcome)
	}
}

func (t *outcomeCounts) String() string {
	var parts []string
	for _, outcome := range t.order {
		parts = append(parts, fmt.Sprintf("%d %s", t.of[outcome], outcome))
	}
	return "in all: " + strings.Join(parts, "; ")
}

// carryOutOne releases one key and records it.
func carryOutOne(ctx context.Context, in inspector, audit *auditor, l look, at time.Time, it item, dryRun, bulk bool) ended {
	key := quoted(it.lock.ID.Key)
	if ctx.Err() != nil {
		return ended{text: fmt.Sprintf("%s: %s: interrupted before anything was sent\n", key, notReleased), outcome: notReleased, code: exitInterrupted}
	}
	if !it.sent() {
		e := ended{text: fmt.Sprintf("%s: %s\n", key, outcomeLine(it.outcome, it.detail)), outcome: it.outcome, code: it.code}
		if !dryRun {
			e.recorded = audit.notSent(it.lock, it.token, it.outcome, it.detail, at)
		}
		return e
	}
	r := in.Execute(ctx, it.plan, dryRun)
	e := ended{outcome: string(r.Outcome), code: resultCode(r)}
	if dryRun {
		e.outcome = "would be released"
	} else {
		e.recorded = audit.released(r)
	}
	e.text = resultText(l, r, after(ctx, in, r), bulk)
	return e
}

// after looks who has the lock now, where somebody else seems to.
func after(ctx context.Context, in inspector, r inspect.Result) inspect.Lock {
	others := r.Outcome == inspect.OutReleased && !r.Freed || r.Outcome == inspect.OutChanged
	if r.DryRun || !others || ctx.Err() != nil {
		return inspect.Lock{}
	}
	s, err := in.Get(ctx, r.Plan.ID.Key)
	if err != nil || len(s.Locks) != 1 {
		return inspect.Lock{}
	}
	return s.Locks[0]
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

// resultText is what became of one release, in sum and per node; in bulk only
// the nodes that tell more than the sum.
func resultText(l look, r inspect.Result, now inspect.Lock, bulk bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", quoted(r.Plan.ID.Key), sumText(r, now))
	if r.DryRun {
		writeSteps(&b, r.Plan, l.width)
		return b.String()
	}
	width := 0
	for _, n := range r.Nodes {
		width = max(width, text.Width(text.Clean(n.Node)))
	}
	for _, n := range r.Nodes {
		if bulk && (n.Outcome == r.Outcome && n.Detail == "" || n.Outcome == inspect.OutAlreadyGone) {
			continue
		}
		fmt.Fprintf(&b, "  %s  %s\n", l.fitter().Fit(text.Clean(n.Node), width), l.nodeText(n, r.At))
	}
	return b.String()
}

// sumText is what became of a release; now is the lock as somebody else has it
// since, empty if nobody is known to.
func sumText(r inspect.Result, now inspect.Lock) text.Safe {
	switch {
	case r.DryRun:
		return "dry run, nothing was sent"
	case r.Outcome == inspect.OutReleased && r.Freed:
		return "released, it can be taken now"
	case r.Outcome == inspect.OutReleased:
		if who := othersOf(r, now); who != "" && now.State == inspect.Held {
			return "released, and now held by " + who
		} else if who != "" {
			return "released, but copies of " + who + " keep it from being taken"
		}
		return "released, but other copies still keep it from being taken"
	case r.Outcome == inspect.OutAlreadyGone && unreached(r) > 0:
		return text.Clean(string(r.Outcome)) + " from the nodes that answer"
	case r.Outcome == inspect.OutChanged:
		if who := othersOf(r, now); who != "" {
			return text.Clean(string(r.Outcome)) + ": now " + who
		}
	}
	return text.Clean(string(r.Outcome))
}

// othersOf names whose tokens are there beside the one that was released.
func othersOf(r inspect.Result, now inspect.Lock) text.Safe {
	var names []text.Safe
	for _, o := range now.Owners {
		if o.Token == r.Plan.Token || len(o.Votes) == 0 || now.State == inspect.Held && !o.Holds && len(now.Holders()) > 0 {
			continue
		}
		if len(names) == namedMost {
			names = append(names, "others")
			break
		}
		names = append(names, text.CleanMax(nameOrToken(o), 200))
	}
	return text.Join(names, ", ")
}

func unreached(r inspect.Result) int {
	n := 0
	for _, one := range r.Nodes {
		if one.Outcome == inspect.OutNotReached {
			n++
		}
	}
	return n
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
	silent, kept := unreached(r), 0
	for _, n := range r.Nodes {
		switch n.Outcome {
		case inspect.OutNotReached, inspect.OutRefused, inspect.OutCameBack:
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
		if r.Outcome == inspect.OutAlreadyGone && silent > 0 {
			return exitIncomplete // a copy may be left there
		}
		return exitNotThere
	case inspect.OutRefused:
		return exitRefused
	case inspect.OutNotReached:
		if silent == len(r.Nodes) {
			return exitNoNode
		}
		return exitIncomplete
	case inspect.OutNotSent:
		return exitInterrupted
	default:
		return exitFailure
	}
}
