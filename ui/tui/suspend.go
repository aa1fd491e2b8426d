package tui

import (
	"io"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// away is a command of the framework's that gives the terminal back as it was,
// runs f, and takes the terminal again with a screen drawn from nothing. What
// f returns ends in the message of resumed.
func away(f func() error, now func() time.Time) cmd {
	return tea.Exec(pause(f), func(err error) tea.Msg { return resumedMsg{err, now()} })
}

// pause is a function in the shape of the framework's commands.
type pause func() error

func (p pause) Run() error        { return p() }
func (pause) SetStdin(io.Reader)  {}
func (pause) SetStdout(io.Writer) {}
func (pause) SetStderr(io.Writer) {}
