package cli

import (
	"context"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dlock/inspect"
	"dlock/ui/text"
)

func (p *program) lsCommand() *cobra.Command {
	var nul bool
	c := &cobra.Command{
		Use:        "ls [GLOB…] [options]",
		SuggestFor: []string{"list", "locks", "keys", "scan"},
		Short:      "List the locks, once",
		Long:       lsHelp,
		Example:    lsExamples,
		RunE: func(c *cobra.Command, args []string) error {
			format, err := p.format("table", "wide", "json", "jsonl", "keys")
			if err != nil {
				return err
			}
			if nul {
				if p.settings.output != "" && format != "keys" {
					return usage("-0 is for -o keys")
				}
				format = "keys"
			}
			globs, err := keyArgs(c, args)
			if err != nil {
				return err
			}
			if len(globs) > 0 {
				p.settings.match = globs
			}
			return p.ls(c.Context(), format, nul)
		},
	}
	c.Flags().BoolVarP(&nul, "null", "0", false, "with -o keys: raw keys, each ended by a NUL byte, for xargs -0")
	return c
}

func (p *program) ls(ctx context.Context, format string, nul bool) error {
	in, _, done, err := p.open(true)
	if err != nil {
		return err
	}
	defer done()
	var s inspect.Snapshot
	if format == "jsonl" || format == "keys" {
		// One line per lock: no need to have them all before the first.
		var failed error
		s, err = in.Stream(ctx, func(at time.Time, locks []inspect.Lock) error {
			failed = p.printLocks(inspect.Snapshot{At: at, Locks: locks}, format, nul)
			return failed
		})
		if failed != nil {
			return failed
		}
	} else {
		s, err = in.Look(ctx)
	}
	if err := looked(ctx, s, err); err != nil {
		return err
	}
	if format != "jsonl" && format != "keys" {
		if err := p.printLocks(s, format, nul); err != nil {
			return err
		}
	}
	if err := silent(s).err(); err != nil {
		return err
	}
	if _, isTerminal := p.terminal(p.stdout); isTerminal && len(s.Locks) == 0 {
		p.sayEmpty(s)
	}
	return nil
}

func (p *program) printLocks(s inspect.Snapshot, format string, nul bool) error {
	switch format {
	case "json":
		return writeJSON(p.stdout, newDocument(s, s.Locks), true)
	case "jsonl":
		var b strings.Builder
		for _, l := range s.Locks {
			if err := writeJSON(&b, newLock(l, s.At), false); err != nil {
				return err
			}
		}
		_, err := io.WriteString(p.stdout, b.String())
		return err
	case "keys":
		return p.printKeys(s.Locks, nul)
	}
	l := p.look(p.stdout)
	if len(s.Locks) == 0 && l.width > 0 {
		return nil // titles without rows; what was scanned is said instead
	}
	if format == "wide" {
		// Whoever asks for everything gets it whole.
		l.width = 0
		return wideTable(l, s).write(p.stdout, l)
	}
	return lockTable(l, s).write(p.stdout, l)
}

func (p *program) printKeys(locks []inspect.Lock, nul bool) error {
	var b strings.Builder
	split := 0
	for _, l := range locks {
		switch {
		case !nul:
			b.WriteString(string(quoted(l.ID.Key)) + "\n")
		case strings.Contains(l.ID.Key, "\x00"):
			// Whoever reads the list would take it for two other keys.
			split++
		default:
			b.WriteString(l.ID.Key + "\x00")
		}
	}
	if _, err := io.WriteString(p.stdout, b.String()); err != nil {
		return err
	}
	if split > 0 {
		return exitWith(exitIncomplete, "incomplete: %s with a NUL byte inside cannot be listed by -0; use -o keys", count(split, "key"))
	}
	return nil
}

func (p *program) sayEmpty(s inspect.Snapshot) {
	globs := make([]string, 0, len(s.Scan.Match))
	for _, g := range s.Scan.Match {
		globs = append(globs, string(quoted(g)))
	}
	where := count(len(s.Target.Nodes), "node")
	if len(s.Target.Nodes) == 1 {
		where = string(text.Clean(s.Target.Nodes[0].Addr))
	}
	p.say("no lock matches %s on %s; try another glob, for example: dlock ls '*'", strings.Join(globs, " "), where)
}

// keyColumn is where most of the width goes; its ends matter more than its
// middle.
var keyColumn = column{title: "KEY", least: 20, middle: true}

func lockTable(l look, s inspect.Snapshot) *table {
	t := &table{columns: []column{
		{title: "STATE", tight: 8},
		keyColumn,
		{title: "OWNER", least: 12, drop: 4},
		{title: "TTL", right: true},
		{title: "HELD FOR", right: true, drop: 2},
		{title: "VOTES", right: true, drop: 3},
		{title: "LIBRARY", drop: 1},
	}}
	for _, lock := range s.Locks {
		st := stateStyle(lock)
		t.rows = append(t.rows, []cell{
			{stateText(lock), st},
			{quoted(lock.ID.Key), plain},
			{l.ownerText(lock), plain},
			{ttlText(lock.Expiry, s.At), st},
			{l.heldText(lock, s.At), plain},
			{votesText(lock), plain},
			{text.Clean(lock.Library), faint},
		})
	}
	return t
}

func wideTable(l look, s inspect.Snapshot) *table {
	t := &table{columns: []column{
		{title: "STATE"}, {title: "KEY"}, {title: "OWNER"}, {title: "TTL", right: true},
		{title: "HELD FOR", right: true}, {title: "VOTES", right: true}, {title: "NODES"},
		{title: "FENCE", right: true}, {title: "WAITERS", right: true}, {title: "IDLE", right: true},
		{title: "LIBRARY"}, {title: "KIND"}, {title: "TOKEN"}, {title: "FINDINGS"},
	}}
	for _, lock := range s.Locks {
		st := stateStyle(lock)
		token := unknownText
		if o, ok := lock.Holder(); ok {
			token = quoted(o.Token)
		}
		kind := text.Clean(lock.Kind)
		if kind == "" {
			kind = unknownText
		}
		t.rows = append(t.rows, []cell{
			{stateText(lock), st},
			{quoted(lock.ID.Key), plain},
			{l.ownerText(lock), plain},
			{ttlText(lock.Expiry, s.At), st},
			{l.heldText(lock, s.At), plain},
			{votesText(lock), plain},
			{l.strip(lock), plain},
			{maybeText(lock.Fence, decimal), plain},
			{maybeText(lock.Waiters, strconv.Itoa), plain},
			{maybeText(lock.Idle, durationText), plain},
			{text.Clean(lock.Library), plain},
			{kind, plain},
			{token, plain},
			{findingIDs(lock), plain},
		})
	}
	return t
}
