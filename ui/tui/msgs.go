package tui

import (
	"time"

	"dlock/demo"
	"dlock/inspect"
	"dlock/ui/text"
)

// The messages App understands, besides the framework's size message. Each
// carries the moment it was made, so that nothing in App reads a clock, and
// answers carry the number of their request.

// keyPressedMsg is a key press, or a paste.
type keyPressedMsg struct{ key key }

// keysPressedMsg is several key presses that came in one piece, in order.
type keysPressedMsg struct{ keys []key }

// wheelMsg is a turn of the mouse wheel, in rows; clickMsg a press at a cell.
type wheelMsg struct {
	rows int
	at   time.Time
}

type clickMsg struct {
	x, y int
	at   time.Time
}

// tickedMsg is the pulse that makes countdowns move. A pulse of an older
// generation is ignored, so that there is never more than one train of them.
type tickedMsg struct {
	gen int
	at  time.Time
}

// snapshotArrivedMsg brings the newest snapshot.
type snapshotArrivedMsg struct {
	snap inspect.Snapshot
	at   time.Time
}

// watchEndedMsg says that the stream of snapshots broke off.
type watchEndedMsg struct {
	err error
	at  time.Time
}

// labPolledMsg brings the demo's state.
type labPolledMsg struct {
	status demo.Status
	at     time.Time
}

// arrangedMsg brings the rows of the list of locks, where there are so many
// that they were put in order outside the loop.
type arrangedMsg struct {
	arranged arranged
	at       time.Time
}

// positionMsg tells where the player of a recording stands. said is for the
// message line, if it is not empty.
type positionMsg struct {
	position Position
	said     text.Safe
	at       time.Time
}

// ticket tells which request of which dialog is answered: an answer that comes
// late must not be taken for that of the next dialog.
type ticket struct{ dialog, id int }

// lockReadMsg answers a fresh read of a release dialog.
type lockReadMsg struct {
	ticket
	snap inspect.Snapshot
	err  error
	at   time.Time
}

// releasedMsg answers an execution, or a dry run, of a release dialog.
type releasedMsg struct {
	ticket
	result   inspect.Result
	auditErr error
	at       time.Time
}

// noticedMsg is a sentence for the message line.
type noticedMsg struct {
	notice notice
	at     time.Time
}

// suspendAskedMsg says that a signal asks the program to stop.
type suspendAskedMsg struct{ at time.Time }

// continuedMsg says that the program was stopped without being asked and goes
// on; others may have written to the terminal meanwhile.
type continuedMsg struct{ at time.Time }

// resumedMsg says that the terminal was given away and is ours again. err is
// why the program did not stop, if it should have.
type resumedMsg struct {
	err error
	at  time.Time
}
