package text

import "strings"

// Shell writes a dlock command as one line that can be pasted into a POSIX
// shell. An argument of harmless characters stays as it is; other printable
// text stands in single quotes; what is not printable, or would itself be taken
// for a quoted argument, stands in the form of [Quote] within single quotes,
// which dlock reads with [Unquote] wherever it takes a key or a token. The
// line is fit for a terminal; show it with [Escaped].
func Shell(args ...string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = shellWord(a)
	}
	return strings.Join(words, " ")
}

func shellWord(arg string) string {
	if arg != "" && strings.IndexFunc(arg, needsShellQuotes) < 0 {
		return arg
	}
	if quoted := len(arg) >= 2 && arg[0] == '"' && arg[len(arg)-1] == '"'; quoted || !printable(arg) {
		arg = Quote(arg)
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

func needsShellQuotes(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	default:
		return !strings.ContainsRune("-_./:,@%+", r)
	}
}
