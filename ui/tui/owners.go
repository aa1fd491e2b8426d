package tui

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"dlock/inspect"
	"dlock/ui/text"
)

// ownersView is who holds what: one row per owner or per host, with how many
// locks that is and for how long.
type ownersView struct {
	list   list[string]
	groups []ownerGroup // parallel to list.ids
	byHost bool
	snap   *inspect.Snapshot
}

// ownerGroup is an owner, or a host, and the locks it has.
type ownerGroup struct {
	// name is raw; "" is everybody whose value does not tell.
	name  string
	host  bool
	locks []inspect.ID
	// held, copies and troubled count the locks it holds by a quorum, those of
	// which it only has copies, and those that somebody should look at.
	held, copies, troubled int
	// renewed counts the locks that were seen being renewed, of those held.
	renewed int
	// waiting is how many wait for its locks, where that is known.
	waiting inspect.Maybe[int]
	// oldest is since when it has had the one it has had longest, zero when
	// not known; oldestIsMinimum says that it may be longer.
	oldest          time.Time
	oldestIsMinimum bool
	noExpiry        int
}

// filter is the text for the list of locks that leaves this group's. A filter
// has no blanks, so of a name with blanks it takes the longest part.
func (g ownerGroup) filter() string {
	part := ""
	for _, f := range strings.Fields(g.name) {
		if len(f) > len(part) {
			part = f
		}
	}
	return "owner:" + part
}

// setData groups the locks of a snapshot.
func (v *ownersView) setData(s *inspect.Snapshot) {
	v.snap = s
	v.groups = groupOwners(s.Locks, v.byHost)
	ids := make([]string, len(v.groups))
	for i := range v.groups {
		ids[i] = v.groups[i].name
	}
	v.list.set(ids)
}

// toggleHosts turns to one row per host, and back.
func (v *ownersView) toggleHosts() {
	v.byHost = !v.byHost
	if v.snap != nil {
		v.setData(v.snap)
		v.list.navigate(actTop)
	}
}

// groupOwners gathers who is named as owner of locks that are there: those with
// most locks first, then by name; those that name nobody last.
func groupOwners(locks []inspect.Lock, byHost bool) []ownerGroup {
	at := make(map[string]int)
	var groups []ownerGroup
	for i := range locks {
		l := &locks[i]
		if l.State == inspect.Expired {
			continue
		}
		var first [4]string // the groups that have counted this lock already
		mine := first[:0]
		for j := range l.Owners {
			o := &l.Owners[j]
			if len(o.Votes) == 0 {
				continue // seen last on nodes that are silent since
			}
			name := o.Name
			if byHost {
				name = o.Host
			}
			n, ok := at[name]
			if !ok {
				n = len(groups)
				at[name] = n
				groups = append(groups, ownerGroup{name: name, host: byHost})
			}
			if slices.Contains(mine, name) {
				continue
			}
			mine = append(mine, name)
			groups[n].add(l, o, j == 0)
		}
	}
	slices.SortFunc(groups, func(a, b ownerGroup) int {
		if (a.name == "") != (b.name == "") {
			if a.name == "" {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(len(b.locks), len(a.locks)), strings.Compare(a.name, b.name))
	})
	return groups
}

// add counts a lock for one of its owners. first says that what is known about
// the time is about this one.
func (g *ownerGroup) add(l *inspect.Lock, o *inspect.Owner, first bool) {
	g.locks = append(g.locks, l.ID)
	if o.Holds {
		g.held++
	} else {
		g.copies++
	}
	if l.Trouble() < 5 {
		g.troubled++
	}
	if l.Has(inspect.NoExpiry) {
		g.noExpiry++
	}
	if l.Waiters.Known && first {
		g.waiting = inspect.Known(g.waiting.Value + l.Waiters.Value)
	}
	if !first {
		return
	}
	if l.Renewals > 0 {
		g.renewed++
	}
	if !l.HeldSince.IsZero() && (g.oldest.IsZero() || l.HeldSince.Before(g.oldest)) {
		g.oldest, g.oldestIsMinimum = l.HeldSince, l.HeldIsMinimum
	}
}

func (v *ownersView) setSize(l layout) { v.list.setHeight(max(1, l.body()-l.chrome()-1-3)) }

func (v *ownersView) navigate(a action) bool { return v.list.navigate(a) }

// selected is the group under the cursor.
func (v *ownersView) selected() (ownerGroup, bool) {
	if v.list.cur >= len(v.groups) {
		return ownerGroup{}, false
	}
	return v.groups[v.list.cur], true
}

func (v *ownersView) view(sc *scene) []string {
	w := sc.lay.inner()
	wide := w >= 94
	label := text.Safe("OWNER")
	if v.byHost {
		label = "HOST"
	}
	// LOCKS, TROUBLE and OLDEST stand everywhere, the rest where there is room.
	rest := 2 + 6 + 9 + 9
	if wide {
		rest += 8 + 8 + 10 + 9
	}
	nameW := max(12, w-rest-1)
	head := newLine(w).add(sc.dim, "  "+text.Fit(label, nameW)+text.FitRight("LOCKS", 6))
	if wide {
		head.add(sc.dim, text.FitRight("HOLDS", 8)+text.FitRight("COPIES", 8)+text.FitRight("NO EXPIRY", 10))
	}
	head.add(sc.dim, text.FitRight("TROUBLE", 9)+text.FitRight("OLDEST", 9))
	if wide {
		head.add(sc.dim, text.FitRight("WAITERS", 9))
	}
	content := []string{head.String()}
	from, to := v.list.window()
	for i := from; i < to; i++ {
		g := &v.groups[i]
		ln := sc.row(w, i == v.list.cur)
		name := ownerGroupName(g)
		ln.add(sc.plain, sc.g.fit.FitMiddle(name, nameW)).add(sc.strong, text.FitRight(text.Count(len(g.locks)), 6))
		number := func(n, width int, st style) {
			s := text.Safe("-")
			if n > 0 {
				s = text.Count(n)
			} else {
				st = sc.dim
			}
			ln.add(st, text.FitRight(s, width))
		}
		if wide {
			number(g.held, 8, sc.plain)
			number(g.copies, 8, sc.plain)
			number(g.noExpiry, 10, sc.weak)
		}
		number(g.troubled, 9, sc.weak)
		ln.add(sc.plain, text.FitRight(sc.oldest(g), 9))
		if wide {
			waiting := text.Safe("?")
			if g.waiting.Known {
				waiting = text.Count(g.waiting.Value)
			}
			ln.add(sc.plain, text.FitRight(waiting, 9))
		}
		content = append(content, ln.String())
	}
	if len(v.groups) == 0 {
		content = append(content, sc.paragraphs(w, []text.Safe{"No lock that is there names an owner."})...)
	}
	content = fill(content, w, sc.lay.body()-sc.lay.chrome()-2)
	content = append(content, newLine(w).String(), newLine(w).add(sc.plain, " "+sc.g.fit.Truncate(v.sentence(sc), max(0, w-2))).String())
	title := label[:1] + text.Clean(strings.ToLower(string(label[1:]))) + "s " + text.Count(len(v.groups))
	return sc.framed(title, sc.position(v.list.off, v.list.height, len(v.groups), "most locks first"), content)
}

func ownerGroupName(g *ownerGroup) text.Safe {
	switch {
	case g.name != "":
		return cleanKey(g.name)
	case g.host:
		return "(the value names no host)"
	default:
		return "(the value names nobody)"
	}
}

func (sc *scene) oldest(g *ownerGroup) text.Safe {
	if g.oldest.IsZero() {
		return "?"
	}
	s := coarse(sc.now, g.oldest)
	if g.oldestIsMinimum && sc.now.Sub(g.oldest) >= time.Second {
		s = sc.g.atLeast + s
	}
	return s
}

// sentence is the group under the cursor in words.
func (v *ownersView) sentence(sc *scene) text.Safe {
	g, ok := v.selected()
	if !ok {
		return ""
	}
	s := ownerGroupName(&g) + ": " + plural(len(g.locks), "lock", "locks")
	switch {
	case len(g.locks) == 1 && g.renewed == 1:
		s += ", seen being renewed"
	case g.renewed > 0:
		s += ", " + text.Count(g.renewed) + " seen being renewed"
	default:
		s += ", none seen being renewed since watching began " + coarse(sc.now, sc.since) + " ago"
	}
	return s + "; enter lists them"
}
