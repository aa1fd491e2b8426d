package tui

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"dlock/ui/text"
)

func blanks(n int) text.Safe { return text.Repeat(" ", n) }

func itoa(n int) text.Safe { return text.Clean(strconv.Itoa(n)) }

// plural is "1 lock", "2 locks".
func plural(n int, one, many text.Safe) text.Safe {
	if n == 1 {
		return "1 " + one
	}
	return text.Count(n) + " " + many
}

// join puts sep between the parts that are not empty.
func join(sep text.Safe, parts ...text.Safe) text.Safe {
	var out text.Safe
	for _, p := range parts {
		if p == "" {
			continue
		}
		if out != "" {
			out += sep
		}
		out += p
	}
	return out
}

// names cleans and joins node names and the like.
func names(raw []string) text.Safe {
	parts := make([]text.Safe, len(raw))
	for i, s := range raw {
		parts[i] = text.CleanMax(s, 40)
	}
	return join(" ", parts...)
}

// wrap breaks s into lines of at most w cells, at blanks where it can. A word
// longer than a line is cut where the line ends: nothing is left out.
func wrap(s text.Safe, w int) []text.Safe {
	if w < 1 {
		return nil
	}
	var lines []text.Safe
	var line text.Safe
	used := 0
	flush := func() {
		lines = append(lines, line)
		line, used = "", 0
	}
	for len(s) > 0 {
		word, rest := s, text.Safe("")
		if i := strings.IndexByte(string(s), ' '); i >= 0 {
			word, rest = s[:i], s[i+1:]
		}
		s = rest
		ww := text.Width(word)
		gap := 0
		if used > 0 {
			gap = 1
		}
		if used+gap+ww <= w {
			line += blanks(gap) + word
			used += gap + ww
			continue
		}
		if used > 0 {
			flush()
		}
		for ww > w {
			head := prefix(word, w)
			if head == "" { // a character wider than the line
				return lines
			}
			lines = append(lines, head)
			word = word[len(head):]
			ww = text.Width(word)
		}
		line, used = word, ww
	}
	if used > 0 || len(lines) == 0 {
		flush()
	}
	return lines
}

// prefix is the longest head of s of at most w cells that ends at a rune.
func prefix(s text.Safe, w int) text.Safe {
	end := 0
	for end < len(s) {
		_, n := utf8.DecodeRuneInString(string(s[end:]))
		if text.Width(s[:end+n]) > w {
			break
		}
		end += n
	}
	return s[:end]
}
