package dialect

import (
	"strings"
	"time"
)

// shedLock is ShedLock for Java: when the job began and on which host.
type shedLock struct{ text }

func (shedLock) Name() string { return "shedlock" }

func (shedLock) Patterns() []string { return []string{"job-lock:*"} }

func (shedLock) Recognise(e Entry) (Decoded, bool) {
	rest, _ := under(e.text(), "ADDED:")
	at, host, ok := strings.Cut(rest, "@")
	if !ok || host == "" || !strings.HasSuffix(at, "Z") {
		return Decoded{}, false
	}
	since, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return Decoded{}, false
	}
	// The newer versions put a UUID behind the host.
	if n := len(host) - 37; n > 0 && host[n] == ':' && isUUID(host[n+1:]) {
		host = host[:n]
	}
	h := Holder{Owner: host, Host: host, Since: since}
	if host == "unknown" { // what ShedLock writes where it cannot find the name
		h.Owner, h.Host = "", ""
	}
	d := mutex(e, Certain, h)
	d.Kind, d.Habits = Job, Habits{Careless: true, Lingers: true}
	return d, true
}
