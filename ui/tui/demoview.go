package tui

import (
	"slices"

	"dlock/demo"
	"dlock/demo/lab"
	"dlock/ui/text"
)

// demoView is the other side of the demo's locks: what each worker does.
type demoView struct {
	list   list[string]
	latest demo.Status
	known  bool
}

func (v *demoView) setData(s demo.Status) {
	v.latest, v.known = s, true
	ids := make([]string, len(s.Workers))
	for i, w := range s.Workers {
		ids[i] = w.Name
	}
	v.list.set(ids)
}

// sideHeight is what the pane below the workers needs.
func (v *demoView) sideHeight(l layout) int {
	if l.boxed {
		return 8
	}
	return 3
}

func (v *demoView) setSize(l layout) {
	// beside the columns' names there is the line with the tally
	v.list.setHeight(max(1, l.body()-v.sideHeight(l)-l.chrome()-1-1))
}

func (v *demoView) view(sc *scene) []string {
	h, w := sc.lay.body(), sc.lay.w
	s := sc.lab
	if s == nil {
		return fill([]string{newLine(w).add(sc.dim, "  Asking the demo.").String()}, w, h)
	}
	side := v.sideHeight(sc.lay)
	top := h - side
	out := []string{v.tally(sc, w)}
	inner := sc.lay.inner()
	workers := v.workers(sc, inner)
	working := 0
	for _, wk := range s.Workers {
		if wk.State == demo.Working {
			working++
		}
	}
	title := "Workers " + itoa(len(s.Workers))
	remark := itoa(working) + " inside"
	if from, to := v.list.window(); to-from < len(s.Workers) {
		remark += "   " + itoa(from+1) + "-" + itoa(to) + " of " + itoa(len(s.Workers))
	}
	if sc.lay.boxed {
		out = append(out, sc.pane(w, top-1, title, remark, workers)...)
		out = append(out, sc.pane(w, side, "Break things", "F opens the fault menu", v.faultLines(sc, w-4))...)
		return fill(out, w, h)
	}
	out = append(out, sc.rule(w, title, remark))
	out = append(out, fill(workers, w, top-2)...)
	out = append(out, sc.rule(w, "Break things", ""))
	return fill(append(out, v.faultLines(sc, w)...), w, h)
}

// tally is what has happened in the demo, in numbers.
func (v *demoView) tally(sc *scene, w int) string {
	s := sc.lab
	l := newLine(w).add(sc.plain, " ")
	if w >= 100 {
		l.add(sc.dim, cleanText(string(s.Kind))+" nodes, ttl "+text.Duration(s.TTL)+", running "+coarse(sc.now, s.Started)+"   ")
	}
	l.add(sc.plain, "grants ").add(sc.strong, text.Count(s.Grants))
	l.add(sc.plain, "  contended ").add(sc.strong, text.Count(s.Contended))
	l.add(sc.plain, "  no quorum ").add(sc.strong, text.Count(s.NoQuorum))
	l.add(sc.plain, "  lost ").add(sc.strong, text.Count(s.Losses))
	st := sc.strong
	if s.Violations > 0 {
		st = sc.alarm
	}
	l.add(sc.plain, "  two inside at once ").add(st, text.Count(s.Violations))
	return l.String()
}

// workers is one row per worker.
func (v *demoView) workers(sc *scene, w int) []string {
	s := sc.lab
	wide := w >= 94
	nameW, resW := 14, max(12, w/4)
	if wide {
		nameW = 20
	}
	out := []string{newLine(w).add(sc.dim, "  "+text.Fit("WORKER", nameW)+" "+text.Fit("DOES", 9)+" "+text.Fit("LOCK", resW)+" "+text.FitRight("FENCE", 7)+" "+text.FitRight("FOR", 6)+"  NOTE").String()}
	from, to := v.list.window()
	for i := from; i < to && i < len(s.Workers); i++ {
		k := &s.Workers[i]
		ln := newLine(w)
		if i == v.list.cur {
			ln.over = &sc.cursor
			ln.add(sc.plain, sc.g.cursor+" ")
		} else {
			ln.add(sc.plain, "  ")
		}
		glyph, st := sc.workerGlyph(k.State)
		ln.add(sc.plain, sc.g.fit.Fit(text.CleanMax(k.Name, 60), nameW)+" ")
		ln.add(st, sc.g.fit.Fit(glyph+" "+cleanText(string(k.State)), 9)).add(sc.plain, " ")
		res := text.Safe("-")
		if k.Resource != "" {
			res = cleanKey(k.Resource)
		}
		ln.add(sc.plain, sc.g.fit.FitMiddle(res, resW)+" ")
		fence := text.Safe("-")
		if k.Fence > 0 {
			fence = text.Clean(formatInt(k.Fence))
		}
		ln.add(sc.plain, text.FitRight(fence, 7)+" "+text.FitRight(age(sc.now, k.Since), 6)+"  ")
		ln.add(sc.dim, sc.g.fit.Truncate(cleanText(k.Note), w-ln.used))
		out = append(out, ln.String())
	}
	return out
}

func (k *kit) workerGlyph(s demo.WorkerState) (text.Safe, style) {
	switch s {
	case demo.Working:
		return k.g.this, k.calm
	case demo.Waiting:
		return k.g.leftover, k.plain
	case demo.Lost:
		return k.g.silent, k.weak
	default:
		return k.g.free, k.dim
	}
}

// faultLines shows the nodes as the demo has them, and what to try.
func (v *demoView) faultLines(sc *scene, w int) []string {
	s := sc.lab
	nodes := newLine(w)
	if !sc.lay.boxed {
		nodes.add(sc.plain, " ")
	}
	for i, n := range s.Nodes {
		st, glyph := sc.calm, sc.g.this
		switch n.State {
		case lab.Down:
			st, glyph = sc.weak, sc.g.silent
		case lab.Paused:
			st, glyph = sc.weak, sc.g.stuck
		}
		piece := newLine(w).add(sc.key, itoa(i+1)).add(sc.plain, " "+text.CleanMax(n.Name, 16)+" ").add(st, glyph+" "+labWord(n.State)).add(sc.plain, "   ")
		nodes.raw(piece.piece(), piece.used)
	}
	out := []string{nodes.String()}
	if !sc.lay.boxed {
		return append(out, newLine(w).add(sc.dim, " F k 1 kills node 1 or brings it back, F w 1 empties it, F p 1 freezes it").String())
	}
	out = append(out, newLine(w).String())
	for _, t := range tries(s) {
		for _, part := range wrap(t, w) {
			out = append(out, newLine(w).add(sc.dim, part).String())
		}
	}
	return out
}

// tries suggests what to look at next, given how many nodes work.
func tries(s *demo.Status) []text.Safe {
	n := len(s.Nodes)
	broken := 0
	for _, node := range s.Nodes {
		if node.State != lab.Up {
			broken++
		}
	}
	minority := (n - 1) / 2
	up := slices.IndexFunc(s.Nodes, func(x lab.Status) bool { return x.State == lab.Up }) + 1
	next := itoa(max(1, up))
	switch {
	case n == 1:
		return []text.Safe{"F k 1 kills the only node: nobody can take a lock until it is back."}
	case broken == 0:
		return []text.Safe{
			"F k " + next + " kills a node: the workers go on, with a vote less on each lock.",
			"F p " + next + " freezes one: each attempt waits for it no longer than the node timeout.",
			"F w " + next + " makes one forget what it promised: why fencing numbers exist.",
		}
	case broken < minority:
		return []text.Safe{"The majority stands. F k " + next + " takes one more; with " + itoa(minority+1) + " of " + itoa(n) + " broken no lock can be taken."}
	case broken == minority:
		return []text.Safe{"The last that can be spared is gone. F k " + next + " ends the quorum: watch every worker lose its lock or wait."}
	default:
		return []text.Safe{"No quorum: nobody can take a lock, and those inside learn that theirs is lost. F k with a broken node's number brings it back."}
	}
}
