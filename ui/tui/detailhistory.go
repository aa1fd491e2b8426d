package tui

import (
	"math"
	"time"

	"dlock/inspect"
	"dlock/ui/text"
)

// lives is how long a lock had to live, as the snapshots told since it was
// opened.
type lives struct {
	samples []lifeSample // oldest first
}

// lifeSample is when a lock would have ended, as it was known at a moment.
type lifeSample struct {
	at     time.Time
	expiry inspect.Expiry
	there  bool
}

// mostLives is how many are kept, enough for the usual span at the shortest
// interval there is.
const mostLives = 1200

func (v *lives) add(l *inspect.Lock, now time.Time) {
	if n := len(v.samples); n > 0 && !now.After(v.samples[n-1].at) {
		return
	}
	if len(v.samples) >= mostLives {
		v.samples = append([]lifeSample(nil), v.samples[mostLives/2:]...)
	}
	v.samples = append(v.samples, lifeSample{now, l.Expiry, l.State != inspect.Expired})
}

// series is the remaining life at the middle of each of a window's cells, NaN
// where it is not known: before the first sample, and where the next one came
// late.
func (v *lives) series(win window, late time.Duration) []float64 {
	out := make([]float64, max(0, win.cells))
	step := win.to.Sub(win.from) / time.Duration(max(1, win.cells))
	n := -1
	for i := range out {
		at := win.from.Add(step*time.Duration(i) + step/2)
		if at.After(win.to) {
			at = win.to
		}
		for n+1 < len(v.samples) && !v.samples[n+1].at.After(at) {
			n++
		}
		out[i] = math.NaN()
		if n < 0 || at.Sub(v.samples[n].at) > late {
			continue
		}
		s := v.samples[n]
		if left, ok := s.expiry.Remaining(at); ok {
			out[i] = left.Seconds()
		} else if !s.there {
			out[i] = 0
		}
	}
	return out
}

// history is two lines on one scale of time: who had the lock, and how long it
// had to live.
func (v *detailView) history(sc *scene, l *inspect.Lock, w int) []string {
	win := window{from: sc.now.Add(-spans[fittingSpan(sc.now.Sub(sc.since))]), to: sc.now, cells: w - labelWidth - 1}
	if win.cells < 20 {
		return nil
	}
	p := &page{sc: sc, w: w}
	letters := newLetters()
	s := storyOf(l)
	lanes := []lane{s.lane(sc, letters, win)}
	if l.Shared || len(l.Holders()) > 1 {
		// Holds that overlap cannot be told in one lane.
		letters = newLetters()
		lanes = s.ownerLanes(sc, win)
	}
	const mostLanes = 12
	lanes = lanes[:min(len(lanes), mostLanes)]
	for i := range lanes {
		if len(lanes[i].stretches)+len(lanes[i].marks) == 0 {
			continue
		}
		if len(p.lines) == 0 {
			head := newLine(w).add(sc.dim, "HISTORY").to(labelWidth)
			win.ruler(head, sc.dim)
			p.add(head.String())
		}
		ln := newLine(w)
		if len(lanes) > 1 {
			ln.add(sc.plain, sc.g.fit.TruncateMiddle(lanes[i].label, labelWidth-1))
		}
		lanes[i].draw(ln.to(labelWidth), win)
		p.add(ln.String())
	}
	values := v.lives.series(win, staleAfter(sc.snap.Interval))
	known := 0
	for _, x := range values {
		if !math.IsNaN(x) {
			known++
		}
	}
	if known > 1 && l.FullTTL > 0 {
		p.add(newLine(w).add(sc.dim, sc.g.fit.Fit("TTL", labelWidth)).add(sc.bar, sc.g.fit.Spark(values, l.FullTTL.Seconds(), win.cells)).String())
	}
	if len(p.lines) == 0 {
		return nil
	}
	who, ttl := letters.legend(max(0, w-labelWidth)), text.Safe("")
	if known > 1 && l.FullTTL > 0 {
		ttl = "top of TTL " + text.Duration(l.FullTTL) + ", each rise is a renewal"
	}
	if both := join("   ", who, ttl); text.Width(both) <= w-labelWidth {
		who, ttl = both, ""
	}
	for _, s := range []text.Safe{who, ttl} {
		if s != "" {
			p.styled(sc.dim, "", s)
		}
	}
	return p.lines
}
