package tui

import (
	"strings"
	"time"
	"unicode/utf8"

	"dlock/ui/text"
)

// focus is which button enter presses.
type focus int

const (
	focusCancel focus = iota
	focusRelease
)

// trigger is what arms a dialog that writes: a word to be typed, and two
// buttons. Whether a right word is enough is the dialog's business.
type trigger struct {
	word    string // what has to be typed
	typed   string
	focus   focus
	focused time.Time // when the focus last moved
}

// maxTyped bounds what is typed at the word.
const maxTyped = 64

// reset forgets what was typed.
func (t *trigger) reset(now time.Time) { t.typed, t.focus, t.focused = "", focusCancel, now }

// edit takes a key that types or takes back.
func (t *trigger) edit(k key) {
	switch {
	case k.name == "backspace", k.name == "ctrl+h":
		_, n := utf8.DecodeLastRuneInString(t.typed)
		t.typed = t.typed[:len(t.typed)-n]
	case k.name == "ctrl+u", k.name == "ctrl+w":
		t.typed = ""
	case len(t.typed)+len(k.typed) <= maxTyped:
		t.typed += k.typed
	}
}

// field draws the line in which the word is typed.
func (t *trigger) field(sc *scene, w int, armed bool) string {
	l := newLine(w).add(sc.plain, "  "+sc.g.cursor+" ").add(sc.strong, text.Clean(t.typed)).add(sc.button, sc.g.caret)
	switch {
	case armed:
		l.add(sc.plain, "  armed")
	case t.typed != "" && !strings.HasPrefix(t.word, t.typed):
		l.add(sc.weak, "  not the word")
	}
	return l.String()
}

func (t *trigger) buttons(sc *scene, w int, armed bool) string {
	l := newLine(w).add(sc.plain, "      ")
	if t.focus == focusCancel {
		l.add(sc.button, "[ Cancel ]")
	} else {
		l.add(sc.plain, "  Cancel  ")
	}
	l.add(sc.plain, "     ")
	switch {
	case !armed:
		l.add(sc.dim, "( Release: not armed )")
	case t.focus == focusRelease:
		l.add(sc.alarm, "[ Release ]")
	default:
		l.add(sc.strong, "  Release  ")
	}
	return l.String()
}

// quietPeriod makes a dialog deaf to a hand that still types into what was on
// the screen before.
type quietPeriod struct {
	openedAt time.Time // when it began
	lastKey  time.Time // the last key that was ignored, or openedAt
	// listening says that it has been quiet for long enough since then, so
	// that every key counts.
	listening bool
}

// startQuiet begins the wait.
func (q *quietPeriod) startQuiet(now time.Time) {
	q.openedAt, q.lastKey, q.listening = now, now, false
}

// deaf reports whether a key is ignored, because others came just before it.
// Once it was quiet for long enough every later key counts, however quick.
func (q *quietPeriod) deaf(now time.Time) bool {
	if !q.listening {
		q.listening = now.Sub(q.openedAt) >= quietCap || now.Sub(q.lastKey) >= quiet
	}
	q.lastKey = now
	return !q.listening
}
