package dialect

import (
	_ "embed"
	"strconv"
	"strings"
)

var (
	//go:embed redisson.lua
	redissonSource string
	//go:embed redisson_lock.lua
	redissonLockSource string
	//go:embed redisson_rw.lua
	redissonRWSource string
	//go:embed redisson_multi.lua
	redissonMultiSource string
	//go:embed redisson_permit.lua
	redissonPermitSource string

	redissonLockScript   = newScript(compareSource + redissonSource + redissonLockSource)
	redissonRWScript     = newScript(compareSource + redissonSource + redissonRWSource)
	redissonMultiScript  = newScript(compareSource + redissonSource + redissonMultiSource)
	redissonPermitScript = newScript(compareSource + redissonSource + redissonPermitSource)
)

// redissonMostEntered is how often a reader may have entered for its release
// to name what it left for each time.
const redissonMostEntered = 64

// Release wakes who waits, which would otherwise sleep for as long as it saw
// the lock to live. It leaves the counter of fencing tokens and the queue.
func (d redisson) Release(e Entry, h Holder) (Release, error) {
	h, err := known(d, e, h)
	if err != nil {
		return Release{}, err
	}
	tag := redissonTag(e.Key)
	count := strconv.Itoa(h.Count)
	switch {
	case e.Type == "zset":
		base, _ := redissonPermitsOf(e.Key)
		keys := []string{e.Key, base}
		if name, _ := redissonUntag(base); name != base {
			keys = append(keys, name)
		}
		return Release{script: redissonPermitScript, keys: keys, args: []string{h.Token, redissonSemaphore + base}}, nil
	case isBase64Hash(h.Token):
		return Release{script: redissonMultiScript, keys: []string{e.Key}, args: []string{
			h.Token, h.Owner,
			redissonValueField(h.Token, h.Owner, "expire_time"),
			redissonValueField(h.Token, h.Owner, "lock_count"), count,
			redissonChannel + tag,
		}}, nil
	case h.Mode == "":
		return Release{
			script: redissonLockScript,
			keys:   []string{e.Key, redissonQueue + tag, redissonDeadlines + tag},
			args:   []string{h.Token, count, redissonChannel + tag},
		}, nil
	case h.Mode == "write":
		return Release{script: redissonRWScript, keys: []string{e.Key}, args: []string{h.Token, count, redissonRWChannel + tag, "1"}}, nil
	}
	if h.Count > redissonMostEntered {
		return Release{}, errRedissonEntered
	}
	keys := []string{e.Key}
	for i := range h.Count {
		keys = append(keys, strings.Join([]string{tag, ":", h.Token, redissonLife, strconv.Itoa(i + 1)}, ""))
	}
	return Release{script: redissonRWScript, keys: keys, args: []string{h.Token, count, redissonRWChannel + tag, "0"}}, nil
}
