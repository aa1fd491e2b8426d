package text

import "strings"

// Wrap breaks prose into lines of at most w cells, between words. A word that
// is longer gets a line of its own; with less room than a line of text needs
// there is one line.
func Wrap(prose Safe, w int) []Safe {
	const readable = 20
	if w < readable {
		return []Safe{prose}
	}
	var lines []Safe
	var line Safe
	for _, field := range strings.Fields(string(prose)) {
		word := Safe(field)
		next := word
		if line != "" {
			next = line + " " + word
		}
		if line != "" && Width(next) > w {
			lines, next = append(lines, line), word
		}
		line = next
	}
	return append(lines, line)
}
