package dialect

import (
	_ "embed"
	"encoding/binary"
	"strings"
	"time"
)

//go:embed delete_publish.lua
var deletePublishSource string

var deletePublishScript = newScript(deletePublishSource)

// spring is the RedisLockRegistry of Spring Integration. Up to version 4.3 it
// wrote a record of host, key, thread and time. Since then it writes a UUID
// that is the same in all locks of one registry, as do other libraries, so
// that only its channels tell it apart.
type spring struct{ text }

func (spring) Name() string { return "spring" }

// usual: the versions up to 6.1 checked the owner, if at all, in a step of its
// own.
func (spring) usual() Habits { return Habits{Careless: true} }

func (spring) Recognise(e Entry) (Decoded, bool) {
	h, ok := springRecord(e)
	if !ok {
		return Decoded{}, false
	}
	return mutex(e, Certain, h), true
}

// springRecord reads the record of the old versions: host, key and thread,
// each with its length in front, and milliseconds.
func springRecord(e Entry) (Holder, bool) {
	rest := e.text()
	var parts [3]string
	for i := range parts {
		if rest == "" {
			return Holder{}, false
		}
		n := int(rest[0])
		if len(rest) < 1+n {
			return Holder{}, false
		}
		parts[i], rest = rest[1:1+n], rest[1+n:]
	}
	host, key, thread := parts[0], parts[1], parts[2]
	if len(rest) != 8 || key == "" || !strings.HasSuffix(e.Key, key) || !isText(host) {
		return Holder{}, false
	}
	since := time.UnixMilli(int64(binary.BigEndian.Uint64([]byte(rest))))
	return Holder{Owner: host, Host: host, Thread: thread, Since: since}, plausible(since)
}

// Release wakes whoever waits by a subscription; the record was written by
// versions that have none.
func (spring) Release(e Entry, h Holder) (Release, error) {
	r, err := compareAndDelete(e, h)
	registries := springRegistries(e.Key)
	if err != nil || !isUUID4(e.Value) || len(registries) == 0 {
		return r, err
	}
	r.script, r.args = deletePublishScript, append(r.args, e.Key)
	for _, c := range registries {
		r.args = append(r.args, c+"-channel", c+"-channel:"+e.Key)
	}
	return r, nil
}

// springRegistries returns what may be the name of the registry in a key, which
// is the registry and the lock with a colon between them. Both may have more.
func springRegistries(key string) []string {
	const enough = 4
	var out []string
	for i := range len(key) {
		if key[i] == ':' && i > 0 && len(out) < enough {
			out = append(out, key[:i])
		}
	}
	return out
}
