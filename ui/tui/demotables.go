package tui

import (
	"slices"
	"time"

	"dlock/demo"
	"dlock/demo/lab"
	"dlock/ui/text"
)

// modesTable compares the ways to lock that were on: what each did and what it
// let happen.
func (v *demoView) modesTable(sc *scene, w int) []string {
	s := sc.lab
	wide := w >= 94
	head := newLine(w).add(sc.dim, "  "+text.Fit("MODE", 14)+text.FitRight("DONE", 7)+text.FitRight("/S", 7))
	if wide {
		head.add(sc.dim, text.FitRight("WAIT 50%", 10)+text.FitRight("99%", 8))
	}
	head.add(sc.dim, text.FitRight("TWO IN", 8)+text.FitRight("WRONG", 7)+text.FitRight("REFUSED", 9))
	if wide {
		head.add(sc.dim, text.FitRight("LOST", 6))
	}
	out := []string{head.add(sc.dim, "  PROMISE").String()}
	for i := range s.Table {
		t := &s.Table[i]
		ln := newLine(w)
		if t.Mode == s.Mode {
			ln.add(sc.strong, sc.g.cursor+" "+text.Fit(cleanText(string(t.Mode)), 14))
		} else {
			ln.add(sc.plain, "  "+text.Fit(cleanText(string(t.Mode)), 14))
		}
		rate := text.Safe("-")
		if t.Ran >= time.Second {
			rate = text.Count(uint64(float64(t.Operations) / t.Ran.Seconds()))
		}
		ln.add(sc.plain, text.FitRight(text.Count(t.Operations), 7)+text.FitRight(rate, 7))
		if wide {
			ln.add(sc.plain, text.FitRight(text.Latency(t.WaitP50), 10)+text.FitRight(text.Latency(t.WaitP99), 8))
		}
		number := func(n uint64, width int, bad style) {
			if n == 0 {
				ln.add(sc.dim, text.FitRight("0", width))
				return
			}
			ln.add(bad, text.FitRight(text.Count(n), width))
		}
		number(t.DoubleEntries, 8, sc.weak)
		number(wrong(t), 7, sc.weak)
		number(t.Refused+t.Conflicts, 9, sc.strong)
		if wide {
			number(t.Losses, 6, sc.strong)
		}
		st, s := promise(sc, t)
		ln.add(sc.plain, "  ").add(st, sc.g.fit.Truncate(s, max(0, w-ln.used)))
		out = append(out, ln.String())
	}
	return out
}

// wrong is what the database has that it should not, in units.
func wrong(t *demo.ModeTally) uint64 {
	sum := uint64(0)
	for _, n := range []int64{t.Store.Oversold, t.Store.Lost, t.Store.Twice} {
		sum += uint64(max(0, n))
	}
	return sum
}

// promise says whether a mode has kept what it promises.
func promise(sc *scene, t *demo.ModeTally) (style, text.Safe) {
	info, _ := t.Mode.Info()
	switch {
	case len(t.Broken) > 0:
		return sc.alarm, " BROKEN " + cleanText(t.Broken[0])
	case !info.PromisesExclusion && !info.PromisesStore:
		return sc.dim, "makes none"
	case len(t.Voided) > 0:
		return sc.plain, "off since: " + names(t.Voided)
	default:
		return sc.calm, "kept"
	}
}

// insideSpan is how far back the visits of the workers go.
const insideSpan = 20 * time.Second

// inside has a lane for each worker that was inside lately, with a letter for
// each thing that it was inside of; two lanes with one letter at a time are two
// at once.
func (v *demoView) inside(sc *scene, w int) []string {
	s := sc.lab
	g := sc.g.lanes()
	at := make(map[string]int)
	var lanes []lane
	labelW := 8
	things := newLetters()
	for i := range s.Inside {
		x := &s.Inside[i]
		to := x.To
		if to.IsZero() {
			to = sc.now
		}
		if to.Before(sc.now.Add(-insideSpan)) {
			continue
		}
		n, ok := at[x.Worker]
		if !ok {
			n = len(lanes)
			at[x.Worker] = n
			lanes = append(lanes, lane{label: text.CleanMax(x.Worker, 40)})
			labelW = max(labelW, min(w/4, text.Width(lanes[n].label)))
		}
		l := &lanes[n]
		l.stretches = append(l.stretches, stretch{x.From, to, sc.calm, g.held})
		if !x.StoppedAt.IsZero() {
			woken := x.WokenAt
			if woken.IsZero() {
				woken = to
			}
			l.stretches = append(l.stretches, stretch{x.StoppedAt, woken, sc.dim, g.stopped})
		}
		if !x.LeaseEnded.IsZero() {
			l.stretches = append(l.stretches, stretch{x.LeaseEnded, to, sc.weak, "!"})
		}
		begin := mark{x.From, sc.strong, things.of(sc.kit, &hold{owner: x.Resource}), weighBegin}
		if x.Double {
			begin.st, begin.glyph, begin.weight = sc.alarm, "2", weighOperator
		}
		l.marks = append(l.marks, begin)
	}
	if len(lanes) == 0 {
		return nil
	}
	order := make(map[string]int, len(s.Workers))
	for i := range s.Workers {
		order[string(text.CleanMax(s.Workers[i].Name, 40))] = i
	}
	slices.SortStableFunc(lanes, func(a, b lane) int { return order[string(a.label)] - order[string(b.label)] })
	win := window{from: sc.now.Add(-insideSpan), to: sc.now, cells: max(0, w-labelW-1)}
	out := []string{newLine(w).add(sc.dim, sc.g.fit.Truncate(things.legend(w), w)).String()}
	for i := range lanes {
		ln := newLine(w).add(sc.plain, sc.g.fit.FitMiddle(lanes[i].label, labelW)+" ")
		lanes[i].draw(ln, win)
		out = append(out, ln.String())
	}
	return out
}

// insideRemark says what the signs of the lanes mean.
func (sc *scene) insideRemark() text.Safe {
	g := sc.g.lanes()
	return g.stopped + " stopped  ! past its lease  2 two at once"
}

// doneLines are the faults that last and what was done lately, newest first.
func (v *demoView) doneLines(sc *scene, w int) []string {
	s := sc.lab
	var out []string
	for _, f := range s.Faults {
		ln := newLine(w).add(sc.weak, text.Fit(cleanText(f.Name), 9)).add(sc.plain, " "+text.CleanMax(f.Target, 40))
		if f.By != 0 {
			ln.add(sc.plain, " by "+cleanText(f.By.String()))
		}
		out = append(out, ln.add(sc.dim, " for "+coarse(sc.now, f.Since)).String())
	}
	for _, e := range slices.Backward(s.Events) {
		out = append(out, newLine(w).add(sc.dim, clock(e.At, false)+" ").add(sc.plain, sc.g.fit.Truncate(cleanText(e.Text), max(0, w-9))).String())
	}
	return out
}

// pairLine shows the Redis with a replica, "" while there is none.
func (v *demoView) pairLine(sc *scene, w int) string {
	s := sc.lab
	if len(s.Pair) == 0 {
		return ""
	}
	ln := newLine(w).add(sc.dim, "pair  ")
	for _, n := range s.Pair {
		st, glyph := sc.calm, sc.g.this
		if n.State != lab.Up {
			st, glyph = sc.weak, sc.g.silent
		}
		ln.add(sc.plain, text.CleanMax(n.Name, 16)+" ").add(st, glyph+" "+labWord(n.State))
		if n.Name == s.Primary {
			ln.add(sc.strong, " (primary)")
		}
		ln.add(sc.plain, "   ")
	}
	return ln.String()
}
