// Package text is the only code of dlock that measures how wide text is on a
// terminal, and the only code that lets foreign bytes near one.
//
// Everything that comes from Redis (keys, tokens, owners, error replies,
// client and configuration names) is hostile until [Clean] or [CleanMax] has
// made a [Safe] from it. Whatever draws on a terminal accepts Safe, so that a
// plain string does not compile. Outside this package only constants may be
// converted to Safe.
//
// # What stays readable and what is escaped
//
// Letters of every script, digits, punctuation, symbols, simple emoji and up
// to four non-spacing marks on a letter or digit stay as they are. Escaped,
// because they act on the terminal, cannot be seen, or have a width that
// terminals do not agree on:
//
//   - control characters (newline and tab too), DEL, C1, bytes that are not UTF-8
//   - format characters: bidirectional controls, zero-width space and joiners,
//     soft hyphen, tags; line and paragraph separators; every space but U+0020;
//     fillers and other characters that look like nothing
//   - code points that are private, unassigned or not characters
//   - spacing and enclosing marks, viramas that fuse two letters, prepended
//     letters, and marks that have no letter to stand on
//   - variation selectors, emoji modifiers and regional indicators; so an emoji
//     sequence shows its parts, and its width is the sum of theirs
//
// What is left has a useful property: neither end of a Safe ever merges with a
// neighbour into one grapheme cluster, so Width(a+b) is Width(a)+Width(b).
// Right-to-left letters remain; a terminal that reorders them does so within
// the row.
//
// # Three written forms of the same bytes
//
//   - [Clean] for screens: Go's escapes (\n, \x1b, \u202e), a backslash doubled.
//   - [Quote] for the command line and redis-cli: plain where possible, else
//     "double quotes" with redis-cli's escapes; [Unquote] reads it back.
//   - [Shell] for a POSIX shell: Quote's form inside single quotes where needed.
//     A shell removes Quote's own double quotes, so use Shell for anything that
//     a person is meant to paste there.
//
// All functions are pure and safe for concurrent use. Widths are in terminal
// cells; a width below zero counts as zero.
package text
