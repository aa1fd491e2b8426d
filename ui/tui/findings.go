package tui

import (
	"cmp"
	"slices"
	"strings"

	"dlock/inspect"
	"dlock/ui/text"
)

// findingsView is everything that is worth attention, of locks and nodes, worst
// first, and below it the one under the cursor in full with what to do.
type findingsView struct {
	list list[findingID]
	rows []findingRow // parallel to list.ids
}

// findingID is what a finding is, over snapshots: the remark and its subject.
type findingID struct {
	id   string
	lock inspect.ID
	node string // all its nodes, joined
}

// findingRow is a finding with what it is about.
type findingRow struct {
	inspect.Finding
	// aboutLock says that it is about a lock, which lock then names.
	aboutLock bool
	lock      inspect.ID
	// nodes are those it is about, raw; none if it is about a lock or the
	// deployment as a whole. node is the first of them.
	nodes []string
	node  string
}

func (r findingRow) id() findingID {
	return findingID{id: r.ID, lock: r.lock, node: strings.Join(r.nodes, "\x00")}
}

// setData gathers the findings of a snapshot.
func (v *findingsView) setData(s *inspect.Snapshot) {
	v.rows = gatherFindings(s)
	ids := make([]findingID, len(v.rows))
	for i, r := range v.rows {
		ids[i] = r.id()
	}
	v.list.set(ids)
}

// gatherFindings are all findings, worst first; of one severity those about the
// nodes stand first, since they are behind many of those about locks.
func gatherFindings(s *inspect.Snapshot) []findingRow {
	rows := make([]findingRow, 0, len(s.Findings))
	for _, f := range s.Findings {
		r := findingRow{Finding: f.Finding, nodes: f.Nodes}
		if len(f.Nodes) > 0 {
			r.node = f.Nodes[0]
		}
		rows = append(rows, r)
	}
	for i := range s.Locks {
		l := &s.Locks[i]
		for _, f := range l.Findings {
			rows = append(rows, findingRow{Finding: f, aboutLock: true, lock: l.ID})
		}
	}
	// The locks are sorted by trouble already, which this leaves as it is.
	slices.SortStableFunc(rows, func(a, b findingRow) int { return cmp.Compare(severityRank(a.Severity), severityRank(b.Severity)) })
	return rows
}

func severityRank(s inspect.Severity) int {
	switch s {
	case inspect.High:
		return 0
	case inspect.Medium:
		return 1
	default:
		return 2
	}
}

// findingsFoot is how many lines below the list the finding under the cursor
// gets, its rule included.
func (l layout) findingsFoot() int {
	if l.body() < 16 {
		return 4
	}
	return 7
}

func (v *findingsView) setSize(l layout) {
	v.list.setHeight(max(1, l.body()-l.chrome()-1-l.findingsFoot()))
}

func (v *findingsView) navigate(a action) bool { return v.list.navigate(a) }

// selected is the finding under the cursor.
func (v *findingsView) selected() (findingRow, bool) {
	if v.list.cur >= len(v.rows) {
		return findingRow{}, false
	}
	return v.rows[v.list.cur], true
}

func (v *findingsView) view(sc *scene) []string {
	h, w := sc.lay.body(), sc.lay.inner()
	const severityW, idW = 6, 17
	wide := w >= 94
	from, to := v.list.window()
	aboutW := 14
	for i := from; i < to; i++ {
		aboutW = max(aboutW, min(w*4/10, text.Width(v.rows[i].about())))
	}
	head := newLine(w).add(sc.dim, "  "+text.Fit("WEIGHT", severityW+1)+text.Fit("ABOUT", aboutW)+" ")
	if wide {
		head.add(sc.dim, text.Fit("FINDING", idW)+" ")
	}
	content := []string{head.add(sc.dim, "WHAT").String()}
	for i := from; i < to; i++ {
		r := &v.rows[i]
		ln := sc.row(w, i == v.list.cur)
		st, word := sc.severity(r.Severity)
		sc.chip(ln, st, text.Fit(word, severityW))
		ln.add(sc.plain, " "+sc.g.fit.FitMiddle(r.about(), aboutW)+" ")
		if wide {
			ln.add(sc.dim, sc.g.fit.Fit(cleanText(r.ID), idW)).add(sc.plain, " ")
		}
		ln.add(sc.plain, sc.g.fit.Truncate(cleanText(r.Text), max(0, w-ln.used)))
		content = append(content, ln.String())
	}
	if len(v.rows) == 0 {
		content = append(content, sc.paragraphs(w, v.nothing(sc))...)
	}
	foot := sc.lay.findingsFoot()
	content = fill(content, w, h-sc.lay.chrome()-foot)
	content = append(content, v.foot(sc, w, foot)...)

	title := "Findings " + text.Count(len(v.rows))
	remark := sc.position(v.list.off, v.list.height, len(v.rows), "worst first")
	return sc.framed(title, remark, content)
}

// about is the subject of a finding.
func (r *findingRow) about() text.Safe {
	switch {
	case r.aboutLock:
		return keyText(r.lock.Key)
	case len(r.nodes) > 0:
		return verb(len(r.nodes), "node ", "nodes ") + listed(r.nodes)
	default:
		return "the deployment"
	}
}

// foot is the finding under the cursor in full.
func (v *findingsView) foot(sc *scene, w, h int) []string {
	out := []string{newLine(w).add(sc.frame, text.Repeat(sc.g.dash, w)).String()}
	r, ok := v.selected()
	if !ok {
		return fill(out, w, h)
	}
	about := r.about()
	if len(r.nodes) > 0 {
		about = "" // these name their nodes
	}
	return fill(append(out, sc.cutOff(sc.finding(w, &r.Finding, about), w, h-1)...), w, h)
}

// nothing says why there is no finding.
func (v *findingsView) nothing(sc *scene) []text.Safe {
	switch {
	case !sc.loaded && sc.broken != "":
		return []text.Safe{"No data: " + sc.broken}
	case !sc.loaded:
		return []text.Safe{"Asking the nodes."}
	case sc.snap.Blind():
		return []text.Safe{"Nothing has been found so far, but not everything can be seen: " + quorumText(target(sc)) + "."}
	default:
		return []text.Safe{"Nothing is found wrong with " + plural(sc.counts.locks, "lock", "locks") + " on " + plural(len(target(sc).Nodes), "node", "nodes") + "."}
	}
}

// severity is the look and the word of a severity.
func (k *kit) severity(s inspect.Severity) (style, text.Safe) {
	switch s {
	case inspect.High:
		return k.alarm, "HIGH"
	case inspect.Medium:
		return k.weak, "MEDIUM"
	default:
		return k.dim, "NOTE"
	}
}

// finding is a finding in full: its weight and what it says, then what to do.
// about stands before its text, if it is not empty.
func (sc *scene) finding(w int, f *inspect.Finding, about text.Safe) []string {
	var out []string
	st, word := sc.severity(f.Severity)
	said := cleanText(f.Text)
	if about != "" {
		said = sc.g.fit.TruncateMiddle(about, max(16, w-labelWidth)) + ": " + said
	}
	for i, s := range wrap(said, w-labelWidth) {
		ln := newLine(w)
		if i == 0 {
			ln.add(st, word)
		}
		out = append(out, ln.to(labelWidth).add(sc.strong, s).String())
	}
	if f.Advice == "" {
		return out
	}
	for i, s := range wrap(cleanText(f.Advice), w-labelWidth) {
		ln := newLine(w)
		if i == 0 {
			ln.add(sc.dim, "  do")
		}
		out = append(out, ln.to(labelWidth).add(sc.plain, s).String())
	}
	return out
}
