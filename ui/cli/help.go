package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dlock/demo"
)

const usageTemplate = `Usage:
{{- if .HasAvailableSubCommands}}
  {{.CommandPath}} [command] [options]{{else}}
  {{.UseLine}}{{end}}
{{- if .HasExample}}

Examples:
{{.Example}}{{end}}
{{- if .HasAvailableSubCommands}}

Commands:
{{- range .Commands}}{{if (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}
{{- if .HasAvailableLocalFlags}}

Options:
{{.LocalFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}
{{- if .HasAvailableInheritedFlags}}

Options of every command, before or after its name:
{{.InheritedFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}
`

const rootHelp = `dlock shows who holds which distributed lock in Redis, says what is wrong with
it and why, and releases it safely.

Without a command it opens the live view. One --node is one deployment; several
are independent nodes that vote, and a lock is held if more than half of those
configured store the same token.

Each setting comes from an option of the command line, else from its variable,
else from the profile, else it has a default; dlock config shows them all.

Environment:
  DLOCK_NODES          node URLs, separated by spaces; then REDIS_URL
  DLOCK_PASSWORD       password where the URL has none; else in the file that
                       DLOCK_PASSWORD_FILE names, else of the profile, else
                       REDISCLI_AUTH. --askpass asks for it
  DLOCK_SENTINEL_PASSWORD, DLOCK_SENTINEL_PASSWORD_FILE   for the sentinels
  DLOCK_PROFILE, DLOCK_CONFIG       which profile of which config file
  DLOCK_READ_ONLY, DLOCK_TIMEOUT …  DLOCK_ and the option's name, for most
  NO_COLOR, CLICOLOR=0, TERM=dumb   no colour

Exit codes:
  0  done                          5  no quorum
  1  unexpected failure            6  no node answers
  2  wrong usage                   7  refused: permission, replica or --read-only
  3  somebody else holds the lock  8  incomplete: some nodes did not answer;
  4  not there, or not released       what is known was printed
                                   9  a promise did not hold in the demo`

const rootExamples = `  dlock --node redis://10.0.0.1:6379 --node redis://10.0.0.2:6379 --node redis://10.0.0.3:6379
  REDIS_URL=redis://10.0.0.1:6379 dlock ls
  dlock get lock:orders:42
  dlock release lock:orders:42 --token 5d02c1f0-8a55-4c8e-9f0e-0b7c6f1be8aa
  dlock run nightly-report --wait 10m -- ./report.sh
  dlock demo`

const topHelp = `Watch the locks live: state, holder, remaining life and quorum of each, and what
is wrong with it. Press ? there for the keys.`

const topExamples = `  dlock top
  dlock top --read-only --match 'lock:orders:*'
  dlock top --interval 500ms --theme high-contrast`

const lsHelp = `List the locks, once. Each GLOB limits the scan (default lock:*).

-o table  one line per lock, cut to the terminal's width, whole in a pipe
-o wide   the same with token, fence, waiters, idle time, nodes and findings
-o json   one document; -o jsonl one object per lock
-o keys   the keys, quoted where they are not plain; with -0 raw, for xargs -0

The mark of a node in -o wide: ● stores this token, ◆ another one, ○ none,
✗ no answer, ? may not be read (with --ascii: # ! . x ?).`

const lsExamples = `  dlock ls
  dlock ls 'lock:orders:*' -o wide
  dlock ls -o json | jq -r '.locks[] | select(.state != "held") | .key'
  dlock ls -0 | xargs -0 dlock get --`

const getHelp = `Show locks in full, node by node. It reads only the given keys and never scans.

A key in double quotes, as dlock prints keys that are not plain, is decoded; keys
after -- are taken as they are. Exit code 4 means that no node has the lock, 8
that some node did not answer and might have it.`

const getExamples = `  dlock get lock:orders:42
  dlock get lock:orders:42 lock:orders:43 -o json
  dlock get '"lock:a\nb"'
  dlock get -- -n`

const releaseHelp = `Delete a lock on every node, if it still is the one that was seen: each node
compares the token and deletes in one step, so a new holder is never touched.
The old holder may still be running; make sure that it is not, or that a fencing
token protects what it writes to.

Say which holder is meant by --token, --if-no-expiry or --if-held-for (all that
are given must hold), or answer the question on a terminal. Several keys are
listed first and asked for once; --yes skips the question, not the comparison.

Each attempt appends a line to the audit file, with the start of the token's
hash in place of the token. If the file cannot be written nothing is released.

Exit codes: 0 released; 4 not released: changed owner, already gone, came back,
or a condition that does not hold; 7 refused by a server, by --read-only, or
because this kind of lock cannot be released safely; 8 released, but some node
was not reached, refused or got it back, so a copy stays until it expires.`

const releaseExamples = `  dlock release lock:orders:42 --token 5d02c1f0-8a55-4c8e-9f0e-0b7c6f1be8aa
  dlock release lock:orders:42 --if-no-expiry --reason 'INC-4711, holder is gone'
  dlock release lock:orders:42 --if-held-for 10m --dry-run
  dlock release lock:orders:42 lock:orders:43 --if-no-expiry --yes`

const runHelp = `Run COMMAND while holding the lock on RESOURCE: on any number of machines, one
at a time. If the lock is not to be had within --wait, nothing is run. While the
command runs the lock is renewed; when it has ended, the lock goes to whoever
waits for it next. The exit code is the command's, 128 + N if signal N ended it.

The command gets the three streams, the terminal and the environment of dlock
itself, passwords in it too, and beside them
  DLOCK_RESOURCE, DLOCK_TOKEN, DLOCK_FENCE
The last is a number that grows from run to run: storage that refuses smaller
numbers is safe from a run that was paused and comes back too late.

HUP, INT, QUIT, TERM, USR1, USR2, WINCH, TSTP and CONT are passed on. The command
runs in a process group of its own, and what it leaves running there when it
ends is ended as well. If the lock is lost, or after --max-hold, the group gets
SIGTERM and after --grace SIGKILL. If dlock itself is killed by SIGKILL, the
lock ends with its --ttl; on Linux the command is killed too, but not what it has
started. On Windows signals are not passed on, and "ended" is killed at once,
without what the command has started.

-o json prints one line on standard error at the end.

Exit codes of dlock itself: 3 (or -E N) somebody else holds the lock, and with
-E 0 nothing is said of that; 4 the lock was lost; 5 no quorum; 6 no node answers;
126 the command cannot be run; 127 there is no such command.`

const runExamples = `  dlock run nightly-report -- ./report.sh --all
  dlock run nightly-report --wait 10m --max-hold 1h -- ./report.sh
  dlock run nightly-report -E 0 -- ./report.sh
  dlock run orders:42 --ttl 5s -- sh -c 'psql -v fence="$DLOCK_FENCE" -f settle.sql'`

const acquireHelp = `Take the lock on RESOURCE and print its token, which extend and unlock need.
Nobody renews it: it ends after --ttl unless extend is called before.

-o text  the token
-o env   a line for a shell's eval that sets and exports DLOCK_RESOURCE,
         DLOCK_TOKEN and DLOCK_FENCE, from which extend and unlock read them
-o json  the same with the time it is valid for; also when it was not acquired

Exit codes: 3 somebody else holds it; 5 no quorum; 6 no node answers.`

const acquireExamples = `  TOKEN=$(dlock acquire orders:42 --ttl 30s) || exit
  dlock acquire orders:42 --wait 10s --owner deploy/web-3 -o json
  grant=$(dlock acquire orders:42 -o env) && eval "$grant"`

const extendHelp = `Give the lock on RESOURCE a new time to live, counted from now, if it still
belongs to the token. It may be shorter than what was left. What dlock run holds
it renews itself; a shorter time from outside would break its reckoning.

Exit codes: 4 the token does not hold the lock any more; 5 no quorum, so that it
is not known; 6 no node answers.`

const extendExamples = `  dlock extend orders:42 --token "$TOKEN" --ttl 30s
  dlock extend orders:42 -o json`

const unlockHelp = `Give back the lock on RESOURCE, if it still belongs to the token: whoever waits
for it next has it at once. To free a lock whose token is not known, or that of
another library, see dlock release.

Exit codes: 4 the token does not hold the lock any more; 5 too few nodes were
reached, so that others wait until its time to live ends; 6 no node answers.`

const unlockExamples = `  dlock unlock orders:42 --token "$TOKEN"
  DLOCK_TOKEN=$TOKEN dlock unlock orders:42`
const configHelp = `Show each setting, its value and where that came from: an option, a variable of
the environment, a line of the config file, or the default. Passwords are shown
as set or not set.

Profiles of a config file ($XDG_CONFIG_HOME/dlock/config.toml) name nodes, and how
to reach and show them; --profile NAME, DLOCK_PROFILE or default_profile in the
file chooses one. A profile's credentials go to its own nodes: where others are in
force, by --node, DLOCK_NODES or REDIS_URL, what it says about reaching nodes
does not count, unless --node and --profile stand on one command line.`

const configExamples = `  dlock config
  dlock config --profile prod -o json
  dlock config --example > ~/.config/dlock/config.toml`

// demoHelp is made from the demo's own tables.
func demoHelp() string {
	var b strings.Builder
	b.WriteString(`Start nodes and a store of our own and workers that contend, and the live view
over them. Break things and see what the lock, the quorum and the fence do about
it. Nothing is left running or on disk afterwards. docs/demo.md is the guide.

With --headless it runs for a while without a screen and prints the tally.

Exit codes of --headless: 0 done, whatever damage a mode did that promises
nothing; 9 a mode did not hold what it promises.

Scenarios:
`)
	for _, s := range demo.Scenarios {
		fmt.Fprintf(&b, "  %-13s %s\n", s.Name, wrapAt(s.Does, 16))
	}
	b.WriteString("\nModes:\n")
	for _, m := range demo.Modes {
		fmt.Fprintf(&b, "  %-13s %s\n", m.Mode, wrapAt(m.Does, 16))
	}
	b.WriteString(`
Faults, for a script such as '5s kill n2; 8s restart n2; 9s stop holder':
`)
	for _, f := range demo.Faults {
		usage := f.Name
		if f.Target != demo.OnNothing {
			usage += " " + strings.ToUpper(string(f.Target))
		}
		if f.Takes {
			usage += " [TIME]"
		}
		fmt.Fprintf(&b, "  %-20s %s\n", usage, wrapAt(f.Does, 23))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// wrapAt breaks text so that it fits beside a column of a width.
func wrapAt(s string, column int) string {
	const width = 80
	var b strings.Builder
	at := column
	for i, word := range strings.Fields(s) {
		switch {
		case i == 0:
		case at+1+len([]rune(word)) > width:
			b.WriteString("\n" + strings.Repeat(" ", column))
			at = column
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += len([]rune(word))
	}
	return b.String()
}

const demoExamples = `  dlock demo
  dlock demo --scenario flash-sale --mode none
  dlock demo --headless --scenario flash-sale --mode all --duration 5s
  dlock demo --headless --faults random --duration 10m -o json
  dlock demo --headless --tour --kind embedded`

// helpCommand is cobra's help command, except that an unknown topic is wrong
// usage.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Show the help of a command",
		RunE: func(c *cobra.Command, args []string) error {
			topic, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usage("there is no help on that; see dlock --help")
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		},
	}
}

// addCompletion adds cobra's completion command and makes it refuse what it
// would otherwise answer with a page of help and exit code 0.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(*cobra.Command, []string) error {
			return usage("completion needs a shell: bash, zsh, fish or powershell")
		}
		for _, shell := range c.Commands() {
			shell.Args = noArgs
		}
	}
}

// nearFlag finds the option that was probably meant, "" if none is near.
func nearFlag(c *cobra.Command, typed string) string {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return nearest(typed, names)
}

// nearCommand finds the command that was probably meant, "" if none is near.
func nearCommand(root *cobra.Command, typed string) string {
	var names []string
	for _, c := range root.Commands() {
		if slices.Contains(c.SuggestFor, typed) {
			return c.Name()
		}
		names = append(names, c.Name())
	}
	return nearest(typed, names)
}

// nearest finds the name with the fewest slips of the keyboard, among those
// that are few enough for the length of the word.
func nearest(typed string, names []string) string {
	best, least := "", max(1, len(typed)/3)+1
	for _, name := range names {
		d := distance(typed, name)
		if len(typed) > 1 && strings.HasPrefix(name, typed) {
			d = 1
		}
		if d < least {
			best, least = name, d
		}
	}
	return best
}

// distance is the number of letters to insert, drop or change between a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(above+1, row[j]+1, diagonal+cost)
			diagonal = above
		}
	}
	return row[len(b)]
}
