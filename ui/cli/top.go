package cli

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"dlock/inspect"
	"dlock/ui/tui"
)

// tuiRunner is tui.Run.
type tuiRunner func(ctx context.Context, c tui.Config, s tui.Source) error

func runTUI(ctx context.Context, c tui.Config, s tui.Source) error { return tui.Run(ctx, c, s) }

func (p *program) topCommand(name string) *cobra.Command {
	return &cobra.Command{
		Use:     name,
		Short:   "Watch the locks live on a terminal (dlock alone does the same)",
		Long:    topHelp,
		Example: topExamples,
		RunE: func(c *cobra.Command, args []string) error {
			if err := noArgs(c, args); err != nil {
				return err
			}
			if p.settings.output != "" {
				return usage("-o is for dlock ls, get and demo --headless; the live view has no other format")
			}
			return p.top(c.Context())
		},
	}
}

func (p *program) top(ctx context.Context) error {
	if err := p.needTerminal("use dlock ls for a list, dlock watch for events, or -o json in a script"); err != nil {
		return err
	}
	c := p.screen()
	var audit *auditor
	if p.settings.readOnly {
		c.ReadOnly = p.settings.readOnlyBy
	} else {
		var err error
		if audit, err = p.openAudit("top", ""); err != nil {
			// Looking must go on; releasing without a record must not.
			c.ReadOnly = "the audit file cannot be written: " + err.Error() + "; start with --audit FILE or --audit none"
		} else {
			defer audit.close()
			c.Audit = audit.released
		}
	}
	in, addrs, done, err := p.open(c.ReadOnly != "")
	if err != nil {
		return err
	}
	defer done()
	c.Title = title(addrs)
	c.Env, c.EnvColor = p.settings.environmentTag()
	return p.runTUI(ctx, c, &recorded{in, audit})
}

// needTerminal refuses to start a live view that nobody could see.
func (p *program) needTerminal(instead string) error {
	if _, ok := p.terminal(p.stdout); !ok {
		return usage("stdout is not a terminal; %s", instead)
	}
	if _, ok := p.terminal(p.stdin); !ok {
		return usage("stdin is not a terminal; %s", instead)
	}
	return p.needCursor()
}

// screen is what every live view has in common.
func (p *program) screen() tui.Config {
	c := tui.Config{
		ASCII:    p.settings.ascii || p.env.plainCharset(),
		Theme:    p.settings.theme,
		Operator: p.identity().name,
		JSON:     writeSnapshot,
		Input:    p.stdin,
		Output:   p.stdout,
	}
	if i := strings.LastIndexByte(c.Operator, '@'); i >= 0 {
		c.Host = c.Operator[i+1:]
	}
	if p.settings.color == "never" {
		c.Theme = "mono"
	}
	if p.traces != nil {
		c.Debug = p.traces
	}
	return c
}

// writeSnapshot writes a snapshot as dlock ls -o json does.
func writeSnapshot(w io.Writer, s inspect.Snapshot) error {
	return writeJSON(w, newDocument(s, s.Locks), true)
}

// environmentTag is the tag of the environment that is looked at, "" for none.
func (s *settings) environmentTag() (tag, color string) {
	tag = s.tag
	if s.insecure {
		tag = strings.TrimSpace(tag + " INSECURE")
	}
	return tag, s.tagColor
}

// title says what is looked at, by address: what stands before the @ of a URL
// is nobody's business.
func title(addrs []string) string {
	if len(addrs) > 1 {
		return addrs[0] + " +" + strconv.Itoa(len(addrs)-1)
	}
	return strings.Join(addrs, "")
}
