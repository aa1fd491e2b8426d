package dialect

import (
	"strings"
	"time"
)

// hangfire is Hangfire.Redis.StackExchange: one GUID for each process, the
// same in all its locks.
type hangfire struct{ text }

func (hangfire) Name() string { return "hangfire" }

func (hangfire) Patterns() []string { return []string{"{hangfire}:*:lock"} }

func (hangfire) Recognise(e Entry) (Decoded, bool) {
	if !strings.HasPrefix(e.Key, "{hangfire}:") || !isUUID4(e.text()) {
		return Decoded{}, false
	}
	d := mutex(e, Likely, Holder{Owner: e.Value})
	d.Habits = Habits{
		Renews:      15 * time.Second,
		Consequence: "the holder will miss its lock when it next renews it and mark its running job as failed",
	}
	return d, true
}
