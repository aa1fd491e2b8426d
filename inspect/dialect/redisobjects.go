package dialect

import "strings"

// redisObjects is the Ruby library redis-objects: an empty string under the
// object that is locked.
type redisObjects struct{ text }

func (redisObjects) Name() string { return "redis-objects" }

func (redisObjects) Patterns() []string { return []string{"*:*:*_lock"} }

func (redisObjects) Recognise(e Entry) (Decoded, bool) {
	if e.Type != "" && e.Type != "string" || !e.HasValue || e.Value != "" || strings.Count(e.Key, ":") < 2 {
		return Decoded{}, false
	}
	name, suffixed := strings.CutSuffix(e.Key[strings.LastIndexByte(e.Key, ':')+1:], "_lock")
	if !suffixed || name == "" {
		return Decoded{}, false
	}
	return Decoded{Confidence: Likely, Kind: Mutex, Anonymous: true, Habits: Habits{Careless: true}}, true
}

func (redisObjects) Release(Entry, Holder) (Release, error) { return Release{}, errNameless }
