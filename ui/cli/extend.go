package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"dlock/lockcore"
	"dlock/ui/text"
)

// claim names a grant that an earlier command was given.
type claim struct {
	token string
	fence int64
}

func (p *program) extendCommand() *cobra.Command {
	var (
		l  lease
		by claim
	)
	c := &cobra.Command{
		Use:               "extend RESOURCE --token T [options]",
		SuggestFor:        []string{"renew", "refresh", "keep"},
		Short:             "Give a lock that acquire has taken a new time to live",
		Long:              extendHelp,
		Example:           extendExamples,
		ValidArgsFunction: noCompletion,
		RunE: func(c *cobra.Command, args []string) error {
			resource, token, format, err := p.claimedResource(c, args, &by)
			if err != nil {
				return err
			}
			return p.extend(c.Context(), resource, token, by.fence, l, format)
		},
	}
	l.registerTTL(c.Flags())
	by.registerToken(c)
	c.Flags().Int64Var(&by.fence, "fence", 0, "fencing `number` of the grant, so that nodes which lost the lock get it back (default $"+envFence+")")
	return c
}

// claimedResource reads what extend and unlock are about: a resource, the token
// that claims it, and how to answer.
func (p *program) claimedResource(c *cobra.Command, args []string, by *claim) (resource string, token lockcore.Token, format string, err error) {
	if format, err = p.format("text", "json"); err != nil {
		return
	}
	if resource, err = oneResource(c, args); err != nil {
		return
	}
	token, err = p.claimed(c, by)
	return
}

func (p *program) unlockCommand() *cobra.Command {
	var by claim
	c := &cobra.Command{
		Use:               "unlock RESOURCE --token T [options]",
		Short:             "Give back a lock that acquire has taken",
		Long:              unlockHelp,
		Example:           unlockExamples,
		ValidArgsFunction: noCompletion,
		RunE: func(c *cobra.Command, args []string) error {
			resource, token, format, err := p.claimedResource(c, args, &by)
			if err != nil {
				return err
			}
			return p.unlock(c.Context(), resource, token, format)
		},
	}
	by.registerToken(c)
	return c
}

func (by *claim) registerToken(c *cobra.Command) {
	c.Flags().StringVar(&by.token, "token", "", "the `token` that acquire printed (default $"+envToken+")")
}

// claimed settles token and fence from flags and environment. The fence of the
// environment belongs to the token of the environment and to no other.
func (p *program) claimed(c *cobra.Command, by *claim) (lockcore.Token, error) {
	from := "--token"
	if !c.Flags().Changed("token") {
		by.token, from = p.env[envToken], envToken
		if fence := p.env[envFence]; fence != "" && !c.Flags().Changed("fence") {
			n, err := strconv.ParseInt(fence, 10, 64)
			if err != nil || n < 0 {
				return lockcore.Token{}, usage("%s needs a whole number, 0 or more", envFence)
			}
			by.fence = n
		}
	}
	if by.token == "" {
		return lockcore.Token{}, usage("%s needs the token of the lock: --token T, or %s", c.CommandPath(), envToken)
	}
	token, ok := lockcore.ParseToken(by.token)
	if !ok {
		// It is not repeated: a password may have slipped in here.
		return lockcore.Token{}, usage("%s is no token that dlock acquire printed; what another library has locked is freed by dlock release KEY --token T", from)
	}
	return token, nil
}

func (p *program) extend(ctx context.Context, resource string, token lockcore.Token, fence int64, l lease, format string) error {
	locker, err := p.openLocker(l)
	if err != nil {
		return err
	}
	defer locker.close()
	k, err := locker.Attach(ctx, resource, token, fence, lockcore.WithWatchdog(false))
	if err != nil {
		return p.failed(ctx, resource, format, locker.why(resource, err))
	}
	if format == "json" {
		s := p.newStep(resource, outcomeExtended)
		s.held(k, l.ttl)
		return writeJSON(p.stdout, s, true)
	}
	_, err = fmt.Fprintf(p.stdout, "%s: extended, valid for %s\n", quoted(resource), text.Duration(k.Remaining()))
	return err
}

func (p *program) unlock(ctx context.Context, resource string, token lockcore.Token, format string) error {
	locker, err := p.openLocker(lease{})
	if err != nil {
		return err
	}
	defer locker.close()
	if err := locker.ReleaseToken(ctx, resource, token); err != nil {
		f := locker.why(resource, err)
		if errors.Is(err, lockcore.ErrNotReleased) {
			f.sentence += "; others wait until its time to live ends"
		}
		return p.failed(ctx, resource, format, f)
	}
	if format == "json" {
		s := p.newStep(resource, outcomeReleased)
		text := token.String()
		s.Token = &text
		return writeJSON(p.stdout, s, true)
	}
	_, err = fmt.Fprintf(p.stdout, "%s: released\n", quoted(resource))
	return err
}
