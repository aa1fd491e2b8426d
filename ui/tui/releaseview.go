package tui

import (
	"dlock/inspect"
	"dlock/ui/text"
)

// dialogWidth is the inner width of a dialog that floats over a screen.
const dialogWidth = 86

// view draws the dialog over the screen below; on small screens it takes the
// whole body. What it will do is never hidden: facts come first, and what is
// too long scrolls off at the commands, which differ in nothing but the node.
func (d *releaseDialog) view(sc *scene, below []string) []string {
	return sc.float(below, dialogWidth, d.titles, d.keys, d.lines)
}

// float draws a dialog of at most width cells over a screen, or in place of
// its body where there is no room beside it. lines makes the content for a
// width and a height; keys is the dialog's own key line. It and the titles are
// asked for after the content, which may have changed what they say.
func (sc *scene) float(below []string, width int, titles func() (title, remark text.Safe), keys func(*scene) string, lines func(sc *scene, w, room int) []string) []string {
	lay := sc.lay
	if !lay.boxed {
		content := lines(sc, lay.w-4, lay.body()+1-2)
		title, remark := titles()
		box := sc.pane(lay.w, lay.body()+1, title, remark, content)
		return append(append([]string(nil), below[:lay.header]...), append(box, keys(sc))...)
	}
	w := min(lay.w-4, width)
	content := lines(sc, w, lay.h-1-2) // the key line stays; borders
	title, remark := titles()
	box := sc.pane(w+4, len(content)+2, title, remark, content)
	x := (lay.w - w - 4) / 2
	y := max(lay.header, (lay.h-1-len(box))/2)
	y = max(0, min(y, lay.h-1-len(box)))
	out := text.Overlay(below, box, x, y)
	out[len(out)-1] = keys(sc)
	return out
}

func (d *releaseDialog) titles() (title, remark text.Safe) {
	switch d.step {
	case releaseRefused:
		return "Not released", "esc closes"
	case releaseDone:
		switch d.result.Outcome {
		case inspect.OutReleased:
			return "Released", "esc closes"
		default:
			return "Not released", "esc closes"
		}
	case releaseRehearsing:
		return "Dry run: nothing is sent", "esc back"
	case releaseSending:
		return "Releasing", ""
	default:
		if d.step == releaseConfirming && d.scroll.below() > 0 {
			return "Force-release", "pgdn: " + plural(d.scroll.below(), "more line", "more lines")
		}
		if d.step == releaseConfirming && d.scroll.off > 0 {
			return "Force-release", "pgup: back up"
		}
		return "Force-release", "esc cancels"
	}
}

func (d *releaseDialog) keys(sc *scene) string {
	switch d.step {
	case releaseChoosing:
		return sc.hints([]hint{{sc.g.up + sc.g.down, "which owner", 9}, {"enter", "this one", 8}, {"esc", "cancel", 10}})
	case releaseConfirming:
		if d.scroll.below() > 0 {
			return sc.hints([]hint{{"pgdn", "read on", 9}, {"ctrl+d", "dry run", 6}, {"ctrl+y", "copy the commands", 5}, {"esc", "cancel", 10}})
		}
		return sc.hints([]hint{{"tab", "to the button", 8}, {"enter", "press it", 7}, {"ctrl+d", "dry run", 6}, {"ctrl+y", "copy the commands", 5}, {"esc", "cancel", 10}})
	case releaseSending, releaseReading:
		return sc.hints([]hint{{"ctrl+c", "quit", 1}})
	default:
		return sc.hints([]hint{{"esc", "close", 1}})
	}
}

// lines is the dialog's content, at most room lines.
func (d *releaseDialog) lines(sc *scene, w, room int) []string {
	p := &page{sc: sc, w: w}
	switch d.step {
	case releaseReading:
		p.text(sc.plain, "Reading "+keyText(d.id.Key)+" afresh from all nodes.")
	case releaseRefused:
		p.field("lock", keyText(d.id.Key))
		p.gap()
		p.text(sc.strong, "Nothing was sent: "+d.why+".")
	case releaseChoosing:
		d.choosing(p)
	case releaseConfirming:
		return d.confirming(sc, w, room)
	case releaseRehearsing:
		p.field("lock", keyText(d.id.Key))
		p.gap()
		if d.pending != 0 {
			p.text(sc.plain, "Working out what would be sent.")
			break
		}
		d.outcomes(p)
		p.gap()
		p.text(sc.strong, "Nothing was sent. Any key goes back.")
	case releaseSending:
		p.text(sc.plain, "Releasing "+keyText(d.id.Key)+" and looking whether it stays free.")
	case releaseDone:
		d.done(p)
	}
	if d.note != "" {
		p.gap()
		p.text(sc.weak, d.note)
	}
	if len(p.lines) > room {
		p.lines = p.lines[:max(0, room)]
	}
	return p.lines
}

// page collects the lines of a dialog.
type page struct {
	sc    *scene
	w     int
	lines []string
}

func (p *page) gap() { p.lines = append(p.lines, newLine(p.w).String()) }

func (p *page) text(st style, s text.Safe) {
	for _, part := range wrap(s, p.w) {
		p.lines = append(p.lines, newLine(p.w).add(st, part).String())
	}
}

const fieldWidth = 9

func (p *page) field(label, value text.Safe) { p.styled(p.sc.plain, label, value) }

func (p *page) styled(st style, label, value text.Safe) { p.labelled(p.sc.dim, st, label, value) }

func (p *page) labelled(labelled, st style, label, value text.Safe) {
	for i, part := range wrap(value, p.w-fieldWidth-1) {
		l := newLine(p.w)
		if i == 0 {
			l.add(labelled, text.Fit(label, fieldWidth)).add(p.sc.plain, " ")
		} else {
			l.to(fieldWidth + 1)
		}
		p.lines = append(p.lines, l.add(st, part).String())
	}
}

func (d *releaseDialog) choosing(p *page) {
	sc := p.sc
	p.text(sc.strong, "Several owners claim this lock. Which token is to be deleted?")
	p.gap()
	p.field("lock", keyText(d.id.Key))
	p.gap()
	for i, o := range d.lock.Owners {
		l := newLine(p.w)
		if i == d.choice {
			l.over = &sc.cursor
			l.add(sc.plain, sc.g.cursor+" ")
		} else {
			l.add(sc.plain, "  ")
		}
		l.add(sc.strong, text.Clean(string(rune('A'+i%26)))+"  ").add(sc.plain, sc.g.fit.Fit(ownerText(sc.kit, o), 28))
		l.add(sc.plain, " "+sc.shortOf(&d.lock, o.Token)+"  "+onNodes(o)+"  ends "+ttlText(o.Expiry, sc.wall))
		p.lines = append(p.lines, l.String())
	}
	p.gap()
	p.text(sc.dim, "The other owners' tokens stay where they are.")
}

// confirming draws facts, consequences, commands and the buttons. The word and
// the buttons are always there; where the rest does not fit it scrolls, the
// most important first.
func (d *releaseDialog) confirming(sc *scene, w, room int) []string {
	head := &page{sc: sc, w: w}
	head.text(sc.strong, "This deletes the key while its holder may still be working.")
	top := d.factLines(sc, w, true)
	if bottom := d.arming(sc, w); len(head.lines)+len(top)+2+len(bottom) <= room {
		d.scroll.set(0, 0)
		d.allRead()
		head.gap()
		return append(append(append(head.lines, top...), newLine(w).String()), bottom...)
	}
	top = d.factLines(sc, w, false)
	// The height below the facts does not depend on what is said there.
	d.scroll.set(len(top), room-len(head.lines)-len(d.arming(sc, w)))
	d.unread = d.unread && d.scroll.below() > 0 || !d.shown && d.scroll.below() > 0
	d.shown = true
	return append(append(head.lines, d.scroll.show(top)...), d.arming(sc, w)...)
}

// allRead notes that everything has been on the screen.
func (d *releaseDialog) allRead() { d.shown, d.unread = true, false }

// factLines is what a person should read before saying yes.
func (d *releaseDialog) factLines(sc *scene, w int, roomy bool) []string {
	p := &page{sc: sc, w: w}
	gap := func() {
		if roomy {
			p.gap()
		}
	}
	facts, o := d.facts(), d.owner()
	p.field("lock", keyText(d.id.Key))
	p.field("holder", ownerText(sc.kit, o)+"   token "+sc.shortOf(&d.lock, d.token)+"   "+heldSentence(sc.kit, facts, sc.wall))
	alive, hint := aliveHint(facts, d.since, sc.wall)
	st := sc.strong
	if alive == lifeAlive {
		st = sc.weak
	}
	p.styled(st, "alive?", hint)
	p.field("ends", expiryText(d.lock, sc.wall))
	stores := " this token on " + itoa(len(o.Votes)) + " of " + itoa(d.lock.Votes.Of)
	read := newLine(w).add(sc.dim, text.Fit("read", fieldWidth)+" ").add(sc.plain, since(sc.wall, d.readAt)+"  ")
	for i := range d.lock.Copies {
		c := &d.lock.Copies[i]
		node := text.CleanMax(c.Node, 12)
		if read.used+text.Width(node)+3 > w {
			break
		}
		read.add(sc.plain, node+" ").add(sc.answerStyle(c.Answer), sc.g.answer(c.Answer)).add(sc.plain, " ")
	}
	if read.used+text.Width(stores) > w {
		p.lines = append(p.lines, read.String())
		read = newLine(w).to(fieldWidth)
	}
	p.lines = append(p.lines, read.add(sc.plain, stores).String())
	gap()
	warnings := make([]text.Safe, 0, len(d.plan.Warnings))
	for _, s := range d.plan.Warnings {
		warnings = append(warnings, cleanText(s))
	}
	if len(warnings) == 0 {
		warnings = append(warnings, "After a release another client can enter while this one still works.")
	}
	label := text.Safe("WARNING")
	for _, s := range append(warnings, silentSteps(d, sc)...) {
		p.labelled(sc.weak, sc.plain, label, s)
		label = ""
	}
	gap()
	var to []string
	var first string
	for _, s := range d.plan.Steps {
		if s.Send {
			to = append(to, s.Node)
			first = firstOf(first, s.Command)
		}
	}
	if len(to) == 0 {
		p.text(sc.strong, "There is no node to send anything to.")
		return p.lines
	}
	// The whole command is long and every screen but the largest would lose
	// the facts to it; ctrl+y has it in full.
	p.text(sc.plain, "sends to "+listed(to)+", only if the token is still "+sc.shortOf(&d.lock, d.token)+":")
	command := text.Escaped(first)
	if !sc.lay.boxed {
		command = "compare-and-delete " + sc.g.fit.TruncateMiddle(keyText(d.id.Key), max(8, w-34)) + " " + sc.shortOf(&d.lock, d.token)
	}
	for _, s := range wrap(command, w-2) {
		p.lines = append(p.lines, newLine(w).add(sc.dim, "  "+s).String())
	}
	return p.lines
}

// arming is the word to type, the field, the buttons and a remark.
func (d *releaseDialog) arming(sc *scene, w int) []string {
	p := &page{sc: sc, w: w}
	if d.disarmed != "" {
		p.text(sc.weak, "DISARMED: "+d.disarmed+".")
		if d.final {
			p.text(sc.plain, "Close this and look again.")
		}
	} else if d.unread {
		p.lines = append(p.lines, newLine(w).add(sc.weak, sc.g.down+" "+plural(d.scroll.below(), "more line", "more lines")+" to read: pgdn").String())
		p.lines = append(p.lines, newLine(w).add(sc.dim, "  then type the word that arms it").String())
	} else {
		p.lines = append(p.lines, newLine(w).add(sc.plain, "Type "+d.hint+" to arm:  ").add(sc.strong, text.Clean(d.word)).String())
		p.lines = append(p.lines, d.field(sc, w, d.armed()))
	}
	return append(p.lines, d.buttons(sc, w, d.armed()), newLine(w).add(sc.weak, d.note).String())
}

// owner is the owner whose token is to be deleted.
func (d *releaseDialog) owner() inspect.Owner {
	for _, o := range d.lock.Owners {
		if o.Token == d.token {
			return o
		}
	}
	return inspect.Owner{Token: d.token, Name: d.plan.Owner}
}

// facts is the fresh read with the history that only watching knows, as long
// as both are about the same owner.
func (d *releaseDialog) facts() inspect.Lock {
	l := d.lock
	o, ok := d.history.Holder()
	if !ok || o.Token != d.token {
		return l
	}
	if d.history.Renewals > l.Renewals {
		l.Renewals, l.LastRenewal = d.history.Renewals, d.history.LastRenewal
	}
	if l.HeldSince.IsZero() || !d.history.HeldSince.IsZero() && d.history.HeldSince.Before(l.HeldSince) {
		l.HeldSince, l.HeldIsMinimum = d.history.HeldSince, d.history.HeldIsMinimum
	}
	l.FullTTL = max(l.FullTTL, d.history.FullTTL)
	if !l.Idle.Known {
		l.Idle = d.history.Idle
	}
	return l
}

// silentSteps says how long what is on the nodes that cannot be reached will
// stay there, where that is known.
func silentSteps(d *releaseDialog, sc *scene) []text.Safe {
	var out []text.Safe
	for _, step := range d.plan.Steps {
		if step.Send {
			continue
		}
		for i := range d.lock.Copies {
			c := &d.lock.Copies[i]
			if c.Node != step.Node || c.Answer != inspect.AnswerUnreachable {
				continue
			}
			if left, ok := step.Expiry.Remaining(sc.wall); ok && left > 0 {
				out = append(out, text.CleanMax(c.Node, 40)+" is silent: a copy there ends in at most "+text.Duration(left))
			}
		}
	}
	return out
}

// outcomes lists what happened, or would, per node.
func (d *releaseDialog) outcomes(p *page) {
	sc := p.sc
	nameW := 4
	for _, n := range d.result.Nodes {
		nameW = max(nameW, min(16, text.Width(text.CleanMax(n.Node, 40))))
	}
	for _, n := range d.result.Nodes {
		glyph, st, words := sc.outcome(n, d.sendsTo(n.Node))
		parts := wrap(words, p.w-nameW-6)
		for i, s := range parts {
			l := newLine(p.w)
			if i == 0 {
				l.add(sc.plain, "  "+sc.g.fit.Fit(text.CleanMax(n.Node, 40), nameW)+" ").add(st, glyph+" ")
			} else {
				l.to(nameW + 5)
			}
			p.lines = append(p.lines, l.add(sc.plain, s).String())
		}
	}
}

// sendsTo reports whether the plan has something for a node.
func (d *releaseDialog) sendsTo(node string) bool {
	for _, s := range d.plan.Steps {
		if s.Node == node {
			return s.Send
		}
	}
	return false
}

// outcome is what happened on one node, or would if it is planned, in words.
func (sc *scene) outcome(n inspect.NodeOutcome, planned bool) (glyph text.Safe, st style, words text.Safe) {
	left := text.Safe("")
	switch {
	case n.Expiry.Never:
		left = "; its copy has no expiry and stays until somebody deletes it"
	case n.Expiry.IsKnown():
		if d, _ := n.Expiry.Remaining(sc.wall); d > 0 {
			left = "; its copy ends in at most " + text.Duration(d)
		} else {
			left = "; its copy has ended by now"
		}
	}
	detail := text.Safe("")
	if n.Detail != "" {
		// The outcome says that much already.
		detail = ": " + cleanText(n.Detail)
	}
	switch n.Outcome {
	case inspect.OutReleased:
		return sc.g.this, sc.calm, "deleted"
	case inspect.OutAlreadyGone:
		return sc.g.free, sc.dim, "was already gone" + detail
	case inspect.OutChanged:
		return sc.g.other, sc.other, "owner changed, not touched" + detail
	case inspect.OutCameBack:
		return sc.g.this, sc.weak, "came back: its holder re-created it" + left
	case inspect.OutNotReached:
		return sc.g.silent, sc.weak, "not reached" + detail + left
	case inspect.OutRefused:
		return sc.g.silent, sc.weak, "refused by the server" + detail + left
	case inspect.OutNotSent:
		if !planned {
			return sc.g.free, sc.dim, "would be left alone" + detail
		}
		return sc.g.arrow, sc.calm, "would be sent the command"
	default:
		return sc.g.unknown, sc.weak, cleanText(string(n.Outcome)) + detail
	}
}

// done is the result in words: what happened in sum, and whether anybody can
// take the lock now.
func (d *releaseDialog) done(p *page) {
	sc := p.sc
	p.field("lock", keyText(d.id.Key))
	p.field("token", sc.shortOf(&d.lock, d.token))
	p.gap()
	d.outcomes(p)
	p.gap()
	p.text(sc.strong, outcomeSum(d.result))
	if d.auditErr != "" {
		p.text(sc.weak, "The audit line could not be written: "+d.auditErr)
	} else if d.audited {
		p.text(sc.plain, recordedText(d.operator))
	}
	p.gap()
	p.lines = append(p.lines, newLine(p.w).add(sc.plain, "      ").add(sc.button, "[ Close ]").String())
}

// recordedText says where a release is recorded.
func recordedText(operator string) text.Safe {
	if operator == "" {
		return "Recorded in the audit file."
	}
	return "Recorded in the audit file as operator " + cleanText(operator) + "."
}

// outcomeSum is what became of a release, and whether anybody can take the
// lock now.
func outcomeSum(r inspect.Result) text.Safe {
	deleted := 0
	for _, n := range r.Nodes {
		if n.Outcome == inspect.OutReleased {
			deleted++
		}
	}
	var sum text.Safe
	switch r.Outcome {
	case inspect.OutReleased:
		sum = "Deleted on " + itoa(deleted) + " of " + itoa(len(r.Nodes)) + "."
	case inspect.OutAlreadyGone:
		sum = "It was gone already; nothing had to be deleted."
	case inspect.OutChanged:
		sum = "Somebody else holds it by now; their token was not touched."
	case inspect.OutCameBack:
		sum = "It came back: its holder is alive and re-created it. Stop that process first."
	case inspect.OutRefused:
		sum = "The server refused."
	case inspect.OutNotReached:
		sum = "No node was reached."
	default:
		sum = cleanText(string(r.Outcome)) + "."
	}
	if r.Freed {
		return sum + " FREE: a client can take it now."
	}
	if r.Outcome != inspect.OutChanged {
		sum += " NOT FREE yet: too many nodes still store something for it."
	}
	return sum
}
