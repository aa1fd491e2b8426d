package dialect

import (
	_ "embed"
	"strings"
)

//go:embed grabbed.lua
var grabbedSource string

var grabbedScript = newScript(compareSource + grabbedSource)

// dvSemaphore is redis-semaphore for Ruby, by dv: the free places are a list
// that waiters block on, the taken ones a hash of when each was taken.
type dvSemaphore struct{}

const (
	dvPrefix  = "SEMAPHORE:"
	dvGrabbed = ":GRABBED"
	dvFree    = ":AVAILABLE"
)

func (dvSemaphore) Name() string { return "dv-redis-semaphore" }

func (dvSemaphore) Patterns() []string { return []string{dvPrefix + "*" + dvGrabbed} }

func (dvSemaphore) Recognise(e Entry) (Decoded, bool) {
	if _, ok := dvName(e.Key, dvGrabbed); !ok || e.Type != "hash" || len(e.Items) == 0 {
		return Decoded{}, false
	}
	d := Decoded{Confidence: Certain, Kind: Semaphore, Habits: Habits{Endless: true}}
	for _, i := range e.Items {
		since, ok := seconds(i.Value)
		if !ok {
			return Decoded{}, false
		}
		d.Holders = append(d.Holders, Holder{Token: i.Name, Since: since, Count: 1})
	}
	sortByToken(d.Holders)
	return d, true
}

// dvName returns a semaphore's name, prefix included, from a key of its.
func dvName(key, suffix string) (name string, ok bool) {
	name, ok = strings.CutSuffix(key, suffix)
	return name, ok && len(name) > len(dvPrefix) && strings.HasPrefix(name, dvPrefix)
}

func (dvSemaphore) LockOf(key string) (lock string, role Role, types []string, ok bool) {
	if name, ok := dvName(key, dvFree); ok {
		return name + dvGrabbed, RoleSignal, []string{"list"}, true
	}
	for _, suffix := range []string{":EXISTS", ":VERSION"} {
		if name, ok := dvName(key, suffix); ok {
			return name + dvGrabbed, RoleInfo, []string{"string"}, true
		}
	}
	return "", "", nil, false
}

func (d dvSemaphore) Release(e Entry, h Holder) (Release, error) {
	if _, err := known(d, e, h); err != nil {
		return Release{}, err
	}
	since, _ := e.Item(h.Token)
	name, _ := dvName(e.Key, dvGrabbed)
	return Release{script: grabbedScript, keys: []string{e.Key, name + dvFree}, args: []string{h.Token, since}}, nil
}
