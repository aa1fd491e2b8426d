// Package noquery keeps the program from asking the terminal anything when it
// starts. Import it for its effect alone.
//
// bubbletea asks the terminal for its background colour while packages are
// initialised, before main runs, and waits up to five seconds for the answer
// on a terminal that never gives one (many serial consoles, some multiplexers,
// most programs that only pretend to be a terminal). It does so even for a
// command that never draws a screen.
//
// The question is skipped when lipgloss has been told the answer before. Go
// initialises packages whose imports are ready in the order of their import
// paths, and this one needs nothing but lipgloss and has a path that sorts
// before bubbletea's, so it speaks first. The answer itself does not matter:
// the colours of the terminal interface are chosen to be readable on light
// and on dark.
package noquery

import "github.com/charmbracelet/lipgloss"

func init() { lipgloss.SetHasDarkBackground(true) }
