package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"dlock/lockcore"
	"dlock/ui/text"
)

func (p *program) acquireCommand() *cobra.Command {
	var l lease
	c := &cobra.Command{
		Use:               "acquire RESOURCE [options]",
		SuggestFor:        []string{"lock", "take", "grab"},
		Short:             "Take a lock and print its token, for scripts",
		Long:              acquireHelp,
		Example:           acquireExamples,
		ValidArgsFunction: noCompletion,
		RunE: func(c *cobra.Command, args []string) error {
			format, err := p.format("text", "env", "json")
			if err != nil {
				return err
			}
			resource, err := oneResource(c, args)
			if err != nil {
				return err
			}
			if format == "env" && string(text.Escaped(resource)) != resource {
				return usage("-o env cannot carry a name that is not printable; use -o json")
			}
			return p.acquire(c.Context(), resource, l, format)
		},
	}
	l.registerTTL(c.Flags())
	l.registerWait(c.Flags())
	return c
}

func (p *program) acquire(ctx context.Context, resource string, l lease, format string) error {
	locker, err := p.openLocker(l)
	if err != nil {
		return err
	}
	defer locker.close()
	// Nobody renews it once this program has ended, so nobody does before.
	k, err := locker.Acquire(ctx, resource, lockcore.WithWatchdog(false))
	if err != nil {
		return p.failed(ctx, resource, format, locker.why(resource, err))
	}
	p.debug.Debug("acquired", "resource", string(quoted(resource)), "fence", k.Fence(), "valid", k.Remaining())
	err = ctx.Err()
	if err == nil {
		err = p.printGrant(k, l, format)
	}
	if err != nil {
		// A token that nobody was told keeps the lock from everybody.
		if released := k.Release(ctx); released != nil {
			p.say("%s", locker.why(resource, released).sentence)
		}
		return err
	}
	return nil
}

func (p *program) printGrant(k *lockcore.Lock, l lease, format string) error {
	switch format {
	case "json":
		s := p.newStep(k.Resource(), outcomeAcquired)
		s.held(k, l.ttl)
		return writeJSON(p.stdout, s, true)
	case "env":
		_, err := fmt.Fprintf(p.stdout, "export %s=%s %s=%s %s=%d\n",
			envResource, singleQuoted(k.Resource()), envToken, singleQuoted(k.Token().String()), envFence, k.Fence())
		return err
	}
	_, err := io.WriteString(p.stdout, k.Token().String()+"\n")
	return err
}

// What a command finds in its environment, and `acquire -o env` sets.
const (
	envResource = "DLOCK_RESOURCE"
	envToken    = "DLOCK_TOKEN"
	envFence    = "DLOCK_FENCE"
)

// singleQuoted is a POSIX shell's literal.
func singleQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
