package cli

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"dlock/ui/text"
)

// keyArgs reads keys or globs from the command line. One in double quotes is
// decoded, as everything that dlock prints can be pasted back; what stands
// after -- is taken literally, even "-n" or "--help". Duplicates go.
func keyArgs(c *cobra.Command, args []string) ([]string, error) {
	dash := c.ArgsLenAtDash()
	var keys []string
	for i, arg := range args {
		key, err := nameArg("key "+strconv.Itoa(i+1), arg, dash >= 0 && i >= dash)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// nameArg reads one name; what is how to speak of it.
func nameArg(what, arg string, literal bool) (string, error) {
	name := arg
	if !literal {
		var err error
		if name, err = text.Unquote(arg); err != nil {
			return "", usage("%s: %s; after -- a name is taken as it is", what, err)
		}
		if hasCredentials(arg) {
			return "", usage("a URL stands where a name is expected; it goes after --node (a name that looks like a URL goes after --)")
		}
	}
	if name == "" {
		return "", usage("%s is empty", what)
	}
	return name, nil
}

// hasCredentials reports whether an argument is a Redis URL that may hold a
// password, so that it must not be printed as if it were a key.
func hasCredentials(arg string) bool {
	scheme, rest, ok := strings.Cut(arg, "://")
	if !ok || !strings.Contains(rest, "@") {
		return false
	}
	switch strings.ToLower(scheme) {
	case "redis", "rediss", "unix", "redis+cluster", "redis+sentinel":
		return true
	}
	u, err := url.Parse(arg)
	return err != nil || u.User != nil
}

// needKeys refuses a command line without a key.
func needKeys(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage("%s needs a key, for example: %s lock:orders:42", c.CommandPath(), c.CommandPath())
	}
	return nil
}

func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no arguments", c.CommandPath())
	}
	return nil
}

// shellCommand is a dlock command line to paste into a shell.
func shellCommand(command string, keys []string, options ...string) text.Safe {
	words := []string{"dlock", command}
	if slices.ContainsFunc(keys, func(k string) bool { return strings.HasPrefix(k, "-") }) {
		words = append(append(append(words, options...), "--"), keys...)
	} else {
		words = append(append(words, keys...), options...)
	}
	return text.Escaped(text.Shell(words...))
}
