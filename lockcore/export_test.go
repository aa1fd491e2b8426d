package lockcore

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// ValidUntil is the end of the lock's validity as promised at present, by the
// Locker's clock.
func (k *Lock) ValidUntil() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lease.base.Add(k.lease.length)
}

// ValidSince is the moment that the validity promised at present counts from.
func (k *Lock) ValidSince() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lease.base
}

// ClockCheck is how long after a suspend of the machine holders may learn of it.
const ClockCheck = clockCheck

// Hear has the Locker receive a message as if node had published it.
func (l *Locker) Hear(node int, payload string) { l.heard(node, payload) }

// PutBackRequest is how the request ends that puts the lock's entry back where
// it is missing, on the wire.
func PutBackRequest(k *Lock) []byte {
	var b bytes.Buffer
	for _, arg := range []any{k.Token(), k.cfg.ttl.Milliseconds(), k.Fence(), k.cfg.companionLife(), 1} {
		s := fmt.Sprint(arg)
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(s), s)
	}
	return b.Bytes()
}

// WithNow sets the clock a Locker goes by.
func WithNow(now func() time.Time) Option { return withNow(now) }

// Mutations are the ways to break the protocol, by name.
var Mutations = map[string]Option{
	"no raise":                func(c *config) { c.mutant.noRaise = true },
	"no epoch":                func(c *config) { c.mutant.noEpoch = true },
	"no chain":                func(c *config) { c.mutant.noChain = true },
	"no quarantine":           func(c *config) { c.mutant.noQuarantine = true },
	"silence is consent":      func(c *config) { c.mutant.silenceIsConsent = true },
	"late base":               func(c *config) { c.mutant.lateBase = true },
	"release without compare": func(c *config) { c.mutant.release = blindRelease },
}

// blindRelease deletes the lock whoever holds it.
var blindRelease = script("common", "release").changed("if holder == ARGV[1] then", "if holder then")

func (s *luaScript) changed(old, with string) *luaScript {
	return luaText(strings.Replace(s.source, old, with, 1))
}

// ScriptSource is the text of a script as it is sent: acquire, extend, raise,
// release or birth.
func ScriptSource(name string) string {
	return map[string]*luaScript{
		"acquire": acquireScript, "extend": extendScript, "raise": raiseScript, "release": releaseScript, "birth": birthScript,
	}[name].source
}
