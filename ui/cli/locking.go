package cli

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dlock/lockcore"
	"dlock/lockcore/node"
	"dlock/ui/text"
)

// defaultLease is the TTL of the locks that the command line takes. It is
// longer than the library's: what cron and scripts do is slower than a request,
// and a renewal more or less costs nobody anything.
const defaultLease = 30 * time.Second

// shortestLease leaves a node time to answer.
const shortestLease = 20 * time.Millisecond

// lease holds the flags of the commands that take or keep a lock.
type lease struct {
	ttl   time.Duration
	wait  time.Duration
	owner string
}

func (l *lease) registerTTL(f *pflag.FlagSet) {
	f.Var(newDuration(&l.ttl, defaultLease, shortestLease), "ttl", "time to live of the lock")
}

func (l *lease) registerWait(f *pflag.FlagSet) {
	f.Var(newDuration(&l.wait, 0, 0), "wait", "wait this long for the lock (default: one try)")
	f.StringVar(&l.owner, "owner", "", "`label` that names the holder (default host:pid)")
}

// locking is a Locker on the configured nodes.
type locking struct {
	*lockcore.Locker
	nodes    []*node.Node
	redactor redactor
}

// openLocker connects the lock core to the configured nodes. Nothing is sent
// yet. Close the result.
func (p *program) openLocker(l lease) (*locking, error) {
	if p.settings.readOnly {
		return nil, exitWith(exitRefused, "refused by %s: nothing was sent", p.settings.readOnlyBy)
	}
	nodes, err := p.settings.openNodes(false)
	if err != nil {
		return nil, err
	}
	ttl := cmp.Or(l.ttl, defaultLease)
	opts := []lockcore.Option{
		lockcore.WithTTL(ttl),
		lockcore.WithWait(l.wait),
		// A program that has just been started connects first, so a node is
		// given as long as any command takes here.
		lockcore.WithNodeTimeout(min(p.settings.timeout, ttl/2)),
	}
	if l.owner != "" {
		opts = append(opts, lockcore.WithOwner(l.owner))
	}
	locker, err := lockcore.New(nodes, opts...)
	if err != nil {
		node.CloseAll(nodes)
		return nil, usage("%s", strings.TrimPrefix(err.Error(), libraryPrefix))
	}
	return &locking{Locker: locker, nodes: nodes, redactor: p.redactor()}, nil
}

// libraryPrefix begins what the lock core says of wrong parameters.
const libraryPrefix = "lockcore: "

// close waits for what is still on its way to the nodes. A lock that is held
// stays held until its TTL ends.
func (l *locking) close() {
	l.Locker.Close()
	node.CloseAll(l.nodes)
}

// resourceArg reads the name of a resource from the command line, as keyArgs
// reads keys. Where it is not literal, the full key of a lock is refused: it
// would lock something else than what dlock ls shows under that name.
func resourceArg(c *cobra.Command, arg string, literal bool) (string, error) {
	name, err := nameArg("the resource", arg, literal)
	if err != nil {
		return "", err
	}
	if rest, isKey := strings.CutPrefix(name, lockcore.DefaultPrefix); isKey && !literal {
		if rest == "" {
			rest = "orders:42"
		}
		return "", usage("a resource is named without %s, so %s; a name that does begin with it goes after --", lockcore.DefaultPrefix, quoted(rest))
	}
	return name, nil
}

// oneResource reads the only argument of a command.
func oneResource(c *cobra.Command, args []string) (string, error) {
	switch len(args) {
	case 1:
		return resourceArg(c, args[0], c.ArgsLenAtDash() == 0)
	case 0:
		return "", usage("%s needs a resource, for example: %s orders:42", c.CommandPath(), c.CommandPath())
	default:
		return "", usage("%s takes one resource", c.CommandPath())
	}
}

// noCompletion is for arguments that a shell cannot know.
func noCompletion(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// upTo writes how long something may take yet, never too short.
func upTo(d time.Duration) text.Safe {
	switch {
	case d < time.Minute:
		d += 100*time.Millisecond - 1
	case d < time.Hour:
		d += time.Second - 1
	default:
		d += time.Hour - 1
	}
	return text.Duration(d)
}

// stepJSON is what the commands that take, keep or give back a lock print with
// -o json. In it a pointer is a value that is not known or does not apply,
// printed as null.
type stepJSON struct {
	Schema   int             `json:"schema"`
	At       jsonTime        `json:"at"`
	Outcome  string          `json:"outcome"`
	Resource string          `json:"resource"`
	Key      string          `json:"key"`
	KeyB64   *string         `json:"key_b64"`
	Token    *string         `json:"token"`
	Fence    *int64          `json:"fence"`
	TTLMS    *int64          `json:"ttl_ms"`
	ValidMS  *int64          `json:"valid_ms"`
	Holder   *stepHolderJSON `json:"holder"`
	Error    *string         `json:"error"`
}

// stepHolderJSON is who is in the way, and for how long unless it renews.
type stepHolderJSON struct {
	Owner *string `json:"owner"`
	TTLMS *int64  `json:"ttl_ms"`
}

func (p *program) newStep(resource, outcome string) stepJSON {
	s := stepJSON{Schema: jsonSchema, At: jsonTime(p.now()), Outcome: outcome}
	s.Resource, _ = bytesForJSON(resource)
	s.Key, s.KeyB64 = bytesForJSON(lockcore.Key(lockcore.DefaultPrefix, resource))
	return s
}

// held adds what a holder needs to know.
func (s *stepJSON) held(k *lockcore.Lock, ttl time.Duration) {
	token, ttlMS, valid := k.Token().String(), millis(ttl), millis(k.Remaining())
	s.Token, s.Fence, s.TTLMS, s.ValidMS = &token, orNull(k.Fence()), &ttlMS, &valid
}

// failed ends a command that did not succeed: with -o json the failure is
// printed like a success, on standard output.
func (p *program) failed(ctx context.Context, resource, format string, f failure) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.debug.Debug("failed", "resource", string(quoted(resource)), "outcome", f.outcome, "error", f.sentence)
	if format == "json" && f.outcome != "" {
		if err := writeJSON(p.stdout, p.failedStep(resource, f), true); err != nil {
			return err
		}
	}
	return exitWith(f.code, "%s", f.sentence)
}

func (p *program) failedStep(resource string, f failure) stepJSON {
	s := p.newStep(resource, f.outcome)
	s.Holder = f.holder
	s.Error = orNull(textForJSON(f.sentence))
	return s
}
