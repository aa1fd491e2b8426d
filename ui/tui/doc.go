// Package tui is the live terminal interface: the locks, one lock in full,
// the nodes, the events, a timeline, the findings, the owners and, over a demo,
// its workers; the command line; and the dialogs that force-release one lock or
// several. Over a [Recording] the same screens show the past.
//
// Data flows one way:
//
//	Source.Watch -> mailbox (one slot, newest wins) -> Send -> Update -> View
//
// and what a person wants flows back as commands, which are the only code
// here that does I/O besides that one goroutine. App is the only model the
// framework knows; the views are plain structs that are told their size and
// data and return lines. Time enters by message, so a screen is a function of
// state and can be compared with a file.
//
// Every line is exactly as wide as the terminal and every screen exactly as
// high, at any size. Bytes from Redis become text.Safe before they come near
// a line. States are told by a word and the shape of a glyph; colour only
// repeats them.
//
// The framework is imported by app.go, run.go, msgs.go and cmds.go alone.
package tui
