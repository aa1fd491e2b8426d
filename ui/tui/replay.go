package tui

import (
	"strconv"
	"strings"
	"time"

	"dlock/ui/text"
)

// Recording is a source that shows the past: besides the snapshots it has a
// player, which decides what moment they are of. All methods are safe for
// concurrent use and return at once; what they lead to comes as a snapshot.
//
// Over a recording nothing can be released, whatever Config says.
type Recording interface {
	Source
	// Position tells where the player stands.
	Position() Position
	// Play goes on, or begins again at the start when the end is reached;
	// Pause stands still.
	Play()
	Pause()
	// Step moves by so many snapshots, back for a negative number.
	Step(n int)
	// Speed sets how fast time goes by; the player bounds it.
	Speed(factor float64)
	// JumpTo moves to a moment, or to the nearer end for one outside.
	JumpTo(at time.Time)
	// NextEvent and NextFinding move to the next snapshot that has a new
	// event or a new finding, and report whether there is one.
	NextEvent() bool
	NextFinding() bool
}

// Position is where the player of a recording stands. Moment is the time that
// is shown, From and To are the recording's ends.
type Position struct {
	Moment, From, To time.Time
	Playing          bool
	Speed            float64
}

// recordingReason is why nothing can be released over a recording.
const recordingReason = "this is a recording"

// speeds are the steps of + and -.
var speeds = []float64{0.25, 0.5, 1, 2, 5, 10, 30, 60}

// speedText is "x2", "x0.25".
func speedText(f float64) text.Safe {
	return text.Clean("x" + strconv.FormatFloat(f, 'f', -1, 64))
}

// momentNow is the moment of the recording at a time of the clock: since it
// was asked the player has moved on.
func (a *App) momentNow() time.Time {
	p := a.position
	if !p.Playing {
		return p.Moment
	}
	at := p.Moment.Add(time.Duration(float64(a.now.Sub(a.positionAt)) * p.Speed))
	if at.After(p.To) {
		return p.To
	}
	return at
}

// changeSpeed turns to the next speed in steps.
func (a *App) changeSpeed(d int) cmd {
	next := a.position.Speed
	if d > 0 {
		for _, s := range speeds {
			if s > next {
				next = s
				break
			}
		}
	} else {
		for _, s := range speeds {
			if s < a.position.Speed {
				next = s
			}
		}
	}
	if next == a.position.Speed {
		a.say(notice{text: "plays at " + speedText(next) + " already, as far as this goes"})
		return nil
	}
	return a.world.steer(func(r Recording) text.Safe { r.Speed(next); return "plays at " + speedText(next) })
}

// parseMoment reads a time of day of the recording's days, a full date and
// time, or a distance from the present moment such as +30s and -2m.
func (p Position) parseMoment(s string) (time.Time, bool) {
	if strings.HasPrefix(s, "+") || strings.HasPrefix(s, "-") {
		d, err := time.ParseDuration(s)
		return p.Moment.Add(d), err == nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, true
	}
	for _, form := range []string{"15:04:05", "15:04"} {
		if t, err := time.ParseInLocation(form, s, p.From.Location()); err == nil {
			y, m, d := p.From.Date()
			at := time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), p.From.Location())
			if at.Before(p.From) && !at.AddDate(0, 0, 1).After(p.To) {
				at = at.AddDate(0, 0, 1)
			}
			return at, true
		}
	}
	return time.Time{}, false
}
