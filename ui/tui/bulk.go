package tui

import (
	"slices"
	"strings"
	"time"

	"dlock/inspect"
	"dlock/ui/text"
)

// The dialog that force-releases several locks. Like that of one lock it is a
// machine over values, and it has one of those for each of its locks, which
// judges every read: what holds for one lock holds for each of many.
//
//	reading -> listing -> sending -> done
//
// Nothing is sent before everything has been listed. Each lock is compared and
// recorded by itself, so that stopping half way leaves nothing half done, and
// doing it again goes on with the rest.

// bulkStep is where the dialog is.
type bulkStep int

const (
	bulkReading bulkStep = iota // the fresh read is on its way
	bulkListing                 // what would be released, and the word to type
	bulkSending                 // releases are on their way
	bulkDone                    // what became of each
	bulkClosed
)

// maxBulk is how many locks one dialog takes: more than that nobody reads.
const maxBulk = 1000

// bulkAtOnce is how many locks are released at a time.
const bulkAtOnce = 4

// bulkEffect is what the dialog wants done: one read of all its locks, or some
// releases, each under a number of its own.
type bulkEffect struct {
	read bool
	id   int
	send []bulkSend
	copy string
}

type bulkSend struct {
	id   int
	plan inspect.Plan
}

// bulkItem is one of the locks.
type bulkItem struct {
	*releaseDialog
	id int // of the release, 0 until it is sent
}

// ready reports whether the lock would be released as things stand.
func (it *bulkItem) ready() bool { return it.step == releaseConfirming && it.disarmed == "" }

// settled reports whether the lock is done with: it is free of the token, or
// was so before.
func (it *bulkItem) settled() bool {
	if it.step != releaseDone {
		return false
	}
	return it.result.Outcome == inspect.OutReleased || it.result.Outcome == inspect.OutAlreadyGone
}

// bulkDialog is the dialog's state.
type bulkDialog struct {
	step  bulkStep
	what  text.Safe // "3 marked locks"
	items []*bulkItem

	pending int // id of the read that is awaited
	nextID  int
	askedAt time.Time
	readAt  time.Time

	trigger
	quietPeriod
	scroll scroller
	// drawn says that the list has been on the screen, and unread that its
	// end has not; nothing arms before.
	drawn, unread bool
	note          text.Safe
	stopped       bool // no more is sent

	audited  bool
	operator string
}

// newBulk opens the dialog for locks as they stand on the screen. token tells
// which token of a lock was meant, "" for the one that is found.
func newBulk(what text.Safe, locks []inspect.Lock, token func(inspect.ID) string, since, now time.Time) (*bulkDialog, bulkEffect) {
	d := &bulkDialog{what: what}
	for _, l := range locks {
		one, _ := newRelease(l, since, now)
		if t := token(l.ID); t != "" {
			one.seen = t
		}
		d.items = append(d.items, &bulkItem{releaseDialog: one})
	}
	d.startQuiet(now)
	return d, d.read(now)
}

// keys are the keys of the locks that are to be read.
func (d *bulkDialog) keys() []string {
	keys := make([]string, len(d.items))
	for i, it := range d.items {
		keys[i] = it.releaseDialog.id.Key
	}
	return keys
}

func (d *bulkDialog) read(now time.Time) bulkEffect {
	d.nextID++
	d.pending, d.askedAt = d.nextID, now
	for _, it := range d.items {
		it.releaseDialog.read(now)
	}
	return bulkEffect{read: true, id: d.pending}
}

// count is how many locks would be released.
func (d *bulkDialog) count() int {
	n := 0
	for _, it := range d.items {
		if it.ready() {
			n++
		}
	}
	return n
}

// onRead takes a fresh read of all locks.
func (d *bulkDialog) onRead(id int, s inspect.Snapshot, err error, now time.Time) {
	if id != d.pending || d.step != bulkReading && d.step != bulkListing {
		return
	}
	d.pending = 0
	before := d.word
	at := make(map[inspect.ID]int, len(s.Locks))
	for i := range s.Locks {
		at[s.Locks[i].ID] = i
	}
	for _, it := range d.items {
		one := s
		one.Locks = nil
		if i, ok := at[it.releaseDialog.id]; ok {
			one.Locks = s.Locks[i : i+1]
		}
		it.onRead(it.releaseDialog.pending, one, err, now)
		if it.step == releaseChoosing {
			it.refuse("several owners claim it: release it by itself")
		}
	}
	if err == nil {
		d.readAt = now
	}
	d.word = "release " + string(itoa(d.count()))
	if d.step == bulkReading {
		d.step = bulkListing
		d.startQuiet(now)
		d.reset(now)
	} else if d.word != before {
		d.reset(now)
		d.note = "the list has changed: read it again"
	}
}

// setHistory tells what the live watching knows about the locks by now.
func (d *bulkDialog) setHistory(locks []inspect.Lock) {
	of := make(map[inspect.ID]*bulkItem, len(d.items))
	for _, it := range d.items {
		of[it.releaseDialog.id] = it
	}
	for i := range locks {
		if it := of[locks[i].ID]; it != nil {
			it.history = locks[i]
		}
	}
}

// armed reports whether the button may be pressed.
func (d *bulkDialog) armed() bool {
	return d.step == bulkListing && d.drawn && !d.unread && d.count() > 0 && d.typed == d.word
}

// onTick re-reads an open dialog now and then.
func (d *bulkDialog) onTick(now time.Time) bulkEffect {
	if d.step == bulkListing && now.Sub(d.askedAt) >= reread {
		return d.read(now)
	}
	return bulkEffect{}
}

// onKey takes a key press.
func (d *bulkDialog) onKey(k key) bulkEffect {
	d.note = ""
	if k.name == "esc" && d.step != bulkSending {
		d.step = bulkClosed
		return bulkEffect{}
	}
	if d.deaf(k.at) {
		return bulkEffect{}
	}
	switch d.step {
	case bulkListing:
		return d.edit(k)
	case bulkSending:
		switch k.name {
		case "esc", "q":
			d.stopped = true
			d.note = "stops after those that are on their way"
		default:
			d.scrolled(k)
		}
	case bulkDone:
		if k.name == "enter" || k.name == "q" {
			d.step = bulkClosed
			break
		}
		d.scrolled(k)
	}
	return bulkEffect{}
}

// scrolled moves the list and reports whether the key does that.
func (d *bulkDialog) scrolled(k key) bool {
	act, ok := map[string]action{"pgup": actPageUp, "pgdown": actPageDown, "up": actUp, "down": actDown, "home": actTop, "end": actBottom}[k.name]
	if !ok {
		return false
	}
	d.scroll.navigate(act)
	d.unread = d.unread && d.scroll.below() > 0
	return true
}

// edit is the typing and the buttons. Letters only type.
func (d *bulkDialog) edit(k key) bulkEffect {
	switch {
	case d.scrolled(k):
	case k.paste:
		d.note = "a paste does not count here: type the words"
	case k.name == "tab", k.name == "shift+tab", k.name == "left", k.name == "right":
		if d.focus == focusCancel && !d.armed() {
			d.note = "type the words first"
			break
		}
		d.focus, d.focused = focusRelease-d.focus, k.at
	case k.name == "enter":
		return d.press(k.at)
	case k.name == "ctrl+y":
		return bulkEffect{copy: d.commands()}
	case k.typed != "" && d.unread:
		d.note = "read on first: pgdn"
	default:
		d.trigger.edit(k)
		if !d.armed() {
			d.focus, d.focused = focusCancel, k.at
		}
	}
	return bulkEffect{}
}

func (d *bulkDialog) press(now time.Time) bulkEffect {
	switch {
	case d.focus == focusCancel && d.armed():
		// Enter on Cancel must never be a yes.
		d.note = "tab moves to Release; esc cancels"
	case d.focus == focusCancel:
		d.step = bulkClosed
	case !d.armed():
		d.reset(now)
	case now.Sub(d.focused) < settle:
		d.note = "that was too quick to be meant: press enter again"
	case now.Sub(d.readAt) > freshness:
		d.note = "the facts are older than " + itoa(int(freshness/time.Second)) + "s: reading again"
		return d.read(now)
	default:
		d.step, d.scroll = bulkSending, scroller{}
		return d.sendMore(now)
	}
	return bulkEffect{}
}

// sendMore lets as many releases go as may be on their way at once, and ends
// the sending when none is left.
func (d *bulkDialog) sendMore(now time.Time) bulkEffect {
	var e bulkEffect
	flying := 0
	for _, it := range d.items {
		if it.step == releaseSending {
			flying++
		}
	}
	for _, it := range d.items {
		if d.stopped || flying == bulkAtOnce {
			break
		}
		if it.ready() {
			d.nextID++
			it.id, it.step = d.nextID, releaseSending
			it.releaseDialog.pending = it.id
			e.send = append(e.send, bulkSend{it.id, it.plan})
			flying++
		}
	}
	if flying == 0 {
		d.step = bulkDone
		d.startQuiet(now)
	}
	return e
}

// onResult takes what became of one release.
func (d *bulkDialog) onResult(id int, r inspect.Result, auditErr error, now time.Time) bulkEffect {
	i := slices.IndexFunc(d.items, func(it *bulkItem) bool { return it.id == id && it.step == releaseSending })
	if i < 0 || d.step != bulkSending {
		return bulkEffect{}
	}
	d.items[i].onResult(id, r, auditErr, now)
	return d.sendMore(now)
}

// commands are all plans as redis-cli reads them.
func (d *bulkDialog) commands() string {
	var sb strings.Builder
	for _, it := range d.items {
		if it.ready() {
			sb.WriteString(it.commands())
		}
	}
	return sb.String()
}

// sent reports whether anything was sent.
func (d *bulkDialog) sent() bool {
	return slices.ContainsFunc(d.items, func(it *bulkItem) bool { return it.id != 0 })
}
