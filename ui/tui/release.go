package tui

import (
	"slices"
	"strings"
	"time"

	"dlock/inspect"
	"dlock/ui/text"
)

// The force-release dialog, as a machine over values: it is told what happened
// and answers what is to be done. It holds no client and no clock, so every
// path through it is tested.
//
//	reading -> refused
//	reading -> choosing (several owners) -> confirming
//	reading -> confirming <-> rehearsing (dry run)
//	confirming -> sending -> done

// releaseStep is where the dialog is.
type releaseStep int

const (
	releaseReading    releaseStep = iota // the fresh read is on its way
	releaseRefused                       // it cannot be done; why says so
	releaseChoosing                      // several tokens: which one?
	releaseConfirming                    // facts, commands, the word to type
	releaseRehearsing                    // a dry run is on its way or shown
	releaseSending                       // the commands are on their way
	releaseDone                          // what became of it
	releaseClosed
)

// Times of the dialog.
const (
	// quiet is how long no key may have come before keys count: what was
	// typed into the screen below must not act here. quietCap bounds the
	// wait for somebody who leans on a key.
	quiet    = 400 * time.Millisecond
	quietCap = 1500 * time.Millisecond
	// reread is the time between two fresh reads of an open dialog, and
	// freshness how old the last good one may be when the button is
	// pressed.
	reread    = 2 * time.Second
	freshness = 6 * time.Second
	// settle is how long the focus must have been on the button before
	// enter counts: a pasted text with a tab and a newline in it is
	// quicker than that.
	settle = 250 * time.Millisecond
)

// effect is what the dialog wants done after an event.
type effect struct {
	read    bool
	execute bool
	dryRun  bool
	copy    string
	// id numbers the request, so that an answer that comes late is told
	// from the one that is awaited.
	id int
}

// releaseDialog is the dialog's state.
type releaseDialog struct {
	step releaseStep
	id   inspect.ID
	// seen is the token that stood on the screen when the key was pressed.
	// Nothing but this token, or one chosen in the dialog, is ever sent.
	seen  string
	token string
	// lock is the newest fresh read; history is the lock as the live
	// watching knows it, which has renewals a single read cannot show.
	lock    inspect.Lock
	history inspect.Lock
	since   time.Time // when watching began
	plan    inspect.Plan
	readAt  time.Time // when the newest good read came
	askedAt time.Time // when the newest read was asked for
	pending int       // id of the read or execution that is awaited
	nextID  int

	why     text.Safe // refused: the reason
	chosen  bool      // the token is one of several that claim the lock
	choice  int       // choosing: the row
	trigger           // confirming: the word and the buttons
	hint    text.Safe // what the word is
	// disarmed is why the button cannot be armed at present; final means that
	// it never will be in this dialog.
	disarmed text.Safe
	final    bool
	note     text.Safe // a remark on the last key

	scroll scroller // of the facts, where they do not fit
	// shown says that the facts have been drawn, and unread that some of
	// them have not been on the screen yet; nothing arms before.
	shown, unread bool

	quietPeriod

	result   inspect.Result
	auditErr text.Safe
	// audited says that a release is recorded, and operator as whose.
	audited  bool
	operator string
}

// newRelease opens the dialog for a lock as it stands on the screen.
func newRelease(l inspect.Lock, since, now time.Time) (*releaseDialog, effect) {
	d := &releaseDialog{id: l.ID, history: l, lock: l, since: since}
	d.startQuiet(now)
	if o, ok := l.Holder(); ok && !contested(&l) {
		d.seen = o.Token
	}
	return d, d.read(now)
}

func (d *releaseDialog) read(now time.Time) effect {
	d.nextID++
	d.pending, d.askedAt = d.nextID, now
	return effect{read: true, id: d.pending}
}

// refuse ends the attempt with a reason.
func (d *releaseDialog) refuse(why text.Safe) effect {
	d.step, d.why = releaseRefused, why
	return effect{}
}

// setHistory tells what the live watching knows about the lock by now.
func (d *releaseDialog) setHistory(l inspect.Lock) {
	if l.ID == d.id {
		d.history = l
	}
}

// onRead takes a fresh read. err is the reading's own failure.
func (d *releaseDialog) onRead(id int, s inspect.Snapshot, err error, now time.Time) effect {
	if id != d.pending {
		return effect{}
	}
	switch d.step {
	case releaseReading, releaseChoosing, releaseConfirming:
	default:
		return effect{}
	}
	d.pending = 0
	first := d.step == releaseReading
	l, problem, over := d.judge(s, err)
	if problem != "" {
		switch {
		case first:
			return d.refuse(problem)
		case over:
			d.disarm(problem, true)
		default:
			d.disarm(problem, false)
		}
		return effect{}
	}
	d.lock, d.readAt = l, now
	if first && contested(&l) {
		d.step, d.choice = releaseChoosing, 0
		d.startQuiet(now)
		return effect{}
	}
	if d.step == releaseChoosing {
		d.choice = min(d.choice, len(l.Owners)-1)
		return effect{}
	}
	token := d.token
	if first {
		token = d.seen
	}
	plan, err := inspect.PlanRelease(l, token)
	if err != nil {
		why := reason(err)
		if first {
			return d.refuse(why)
		}
		d.disarm(why, true)
		return effect{}
	}
	d.plan = plan
	if first {
		d.confirm(token, now)
		return effect{}
	}
	if !d.final {
		d.disarmed = ""
	}
	return effect{}
}

// judge says whether a read is good enough to act on, and if not, whether
// the attempt is over or the next read may be better.
func (d *releaseDialog) judge(s inspect.Snapshot, err error) (l inspect.Lock, problem text.Safe, over bool) {
	if len(s.Target.Nodes) > 0 && s.Target.Up() < s.Target.Quorum {
		return l, "only " + itoa(s.Target.Up()) + " of " + itoa(len(s.Target.Nodes)) + " nodes answered the fresh read and " + itoa(s.Target.Quorum) +
			" are needed to know who holds it", false
	}
	if err != nil {
		return l, "the fresh read failed: " + reason(err), false
	}
	i := slices.IndexFunc(s.Locks, func(l inspect.Lock) bool { return l.ID == d.id })
	if i < 0 || s.Locks[i].State == inspect.Expired {
		return l, "the lock is gone already: no node stores it any more", true
	}
	l = s.Locks[i]
	holder, ok := l.Holder()
	switch {
	case !ok && l.State == inspect.Unknown && !stored(&l):
		return l, "no node that answers stores it, and the silent ones cannot be asked", true
	case !ok:
		_, err := inspect.PlanRelease(l, "")
		if err == nil {
			err = inspect.ErrCannotRelease{Reason: "no node tells who holds it"}
		}
		return l, reason(err), true
	case d.step == releaseChoosing, d.step == releaseReading && contested(&l):
		return l, "", false
	case d.step == releaseReading && d.seen == "":
		// The screen showed no owner, or several; the fresh read shows one,
		// and the dialog shows that one before anything can be pressed.
		d.seen = holder.Token
		return l, "", false
	}
	want := d.token
	if d.step == releaseReading {
		want = d.seen
	}
	switch {
	case d.chosen && !slices.ContainsFunc(l.Owners, func(o inspect.Owner) bool { return o.Token == want }):
		return l, "the owner changed: no node stores the chosen token any more", true
	case d.chosen:
		return l, "", false
	case holder.Token != want:
		return l, "the owner changed since you pressed the key: it is now " + cleanKey(firstOf(holder.Name, holder.Token)), true
	case contested(&l):
		return l, "a second owner has appeared: which of them holds it is not settled", true
	}
	return l, "", false
}

// contested reports whether several tokens may be the holder's.
func contested(l *inspect.Lock) bool {
	voted := 0
	for i := range l.Owners {
		if len(l.Owners[i].Votes) > 0 {
			voted++
		}
	}
	return l.State == inspect.Split || l.State == inspect.Unknown && voted > 1
}

// stored reports whether any node that answers has the key.
func stored(l *inspect.Lock) bool {
	return slices.ContainsFunc(l.Copies, func(c inspect.Copy) bool {
		return c.Answer == inspect.AnswerHeld || c.Answer == inspect.AnswerOther
	})
}

// reason is an error's text as part of a sentence of ours.
func reason(err error) text.Safe { return cleanText(strings.TrimSuffix(err.Error(), ".")) }

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// disarm takes the typed word back.
func (d *releaseDialog) disarm(why text.Safe, final bool) {
	if d.final {
		return
	}
	d.disarmed, d.final = why, final
	d.typed = ""
	d.focus = focusCancel
	if d.step == releaseChoosing {
		d.refuse(why)
	}
}

// confirm shows the facts and waits for the word.
func (d *releaseDialog) confirm(token string, now time.Time) {
	d.step, d.token = releaseConfirming, token
	d.shown, d.unread = false, false
	d.word, d.hint = armWord(d.lock, token)
	d.reset(now)
	d.startQuiet(now)
}

// armWord is what has to be typed: the last segment of the name, or, where
// that cannot be typed as it is seen, the beginning of the token.
func armWord(l inspect.Lock, token string) (word string, what text.Safe) {
	name := firstOf(l.Resource, l.ID.Key)
	if i := strings.LastIndexAny(name, ":/"); i >= 0 && i < len(name)-1 {
		word, what = name[i+1:], "the last part of the name"
	} else {
		word, what = name, "the name"
	}
	if typeable(word) {
		return word, what
	}
	if head := firstRunes(token, 4); typeable(head) {
		return head, "the first characters of the token"
	}
	return "release", "the word"
}

// typeable reports whether a word can be typed by anybody who sees it.
func typeable(s string) bool {
	if s == "" || len(s) > 24 {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] > '~' || s[i] == '\\' {
			return false
		}
	}
	return true
}

// armed reports whether the button may be pressed.
func (d *releaseDialog) armed() bool {
	return d.step == releaseConfirming && d.disarmed == "" && !d.unread && d.typed == d.word
}

// onKey takes a key press.
func (d *releaseDialog) onKey(k key) effect {
	d.note = ""
	if k.name == "esc" && d.step != releaseSending {
		if d.step == releaseRehearsing && d.pending == 0 {
			d.backToConfirm(k.at)
			return d.read(k.at)
		}
		d.step = releaseClosed
		return effect{}
	}
	if d.deaf(k.at) {
		return effect{}
	}
	switch d.step {
	case releaseRefused, releaseDone:
		if k.name == "enter" || k.name == "q" {
			d.step = releaseClosed
		}
	case releaseSending:
		if k.name == "q" || k.name == "esc" {
			d.note = "the release is on its way; ctrl+c quits without showing what became of it"
		}
	case releaseRehearsing:
		if d.pending == 0 && k.name != "" {
			d.backToConfirm(k.at)
			return d.read(k.at)
		}
	case releaseChoosing:
		return d.choose(k)
	case releaseConfirming:
		return d.edit(k)
	}
	return effect{}
}

func (d *releaseDialog) backToConfirm(now time.Time) {
	d.step = releaseConfirming
	d.reset(now)
}

// choose picks one of several tokens by its letter, or by arrows and enter.
func (d *releaseDialog) choose(k key) effect {
	n := len(d.lock.Owners)
	switch k.name {
	case "up", "k":
		d.choice = max(0, d.choice-1)
	case "down", "j":
		d.choice = min(n-1, d.choice+1)
	case "q":
		d.step = releaseClosed
	case "enter":
		if d.choice < 0 || d.choice >= n {
			return effect{}
		}
		token := d.lock.Owners[d.choice].Token
		plan, err := inspect.PlanRelease(d.lock, token)
		if err != nil {
			return d.refuse(reason(err))
		}
		d.plan = plan
		d.chosen = true
		d.confirm(token, k.at)
	}
	return effect{}
}

// edit is the typing and the buttons. Letters only type.
func (d *releaseDialog) edit(k key) effect {
	switch {
	case k.paste:
		d.note = "a paste does not count here: type the word"
	case k.name == "tab", k.name == "shift+tab", k.name == "left", k.name == "right", k.name == "down", k.name == "up":
		d.toggleFocus(k.at)
	case k.name == "pgup":
		d.scroll.navigate(actPageUp)
	case k.name == "pgdown":
		d.scroll.navigate(actPageDown)
		d.unread = d.unread && d.scroll.below() > 0
	case k.name == "enter":
		return d.press(k.at)
	case k.name == "ctrl+d":
		if d.disarmed != "" {
			d.note = "not now: " + d.disarmed
			return effect{}
		}
		d.nextID++
		d.pending, d.step, d.result = d.nextID, releaseRehearsing, inspect.Result{}
		return effect{execute: true, dryRun: true, id: d.pending}
	case k.name == "ctrl+y":
		return effect{copy: d.commands()}
	case k.typed != "" && d.disarmed != "":
		// There is no field now, and letters must not collect out of sight.
		d.note = "typing does not count while this is disarmed"
	case k.typed != "" && d.unread:
		d.note = "read on first: pgdn"
	default:
		d.trigger.edit(k)
		d.unfocus(k.at)
	}
	return effect{}
}

// unfocus takes the focus off the button when the word is no longer right.
func (d *releaseDialog) unfocus(now time.Time) {
	if !d.armed() && d.focus != focusCancel {
		d.focus, d.focused = focusCancel, now
	}
}

func (d *releaseDialog) toggleFocus(now time.Time) {
	if d.focus == focusRelease {
		d.focus, d.focused = focusCancel, now
		return
	}
	if !d.armed() {
		d.note = "type the word first"
		return
	}
	d.focus, d.focused = focusRelease, now
}

func (d *releaseDialog) press(now time.Time) effect {
	if d.focus == focusCancel {
		if d.armed() {
			// Somebody who typed the whole word means it, but enter on
			// Cancel must never be a yes.
			d.note = "tab moves to Release; esc cancels"
			return effect{}
		}
		d.step = releaseClosed
		return effect{}
	}
	switch {
	case !d.armed():
		d.unfocus(now)
		return effect{}
	case now.Sub(d.focused) < settle:
		d.note = "that was too quick to be meant: press enter again"
		return effect{}
	case now.Sub(d.readAt) > freshness:
		d.note = "the facts are older than " + itoa(int(freshness/time.Second)) + "s: reading again"
		return d.read(now)
	}
	d.nextID++
	d.pending, d.step = d.nextID, releaseSending
	return effect{execute: true, id: d.pending}
}

// onTick re-reads an open dialog now and then.
func (d *releaseDialog) onTick(now time.Time) effect {
	if (d.step == releaseConfirming || d.step == releaseChoosing) && !d.final && now.Sub(d.askedAt) >= reread {
		return d.read(now)
	}
	return effect{}
}

// onResult takes what became of the plan. auditErr is why it could not be
// recorded, if so.
func (d *releaseDialog) onResult(id int, r inspect.Result, auditErr error, now time.Time) {
	if id != d.pending || d.step != releaseSending && d.step != releaseRehearsing {
		return
	}
	d.pending, d.result = 0, r
	if auditErr != nil {
		d.auditErr = cleanText(auditErr.Error())
	}
	if d.step == releaseSending {
		d.step = releaseDone
		d.startQuiet(now)
	}
}

// commands is the plan as redis-cli reads it, one line per node.
func (d *releaseDialog) commands() string {
	var sb strings.Builder
	for _, s := range d.plan.Steps {
		if s.Send {
			sb.WriteString(s.Command + "\n")
		}
	}
	return sb.String()
}
