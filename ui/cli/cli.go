package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"dlock/inspect"
	"dlock/ui/text"
)

// Main runs the command line and returns the exit code. The arguments come
// without the program's name; env has entries of the form NAME=value. Standard
// output gets data only, standard error one sentence when something is wrong.
// An interrupt, SIGTERM or SIGHUP (a dropped connection) ends the command as
// the end of ctx does.
func Main(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return newProgram(env, stdin, stdout, stderr).main(ctx, args)
}

// program is one run of the command line with everything it touches, so that
// tests can put something else in its place.
type program struct {
	env      environment
	stdin    io.Reader
	stdout   io.Writer
	stderr   io.Writer
	terminal terminal
	now      func() time.Time
	identity func() identity
	connect  func(s *settings, readOnly bool) (*connection, error)
	runTUI   tuiRunner
	demo     demoStarter
	// readSecret asks a person on the terminal and shows nothing of the answer.
	readSecret func(ctx context.Context, prompt string) (string, error)

	settings settings
	debug    *slog.Logger
	traces   io.WriteCloser
}

// inspector is what the commands need of inspect.Inspector.
type inspector interface {
	Look(ctx context.Context) (inspect.Snapshot, error)
	Stream(ctx context.Context, emit func(time.Time, []inspect.Lock) error) (inspect.Snapshot, error)
	Get(ctx context.Context, keys ...string) (inspect.Snapshot, error)
	Watch(ctx context.Context, emit func(inspect.Snapshot)) error
	Execute(ctx context.Context, p inspect.Plan, dryRun bool) inspect.Result
	Refresh()
	SetInterval(d time.Duration)
	SetVisible(keys []string)
}

func newProgram(env []string, stdin io.Reader, stdout, stderr io.Writer) *program {
	e := newEnvironment(env)
	return &program{
		env:        e,
		stdin:      stdin,
		stdout:     stdout,
		stderr:     stderr,
		terminal:   realTerminal,
		now:        time.Now,
		identity:   func() identity { return whoami(e) },
		connect:    connect,
		runTUI:     runTUI,
		demo:       startDemo,
		readSecret: readTerminal,
		debug:      slog.New(slog.DiscardHandler),
	}
}

func (p *program) main(ctx context.Context, args []string) int {
	// With the signal caught, a write to a closed pipe is an error that we
	// see rather than our death in the middle of releasing several locks.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	defer signal.Stop(pipes)

	ctx, stop := interruptible(ctx)
	defer stop()
	// A second interrupt ends the program at once.
	release := context.AfterFunc(ctx, stop)
	defer release()

	err := p.run(ctx, args)
	if p.traces != nil {
		p.debug.Debug("end", "error", errText(err))
		p.traces.Close()
	}
	return p.report(ctx, err)
}

func (p *program) run(ctx context.Context, args []string) error {
	root := p.root()
	// Without arguments of its own cobra reads those of the process.
	root.SetArgs(append([]string{}, args...))
	// The shell's question for completions is a command that cobra adds only
	// when it runs.
	completing := len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
	if _, _, err := root.Find(args); err != nil && !completing {
		return unknownCommand(root, err, args)
	}
	return root.ExecuteContext(ctx)
}

// report says what went wrong, if anything, and returns the exit code.
func (p *program) report(ctx context.Context, err error) int {
	if err == nil {
		return exitOK
	}
	if brokenPipe(err) {
		return exitBrokenPipe
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		if ctx.Err() != nil {
			return exitInterrupted
		}
		exit = &exitError{code: exitFailure, sentence: err.Error()}
	}
	if exit.sentence != "" {
		p.say("%s", exit.sentence)
	}
	return exit.code
}

// say prints one line of talk. Its text is made safe as a whole, since errors
// of a server may be part of it.
func (p *program) say(format string, args ...any) {
	line := p.redactor().Redact(fmt.Sprintf(format, args...))
	fmt.Fprintf(p.stderr, "dlock: %s\n", text.Escaped(line))
}

func (p *program) redactor() redactor {
	return newRedactor(p.settings.nodes, p.settings.password, p.settings.sentinelPassword)
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// root builds the command tree.
func (p *program) root() *cobra.Command {
	root := p.topCommand("dlock")
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.Long = rootHelp
	root.Example = rootExamples
	root.Version = version()
	root.SetVersionTemplate("dlock {{.Version}}\n")
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.Args = nil // cobra then looks for a command and reports what is none
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%s", flagSentence(err, func(name string) string { return nearFlag(c, name) }))
	})
	p.settings.register(root.PersistentFlags())
	p.completeProfiles(root)
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error { return p.prepare(c) }
	root.SetUsageTemplate(usageTemplate)
	root.SetHelpCommand(helpCommand())

	root.AddCommand(p.topCommand("top"), p.lsCommand(), p.getCommand(), p.watchCommand(), p.releaseCommand(),
		p.runCommand(), p.acquireCommand(), p.extendCommand(), p.unlockCommand(), p.doctorCommand(), p.demoCommand(), p.configCommand(), versionCommand(p), exitCodesTopic())
	addCompletion(root)
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		c.DisableFlagsInUseLine = true
	}
	return root
}

// prepare settles flags, environment and profile before a command runs.
func (p *program) prepare(command *cobra.Command) error {
	c := command
	for ; c.HasParent(); c = c.Parent() {
		switch c.Name() {
		case "version", "help", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
			// These must work whatever the environment holds.
			return nil
		}
	}
	demo := command.Name() == "demo"
	if err := p.settings.resolve(c.Root().PersistentFlags(), p.env, demo); err != nil {
		return err
	}
	if err := p.openDebug(); err != nil {
		return err
	}
	if demo || command.Name() == "config" {
		return nil // nothing is logged in to
	}
	return p.askPassword(command.Context())
}

func (p *program) openDebug() error {
	name := p.settings.debug
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return usage("the file of --debug cannot be written: %s", osReason(err))
	}
	p.traces = f
	p.debug = slog.New(slog.NewJSONHandler(f, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p.debug.Debug("start", "version", version(), "timeout", p.settings.timeout, "nodes", len(p.settings.nodes), "nodes_from", p.settings.nodesFrom)
	return nil
}

// open connects to the configured nodes. The inspector it returns redacts
// what it passes on and writes the trace; addrs are the nodes' addresses.
func (p *program) open(readOnly bool) (in inspector, addrs []string, done func(), err error) {
	c, err := p.connect(&p.settings, readOnly)
	if err != nil {
		return nil, nil, nil, err
	}
	if p.settings.insecure {
		p.say("%s: the nodes' certificates are not checked, so anybody in between can read and change everything", p.settings.origins["insecure"])
	}
	return &guarded{inspector: c.inspector, redactor: p.redactor(), debug: p.debug}, c.addrs, c.close, nil
}

// osReason is why the operating system refused a file, without the file's name.
func osReason(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// format returns what -o asks for, the first of the given words by default.
func (p *program) format(words ...string) (string, error) {
	if p.settings.output == "" {
		return words[0], nil
	}
	for _, w := range words {
		if w == p.settings.output {
			return w, nil
		}
	}
	return "", usage("-o must be %s here", orList(words))
}

// unknownCommand says that there is no such command, and which one was
// probably meant.
func unknownCommand(root *cobra.Command, err error, args []string) error {
	typed := ""
	if q, ok := strings.CutPrefix(err.Error(), "unknown command "); ok {
		if q, err := strconv.QuotedPrefix(q); err == nil {
			typed, _ = strconv.Unquote(q)
		}
	}
	near := ""
	if plainWord(typed) {
		near = nearCommand(root, typed)
	}
	for _, a := range args {
		if near == "" && (strings.Contains(a, "://") || strings.Contains(a, "@")) {
			// The word may be a piece of a URL with a blank in it, even of
			// its password, so it is not repeated.
			return usage("there is no such command; see dlock --help, and put a URL with blanks in quotes")
		}
	}
	if !plainWord(typed) {
		return usage("there is no such command; see dlock --help")
	}
	if near != "" {
		return usage("there is no command %s; did you mean %s?", typed, near)
	}
	return usage("there is no command %s; see dlock --help", typed)
}
