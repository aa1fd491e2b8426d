package tui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"dlock/inspect"
	"dlock/ui/text"
)

// command is one word of the command line that takes an argument. Besides
// these, each action of the key map that works in the view can be typed by its
// name.
type command struct {
	name string
	// args is what may follow, for the person who types.
	args text.Safe
	// options are the arguments that begin with what is there; nil for none.
	options func(a *App, begun string) []string
	run     func(a *App, arg string) cmd
}

// commands returns the words of the command line. It is a function and no
// variable because what they do leads back here.
func commands() []command {
	return []command{
		{"filter", "TEXT", filterOptions, func(a *App, arg string) cmd { return a.filterBy(arg) }},
		{"sort", "COLUMN [reverse]", oneOf(func(*App) []string { return orderWords }), (*App).sortBy},
		{"lock", "NAME", lockOptions, (*App).openByName},
		{"mark", "all, none or owner", words("all", "none", "owner"), (*App).markBy},
		{"release", "[marked or owner]", words("marked", "owner"), (*App).releaseBy},
		{"interval", "TIME", words("500ms", "1s", "2s", "5s", "10s", "30s"), (*App).setIntervalBy},
		{"theme", "NAME", words(Themes()...), (*App).setTheme},
		{"ascii", "on or off", words("on", "off"), (*App).setASCII},
		{"save", "[FILE]", nil, (*App).saveAs},
		{"copy", "[name, cli or json]", words("name", "cli", "json"), (*App).copyBy},
		{"jump", "TIME, +TIME or -TIME", nil, (*App).jumpTo},
		{"speed", "FACTOR", words("0.25", "0.5", "1", "2", "5", "10", "30", "60"), (*App).setSpeed},
	}
}

// words offers fixed arguments.
func words(list ...string) func(*App, string) []string {
	return oneOf(func(*App) []string { return list })
}

// oneOf offers the arguments of a list that go on with what is there.
func oneOf(list func(*App) []string) func(*App, string) []string {
	return func(a *App, begun string) []string {
		var out []string
		for _, w := range list(a) {
			if strings.HasPrefix(w, begun) {
				out = append(out, w)
			}
		}
		return out
	}
}

// orderWords are the columns by the names that are typed.
var orderWords = []string{"trouble", "name", "ttl", "held", "waiters"}

// maxOptions bounds how many names are offered.
const maxOptions = 40

func lockOptions(a *App, begun string) []string {
	var out []string
	for i := range a.shown.Locks {
		name := text.Quote(a.shown.Locks[i].ID.Key)
		if strings.HasPrefix(name, begun) || strings.HasPrefix(a.shown.Locks[i].Resource, begun) {
			if out = append(out, name); len(out) == maxOptions {
				break
			}
		}
	}
	return out
}

// filterOptions go on with the last word of a filter.
func filterOptions(a *App, begun string) []string {
	head, last := begun, ""
	if i := strings.LastIndexByte(begun, ' '); i >= 0 {
		head, last = begun[:i+1], begun[i+1:]
	} else {
		head, last = "", begun
	}
	not := ""
	if strings.HasPrefix(last, "!") {
		not, last = "!", last[1:]
	}
	var all []string
	field, _, inValue := strings.Cut(last, ":")
	switch {
	case !inValue:
		for _, f := range filterFields {
			if f != "lib" {
				all = append(all, f+":")
			}
		}
	case field == "is":
		all = fieldWords(field, presets)
	case field == "state":
		all = fieldWords(field, stateWords)
	case field == "flag":
		all = fieldWords(field, flagWords)
	case field == "node":
		for _, n := range a.shown.Target.Nodes {
			all = append(all, "node:"+n.Name)
		}
	}
	var out []string
	for _, w := range all {
		if strings.HasPrefix(w, last) {
			out = append(out, head+not+w)
		}
	}
	return out
}

func fieldWords(field string, list []string) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = field + ":" + w
	}
	return out
}

// typedActions are the actions that can be typed, by name. Moving about is not
// among them, nor is what has a command of its own.
func (a *App) typedActions() []string {
	var out []string
	for _, b := range a.keys {
		if b.label != "" && b.group != groupMove && b.act != actCommand && b.in&a.view != 0 && !slices.ContainsFunc(commands(), func(c command) bool { return c.name == string(b.act) }) {
			out = append(out, string(b.act))
		}
	}
	return out
}

// options are the whole lines that go on with what is typed.
func (a *App) options(line string) []string {
	name, arg, hasArg := strings.Cut(strings.TrimLeft(line, " "), " ")
	if !hasArg {
		var out []string
		for _, c := range commands() {
			if strings.HasPrefix(c.name, name) {
				out = append(out, c.name)
			}
		}
		for _, w := range a.typedActions() {
			if strings.HasPrefix(w, name) {
				out = append(out, w)
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	for _, c := range commands() {
		if c.name == name && c.options != nil {
			out := c.options(a, strings.TrimLeft(arg, " "))
			for i := range out {
				out[i] = name + " " + out[i]
			}
			return out
		}
	}
	return nil
}

// usage is what may follow the word that is typed.
func usage(line string) text.Safe {
	name, _, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
	for _, c := range commands() {
		if c.name == name {
			return text.Clean(c.name+" ") + c.args
		}
	}
	return ""
}

// runLine carries out what was typed.
func (a *App) runLine(line string) cmd {
	line = strings.Trim(line, " ")
	name, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimLeft(arg, " ")
	switch name {
	case "":
		return nil
	case "q", "quit", "exit":
		return quit
	}
	for _, c := range commands() {
		if c.name == name {
			return c.run(a, arg)
		}
	}
	if slices.Contains(a.typedActions(), name) {
		if arg != "" {
			a.complain(cleanText(name) + " takes nothing after it")
			return nil
		}
		return a.act(action(name))
	}
	if i := slices.IndexFunc(a.keys, func(b binding) bool { return string(b.act) == name && b.label != "" }); i >= 0 {
		a.complain(cleanText(name) + " is of no use in this view")
		return nil
	}
	a.complain("there is no command " + text.CleanMax(name, 40) + "; tab lists them")
	return nil
}

// complain says why something was not done.
func (a *App) complain(why text.Safe) { a.say(notice{text: why, bad: true}) }

func (a *App) filterBy(arg string) cmd {
	if a.view != viewEvents {
		a.goTo(viewLocks)
	}
	if slices.Contains(presets, arg) {
		arg = "is:" + arg
	}
	return a.setFilter(arg)
}

func (a *App) sortBy(arg string) cmd {
	word, rest, _ := strings.Cut(arg, " ")
	i := slices.Index(orderWords, word)
	if i < 0 || rest != "" && rest != "reverse" {
		a.complain("sort by " + join(", ", cleaned(orderWords)...) + "; reverse may follow")
		return nil
	}
	a.goTo(viewLocks)
	a.locks.by, a.locks.reverse = order(i), rest == "reverse"
	a.locks.list.navigate(actTop)
	return a.fillLocks(true)
}

func cleaned(raw []string) []text.Safe {
	out := make([]text.Safe, len(raw))
	for i, s := range raw {
		out[i] = cleanText(s)
	}
	return out
}

// openByName shows a lock by its key, or by its key without the prefix.
func (a *App) openByName(arg string) cmd {
	name, err := text.Unquote(arg)
	if err != nil || name == "" {
		a.complain("lock NAME: a name, in double quotes if it is not plain")
		return nil
	}
	for i := range a.shown.Locks {
		if l := &a.shown.Locks[i]; l.ID.Key == name || l.Resource == name {
			a.locks.list.selectID(l.ID)
			a.openLock(*l)
			return nil
		}
	}
	a.complain("no lock is called " + keyText(name))
	return nil
}

func (a *App) markBy(arg string) cmd {
	switch arg {
	case "all":
		a.goTo(viewLocks)
		for _, i := range a.locks.rows {
			if l := &a.shown.Locks[i]; l.State != inspect.Expired {
				a.marks.add(l)
			}
		}
	case "none":
		a.marks.clear()
	case "owner":
		locks, _, why := a.ownersLocks()
		if why != "" {
			a.complain(why)
			return nil
		}
		for i := range locks {
			a.marks.add(&locks[i])
		}
	case "":
		if why := a.blocked(actMark); why != "" {
			a.complain(why)
			return nil
		}
		return a.act(actMark)
	default:
		a.complain("mark all, none or owner")
		return nil
	}
	a.say(notice{text: plural(a.marks.len(), "lock is marked", "locks are marked")})
	return nil
}

func (a *App) releaseBy(arg string) cmd {
	switch arg {
	case "":
		return a.act(actRelease)
	case "marked":
		if a.marks.len() == 0 {
			a.complain("no lock is marked; m marks one")
			return nil
		}
		return a.openBulkOf(a.marks.of(&a.live), plural(a.marks.len(), "marked lock", "marked locks"))
	case "owner":
		locks, name, why := a.ownersLocks()
		if why != "" {
			a.complain(why)
			return nil
		}
		return a.openBulkOf(locks, plural(len(locks), "lock", "locks")+" of "+name)
	}
	a.complain("release, release marked or release owner")
	return nil
}

// ownersLocks are the locks whose owner is that of the lock at hand.
func (a *App) ownersLocks() (locks []inspect.Lock, name, why text.Safe) {
	if a.view == viewOwners {
		if l, ok := a.sections.owners.link(); ok {
			return a.locksOf(l.locks), l.who, ""
		}
	}
	l, ok := a.subject()
	if !ok {
		return nil, "", "no lock is selected"
	}
	o, ok := l.Holder()
	if !ok || o.Name == "" {
		return nil, "", "its value names no owner: mark the locks one by one"
	}
	for i := range a.live.Locks {
		other := &a.live.Locks[i]
		if h, ok := other.Holder(); ok && h.Name == o.Name && other.State != inspect.Expired {
			locks = append(locks, *other)
		}
	}
	return locks, cleanKey(o.Name), ""
}

// locksOf are locks by identity, as they are known now.
func (a *App) locksOf(ids []inspect.ID) []inspect.Lock {
	var m marks
	m.token = make(map[inspect.ID]string, len(ids))
	for _, id := range ids {
		m.token[id] = ""
	}
	return m.of(&a.live)
}

func (a *App) setIntervalBy(arg string) cmd {
	d, err := time.ParseDuration(arg)
	if a.recorded() {
		a.complain("a recording has no interval; speed sets how fast it plays")
		return nil
	}
	if err != nil || d < intervals[0] || d > time.Hour {
		a.complain("interval: a time such as 2s, at least " + intervalText(intervals[0]))
		return nil
	}
	return a.looksEvery(d)
}

func (a *App) setTheme(arg string) cmd { return a.dressIn(arg, a.kit.g.ascii) }

func (a *App) setASCII(arg string) cmd {
	if arg != "on" && arg != "off" {
		a.complain("ascii on or off")
		return nil
	}
	return a.dressIn(a.conf.Theme, arg == "on")
}

// dressIn draws everything in another theme from now on.
func (a *App) dressIn(theme string, ascii bool) cmd {
	k, err := a.dress(theme, ascii)
	if err != nil {
		a.complain(cleanText(err.Error()))
		return nil
	}
	a.kit, a.conf.Theme = k, theme
	a.counts = count(a.kit, a.shown.Locks)
	return redraw
}

func (a *App) copyBy(arg string) cmd {
	act, ok := map[string]action{"": actCopy, "name": actCopy, "cli": actCopyCLI, "json": actCopyJSON}[arg]
	if !ok {
		a.complain("copy name, cli or json")
		return nil
	}
	if _, works := a.keys.of(a.view, act); !works {
		a.complain("there is nothing of that kind to copy in this view")
		return nil
	}
	return a.act(act)
}

func (a *App) jumpTo(arg string) cmd {
	if !a.recorded() {
		a.complain(notRecording)
		return nil
	}
	at, ok := a.position.parseMoment(arg)
	if !ok {
		a.complain("jump to a time such as 12:04:31, +30s or -2m")
		return nil
	}
	return a.world.steer(func(r Recording) text.Safe { r.JumpTo(at); return "" })
}

func (a *App) setSpeed(arg string) cmd {
	if !a.recorded() {
		a.complain(notRecording)
		return nil
	}
	f, err := strconv.ParseFloat(strings.TrimPrefix(arg, "x"), 64)
	if err != nil || !(f >= speeds[0] && f <= speeds[len(speeds)-1]) {
		a.complain("speed: from " + speedText(speeds[0]) + " to " + speedText(speeds[len(speeds)-1]))
		return nil
	}
	return a.world.steer(func(r Recording) text.Safe { r.Speed(f); return "plays at " + speedText(f) })
}

const notRecording text.Safe = "this is live: only a recording can be played"
