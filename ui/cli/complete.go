package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dlock/ui/text"
	"dlock/ui/tui"
)

const (
	// completionPatience is how long a person who pressed the tab key waits
	// at most.
	completionPatience = 700 * time.Millisecond
	maxCompletions     = 200
)

// completeProfiles makes the shell complete the names of profiles, and of the
// few words that some options take.
func (p *program) completeProfiles(root *cobra.Command) {
	offer := func(flag string, words func() []string) {
		// The error is that there is no such flag, which a test would see.
		_ = root.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return words(), cobra.ShellCompDirectiveNoFileComp
		})
	}
	offer("profile", func() []string {
		s := p.settings // a copy: what completion finds out stays here
		s.origins = make(map[string]origin)
		file, err := s.readConfig(root.PersistentFlags(), p.env)
		if err != nil || file == nil {
			return nil
		}
		return slices.DeleteFunc(file.names(), func(name string) bool { return !plainArgument(name) })
	})
	offer("color", func() []string { return []string{"auto", "always", "never"} })
	offer("theme", tui.Themes)
}

// completeWords makes the shell complete an option that takes some of a few
// words, also behind a comma.
func completeWords(c *cobra.Command, flag string, words []string) {
	// The error is that there is no such flag, which a test would see.
	_ = c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		offered := make([]string, 0, len(words))
		for _, w := range words {
			offered = append(offered, before+w)
		}
		return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

// completeKeys offers the keys of locks that are there now. Whatever goes wrong,
// it offers nothing and says nothing.
func (p *program) completeKeys(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp
	if err := p.settings.resolve(c.Root().PersistentFlags(), p.env, false); err != nil || p.settings.askpass {
		return nil, directive
	}
	if typed != "" {
		p.settings.match = []string{globOf(typed) + "*"}
	}
	p.settings.timeout = min(p.settings.timeout, completionPatience)
	ctx, cancel := context.WithTimeout(c.Context(), completionPatience)
	defer cancel()
	found := make(chan []string, 1)
	go func() { found <- p.lockKeys(ctx, typed) }()
	select {
	case keys := <-found:
		return slices.DeleteFunc(keys, func(key string) bool { return slices.Contains(args, key) }), directive
	case <-ctx.Done():
		return nil, directive
	}
}

func (p *program) lockKeys(ctx context.Context, prefix string) []string {
	c, err := p.connect(&p.settings, true)
	if err != nil {
		return nil
	}
	defer c.close()
	s, err := c.inspector.Look(ctx)
	if err != nil {
		return nil
	}
	var keys []string
	for _, l := range s.Locks {
		if key := l.ID.Key; plainArgument(key) && strings.HasPrefix(key, prefix) && len(keys) < maxCompletions {
			keys = append(keys, key)
		}
	}
	return keys
}

// plainArgument reports whether a word can be typed in any shell as it is and
// means itself.
func plainArgument(word string) bool {
	return word != "" && text.Shell(word) == word && string(quoted(word)) == word && word[0] != '-'
}

// globOf returns a pattern that matches just the text.
func globOf(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(`*?[]^\`, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
