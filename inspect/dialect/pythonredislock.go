package dialect

import (
	_ "embed"
	"strings"
)

//go:embed pythonredislock.lua
var pythonRedisLockSource string

var pythonRedisLockScript = newScript(compareSource + pythonRedisLockSource)

// pythonRedisLock is python-redis-lock. Without an expiry, which is its
// default, who waits does so for ever unless the release wakes it.
type pythonRedisLock struct{}

const (
	pythonRedisLockPrefix = "lock:"
	pythonRedisLockSignal = "lock-signal:"
)

func (pythonRedisLock) Name() string { return "python-redis-lock" }

func (pythonRedisLock) Patterns() []string { return []string{pythonRedisLockPrefix + "*"} }

// Recognise wants letters of either case in the 24 characters, which random
// ones have, so that an identifier in hexadecimal is not taken for them.
func (pythonRedisLock) Recognise(e Entry) (Decoded, bool) {
	v := e.text()
	if _, ok := under(e.Key, pythonRedisLockPrefix); !ok || !isBase64(v, 18) || strings.ToLower(v) == v || strings.ToUpper(v) == v {
		return Decoded{}, false
	}
	d := mutex(e, Likely, Holder{})
	d.Habits = Habits{Endless: true}
	return d, true
}

func (pythonRedisLock) LockOf(key string) (lock string, role Role, types []string, ok bool) {
	name, ok := under(key, pythonRedisLockSignal)
	if !ok {
		return "", "", nil, false
	}
	return pythonRedisLockPrefix + name, RoleSignal, []string{"list"}, true
}

func (pythonRedisLock) Release(e Entry, h Holder) (Release, error) {
	r, err := compareAndDelete(e, h)
	if err != nil {
		return Release{}, err
	}
	if name, ok := under(e.Key, pythonRedisLockPrefix); ok {
		r = Release{script: pythonRedisLockScript, keys: []string{e.Key, pythonRedisLockSignal + name}, args: []string{h.Token}}
	}
	return r, nil
}
