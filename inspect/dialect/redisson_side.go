package dialect

import (
	"strconv"
	"strings"
)

// The names that Redisson puts before a lock's name for what stands beside it,
// and for the channels on which it wakes who waits.
const (
	redissonQueue     = "redisson_lock_queue:"
	redissonDeadlines = "redisson_lock_timeout:"
	redissonFence     = "redisson_lock_token:"
	redissonLatch     = "redisson_unlock_latch:"
	redissonLife      = ":rwlock_timeout:"

	redissonChannel   = "redisson_lock__channel:"
	redissonRWChannel = "redisson_rwlock:"
	redissonSemaphore = "redisson_sc:"
)

// redissonTag is a name as it stands in those: in braces, unless it has some.
func redissonTag(name string) string {
	if strings.Contains(name, "{") {
		return name
	}
	return "{" + name + "}"
}

// redissonUntag is the inverse. What is in braces as a whole may be the name
// itself; the name without them is much the likelier.
func redissonUntag(tagged string) (name string, ok bool) {
	if inner, found := strings.CutPrefix(tagged, "{"); found {
		if inner, found = strings.CutSuffix(inner, "}"); found && inner != "" && !strings.Contains(inner, "{") {
			return inner, true
		}
	}
	return tagged, strings.Contains(tagged, "{")
}

func (redisson) LockOf(key string) (lock string, role Role, types []string, ok bool) {
	for _, c := range []struct {
		prefix, kind string
		role         Role
	}{
		{redissonQueue, "list", RoleQueue},
		{redissonDeadlines, "zset", RoleQueue},
		{redissonFence, "string", RoleFence},
		{redissonLatch, "string", RoleInfo},
	} {
		rest, found := strings.CutPrefix(key, c.prefix)
		if !found {
			continue
		}
		if c.prefix == redissonLatch {
			at := strings.LastIndexByte(rest, ':')
			if at < 0 || !isHex(rest[at+1:], 32) {
				return "", "", nil, false
			}
			rest = rest[:at]
		}
		if lock, ok = redissonUntag(rest); ok {
			return lock, c.role, []string{c.kind}, true
		}
		return "", "", nil, false
	}
	at := strings.LastIndex(key, redissonLife)
	if at < 0 || !isDigits(key[at+len(redissonLife):]) {
		return "", "", nil, false
	}
	rest := key[:at]
	if at = strings.LastIndexByte(rest, ':'); at < 37 {
		return "", "", nil, false
	}
	if at -= 37; at < 0 || rest[at] != ':' {
		return "", "", nil, false
	}
	if _, isThread := redissonThread(rest[at+1:]); !isThread {
		return "", "", nil, false
	}
	if lock, ok = redissonUntag(rest[:at]); !ok {
		return "", "", nil, false
	}
	return lock, RoleInfo, []string{"string"}, true
}

// Questions asks how many clients listen for the release, on a channel of
// either sort, and for a mutex who is in its queue and what its fencing token
// is.
func (redisson) Questions(e Entry, d Decoded) [][]string {
	tag := redissonTag(e.Key)
	channel := redissonChannel + tag
	switch d.Kind {
	case Semaphore:
		base, _ := redissonPermitsOf(e.Key)
		channel = redissonSemaphore + base
	case ReadWrite:
		channel = redissonRWChannel + tag
	}
	questions := [][]string{{"PUBSUB", "NUMSUB", channel}, {"PUBSUB", "SHARDNUMSUB", channel}}
	if d.Kind == Mutex || d.Kind == Fair {
		last := strconv.Itoa(named - 1)
		questions = append(questions,
			[]string{"GET", redissonFence + tag},
			[]string{"LLEN", redissonQueue + tag},
			[]string{"LRANGE", redissonQueue + tag, "0", last},
			[]string{"ZRANGE", redissonDeadlines + tag, "0", last, "WITHSCORES"})
	}
	return questions
}

// Learn counts the clients that listen, or the threads in the queue of a fair
// lock. That nobody listens does not mean that nobody waits where the lock may
// be one whose waiters ask again and again instead.
func (redisson) Learn(_ Entry, d *Decoded, answers []any) Extra {
	var x Extra
	if len(answers) < 2 {
		return x
	}
	plain, ok := subscribersIn(answers[0])
	sharded, okSharded := subscribersIn(answers[1])
	x.Waiting, x.WaitingKnown, x.WaitingProcesses = plain+sharded, ok || okSharded, ok || okSharded
	if len(answers) < 6 {
		return x
	}
	if x.Fence, x.FenceKnown = numberIn(answers[2]); x.FenceKnown {
		if len(d.Holders) == 1 {
			d.Holders[0].Fence = x.Fence
		}
	} else if x.Waiting == 0 {
		x.WaitingKnown, x.WaitingProcesses = false, false
	}
	length, ok := countIn(answers[3])
	if !ok || length == 0 {
		return x
	}
	d.Kind = Fair
	x.Waiting, x.WaitingKnown, x.WaitingProcesses = length, true, false
	deadlines := wordsIn(answers[5])
	for _, thread := range wordsIn(answers[4]) {
		w := Waiter{Token: thread}
		if _, ok := redissonThread(thread); ok {
			w.Owner = thread
		}
		for i := 0; i+1 < len(deadlines); i += 2 {
			if deadlines[i] == thread {
				w.Until, _ = scored(deadlines[i+1])
			}
		}
		if x.Waiters = append(x.Waiters, w); len(x.Waiters) == named {
			break
		}
	}
	return x
}
