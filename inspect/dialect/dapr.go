package dialect

import "strings"

// dapr is the lock component of Dapr: whatever the caller gave as its name.
type dapr struct{ text }

func (dapr) Name() string { return "dapr" }

func (dapr) Patterns() []string { return []string{"lock||*"} }

func (dapr) Recognise(e Entry) (Decoded, bool) {
	rest, _ := under(e.Key, "lock||")
	scope, resource, ok := strings.Cut(rest, "||")
	if !ok || scope == "" || resource == "" || e.text() == "" {
		return Decoded{}, false
	}
	h := Holder{Owner: e.Value}
	h.Host, h.PID = splitOwner(e.Value)
	return mutex(e, Likely, h), true
}
