package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"dlock/inspect/dialect"
)

// evidence is what several samples of a lock tell beyond what it is now.
type evidence struct {
	samples   int           // of the present owner
	watched   time.Duration // for which the present owner was watched
	apart     int           // samples in a row with ends far apart
	gathering int           // how often the waiters grew in number without ever falling
}

const (
	// crowd is from how many waiters on they are remarked upon in any case.
	crowd = 10
	// gatheringLeast is how often their number must have grown before a
	// smaller number is.
	gatheringLeast = 3
	// holdsLeast is how many holds make a history that one can be compared
	// with.
	holdsLeast = 3
	// longLife is the remaining life beyond which a lock's expiry looks as if
	// it had been given in a wrong unit.
	longLife = 24 * time.Hour
)

// lockFindings are the remarks on a lock's life, its waiters and its library.
func lockFindings(l Lock, replies []reply, e evidence, now time.Time) []Finding {
	var out []Finding
	add := func(id string, s Severity, text, advice string) {
		out = append(out, Finding{ID: id, Severity: s, Text: text, Advice: advice})
	}
	if wrong, _ := wrongType(replies); l.State == Held && l.Anonymous && len(l.Owners) == 0 && len(wrong) == 0 {
		add("anonymous", Low, "Its library records no holders, so it cannot be told who holds it.", "Look into the programs that use it.")
	}
	if names := cutCopies(l); len(names) > 0 {
		add("cut", Low,
			fmt.Sprintf("It has more than %d parts on %s, of which not all were read.", dialect.MaxItems, list(names)),
			"Look at the key with its own program to see all of them.")
	}
	partsFinding(l, add)
	if l.State == Held {
		ageFindings(l, now, add)
		renewalStopped(l, e, now, add)
		if e.apart >= 2 {
			earliest, latest := ends(l)
			add("ttl-apart", Low,
				fmt.Sprintf("Its copies end up to %s apart, which is more than clocks drift: some nodes were taken or renewed later than others.", human(latest.Sub(earliest))),
				"Count on the quorum's end only; look for nodes that answer slowly or that a renewal does not reach.")
		}
		libraryNotes(l, add)
	}
	if left, ok := l.Expiry.Remaining(now); ok && left > longLife && l.State != Unknown && !l.Habits.Lingers && !l.Habits.Enqueued && !l.Habits.Endless {
		add("wrong-unit", Medium,
			fmt.Sprintf("It expires only in %s, which is long for a lock: a time to live in milliseconds may have been given as seconds.", human(left)),
			"Check the time to live in the program that takes it; until then nothing but a release frees it when its holder dies.")
	}
	if n := l.Waiters; n.Known && (n.Value > crowd || n.Value >= gatheringLeast && e.gathering >= gatheringLeast) {
		who := plural(n.Value, "waiter", "waiters")
		if l.WaitersAreProcesses {
			who = plural(n.Value, "process", "processes")
		}
		text := fmt.Sprintf("%d %s for it", n.Value, who+plural(n.Value, " waits", " wait"))
		if e.gathering >= gatheringLeast {
			text += ", and their number keeps growing"
		}
		add("waiters", Medium, text+".", "See whether its holder makes progress; if it always takes this long, the work under the lock is more than it can bear.")
	}
	return out
}

func cutCopies(l Lock) []string {
	var names []string
	for _, c := range l.Copies {
		if c.Entry != nil && c.Entry.Cut {
			names = append(names, c.Node)
		}
	}
	return names
}

// partsUsual is how many keys a lock of several keys has by default in the
// libraries that have such.
const partsUsual = 3

// partsFinding says which of a lock's several keys were seen.
func partsFinding(l Lock, add func(string, Severity, string, string)) {
	for _, c := range l.Copies {
		if len(c.Parts) == 0 || c.Answer != AnswerHeld && c.Answer != AnswerOther {
			continue
		}
		var there, values []string
		for _, p := range c.Parts {
			if p.Entry != nil {
				there = append(there, p.Key)
				if !slices.Contains(values, p.Entry.Value) {
					values = append(values, p.Entry.Value)
				}
			}
		}
		switch {
		case len(values) > 1 && c.Answer == AnswerOther:
			add("parts", High, fmt.Sprintf("Its %d keys on %s hold %d different tokens, none of them in most keys, so nobody holds it.", len(there), c.Node, len(values)),
				"Clients that compete will try again; if nothing renews the keys, they end with their expiry.")
		case len(values) > 1:
			add("parts", Low, fmt.Sprintf("Of its %d keys on %s not all hold the holder's token.", len(there), c.Node),
				"It is held as long as most keys do; the others end with their expiry.")
		case len(there) < partsUsual:
			add("parts", Low, fmt.Sprintf("Of this lock %d %s seen on %s, where its library usually has %d.", len(there), plural(len(there), "key was", "keys were"), c.Node, partsUsual),
				"If its library is set to fewer keys all is well; otherwise some are lost, and it ends when most of them are.")
		}
		return
	}
}

// ageFindings compare how long it is held with how long it used to be.
func ageFindings(l Lock, now time.Time, add func(string, Severity, string, string)) {
	if l.HeldSince.IsZero() {
		return
	}
	age := now.Sub(l.HeldSince)
	least := ""
	if l.HeldIsMinimum {
		least = "at least "
	}
	if mean, ok := l.Stats.MeanHold(); ok && l.Stats.Holds >= holdsLeast && age > 2*l.Stats.Longest && age > mean+time.Second {
		add("held-long", Medium,
			fmt.Sprintf("Held for %s%s; the %d holds seen before took %s on average and %s at most.", least, human(age), l.Stats.Holds, human(mean), human(l.Stats.Longest)),
			"Ask its holder what it is doing: this is not how this lock is used otherwise.")
	}
	if l.Renewals >= 10 && age >= time.Minute && age > 10*l.FullTTL && l.FullTTL > 0 {
		every := ""
		if l.RenewalPeriod > 0 {
			every = ", about every " + human(l.RenewalPeriod)
		}
		add("renewed-forever", Low,
			fmt.Sprintf("It was renewed %d times while we looked%s, and is held for %s%s: its client is alive, or a watchdog goes on for work that is over.", l.Renewals, every, least, human(age)),
			"If this is no lock that is kept on purpose, look whether its holder still does the work.")
	}
}

// renewalStopped remarks on a lock that used to be renewed, or whose library
// renews it, and that was not for too long.
func renewalStopped(l Lock, e evidence, now time.Time, add func(string, Severity, string, string)) {
	period, seen := l.RenewalPeriod, true
	if period == 0 {
		period, seen = l.Habits.Renews, false
	}
	left, ok := l.Expiry.Remaining(now)
	if period <= 0 || !ok {
		return
	}
	quiet := e.watched
	switch {
	case !l.LastRenewal.IsZero():
		quiet = now.Sub(l.LastRenewal)
	case l.Idle.Known:
		quiet = max(quiet, l.Idle.Value-idleGrain)
	}
	// A second is how exact a sample tells when it was renewed.
	late := period + period/2 + time.Second
	if quiet <= late || e.samples > 1 && left > l.FullTTL-late+time.Second {
		return
	}
	severity, how := Low, fmt.Sprintf("%s renews a lock every %s while its holder lives", l.Library, human(period))
	if seen {
		severity, how = Medium, "it was renewed every "+human(period)+" before"
	}
	add("renewal-stopped", severity,
		fmt.Sprintf("Not renewed for %s, though %s: its holder took it for a fixed time, or is dead or stands still.", human(quiet), how),
		fmt.Sprintf("If nothing renews it, it is free in %s.", human(left)))
}

// libraryNotes tell what is odd about the library of a lock that a person may
// be about to release.
func libraryNotes(l Lock, add func(string, Severity, string, string)) {
	if l.Habits.Lingers {
		add("lingers", Low, fmt.Sprintf("%s keeps the key on purpose after the work is done.", l.Library), "That it is there does not show that somebody is at work.")
	}
	if !l.Has(Stuck) && !l.Has(NoExpiry) {
		return
	}
	if l.Habits.Enqueued {
		add("enqueued", Low, fmt.Sprintf("%s takes the lock when work is queued, so its holder may not be running.", l.Library), "Look for the job in its queue before you release the lock.")
	}
	if l.Habits.Recreates {
		add("recreates", Low, fmt.Sprintf("%s makes the key again at the next renewal after it was deleted.", l.Library), "Stop the holder; a release alone does not free the lock while it lives.")
	}
	if l.Habits.Careless {
		add("careless", Low, fmt.Sprintf("The release of %s does not check whose lock it deletes.", l.Library), "After a forced release, a late end of the old holder can free the next one's lock.")
	}
}

// ends returns the earliest and the latest end of the first owner's copies on
// nodes that answer; copies without expiry do not count.
func ends(l Lock) (earliest, latest time.Time) {
	for _, c := range l.Copies {
		if c.Answer != AnswerHeld || c.Expiry.At.IsZero() {
			continue
		}
		if at := c.Expiry.At; earliest.IsZero() || at.Before(earliest) {
			earliest = at
		}
		if at := c.Expiry.At; at.After(latest) {
			latest = at
		}
	}
	return earliest, latest
}

// farApart reports whether the copies of the first owner end further apart than
// clocks may drift and samples are exact.
func farApart(l Lock) bool {
	if l.State != Held || l.Shared {
		return false
	}
	earliest, latest := ends(l)
	rtt := time.Duration(0)
	for _, c := range l.Copies {
		rtt = max(rtt, c.RTT)
	}
	return latest.Sub(earliest) > drift(l.FullTTL)+rtt+clockSlack+renewalStep
}

// gather takes in what this sample adds to the evidence about a lock.
func (tr *track) gather(l Lock, news bool, now time.Time) evidence {
	switch far := farApart(l); {
	case far && news:
		tr.seen.apart++
	case !far:
		tr.seen.apart = 0
	}
	if n := l.Waiters; n.Known {
		switch c := cmp.Compare(n.Value, tr.waiting); {
		case c > 0:
			tr.seen.gathering++
		case c < 0:
			tr.seen.gathering = 0
		}
		tr.waiting = n.Value
	}
	e := tr.seen
	e.samples = tr.samples
	if !tr.firstSeen.IsZero() {
		e.watched = now.Sub(tr.firstSeen)
	}
	return e
}
