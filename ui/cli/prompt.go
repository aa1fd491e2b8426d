package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"dlock/inspect"
	"dlock/ui/text"
)

// listMatched shows, before anything happens, what the command line matched
// and what would become of it. It is talk, so that standard output stays the
// list of results.
func (p *program) listMatched(s inspect.Snapshot, items []item) {
	l := p.look(p.stderr)
	t := &table{columns: []column{
		{title: "STATE", tight: 8}, keyColumn, {title: "OWNER", least: 12, drop: 3},
		{title: "TTL", right: true}, {title: "HELD FOR", right: true, drop: 1}, {title: "VOTES", right: true, drop: 2},
		{title: "RELEASE", least: 12},
	}}
	for _, it := range items {
		todo, st := text.Safe("yes"), plain
		if !it.sent() {
			todo, st = "no: "+outcomeLine(it.outcome, it.detail), faint
		}
		t.rows = append(t.rows, []cell{
			{stateText(it.lock), stateStyle(it.lock)}, {quoted(it.lock.ID.Key), plain}, {l.ownerText(it.lock), plain},
			{ttlText(it.lock.Expiry, s.At), plain}, {l.heldText(it.lock, s.At), plain}, {votesText(it.lock), plain}, {todo, st},
		})
	}
	t.write(p.stderr, l)
}

// planShown is how many of the locks that are meant are shown with the commands
// that would be sent.
const planShown = 5

// askRelease shows what would be sent and waits for a person to type
// something that cannot be typed by accident.
func (p *program) askRelease(ctx context.Context, s inspect.Snapshot, items []item) (bool, error) {
	l := p.look(p.stderr)
	var b strings.Builder
	var meant []item
	for _, it := range items {
		if it.sent() {
			meant = append(meant, it)
		}
	}
	for _, it := range meant[:min(planShown, len(meant))] {
		if len(meant) == 1 {
			l.describe(&b, s, it.lock)
		} else {
			fmt.Fprintf(&b, "\n%s\n", l.paint(bold, string(quoted(it.lock.ID.Key))))
		}
		fmt.Fprintf(&b, "\n  will be sent, where the token is still %s:\n", quoted(it.token))
		writeSteps(&b, it.plan, l.width)
	}
	if more := len(meant) - planShown; more > 0 {
		fmt.Fprintf(&b, "\nand the like for the other %s, each with its own token\n", count(more, "lock"))
	}
	word := strconv.Itoa(len(meant))
	what := "to release these " + count(len(meant), "lock")
	if len(meant) == 1 {
		word, what = armingWord(meant[0]), "to release it"
	}
	fmt.Fprintf(&b, "\nType %s %s, anything else leaves it as it is: ", l.paint(bold, string(quoted(word))), what)
	if _, err := io.WriteString(p.stderr, b.String()); err != nil {
		return false, err
	}
	answer, err := p.readLine(ctx)
	if err != nil {
		fmt.Fprintln(p.stderr)
		return false, err
	}
	if answer != word {
		return false, exitWith(exitNotThere, "nothing was released")
	}
	return true, nil
}

// armingWord is what has to be typed to release one lock: the last part of its
// name, or, where that is not plain text, the start of the token.
func armingWord(it item) string {
	key := it.lock.ID.Key
	word := key[strings.LastIndexByte(key, ':')+1:]
	if word == "" {
		word = key
	}
	if string(text.Clean(word)) == word && strings.TrimSpace(word) == word && len(word) <= 64 {
		return word
	}
	start := it.token[:min(4, len(it.token))]
	if string(text.Clean(start)) == start && strings.TrimSpace(start) == start && start != "" {
		return start
	}
	return "release"
}

// readLine reads one line of the terminal, or ends with ctx. The reading
// goroutine may stay behind in that case, which is the end of the program.
func (p *program) readLine(ctx context.Context) (string, error) {
	type answer struct {
		line string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		line, err := bufio.NewReader(io.LimitReader(p.stdin, 4096)).ReadString('\n')
		got <- answer{line, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case a := <-got:
		if a.err != nil && a.line == "" {
			return "", exitWith(exitNotThere, "nothing was released: no answer")
		}
		return strings.TrimSpace(a.line), nil
	}
}
