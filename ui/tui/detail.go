package tui

import (
	"time"

	"dlock/inspect"
	"dlock/ui/text"
)

// detailView is one lock in full. It follows the lock by its identity; when
// the lock is gone it keeps what was known last and says so.
type detailView struct {
	id       inspect.ID
	last     inspect.Lock // as it was in the newest snapshot that had it
	known    bool
	missing  bool
	lastSeen time.Time // when it was last there
	lives    lives
	scroll   scroller
}

// open turns the view to a lock.
func (v *detailView) open(l inspect.Lock, now time.Time) {
	was := v.lives
	same := v.known && v.id == l.ID
	*v = detailView{id: l.ID, last: l, known: true, lastSeen: now}
	if same {
		v.lives = was
	}
	v.lives.add(&l, now)
}

func (v *detailView) setData(s *inspect.Snapshot, now time.Time) {
	if !v.known {
		return
	}
	for i := range s.Locks {
		if s.Locks[i].ID == v.id {
			v.last, v.missing = s.Locks[i], false
			if v.last.State != inspect.Expired {
				v.lastSeen = now
			}
			v.lives.add(&v.last, now)
			return
		}
	}
	v.missing = true
}

// lock is the lock that is shown. One that is missing is shown as gone,
// whatever it was before.
func (v *detailView) lock() inspect.Lock {
	l := v.last
	if v.missing {
		l.State = inspect.Expired
		l.Flags, l.Findings = nil, nil
	}
	return l
}

func (v *detailView) view(sc *scene) []string {
	h, w := sc.lay.body(), sc.lay.w-4
	lines := v.content(sc, w, h)
	v.scroll.set(len(lines), h-2)
	title := "Lock " + sc.g.fit.TruncateMiddle(keyText(v.id.Key), max(8, sc.lay.w-40))
	remark := text.Safe("esc back")
	if v.scroll.total > v.scroll.height {
		remark = itoa(v.scroll.off+1) + "-" + itoa(min(v.scroll.total, v.scroll.off+v.scroll.height)) + " of " + itoa(v.scroll.total) + ", " + sc.g.up + sc.g.down + " scroll"
	} else if sc.lay.w >= 100 {
		remark = "esc back   [ ] previous, next lock"
	}
	return sc.pane(sc.lay.w, h, title, remark, v.scroll.show(lines))
}

// content is the lock in full, however many lines that takes: what matters
// first stands first.
func (v *detailView) content(sc *scene, w, h int) []string {
	l := v.lock()
	p := &page{sc: sc, w: w}
	v.summary(p, &l)
	for i := range l.Findings {
		p.gap()
		p.add(sc.finding(w, &l.Findings[i], "")...)
	}
	if n := len(l.Copies); n > 1 {
		const gap = 1
		if boxW := sc.boxWidth(&l); n*(boxW+gap) <= w {
			p.gap()
			p.add(sc.quorumStrip(&l, w, boxW, gap, h >= 28)...)
		}
	}
	p.gap()
	p.add(sc.copiesTable(&l, w)...)
	p.block(sc.ownersTable(&l, w))
	p.block(sc.waitersTable(&l, w))
	p.block(v.history(sc, &l, w))
	p.block(sc.companionsTable(&l, w))
	p.block(sc.latest(&l, w))
	p.block(sc.releaseLines(&l, w))
	return p.lines
}

// summary is what the lock is, in a few lines.
func (v *detailView) summary(p *page, l *inspect.Lock) {
	sc, w := p.sc, p.w
	b := sc.stateBadge(l.State)
	if l.State == inspect.Expired {
		b = sc.rowBadge(l)
	}
	first := newLine(w).add(sc.dim, sc.g.fit.Fit("STATE", labelWidth)).add(b.style, b.glyph+" "+b.word)
	for _, f := range flagOrder {
		if l.Has(f) && l.State != inspect.Expired {
			fb := sc.flagBadge(f)
			first.add(sc.plain, "  ").add(fb.style, fb.glyph+" "+fb.word)
		}
	}
	what := explain(sc.kit, *l, sc.now)
	if v.missing {
		what = "nobody stores it any more; last seen " + coarse(sc.now, v.lastSeen) + " ago"
	}
	if first.used+3+text.Width(what) <= w {
		p.add(first.add(sc.plain, "   "+what).String())
	} else {
		p.add(first.String())
		p.field("", what)
	}
	if l.State != inspect.Expired {
		ends := newLine(w).add(sc.dim, sc.g.fit.Fit("ENDS", labelWidth))
		if f, ok := fraction(*l, sc.now); ok {
			sc.addBar(ends, sc.bar, f, 12)
			ends.add(sc.plain, "  ")
		}
		p.add(ends.add(sc.strong, sc.g.fit.Truncate(expiryText(*l, sc.now), w-ends.used)).String())
		if l.State == inspect.Held || !l.HeldSince.IsZero() || l.Renewals > 0 {
			p.field("HELD", join("   ", heldSentence(sc.kit, *l, sc.now), renewText(*l, sc.now)))
		}
	}
	p.field("KIND", kindText(l))
	if s := doubtText(l); s != "" {
		p.field("", s)
	}
	if s := habitsText(l.Habits); s != "" && l.State != inspect.Expired {
		p.field("HABITS", s)
	}
	if s := statsText(l.Stats); s != "" {
		p.field("SEEN", s)
	}
}
