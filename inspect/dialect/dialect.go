package dialect

import (
	"slices"
	"strings"
	"time"

	"dlock/lockcore"
)

// Dialect is one lock library's way of writing locks. Implementations are
// stateless and safe for concurrent use. One that has keys beside the lock's
// own also implements [Companioned], one that can tell more when it is allowed
// to ask the node implements [Curious].
type Dialect interface {
	// Name is the library's name, the same that is printed.
	Name() string
	// Patterns are the SCAN patterns under which the library's locks are
	// found by default; none where the application chooses all of the name.
	Patterns() []string
	// Recognise decodes the entry if it is one of this library's locks.
	Recognise(Entry) (Decoded, bool)
	// Release says how to free exactly this holder's part of exactly this
	// entry. The error is one sentence that says why that cannot be done
	// safely.
	Release(Entry, Holder) (Release, error)
}

// Role is what a companion key is to its lock.
type Role string

// The roles.
const (
	RoleFence  Role = "fence"  // the counter of fencing tokens
	RoleQueue  Role = "queue"  // who waits, in order
	RoleWait   Role = "wait"   // what waiters have left for being served
	RoleSignal Role = "signal" // wakes a waiter
	RolePart   Role = "part"   // one more key of the same lock
	RoleInfo   Role = "info"   // what is good to know, such as a record of an unlock
)

// Companioned is a dialect whose locks have more keys than one.
type Companioned interface {
	// LockOf returns the key of the lock that a key belongs to, and what it
	// is to it, if the key has the form of a companion. The form alone
	// proves little: a name that looks like a companion may be somebody's
	// lock. types are the types such a companion has.
	LockOf(key string) (lock string, role Role, types []string, ok bool)
}

// Curious is a dialect that learns more about a lock from companions and
// channels. Only commands that read may be asked for.
type Curious interface {
	// Questions lists the commands, name first, that tell more about the
	// lock in this entry. They are few, bounded, and each is about keys in
	// the lock's slot or about channels.
	Questions(Entry, Decoded) [][]string
	// Learn takes the answers in, one per question in the same order: nil,
	// int64, string, []any of these, or an error for what was refused. It
	// may refine the decoding.
	Learn(Entry, *Decoded, []any) Extra
}

// Extra is what companions and channels tell.
type Extra struct {
	// Fence is the present fencing token; FenceKnown says that it is known.
	Fence      int64
	FenceKnown bool
	// Granted is when the present holder was granted the lock by the node's
	// clock, zero when not known.
	Granted time.Time
	// Waiting counts who waits; WaitingKnown says that it is known. Where
	// WaitingProcesses is set it counts processes and not threads.
	Waiting          int
	WaitingKnown     bool
	WaitingProcesses bool
	// Waiters names some of those who wait, first in line first.
	Waiters []Waiter
}

// Waiter is one who waits for a lock.
type Waiter struct {
	Token string // raw, as it stands in the queue
	Owner string // raw; "" when not known
	// Since is when it began to wait and Until when it gives up, by the
	// clock that wrote it; zero when not known.
	Since, Until time.Time
}

// dialects are asked in this order, more certain forms first; the last one
// takes everything.
var dialects = []Dialect{
	dlock{prefix: lockcore.DefaultPrefix},
	// Known by the fields or members of a collection.
	redisson{}, symfony{}, sidekiqUniqueJobs{}, dvSemaphore{},
	// Known by a value that nothing else writes.
	shedLock{}, phpRedisLock{}, madelson{}, spring{},
	// Known by key and value together.
	bullMQ{}, bull{}, malkusch{}, asynq{}, activeJob{}, celeryOnce{}, celerySingleton{}, redbeat{},
	rq{}, arq{}, lock4j{}, dapr{}, hangfire{}, quartz{}, errorception{}, laravel{}, yii{},
	redlockNet{}, redisObjects{}, huey{}, redisSemaphore{}, pythonRedisLock{},
	rueidislock{name: "rueidislock"}, rueidislock{name: "valkeylock"},
	// Known by the form of the value alone.
	redisPy{}, redisMutex{}, redsync{}, redislock{}, redlockPy{}, elixirRedlock{},
	nodeRedlock{}, redlockPHP{}, rslock{},
	// Known by name only.
	shared{name: "pottery"},
	shared{name: "django-redis", habits: Habits{Endless: true}},
	shared{name: "aioredlock", habits: Habits{Renews: 6 * time.Second, Recreates: true}},
	shared{name: "redlock-rb", habits: Habits{Recreates: true}},
	shared{name: "stackexchange.redis"},
	shared{name: "go-zero", habits: Habits{Recreates: true}},
	shared{name: "foundatio"},
	unknown{},
}

// All returns the dialects in the order in which they are asked.
func All() []Dialect { return slices.Clone(dialects) }

// Recognise finds the dialect of an entry. There always is one: what no
// library recognises is [Unknown].
func Recognise(e Entry) (Decoded, Dialect) {
	for _, d := range dialects {
		if decoded, ok := d.Recognise(e); ok {
			if decoded.Library == "" {
				decoded.Library = d.Name()
			}
			return decoded, d
		}
	}
	return Decoded{Library: Unknown}, unknown{}
}

// ByName returns the dialect with that name. Of two names with a slash between
// them it is that of the first, since both release the same way.
func ByName(name string) (Dialect, bool) {
	name, _, _ = strings.Cut(name, "/")
	for _, d := range dialects {
		if d.Name() == name {
			return d, true
		}
	}
	return nil, false
}

// LockOf returns the lock that a key belongs to by its form, if it has the
// form of any dialect's companion.
func LockOf(key string) (lock string, role Role, types []string, ok bool) {
	for _, d := range dialects {
		if c, has := d.(Companioned); has {
			if lock, role, types, ok = c.LockOf(key); ok {
				return lock, role, types, true
			}
		}
	}
	return "", "", nil, false
}

// Patterns returns the SCAN patterns of all dialects, each once.
func Patterns() []string {
	var out []string
	for _, d := range dialects {
		for _, p := range d.Patterns() {
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}
