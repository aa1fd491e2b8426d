package dialect

import (
	"strings"
	"time"
)

// madelson is DistributedLock.Redis by madelson, for .NET: machine, process
// and a GUID. A writer that waits for the readers to leave writes the same with
// a mark behind it, which keeps new readers out; it holds nothing yet.
type madelson struct{ text }

func (madelson) Name() string { return "madelson" }

func (madelson) Patterns() []string { return []string{"*.writer", "*.readers"} }

func (madelson) Recognise(e Entry) (Decoded, bool) {
	if e.Type == "set" || e.Type == "zset" {
		return madelsonMembers(e)
	}
	id, waiting := strings.CutSuffix(e.text(), "_WRITERWAITING")
	h, ok := madelsonHolder(id)
	if !ok {
		return Decoded{}, false
	}
	d := mutex(e, Likely, h)
	d.Habits = madelsonHabits
	switch writer := strings.HasSuffix(e.Key, ".writer"); {
	case writer && waiting:
		d.Confidence, d.Kind, d.Holders = Certain, ReadWrite, nil
	case writer:
		d.Confidence, d.Kind, d.Holders[0].Mode = Certain, ReadWrite, "write"
	case waiting:
		return Decoded{}, false
	}
	return d, true
}

var madelsonHabits = Habits{Renews: 9 * time.Second}

// madelsonHolder reads machine_process_guid from the right, since a machine's
// name may have underscores.
func madelsonHolder(id string) (Holder, bool) {
	at := strings.LastIndexByte(id, '_')
	if at < 0 || !isUUID4Hex(id[at+1:]) {
		return Holder{}, false
	}
	rest := id[:at]
	at = strings.LastIndexByte(rest, '_')
	if at <= 0 {
		return Holder{}, false
	}
	pid, ok := pidOf(rest[at+1:])
	if !ok {
		return Holder{}, false
	}
	host := rest[:at]
	return Holder{Owner: host + ":" + rest[at+1:], Host: host, PID: pid, Count: 1}, true
}
