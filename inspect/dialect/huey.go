package dialect

import "strings"

// huey is the Python task queue. Its locks have no holder's name: each is one
// field in the hash that also has the results of tasks, or a string where
// results expire. The lock of an application "my app" called "x" is the field
// "my app.lock.x" of huey.results.myapp.
type huey struct{}

const (
	hueyResults = "huey.results."
	hueyResult  = "huey.r."
	hueyLock    = ".lock."
	// hueyValue is what its default serializer makes of the text "1".
	hueyValue = "\x80\x05\x95\x05\x00\x00\x00\x00\x00\x00\x00\x8c\x011\x94."
)

func (huey) Name() string { return "huey" }

func (huey) Patterns() []string {
	return []string{hueyResults + "*", hueyResult + "*" + hueyLock + "*"}
}

func (huey) Recognise(e Entry) (Decoded, bool) {
	d := Decoded{Kind: Mutex, Confidence: Certain, Habits: Habits{
		Endless: true, Careless: true,
		Consequence: "whoever has taken the lock since it was looked at loses it, since nothing in it tells one holder from the next",
	}}
	if rest, ok := under(e.Key, hueyResult); ok && e.HasValue && (e.Type == "" || e.Type == "string") {
		app, field, ok := strings.Cut(rest, ".")
		if !ok || !isHueyLock(app, field) {
			return Decoded{}, false
		}
		if e.Value != hueyValue {
			d.Confidence = Likely
		}
		d.Holders = []Holder{{Token: e.Value, Count: 1}}
		return d, true
	}
	app, ok := under(e.Key, hueyResults)
	if !ok || e.Type != "hash" || e.Items == nil {
		return Decoded{}, false
	}
	for _, i := range e.Items {
		if !isHueyLock(app, i.Name) {
			continue // a task's result
		}
		if i.Value != hueyValue {
			d.Confidence = Likely
		}
		d.Holders = append(d.Holders, Holder{Token: i.Name, Count: 1})
	}
	sortByToken(d.Holders)
	d.Anonymous = e.Cut // there may be locks among the results that were not read
	return d, true
}

// isHueyLock reports a field that is a lock of the application whose name is
// app once everything but letters, digits and the like is dropped.
func isHueyLock(app, field string) bool {
	name, lock, ok := strings.Cut(field, hueyLock)
	if !ok || lock == "" {
		return false
	}
	cleaned := strings.Map(func(r rune) rune {
		if r < 0x80 && (isAlnum(byte(r)) || r == '_') {
			return r
		}
		return -1
	}, name)
	return cleaned == app || strings.ReplaceAll(cleaned, "_", "") == app
}

func (d huey) Release(e Entry, h Holder) (Release, error) {
	if e.Type != "hash" {
		return compareAndDelete(e, h)
	}
	if _, err := known(d, e, h); err != nil {
		return Release{}, err
	}
	value, _ := e.Item(h.Token)
	return remove(e, ofHash, h.Token, value), nil
}
