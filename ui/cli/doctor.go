package cli

import (
	"cmp"
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

// doctorOptions are the flags of `dlock doctor`.
type doctorOptions struct {
	probe bool
	acl   string
}

func (p *program) doctorCommand() *cobra.Command {
	var o doctorOptions
	c := &cobra.Command{
		Use:        "doctor [GLOB…] [options]",
		SuggestFor: []string{"check", "diagnose", "health", "lint", "acl", "ping"},
		Short:      "Check the nodes and the locks on them for what loses locks",
		Long:       doctorHelp,
		Example:    doctorExamples,
		RunE: func(c *cobra.Command, args []string) error {
			format, err := p.format("text", "json")
			if err != nil {
				return err
			}
			if o.acl != "" {
				if len(args) > 0 || o.probe || format == "json" {
					return usage("--acl prints permissions and checks nothing; leave out the rest")
				}
				return p.printACL(o.acl)
			}
			globs, err := keyArgs(c, args)
			if err != nil {
				return err
			}
			if len(globs) > 0 {
				p.settings.match = globs
			}
			return p.doctor(c.Context(), o, format)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.probe, "probe", false, "take, renew and release a lock of a name that nobody uses (this writes)")
	f.Var(newChoice(&o.acl, "", aclRoles()...), "acl", "print the permissions that a user needs to "+orList(aclRoles()[:3])+", or of the sentinels")
	completeWords(c, "acl", aclRoles())
	return c
}

// ailment is one finding of a diagnosis: about nodes, about the lock Key, or
// about the probe.
type ailment struct {
	inspect.Finding
	nodes []string
	lock  *inspect.ID
}

func (p *program) doctor(ctx context.Context, o doctorOptions, format string) error {
	if o.probe && p.settings.readOnly {
		return exitWith(exitRefused, "--probe takes a lock, which is refused by %s: nothing was sent", p.settings.readOnlyBy)
	}
	in, _, done, err := p.open(true)
	if err != nil {
		return err
	}
	defer done()
	s, err := in.Look(ctx)
	if err := looked(ctx, s, err); err != nil {
		return err
	}
	var pr *probeReport
	if o.probe {
		if pr, err = p.probe(ctx); err != nil {
			return err
		}
	}
	found := diagnose(s, pr)
	if format == "json" {
		err = writeJSON(p.stdout, newDiagnosis(s, found, pr), true)
	} else {
		err = p.printDiagnosis(s, found, pr)
	}
	if err != nil {
		return err
	}
	gap := silent(s)
	if n := trouble(found); n > 0 {
		if gap.code != exitOK {
			p.say("%s", gap.sentence)
		}
		if format == "json" {
			return exitWith(exitTrouble, "found %s of high or medium severity", count(n, "problem"))
		}
		return quiet(exitTrouble) // the list has said it
	}
	return gap.err()
}

// diagnose gathers all findings, worst first: those about the nodes before
// those about single locks.
func diagnose(s inspect.Snapshot, pr *probeReport) []ailment {
	var out []ailment
	if pr != nil && !pr.ok() {
		out = append(out, ailment{Finding: pr.finding()})
	}
	for _, f := range s.Findings {
		out = append(out, ailment{Finding: f.Finding, nodes: f.Nodes})
	}
	for _, l := range s.Locks {
		for _, f := range l.Findings {
			out = append(out, ailment{Finding: f, lock: &l.ID})
		}
	}
	slices.SortStableFunc(out, func(a, b ailment) int { return cmp.Compare(severityRank(a.Severity), severityRank(b.Severity)) })
	return out
}

func severityRank(s inspect.Severity) int {
	return slices.Index([]inspect.Severity{inspect.High, inspect.Medium, inspect.Low}, s)
}

// trouble counts what is worth an exit code of its own. What is low is often so
// on purpose.
func trouble(found []ailment) int {
	n := 0
	for _, a := range found {
		if a.Severity != inspect.Low {
			n++
		}
	}
	return n
}

// alikeMost is how many locks are shown with the same finding before the rest is
// counted.
const alikeMost = 5

func (p *program) printDiagnosis(s inspect.Snapshot, found []ailment, pr *probeReport) error {
	l := p.look(p.stdout)
	var b strings.Builder
	if err := nodeTable(s).write(&b, l); err != nil {
		return err
	}
	for _, n := range s.Target.Nodes {
		if len(n.Denied) > 0 {
			fmt.Fprintf(&b, "%s: not permitted, so what it would tell was not checked: %s\n", text.Clean(n.Name), text.Clean(strings.Join(n.Denied, " ")))
		}
	}
	if pr != nil {
		b.WriteByte('\n')
		pr.write(&b)
	}
	for _, group := range alike(found) {
		b.WriteByte('\n')
		l.ailments(&b, group)
	}
	b.WriteString("\n" + tallyOf(found, s) + "\n")
	_, err := io.WriteString(p.stdout, b.String())
	return err
}

// alike puts those together that say the same of several nodes or locks, in the
// order of the first of each.
func alike(found []ailment) [][]ailment {
	type kind struct {
		id, advice string
		severity   inspect.Severity
	}
	var groups [][]ailment
	at := make(map[kind]int)
	for _, a := range found {
		k := kind{a.ID, a.Advice, a.Severity}
		i, ok := at[k]
		if !ok {
			i = len(groups)
			at[k], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], a)
	}
	return groups
}

// ailments prints findings that are alike: what they are, where, the evidence of
// each and what to do.
func (l look) ailments(b *strings.Builder, group []ailment) {
	first := group[0]
	title := l.paint(severityStyle(first.Severity), string(text.Clean(strings.ToUpper(string(first.Severity))+" "+first.ID)))
	if where := first.where(); where != "" && len(group) == 1 {
		title += "  " + l.paint(bold, string(where))
	}
	b.WriteString(title + "\n")
	write := func(words text.Safe) {
		for _, part := range text.Wrap(words, l.width-2) {
			b.WriteString("  " + string(part) + "\n")
		}
	}
	for _, a := range group[:min(alikeMost, len(group))] {
		words := text.Clean(a.Text)
		if a.lock != nil && len(group) > 1 {
			words = a.where() + ": " + words
		}
		write(words)
	}
	if more := len(group) - alikeMost; more > 0 {
		write(text.Clean(fmt.Sprintf("and %d more; -o json lists all", more)))
	}
	write(text.Clean(first.Advice))
}

func (a ailment) where() text.Safe {
	if a.lock != nil {
		return quoted(a.lock.Key)
	}
	return text.Clean(strings.Join(a.nodes, " "))
}

// tallyOf counts the findings and what they were looked for in.
func tallyOf(found []ailment, s inspect.Snapshot) string {
	in := fmt.Sprintf("%s and %s", count(len(s.Target.Nodes), "node"), count(len(s.Locks), "lock"))
	if len(found) == 0 {
		return "nothing found on " + in
	}
	var parts []string
	for _, severity := range []inspect.Severity{inspect.High, inspect.Medium, inspect.Low} {
		n := 0
		for _, a := range found {
			if a.Severity == severity {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, severity))
		}
	}
	return strings.Join(parts, ", ") + " on " + in
}

// nodeTable is what each node is.
func nodeTable(s inspect.Snapshot) *table {
	t := &table{columns: []column{
		{title: "NODE"}, {title: "ADDRESS", drop: 2}, {title: "STATE"}, {title: "ROLE", drop: 3}, {title: "VERSION", drop: 1},
		{title: "ROUND TRIP", right: true}, {title: "CLOCK", right: true}, {title: "LOCKS", right: true}, {title: "ERROR", least: 12},
	}}
	word := func(s string) text.Safe {
		if s == "" {
			return unknownText
		}
		return text.CleanMax(s, 300)
	}
	for _, n := range s.Target.Nodes {
		st, trouble := plain, text.Safe("-")
		if n.State != inspect.NodeUp {
			st = warning
		}
		if n.Error != "" {
			trouble = text.CleanMax(n.Error, 300)
		}
		t.rows = append(t.rows, []cell{
			{text.Clean(n.Name), plain}, {text.Clean(n.Addr), faint}, {text.Clean(string(n.State)), st}, {word(n.Role), plain}, {word(n.Version), plain},
			{maybeText(n.RTT, func(d time.Duration) string { return string(text.Latency(d)) }), plain},
			{maybeText(n.ClockOffset, func(d time.Duration) string { return fmt.Sprintf("%+dms", d.Milliseconds()) }), plain},
			{maybeText(n.Locks, func(n int) string { return fmt.Sprint(n) }), plain}, {trouble, faint},
		})
	}
	return t
}

// jsonDiagnosis is what `doctor -o json` prints.
type jsonDiagnosis struct {
	Schema   int           `json:"schema"`
	At       jsonTime      `json:"at"`
	Complete bool          `json:"complete"`
	Target   jsonTarget    `json:"target"`
	Findings []jsonAilment `json:"findings"`
	Probe    *jsonProbe    `json:"probe"`
}

// jsonAilment is a finding about nodes (all of them if there are none named),
// or about a lock where Key is not null.
type jsonAilment struct {
	jsonFinding
	Nodes  []string `json:"nodes"`
	Key    *string  `json:"key"`
	KeyB64 *string  `json:"key_b64"`
}

func newDiagnosis(s inspect.Snapshot, found []ailment, pr *probeReport) jsonDiagnosis {
	d := jsonDiagnosis{
		Schema: jsonSchema, At: jsonTime(s.At), Complete: s.Complete,
		Target: newTarget(s), Findings: make([]jsonAilment, 0, len(found)),
	}
	for _, a := range found {
		one := jsonAilment{jsonFinding: newFinding(a.Finding), Nodes: texts(a.nodes)}
		if a.lock != nil {
			key, b64 := bytesForJSON(a.lock.Key)
			one.Key, one.KeyB64 = &key, b64
		}
		d.Findings = append(d.Findings, one)
	}
	if pr != nil {
		d.Probe = pr.json()
	}
	return d
}
