package tui

import (
	"context"
	"io"
	"time"

	"dlock/demo"
	"dlock/inspect"
)

// Source is where the screen's data comes from and where a release goes.
// *inspect.Inspector is one; a [Recording] is one with a player. All methods are safe for concurrent use.
type Source interface {
	// Watch emits a snapshot now and then until ctx ends.
	Watch(ctx context.Context, emit func(inspect.Snapshot)) error
	// Refresh asks for a snapshot at once; it does not wait for it.
	Refresh()
	// SetInterval changes the time between two snapshots.
	SetInterval(d time.Duration)
	// SetVisible says which locks are on the screen, for sources that have too
	// many to look at all of them each time.
	SetVisible(keys []string)
	// Get reads locks afresh from all nodes.
	Get(ctx context.Context, keys ...string) (inspect.Snapshot, error)
	// Execute carries a release out, or only says what it would do.
	Execute(ctx context.Context, p inspect.Plan, dryRun bool) inspect.Result
}

// Lab is a demo whose nodes can be broken from the screen. *demo.Demo is one.
// All methods are safe for concurrent use.
type Lab interface {
	Status() demo.Status
	Kill(node string) error
	// Restart brings a node back, also one that runs; wipe makes it forget
	// what it stored.
	Restart(ctx context.Context, node string, wipe bool) error
	Pause(node string) error
	Resume(node string) error
}

// Audit records what a release did. It is called once for every release that
// was sent, never for a dry run; its error is shown beside the result.
type Audit func(inspect.Result) error

// Config says how the screen looks and what it may do. The zero value is
// usable on a terminal.
type Config struct {
	// Title says what is looked at: a host, a profile. It must not hold a
	// secret.
	Title string
	// Env is a short tag such as PROD, shown loudly; "" for none.
	Env string
	// EnvColor is the tag's colour: red, orange, green, blue, purple or grey.
	// Anything else, or a terminal without colours, is the look of a warning.
	EnvColor string
	// Lab is the demo behind the source, nil outside a demo.
	Lab Lab
	// ReadOnly is why releasing is off ("--read-only"); "" allows it.
	ReadOnly string
	// ASCII draws with 7-bit characters only. It is implied by a locale
	// that is set and is not UTF-8.
	ASCII bool
	// Mouse turns on wheel and click, which takes the terminal's own text
	// selection away.
	Mouse bool
	// Theme is default (or empty), dark, light, mono or high-contrast.
	// NO_COLOR, CLICOLOR=0 and TERM=dumb have the last word.
	Theme string
	// Host is this machine's name, for the filter is:mine; "" if it is not
	// known.
	Host string
	// JSON writes what is saved or copied as JSON; nil leaves both out.
	JSON WriteJSON
	// Filter is the text that is in the filter at the start.
	Filter string
	// Audit may be nil.
	Audit Audit
	// Operator is the name that goes to the audit line, for the dialog.
	Operator string
	// Input and Output default to the process's stdin and stdout.
	Input  io.Reader
	Output io.Writer
	// Debug receives one line per message; nil for none. No key's text
	// and no token is written to it.
	Debug io.Writer
}
