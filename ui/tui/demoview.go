package tui

import (
	"slices"
	"strings"
	"time"

	"dlock/demo"
	"dlock/demo/lab"
	"dlock/inspect"
	"dlock/ui/text"
)

// demoView is the other side of the demo's locks: what each worker does, what
// the nodes are like, and what to try.
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

func (v *demoView) setSize(l layout) {
	v.list.setHeight(max(1, l.body()-v.summaryLines(l)-v.sideLines(l)-2*l.chrome()-1))
}

func (v *demoView) navigate(a action) bool { return v.list.navigate(a) }

// panel is one part of the demo's screen.
type panel struct {
	title, remark text.Safe
	lines         []string
	// least is how many lines it is worth having with, the title excluded.
	least int
}

func (v *demoView) view(sc *scene) []string {
	h, w := sc.lay.body(), sc.lay.w
	if sc.lab == nil {
		return fill([]string{newLine(w).add(sc.dim, "  Asking the demo.").String()}, w, h)
	}
	out := v.summary(sc, w)
	panels := v.panels(sc, sc.lay.inner())
	room := shareLines(panels, h-len(out), sc.lay.chrome())
	// How many workers can be seen is known only now.
	v.list.setHeight(room[0] - sc.lay.chrome() - 1)
	panels[0].lines = v.workers(sc, sc.lay.inner())
	panels[0].remark = sc.position(v.list.off, v.list.height, len(sc.lab.Workers), panels[0].remark)
	for i, p := range panels {
		if room[i] == 0 {
			continue
		}
		if sc.lay.boxed {
			out = append(out, sc.pane(w, room[i], p.title, p.remark, p.lines)...)
			continue
		}
		out = append(out, sc.rule(w, p.title, p.remark))
		out = append(out, fill(p.lines, w, room[i]-1)...)
	}
	return fill(out, w, h)
}

// shareLines divides h lines among panels, each with chrome lines of its own:
// first each gets what it is worth having with, in order, then what it wants,
// and the first gets what is left. A panel that gets nothing is left out.
func shareLines(panels []panel, h, chrome int) []int {
	room := make([]int, len(panels))
	for i, p := range panels {
		if need := min(p.least, len(p.lines)) + chrome; need <= h {
			room[i] = need
			h -= need
		}
	}
	for i, p := range panels {
		if room[i] > 0 {
			more := max(0, min(h, len(p.lines)+chrome-room[i]))
			room[i] += more
			h -= more
		}
	}
	if len(room) > 0 && room[0] > 0 {
		room[0] += h
	}
	return room
}

// panels are the parts of the screen, the workers first, of which only the
// number is settled.
func (v *demoView) panels(sc *scene, w int) []panel {
	s := sc.lab
	working := 0
	for _, wk := range s.Workers {
		if wk.State == demo.Working {
			working++
		}
	}
	workers := panel{
		title: "Workers " + itoa(len(s.Workers)), lines: make([]string, 1+len(s.Workers)), least: 4, remark: itoa(working) + " inside",
	}
	done := v.doneLines(sc, w)
	things := panel{title: "Nodes", remark: "F opens the fault menu", lines: v.faultLines(sc, w), least: v.sideLines(sc.lay)}
	out := []panel{workers}
	if len(s.Table) > 0 {
		out = append(out, panel{title: "Ways to lock", remark: cleanText(s.Scenario.Name) + ": " + cleanText(s.Scenario.Does), lines: v.modesTable(sc, w), least: 1 + min(3, len(s.Table))})
	}
	if n := v.heldLines(sc.lay); n > 0 {
		if lines := v.inside(sc, w); len(lines) > 0 {
			out = append(out, panel{title: "Who was inside, " + spanText(insideSpan), remark: sc.insideRemark(), lines: lines, least: n})
		}
	}
	if n := v.heldLines(sc.lay); n > 0 && len(s.Inside) == 0 {
		if lines := v.held(sc, w); len(lines) > 0 {
			out = append(out, panel{title: "Who held what, last " + spanText(demoSpan), remark: "as the nodes tell", lines: lines, least: n})
		}
	}
	out = append(out, things)
	if len(done) > 0 {
		out = append(out, panel{title: "What was done to it", remark: plural(len(s.Faults), "fault lasts", "faults last"), lines: done, least: 1})
	}
	return out
}

// demoSpan is how far back the demo's lanes go.
const demoSpan = 30 * time.Second

// heldLines is how many lines the lanes of the locks get at least, 0 where
// there is no room for them.
func (v *demoView) heldLines(l layout) int {
	switch {
	case l.body() >= 28:
		return 9
	case l.body() >= 19:
		return 5
	default:
		return 0
	}
}

// held has a lane for each lock, with a letter for each worker.
func (v *demoView) held(sc *scene, w int) []string {
	if !sc.loaded {
		return nil
	}
	locks := make([]*inspect.Lock, 0, len(sc.snap.Locks))
	labelW := 8
	for i := range sc.snap.Locks {
		l := &sc.snap.Locks[i]
		if len(l.History) == 0 && l.State == inspect.Expired {
			continue
		}
		locks = append(locks, l)
		labelW = max(labelW, min(w/4, text.Width(keyText(l.ID.Key))))
	}
	// By name, so that a lane stays where it is.
	slices.SortFunc(locks, func(a, b *inspect.Lock) int { return strings.Compare(a.ID.Key, b.ID.Key) })
	locks = locks[:min(len(locks), 30)]
	win := window{from: sc.now.Add(-demoSpan), to: sc.now, cells: max(0, w-labelW-1)}
	letters := newLetters()
	var out []string
	for _, l := range locks {
		s := storyOf(l)
		one := s.lane(sc, letters, win)
		ln := newLine(w).add(sc.plain, sc.g.fit.FitMiddle(one.label, labelW)+" ")
		one.draw(ln, win)
		out = append(out, ln.String())
	}
	if len(out) == 0 {
		return nil
	}
	return append([]string{newLine(w).add(sc.dim, sc.g.fit.Truncate(letters.legend(w), w)).String()}, out...)
}

// sideLines is how many lines the nodes and what to try get.
func (v *demoView) sideLines(l layout) int {
	if l.boxed {
		return 5
	}
	return 2
}

func (v *demoView) summaryLines(l layout) int {
	if l.boxed {
		return 2
	}
	return 1
}

// summary is what runs, and what has happened in numbers.
func (v *demoView) summary(sc *scene, w int) []string {
	s := sc.lab
	var out []string
	if v.summaryLines(sc.lay) > 1 {
		l := newLine(w).add(sc.plain, " ")
		if s.Mode != "" {
			l.add(sc.strong, cleanText(s.Scenario.Name)).add(sc.plain, " by ").add(sc.strong, cleanText(string(s.Mode))).add(sc.plain, "   ")
		}
		l.add(sc.plain, cleanText(string(s.Kind))+" nodes")
		l.add(sc.plain, "   ttl "+text.Duration(s.TTL)+"   running "+coarse(sc.now, s.Started)+"   "+plural(len(s.Workers), "worker", "workers")+" on "+plural(len(s.Nodes), "node", "nodes"))
		out = append(out, l.String())
	}
	l := newLine(w).add(sc.plain, " ")
	number := func(label text.Safe, n uint64, st style) {
		if label != "grants " {
			label = "  " + label
		}
		l.add(sc.plain, label).add(st, text.Count(n))
	}
	number("grants ", s.Grants, sc.strong)
	number("contended ", s.Contended, sc.strong)
	number("no quorum ", s.NoQuorum, sc.strong)
	number("lost ", s.Losses, sc.strong)
	st := sc.strong
	if s.Violations > 0 {
		st = sc.alarm
	}
	number("two inside at once ", s.Violations, st)
	return append(out, l.String())
}

// workers is one row per worker.
func (v *demoView) workers(sc *scene, w int) []string {
	s := sc.lab
	nameW, resW := 8, 8
	for i := range s.Workers {
		nameW = max(nameW, min(20, text.Width(text.CleanMax(s.Workers[i].Name, 60))))
		resW = max(resW, min(w/3, text.Width(cleanKey(s.Workers[i].Resource))))
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
		ln.add(sc.plain, sc.g.fit.FitRight(fence, 7)+" "+text.FitRight(age(sc.now, k.Since), 6)+"  ")
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
	case demo.Stopped:
		return k.g.stuck, k.weak
	case demo.Crashed:
		return k.g.split, k.weak
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
	if pair := v.pairLine(sc, w); pair != "" {
		out = append(out, pair)
	}
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
