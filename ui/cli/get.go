package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dlock/inspect"
	"dlock/ui/text"
)

func (p *program) getCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "get KEY… [options]",
		SuggestFor:        []string{"show", "inspect", "describe", "info"},
		Short:             "Show locks in full, node by node",
		Long:              getHelp,
		Example:           getExamples,
		Args:              needKeys,
		ValidArgsFunction: p.completeKeys,
		RunE: func(c *cobra.Command, args []string) error {
			format, err := p.format("text", "json", "jsonl")
			if err != nil {
				return err
			}
			keys, err := keyArgs(c, args)
			if err != nil {
				return err
			}
			return p.get(c.Context(), format, keys)
		},
	}
}

func (p *program) get(ctx context.Context, format string, keys []string) error {
	in, _, done, err := p.open(true)
	if err != nil {
		return err
	}
	defer done()
	s, err := in.Get(ctx, keys...)
	if err := looked(ctx, s, err); err != nil {
		return err
	}
	found, missing := sortOut(s, keys)
	if err := p.printFound(s, found, format); err != nil {
		return err
	}

	code := exitOK
	for _, key := range missing {
		p.say("no such lock: %s%s", quoted(key), quotesLost(key))
		code = worse(code, exitNotThere)
	}
	for _, l := range found {
		if allDenied(l) {
			p.say("may not be read: %s: %s", quoted(l.ID.Key), text.CleanMax(l.Copies[0].Error, 300))
			code = worse(code, exitRefused)
		}
	}
	// Where all nodes answer, what may not be read was said already.
	said := code == exitRefused && s.Target.Up() == len(s.Target.Nodes)
	if gap := silent(s); gap.code != exitOK && !said {
		p.say("%s", gap.sentence)
		if code != exitRefused {
			// A lock that the other nodes do not have may still be there.
			code = gap.code
		}
	}
	return quiet(code)
}

// sortOut brings the locks into the order in which they were asked for and
// names the keys that no node has.
func sortOut(s inspect.Snapshot, keys []string) (found []inspect.Lock, missing []string) {
	byKey := make(map[string]inspect.Lock, len(s.Locks))
	for _, l := range s.Locks {
		byKey[l.ID.Key] = l
	}
	for _, key := range keys {
		if l, ok := byKey[key]; ok && (l.State != inspect.Expired || l.Companion != nil) {
			found = append(found, l)
		} else {
			missing = append(missing, key)
		}
	}
	return found, missing
}

func allDenied(l inspect.Lock) bool {
	for _, c := range l.Copies {
		if c.Answer != inspect.AnswerDenied {
			return false
		}
	}
	return len(l.Copies) > 0
}

// quotesLost helps with the commonest reason why a key is not found although
// dlock has printed it: the shell took its quotes away.
func quotesLost(key string) string {
	if !strings.Contains(key, `\`) {
		return ""
	}
	return ` (in a shell a quoted key needs quotes around its quotes: '"…"')`
}

func (p *program) printFound(s inspect.Snapshot, found []inspect.Lock, format string) error {
	switch format {
	case "json":
		return writeJSON(p.stdout, newDocument(s, found), true)
	case "jsonl":
		for _, l := range found {
			if err := writeJSON(p.stdout, newLock(l, s.At), false); err != nil {
				return err
			}
		}
		return nil
	}
	l := p.look(p.stdout)
	var b strings.Builder
	for i, lock := range found {
		if i > 0 {
			b.WriteByte('\n')
		}
		l.describe(&b, s, lock)
		p.releaseHint(&b, l, lock)
	}
	l.nodeLines(&b, findingsAbout(s.Findings, found))
	_, err := io.WriteString(p.stdout, b.String())
	return err
}

// labelCells is how far the values of a description stand from the left.
const labelCells = 12

func label(name string) string { return fmt.Sprintf("  %-*s", labelCells-2, name) }

// describe prints everything known about one lock for a person.
func (l look) describe(b *strings.Builder, s inspect.Snapshot, lock inspect.Lock) {
	now := s.At
	line := func(name string, value text.Safe, st style) {
		fmt.Fprintln(b, label(name)+l.paint(st, string(value)))
	}
	fmt.Fprintln(b, l.paint(bold, string(quoted(lock.ID.Key))))
	line("state", l.verdict(lock), stateStyle(lock))
	if c := lock.Companion; c != nil {
		line("of", quoted(c.Of)+", as its "+text.Clean(string(c.Role)), plain)
	}
	for i, o := range lock.Owners[:min(ownersShown, len(lock.Owners))] {
		name := "owner"
		if len(lock.Owners) > 1 {
			name = fmt.Sprintf("owner %d", i+1)
		}
		line(name, l.ownerLine(o, now), plain)
		line("token", quoted(o.Token), plain)
	}
	if more := len(lock.Owners) - ownersShown; more > 0 {
		line("", text.Clean(fmt.Sprintf("and %d more; -o json lists all", more)), plain)
	}
	line("ttl", l.ttlLine(lock, now), plain)
	line("held for", l.heldText(lock, now), plain)
	if lock.Fence.Known {
		line("fence", maybeText(lock.Fence, decimal), plain)
	}
	if lock.Waiters.Known {
		line("waiters", waitersLine(lock, now), plain)
	}
	if lock.Idle.Known {
		line("idle", text.Clean(durationText(lock.Idle.Value)), plain)
	}
	line("library", libraryLine(lock), plain)
	if words := companionsLine(lock); words != "" {
		line("beside it", words, plain)
	}
	if words := statsLine(lock.Stats); words != "" {
		line("seen", words, plain)
	}
	for i, e := range lock.History {
		name := "history"
		if i > 0 {
			name = ""
		}
		line(name, l.eventWords(e), eventStyle(e.Kind))
	}
	prose := func(name string, words text.Safe, st style) {
		for i, part := range text.Wrap(words, l.width-labelCells) {
			if i > 0 {
				name = ""
			}
			line(name, part, st)
		}
	}
	for _, f := range lock.Findings {
		prose("finding", text.Clean(strings.ToUpper(string(f.Severity))+" "+f.ID+": "+f.Text), severityStyle(f.Severity))
		if f.Advice != "" {
			prose("", text.Clean(f.Advice), plain)
		}
	}
	b.WriteByte('\n')
	l.copies(b, s, lock)
}

// releaseHint prints what to type to release the lock, once per token. A
// password may stand in the --node options, so they are not repeated.
func (p *program) releaseHint(b *strings.Builder, l look, lock inspect.Lock) {
	named := 0
	for _, o := range lock.Owners[:min(ownersShown, len(lock.Owners))] {
		if o.Token == "" {
			continue // an empty value tells nobody from anybody
		}
		var cannot inspect.ErrCannotRelease
		if _, err := inspect.PlanRelease(lock, o.Token); errors.As(err, &cannot) {
			fmt.Fprintf(b, "\n%s%s\n", label("release"), l.paint(faint, string(text.CleanMax("not by dlock: "+cannot.Reason, 500))))
			return
		}
		name := "release"
		if named > 0 {
			name = "or"
		} else {
			b.WriteByte('\n')
		}
		named++
		options := append([]string{"--token", o.Token}, p.settings.repeated()...)
		fmt.Fprintf(b, "%s%s\n", label(name), l.paint(faint, string(shellCommand("release", []string{lock.ID.Key}, options...))))
	}
	if named > 0 && p.settings.nodesFrom == "--node" {
		fmt.Fprintf(b, "%s%s\n", label(""), l.paint(faint, "with the same --node options, before the key"))
	}
}

func (l look) verdict(lock inspect.Lock) text.Safe {
	v := lock.Votes
	words := string(stateText(lock)) + ": "
	switch lock.State {
	case inspect.Held:
		words += fmt.Sprintf("%d of %s store this token, %d needed", v.Agree, count(v.Of, "node"), v.Need)
	case inspect.Split:
		words += fmt.Sprintf("%d tokens on %s, none on the %d needed", len(lock.Owners), count(v.Of, "node"), v.Need)
	case inspect.Partial:
		words += fmt.Sprintf("%d of %s store this token, %d needed, so nobody holds it", v.Agree, count(v.Of, "node"), v.Need)
	case inspect.Unknown:
		words += unknownWords(lock)
	default:
		words += "no node has it"
		if lock.Companion != nil {
			words = string(stateText(lock)) + ": this is no lock, and the one it was beside is gone"
		}
	}
	if v.Unreachable > 0 && lock.State != inspect.Unknown {
		words += fmt.Sprintf(" (%d did not answer)", v.Unreachable)
	}
	return text.Clean(words)
}

// unknownWords says what keeps a lock from being judged.
func unknownWords(lock inspect.Lock) string {
	v := lock.Votes
	silent := fmt.Sprintf("%d needed, and %d did not answer", v.Need, v.Unreachable)
	switch {
	case lock.Contested() && v.Unreachable > 0:
		return fmt.Sprintf("%d tokens on %s, the first on %d, %s", len(lock.Owners), count(v.Of, "node"), v.Agree, silent)
	case v.Unreachable > 0:
		return fmt.Sprintf("%d of %s store a token, %s", v.Agree, count(v.Of, "node"), silent)
	default:
		return fmt.Sprintf("what is under the key is not a token on a quorum of %s, and cannot be compared", count(v.Of, "node"))
	}
}

func (l look) ownerLine(o inspect.Owner, now time.Time) text.Safe {
	words := text.Clean(o.Name)
	if words == "" {
		words = "not told by the value"
	}
	if o.Thread != "" {
		words += ", thread " + text.Clean(o.Thread)
	}
	if o.Mode != "" {
		words += ", to " + text.Clean(o.Mode)
	}
	if o.Count > 1 {
		words += text.Clean(fmt.Sprintf(", taken %d times over", o.Count))
	}
	if !o.Since.IsZero() {
		words += text.Clean(", asked for it " + durationText(now.Sub(o.Since)) + " ago")
	}
	if !o.Until.IsZero() {
		words += text.Clean(", until " + durationText(max(0, o.Until.Sub(now))) + " from now by its own clock")
	}
	if len(o.Votes) > 0 {
		words += text.Clean(", on " + strings.Join(o.Votes, " "))
	}
	return words
}

func (l look) ttlLine(lock inspect.Lock, now time.Time) text.Safe {
	ttl := ttlText(lock.Expiry, now)
	switch {
	case lock.Expiry.Never:
		return ttl + ": it has no expiry and stays until somebody deletes it"
	case ttl == unknownText:
		return ttl
	case lock.State != inspect.Held:
		return ttl + " until the last copy ends, if nobody renews"
	}
	end := text.Safe(" until the quorum is lost, if nobody renews")
	if lock.Votes.Of == 1 {
		end = " if nobody renews"
	}
	valid, known := lock.Valid(now)
	if !known {
		return ttl + end
	}
	return ttl + end + "; " + text.Clean(durationText(valid)) + " less the drift allowance"
}

func libraryLine(lock inspect.Lock) text.Safe {
	var more []string
	for _, word := range []string{lock.Kind, lock.Type} {
		if word != "" {
			more = append(more, word)
		}
	}
	words := lock.Library
	if len(more) > 0 {
		words += " (" + strings.Join(more, ", ") + ")"
	}
	if sure := confidence(lock); sure != nil && *sure != "certain" {
		words += ", " + *sure
	}
	if len(lock.Candidates) > 0 {
		words += "; these write the same: " + strings.Join(lock.Candidates, ", ")
	}
	return text.CleanMax(words, 1000)
}

// ownersShown and waitersShown are how many of them are shown for a person.
const (
	ownersShown  = 20
	waitersShown = 5
)

// waitersLine counts who waits and names the first in line.
func waitersLine(lock inspect.Lock, now time.Time) text.Safe {
	words := text.Clean(fmt.Sprint(lock.Waiters.Value))
	if lock.WaitersAreProcesses {
		words += " processes, each of which may wait for several threads"
		if lock.Waiters.Value == 1 {
			words = "1 process, which may wait for several threads"
		}
	}
	var named []text.Safe
	for _, w := range lock.WaiterList[:min(waitersShown, len(lock.WaiterList))] {
		one := text.Clean(w.Owner)
		if one == "" {
			one = quoted(w.Token)
		}
		if !w.Since.IsZero() {
			one += text.Clean(" for " + durationText(max(0, now.Sub(w.Since))))
		}
		named = append(named, one)
	}
	if len(named) > 0 {
		words += ": " + text.Join(named, ", ")
	}
	if more := lock.Waiters.Value - len(named); more > 0 && len(named) > 0 {
		words += text.Clean(fmt.Sprintf(", and %d more", more))
	}
	return words
}

// companionsLine names the keys beside the lock's own.
func companionsLine(lock inspect.Lock) text.Safe {
	var named []text.Safe
	for _, c := range lock.Companions {
		named = append(named, quoted(c.Key)+" ("+text.Clean(string(c.Role))+")")
	}
	return text.Join(named, ", ")
}

// statsLine is what was seen of earlier holds, "" if none was.
func statsLine(s inspect.Stats) text.Safe {
	mean, known := s.MeanHold()
	if !known {
		return ""
	}
	words := fmt.Sprintf("%s from beginning to end, %s on average, %s at most", count(s.Holds, "hold"), durationText(mean), durationText(s.Longest))
	if wait, known := s.MeanWait(); known {
		words += fmt.Sprintf("; holders had waited %s on average, %s at most", durationText(wait), durationText(s.LongestWait))
	}
	return text.Clean(words)
}

// findingsAbout leaves the findings about nodes that some of the locks are on,
// without those of low severity, which say little about one lock.
func findingsAbout(findings []inspect.NodeFinding, locks []inspect.Lock) []inspect.NodeFinding {
	var out []inspect.NodeFinding
	for _, f := range findings {
		concerns := len(f.Nodes) == 0 || slices.ContainsFunc(locks, func(l inspect.Lock) bool {
			return slices.ContainsFunc(l.Copies, func(c inspect.Copy) bool { return slices.Contains(f.Nodes, c.Node) })
		})
		if concerns && f.Severity != inspect.Low && len(locks) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// copies prints what each node says.
func (l look) copies(b *strings.Builder, s inspect.Snapshot, lock inspect.Lock) {
	addr := make(map[string]string, len(s.Target.Nodes))
	for _, n := range s.Target.Nodes {
		addr[n.Name] = n.Addr
	}
	t := &table{columns: []column{
		{title: "NODE"}, {title: "ADDRESS", drop: 1}, {title: "ANSWER"},
		{title: "TTL", right: true}, {title: "TOKEN OR REASON", least: 12, middle: true},
	}}
	for _, c := range lock.Copies {
		ttl, value, st := text.Safe("-"), text.Safe("-"), plain
		switch c.Answer {
		case inspect.AnswerHeld, inspect.AnswerOther:
			ttl, value = ttlText(c.Expiry, s.At), unknownText
			if c.HasToken {
				value = quoted(c.Token)
			}
			if c.Answer == inspect.AnswerOther {
				st = warning
			}
		case inspect.AnswerUnreachable, inspect.AnswerDenied:
			ttl, st = unknownText, faint
			value = text.CleanMax(c.Error, 300)
			if value == "" {
				value = "no answer"
			}
		}
		t.rows = append(t.rows, []cell{
			{text.Clean(c.Node), plain}, {text.Clean(addr[c.Node]), faint}, {text.Clean(string(c.Answer)), st}, {ttl, plain}, {value, plain},
		})
	}
	inner := l
	if inner.width > 2 {
		inner.width -= 2
	}
	var rows strings.Builder
	t.write(&rows, inner)
	for line := range strings.Lines(rows.String()) {
		b.WriteString("  " + line)
	}
}
