package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"dlock/lockcore"
)

// defaultGrace is how long a command may take to end after SIGTERM.
const defaultGrace = 5 * time.Second

// runOptions are the flags of `dlock run`.
type runOptions struct {
	lease
	noWait     bool
	maxHold    time.Duration
	grace      time.Duration
	takenCode  int
	resource   string
	command    []string
	executable string // the file that command[0] is
}

func (p *program) runCommand() *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:        "run RESOURCE [options] -- COMMAND [ARG…]",
		SuggestFor: []string{"exec", "with", "flock", "hold"},
		Short:      "Run a command while holding a lock, as flock does on one machine",
		Long:       runHelp,
		Example:    runExamples,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return noCompletion(nil, nil, "")
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(c *cobra.Command, args []string) error {
			format, err := p.format("text", "json")
			if err != nil {
				return err
			}
			if o.noWait && o.wait > 0 {
				return usage("-n and --wait contradict each other")
			}
			if o.resource, o.command, err = runArgs(c, args); err != nil {
				return err
			}
			// A command that cannot be run is found out before anybody has
			// to wait for it.
			if o.executable, err = findExecutable(o.command[0]); err != nil {
				return err
			}
			return p.hold(c.Context(), o, format)
		},
	}
	f := c.Flags()
	o.registerWait(f)
	f.BoolVarP(&o.noWait, "no-wait", "n", false, "do not wait for the lock (the default)")
	o.registerTTL(f)
	f.Var(newDuration(&o.maxHold, 0, time.Millisecond), "max-hold", "end the command after this long (default: never)")
	f.Var(newDuration(&o.grace, defaultGrace, 0), "grace", "time between SIGTERM and SIGKILL")
	f.VarP(newCount(&o.takenCode, exitNotAcquired, 0, 255), "conflict-exit-code", "E", "exit code when somebody else holds the lock")
	return c
}

// runArgs takes the arguments of run apart: RESOURCE -- COMMAND…, or, for a
// name that is to be taken literally, -- RESOURCE -- COMMAND….
func runArgs(c *cobra.Command, args []string) (resource string, command []string, err error) {
	const form = "dlock run RESOURCE -- COMMAND"
	dash := c.ArgsLenAtDash()
	literal := dash == 0 && len(args) > 1 && args[1] == "--"
	switch {
	case literal:
		command = args[2:]
	case dash == 1:
		command = args[1:]
	case dash < 0 && len(args) > 1:
		return "", nil, usage("the command goes after --, as in: %s", form)
	case dash > 1:
		return "", nil, usage("run takes one resource before --, as in: %s", form)
	default:
		return "", nil, usage("run needs a resource and a command, as in: %s", form)
	}
	if len(command) == 0 || command[0] == "" {
		return "", nil, usage("there is no command after --, as in: %s", form)
	}
	if resource, err = resourceArg(c, args[0], literal); err != nil {
		return "", nil, err
	}
	if strings.ContainsRune(resource, 0) {
		return "", nil, usage("the resource has a NUL byte in its name, which the command's environment cannot carry")
	}
	return resource, command, nil
}

// findExecutable looks for a command as a shell does, with a shell's exit codes
// when there is none.
func findExecutable(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	return "", cannotRun(name, err)
}

func cannotRun(name string, err error) error {
	switch {
	case errors.Is(err, exec.ErrDot):
		return exitWith(exitNoCommand, "command not found: %s is in the current folder, which is not searched; write ./%s", quoted(name), quoted(name))
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return exitWith(exitNoCommand, "command not found: %s", quoted(name))
	}
	reason := err
	var failed *exec.Error
	var path *os.PathError
	if errors.As(err, &failed) {
		reason = failed.Err
	} else if errors.As(err, &path) {
		reason = path.Err
	}
	return exitWith(exitCannotRun, "command cannot be run: %s: %s", quoted(name), reason)
}

// runReport is what became of a run; -o json prints it.
type runReport struct {
	stepJSON
	ExitCode int    `json:"exit_code"`
	WaitedMS int64  `json:"waited_ms"`
	HeldMS   *int64 `json:"held_ms"`
	Renewals *int   `json:"renewals"`
}

// hold takes the lock, runs the command under it, and gives it back.
func (p *program) hold(ctx context.Context, o runOptions, format string) error {
	// From here on no signal is lost: it ends the wait, or the command gets
	// it.
	signals := make(chan os.Signal, 16)
	defer signal.Stop(signals)
	notify(signals, endSignals...)

	locker, err := p.openLocker(o.lease)
	if err != nil {
		return err
	}
	defer locker.close()
	r := &run{program: p, options: o, locker: locker, json: format == "json", signals: signals, asked: p.now()}
	k, err := locker.Acquire(ctx, o.resource)
	r.waited = p.now().Sub(r.asked)
	if err != nil {
		f := locker.why(o.resource, err)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if f.code == exitNotAcquired {
			f.code = o.takenCode
		}
		return r.end(f)
	}
	r.lock, r.taken = k, p.now()
	if ctx.Err() != nil || len(signals) > 0 {
		r.sayKept(k.Release(ctx))
		return quiet(exitInterrupted)
	}
	p.debug.Debug("acquired", "resource", string(quoted(o.resource)), "fence", k.Fence(), "waited", r.waited)
	g, err := startGroup(r.command(), signals)
	if err != nil {
		r.sayKept(k.Release(ctx))
		return r.end(r.notStarted(err))
	}
	code := r.watch(g)
	g.close()
	return r.end(r.ending(code, k.Release(ctx)))
}

// run is one command under one lock.
type run struct {
	*program
	options runOptions
	locker  *locking
	json    bool
	signals chan os.Signal

	asked  time.Time
	waited time.Duration

	lock  *lockcore.Lock
	taken time.Time
	// stopped is why the command was made to end, nil if it was not.
	stopped *failure
	// leftovers says that it left something running, which was ended.
	leftovers bool
}

// notStarted is the failure of a command that was found and cannot be run all
// the same.
func (r *run) notStarted(err error) failure {
	f := failure{outcome: outcomeFailed}
	var exit *exitError
	if errors.As(cannotRun(r.options.command[0], err), &exit) {
		f.code, f.sentence = exit.code, exit.sentence
	}
	return f
}

// command is the command with the lock in its environment. It inherits
// everything else that this program was given, streams and environment alike.
func (r *run) command() *exec.Cmd {
	env := make(environment, len(r.env)+3)
	for name, value := range r.env {
		env[name] = value
	}
	env[envResource] = r.options.resource
	env[envToken] = r.lock.Token().String()
	env[envFence] = fmt.Sprint(r.lock.Fence())
	return &exec.Cmd{
		Path: r.options.executable, Args: r.options.command, Env: env.entries(),
		Stdin: r.stdin, Stdout: r.stdout, Stderr: r.stderr, WaitDelay: time.Second,
	}
}

const (
	// lingering is how long what the command left running may go on: the
	// last in a pipe to a log has something to do yet.
	lingering = 500 * time.Millisecond
	// leftoverCheck is how often it is looked whether that has ended. There
	// is nothing to wait for that would tell: they are grandchildren.
	leftoverCheck = 10 * time.Millisecond
)

// watch returns the command's exit code when it and everything it has started
// is over. When the lock is lost, or --max-hold has passed, it ends them.
func (r *run) watch(g *group) int {
	var (
		code   int
		exited bool
		killed bool
		limit  <-chan time.Time
		grace  <-chan time.Time
		linger <-chan time.Time
		check  <-chan time.Time
	)
	if r.options.maxHold > 0 {
		timer := time.NewTimer(r.options.maxHold)
		defer timer.Stop()
		limit = timer.C
	}
	end := func() {
		if grace == nil {
			g.terminate()
			grace = time.After(r.options.grace)
		}
	}
	lost := r.lock.Done()
	for {
		select {
		case s := <-r.signals:
			g.forward(s, r.lock.Valid())
		case <-lost:
			lost = nil
			if r.stopped == nil {
				r.stop(r.locker.why(r.options.resource, r.lock.Err()))
			}
			end()
		case <-limit:
			// The lock is kept until the command has ended.
			limit = nil
			if r.stopped == nil && !exited {
				r.stop(failure{code: exitNotThere, outcome: outcomeMaxHold,
					sentence: fmt.Sprintf("the lock on %s was held for %s, which is --max-hold", quoted(r.options.resource), shortDuration(r.options.maxHold))})
			}
			end()
		case <-grace:
			if killed {
				// What SIGKILL does not end hangs inside the system.
				return code
			}
			killed = true
			g.kill()
			grace = time.After(max(r.options.grace, time.Second))
		case e := <-g.events:
			if !e.exited {
				g.stoppedBy(e.signal)
				continue
			}
			code, exited = e.code, true
			g.over(e.signal != 0)
			if !g.alive() {
				return code
			}
			linger = time.After(lingering)
			ticker := time.NewTicker(leftoverCheck)
			defer ticker.Stop()
			check = ticker.C
		case <-linger:
			// What it left behind must not outlive the lock.
			r.leftovers = true
			end()
		case <-check:
			if !g.alive() {
				return code
			}
		}
	}
}

// stop notes why the command is ended and says so at once: what it prints
// while it ends is easier to understand then.
func (r *run) stop(f failure) {
	r.stopped = &f
	if !r.json {
		r.say("%s; %s", f.sentence, r.endingWords())
	}
}

func (r *run) endingWords() string {
	if !hasGroups {
		return "the command is ended"
	}
	return fmt.Sprintf("the command gets SIGTERM, and SIGKILL after %s", shortDuration(r.options.grace))
}

// ending sums up: the command's exit code, and what became of the lock.
func (r *run) ending(code int, released error) failure {
	var kept *lockcore.NotReleasedError
	switch {
	case r.stopped != nil:
		r.sayKept(released)
		f := *r.stopped
		if !r.json {
			f.sentence = "" // it was said when it happened
		}
		return f
	case errors.As(released, &kept):
		return failure{code: code, outcome: outcomeNotReleased, sentence: r.kept(kept)}
	case released != nil:
		f := r.locker.why(r.options.resource, released)
		f.sentence += fmt.Sprintf("; that was found only when the command had ended (with exit code %d)", code)
		return f
	}
	f := failure{code: code, outcome: outcomeReleased}
	if r.leftovers {
		f.sentence = "what the command left running was ended, since it must not outlive the lock"
	}
	return f
}

// kept says until when others wait for a lock that could not be released.
func (r *run) kept(e *lockcore.NotReleasedError) string {
	return r.locker.why(r.options.resource, e).sentence + "; others wait for at most " + string(upTo(e.Within))
}

// sayKept is for a release that is not what the command ended with.
func (r *run) sayKept(released error) {
	var kept *lockcore.NotReleasedError
	if errors.As(released, &kept) {
		r.say("%s", r.kept(kept))
	}
}

// end prints the sentence or the report and gives the exit code.
func (r *run) end(f failure) error {
	if !r.json || f.outcome == "" {
		if f.code == exitOK && r.lock == nil {
			return nil // -E 0 says that this is no failure
		}
		if f.sentence != "" {
			r.say("%s", f.sentence)
		}
		return quiet(f.code)
	}
	report := runReport{stepJSON: r.failedStep(r.options.resource, f), ExitCode: f.code, WaitedMS: millis(r.waited)}
	if r.lock != nil {
		held, renewals := millis(r.now().Sub(r.taken)), r.lock.Renewals()
		report.Fence, report.HeldMS, report.Renewals = orNull(r.lock.Fence()), &held, &renewals
		ttl := millis(r.options.ttl)
		report.TTLMS = &ttl
	}
	if err := writeJSON(r.stderr, report, false); err != nil {
		return err
	}
	return quiet(f.code)
}

// endSignals ask a program to end.
var endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// notify is signal.Notify for those of the signals that are not to be ignored.
func notify(c chan<- os.Signal, signals ...os.Signal) {
	// Without any, signal.Notify would mean all.
	if signals = notIgnored(signals...); len(signals) > 0 {
		signal.Notify(c, signals...)
	}
}

// interruptible is a context that ends when the program is asked to.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	if signals := notIgnored(endSignals...); len(signals) > 0 {
		return signal.NotifyContext(ctx, signals...)
	}
	return context.WithCancel(ctx)
}

// notIgnored leaves out the signals that whoever started us wants ignored, as
// nohup does: catching them would undo that, here and in what we start.
func notIgnored(signals ...os.Signal) []os.Signal {
	var kept []os.Signal
	for _, s := range signals {
		if !signal.Ignored(s) {
			kept = append(kept, s)
		}
	}
	return kept
}
