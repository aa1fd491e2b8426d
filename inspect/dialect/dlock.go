package dialect

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"dlock/lockcore"
)

// Dlock is the name of this project's own dialect.
const Dlock = "dlock"

// dlock recognises the locks of package lockcore by their token, under
// whatever name they are. What stands beside a lock it knows only under its
// prefix.
type dlock struct {
	prefix string
	alone  bool // there is one node only
}

// Dlocks is the dialect of package lockcore for an application that has chosen
// a prefix of its own, on a deployment of that many independent nodes. Ask it
// before the others. The one among [All] has the default prefix and any number
// of nodes, except that it cannot release on a cluster.
func Dlocks(prefix string, nodes int) Dialect { return dlock{prefix: prefix, alone: nodes == 1} }

func (dlock) Name() string { return Dlock }

func (d dlock) Patterns() []string { return []string{globbed(d.prefix) + "*"} }

// globbed writes a text so that it stands for itself in a pattern.
func globbed(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

func (dlock) Recognise(e Entry) (Decoded, bool) {
	t, ok := lockcore.ParseToken(e.text())
	if !ok {
		return Decoded{}, false
	}
	host, pid := splitOwner(t.Owner)
	return Decoded{
		Confidence: Certain, Kind: Mutex,
		Holders: []Holder{{Token: e.Value, Owner: t.Owner, Host: host, PID: pid, Since: t.Asked(), Count: 1}},
	}, true
}

func (d dlock) LockOf(key string) (lock string, role Role, types []string, ok bool) {
	lock, kind, ok := lockcore.CompanionOf(d.prefix, key)
	if !ok {
		return "", "", nil, false
	}
	switch kind {
	case lockcore.FenceCompanion:
		return lock, RoleFence, []string{"string"}, true
	case lockcore.QueueCompanion:
		return lock, RoleQueue, []string{"zset"}, true
	default:
		return lock, RoleWait, []string{"hash"}, true
	}
}

// named is how many of those who wait are asked for by name.
const named = 16

// Questions asks for the fencing token and for who waits.
func (d dlock) Questions(e Entry, _ Decoded) [][]string {
	if !strings.HasPrefix(e.Key, d.prefix) {
		return nil
	}
	fence := lockcore.CompanionKey(d.prefix, lockcore.FenceCompanion, e.Key)
	queue := lockcore.CompanionKey(d.prefix, lockcore.QueueCompanion, e.Key)
	return [][]string{
		{"GET", fence},
		{"ZCARD", queue},
		{"ZRANGE", queue, "0", strconv.Itoa(named - 1), "WITHSCORES"},
	}
}

func (d dlock) Learn(_ Entry, decoded *Decoded, answers []any) Extra {
	var x Extra
	if len(answers) != 3 {
		return x
	}
	if one, ok := answers[0].(string); ok {
		if fence, since, ok := lockcore.ParseFence(one); ok {
			x.Fence, x.FenceKnown = fence, true
			if at, ok := millis(strconv.FormatInt(since, 10)); ok {
				x.Granted = at
			}
		}
	}
	if x.FenceKnown && len(decoded.Holders) == 1 {
		decoded.Holders[0].Fence = x.Fence
	}
	x.Waiting, x.WaitingKnown = countIn(answers[1])
	queue := wordsIn(answers[2])
	for i := 0; i+1 < len(queue) && len(x.Waiters) < named; i += 2 {
		w := Waiter{Token: queue[i]}
		if t, ok := lockcore.ParseToken(w.Token); ok {
			w.Owner, w.Since = t.Owner, t.Asked()
		} else if ticket, err := strconv.ParseFloat(queue[i+1], 64); err == nil && 0 < ticket && ticket < 1<<53 {
			w.Since = time.UnixMicro(int64(ticket))
		}
		x.Waiters = append(x.Waiters, w)
	}
	return x
}

// Release evicts, so that the next waiter is served at once. What lies under
// another prefix has companions that are not known, and is only deleted.
func (d dlock) Release(e Entry, h Holder) (Release, error) {
	r, err := compareAndDelete(e, h)
	if _, ours := lockcore.ParseToken(h.Token); err != nil || !ours || !strings.HasPrefix(e.Key, d.prefix) {
		return r, err
	}
	if _, _, companion := lockcore.CompanionOf(d.prefix, e.Key); companion || e.Key == lockcore.NodeKey(d.prefix) {
		return Release{}, errors.New("the name is one that dlock keeps for its own bookkeeping; rename what wrote a token there")
	}
	v := lockcore.Evict(d.prefix, e.Key, h.Token, h.Fence, d.alone)
	return Release{script: evictScript, keys: v.Keys, args: v.Args}, nil
}

// evictScript is made once; its text does not depend on the lock.
var evictScript = newScript(lockcore.Evict("", "", "", 0, true).Script)
