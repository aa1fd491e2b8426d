package tui

import (
	"slices"

	"dlock/inspect"
	"dlock/ui/text"
)

// bulkWidth is the inner width of the dialog where it floats.
const bulkWidth = 108

// view draws the dialog over the screen below; on small screens it takes the
// whole body.
func (d *bulkDialog) view(sc *scene, below []string) []string {
	return sc.float(below, bulkWidth, d.titles, d.hints, d.lines)
}

func (d *bulkDialog) titles() (title, remark text.Safe) {
	switch d.step {
	case bulkSending:
		return "Releasing", "esc stops"
	case bulkDone:
		return "Force-release: what became of it", "esc closes"
	default:
		if n := d.scroll.below(); n > 0 {
			return "Force-release " + d.what, "pgdn: " + plural(n, "more line", "more lines")
		}
		if d.scroll.off > 0 {
			return "Force-release " + d.what, "pgup: back up"
		}
		return "Force-release " + d.what, "esc cancels"
	}
}

func (d *bulkDialog) hints(sc *scene) string {
	switch d.step {
	case bulkListing:
		return sc.hints([]hint{{"pgdn", "read on", 9}, {"tab", "to the button", 8}, {"enter", "press it", 7}, {"ctrl+y", "copy the commands", 5}, {"esc", "cancel", 10}})
	case bulkSending:
		return sc.hints([]hint{{"esc", "stop", 9}, {"ctrl+c", "quit", 1}})
	default:
		return sc.hints([]hint{{"pgdn", "read on", 1}, {"esc", "close", 9}})
	}
}

// lines is the dialog's content, at most room lines.
func (d *bulkDialog) lines(sc *scene, w, room int) []string {
	head, foot := &page{sc: sc, w: w}, &page{sc: sc, w: w}
	switch d.step {
	case bulkReading:
		head.text(sc.plain, "Reading "+d.what+" afresh from all nodes.")
		return fit(head.lines, room)
	case bulkListing:
		n := d.count()
		head.text(sc.strong, "This deletes the keys of "+plural(n, "lock", "locks")+" while their holders may still be working.")
		switch {
		case n == 0:
			foot.text(sc.weak, "None of them can be released.")
		case d.unread:
			foot.text(sc.weak, sc.g.down+" there is more to read: pgdn")
		default:
			foot.lines = append(foot.lines, newLine(w).add(sc.plain, "Type this to arm:  ").add(sc.strong, text.Clean(d.word)).String(), d.field(sc, w, d.armed()))
		}
		foot.lines = append(foot.lines, d.buttons(sc, w, d.armed()))
	case bulkSending, bulkDone:
		head.text(sc.strong, d.summary())
		if d.step == bulkDone && d.audited {
			head.text(sc.plain, recordedText(d.operator))
		}
		if d.step == bulkDone {
			foot.lines = append(foot.lines, newLine(w).add(sc.plain, "      ").add(sc.button, "[ Close ]").String())
		}
	}
	foot.lines = append(foot.lines, newLine(w).add(sc.weak, d.note).String())
	list := d.list(sc, w)
	height := max(1, min(len(list), room-len(head.lines)-len(foot.lines)))
	d.scroll.set(len(list), height)
	if d.step == bulkListing {
		d.unread = (d.unread || !d.drawn) && d.scroll.below() > 0
		d.drawn = true
	}
	return fit(slices.Concat(head.lines, d.scroll.show(list), foot.lines), room)
}

// fit cuts lines to the room there is.
func fit(lines []string, room int) []string { return lines[:max(0, min(len(lines), room))] }

// list is one line for each lock, and what a person should know about them.
func (d *bulkDialog) list(sc *scene, w int) []string {
	p := &page{sc: sc, w: w}
	fateW := max(20, w*40/100)
	ownerW := max(10, w*18/100)
	keyW := w - ownerW - fateW - 2
	p.lines = append(p.lines, newLine(w).add(sc.dim, text.Fit("LOCK", keyW)+" "+text.Fit("OWNER", ownerW)+" "+text.Fit(d.fateTitle(), fateW)).String())
	for _, it := range d.items {
		glyph, st, fate := it.fate(sc)
		l := newLine(w).add(sc.plain, sc.g.fit.FitMiddle(keyText(it.releaseDialog.id.Key), keyW)+" ")
		owner := ownersText(sc.kit, it.lock)
		if it.token != "" {
			owner = ownerText(sc.kit, it.owner())
		}
		l.add(sc.plain, sc.g.fit.Fit(owner, ownerW)+" ")
		parts := wrap(fate, fateW-2)
		for i, s := range parts {
			if i == 0 {
				l.add(st, glyph+" "+s)
			} else {
				l = newLine(w).to(keyW+ownerW+4).add(st, s)
			}
			p.lines = append(p.lines, l.String())
		}
	}
	if d.step == bulkListing {
		var seen []string
		for _, it := range d.items {
			if !it.ready() {
				continue
			}
			for _, s := range it.plan.Warnings {
				if !slices.Contains(seen, s) {
					seen = append(seen, s)
					p.labelled(sc.weak, sc.plain, "WARNING", cleanText(s))
				}
			}
		}
	}
	return p.lines
}

func (d *bulkDialog) fateTitle() text.Safe {
	if d.step == bulkListing {
		return "WHAT WOULD HAPPEN"
	}
	return "WHAT HAPPENED"
}

// fate is what would become, or has become, of a lock.
func (it *bulkItem) fate(sc *scene) (glyph text.Safe, st style, words text.Safe) {
	switch {
	case it.step == releaseSending:
		return sc.g.arrow, sc.soon, "on its way"
	case it.step == releaseDone:
		words := outcomeSum(it.result)
		if it.auditErr != "" {
			words += " NOT RECORDED: " + it.auditErr
		}
		switch {
		case it.auditErr != "":
			return sc.g.unknown, sc.weak, words
		case it.result.Outcome == inspect.OutReleased:
			return sc.g.this, sc.calm, words
		case it.settled():
			return sc.g.free, sc.dim, words
		}
		return sc.g.silent, sc.weak, words
	case it.step == releaseRefused:
		return sc.g.free, sc.weak, "left alone: " + it.why
	case it.disarmed != "":
		return sc.g.free, sc.weak, "left alone: " + it.disarmed
	case !it.ready():
		return sc.g.dot, sc.dim, "is being read"
	}
	to := 0
	for _, s := range it.plan.Steps {
		if s.Send {
			to++
		}
	}
	words = "if still " + sc.shortOf(&it.lock, it.token) + ", on " + itoa(to) + "/" + itoa(it.lock.Votes.Of) + ", ends " + ttlText(it.lock.Expiry, sc.wall)
	if alive, _ := aliveHint(it.facts(), it.since, sc.wall); alive == lifeAlive {
		return sc.g.this, sc.weak, words + "; holder probably ALIVE"
	}
	return sc.g.this, sc.plain, words
}

// summary counts what has become of the locks.
func (d *bulkDialog) summary() text.Safe {
	var released, gone, left, flying, waiting int
	for _, it := range d.items {
		switch {
		case it.step == releaseSending:
			flying++
		case it.step == releaseDone && it.result.Outcome == inspect.OutReleased:
			released++
		case it.settled():
			gone++
		case d.step == bulkSending && it.ready():
			waiting++
		default:
			left++
		}
	}
	s := text.Count(released) + " released"
	for _, c := range []struct {
		n     int
		words text.Safe
	}{{gone, "were gone already"}, {flying, "on their way"}, {waiting, "to go"}, {left, "not released"}} {
		if c.n > 0 {
			s += ", " + text.Count(c.n) + " " + c.words
		}
	}
	s += "."
	if d.step == bulkDone && left > 0 {
		s += " " + verb(left, "It stays", "They stay") + " marked; X goes on."
	}
	return s
}
