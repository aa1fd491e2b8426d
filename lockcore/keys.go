package lockcore

import (
	"fmt"
	"strconv"
	"strings"
)

// DefaultPrefix stands before a resource's name in its key.
const DefaultPrefix = "lock:"

// Companion names what a key that stands beside a lock is for.
type Companion string

// The companions of a lock with key K. Their names share the lock's prefix, so
// that one ACL pattern covers all, and its cluster slot.
const (
	// FenceCompanion is a string, see ParseFence.
	FenceCompanion Companion = "fence"
	// QueueCompanion and WaitCompanion hold the waiters.
	QueueCompanion Companion = "queue"
	WaitCompanion  Companion = "wait"
)

// ParseFence reads what a fence companion holds: two decimal numbers and a
// space between them. The first is the newest fencing token that the node has
// granted or was told of, the second when it granted last, in milliseconds by
// the node's clock; 0 if it never did. It reports false for everything that
// the scripts do not write.
func ParseFence(value string) (fence, sinceMs int64, ok bool) {
	first, second, found := strings.Cut(value, " ")
	f, err := strconv.ParseUint(first, 10, 53)
	if !found || err != nil {
		return 0, 0, false
	}
	since, err := strconv.ParseUint(second, 10, 53)
	if err != nil {
		return 0, 0, false
	}
	return int64(f), int64(since), true
}

// nodeName is the resource part of the per-node marker's key, and wakeName
// that of the channels waiters listen on.
const (
	nodeName = "node"
	wakeName = "wake"
)

// Key returns the key that locks a resource under a prefix.
func Key(prefix, resource string) string { return prefix + resource }

// NodeKey returns the key of the per-node marker under a prefix. It belongs to
// no lock.
func NodeKey(prefix string) string { return prefix + nodeName }

// CompanionKey returns the name of a lock key's companion. A key without a
// hash tag becomes the tag, so lock:a has lock:fence:{lock:a}; a key that has
// one is used as it is and its own tag rules, so lock:{a}:b has
// lock:fence:lock:{a}:b. Either way both live in one cluster slot, except for
// keys that hold a '}' but no hash tag, for which no such name exists.
func CompanionKey(prefix string, kind Companion, key string) string {
	if hasHashTag(key) {
		return prefix + string(kind) + ":" + key
	}
	return prefix + string(kind) + ":{" + key + "}"
}

// CompanionOf is the inverse of CompanionKey: it reports which lock's key a
// companion belongs to. The per-node marker is not a companion.
func CompanionOf(prefix, key string) (lockKey string, kind Companion, ok bool) {
	rest, found := strings.CutPrefix(key, prefix)
	if !found {
		return "", "", false
	}
	for _, kind := range []Companion{FenceCompanion, QueueCompanion, WaitCompanion} {
		name, found := strings.CutPrefix(rest, string(kind)+":")
		if !found {
			continue
		}
		if hasHashTag(name) && strings.HasPrefix(name, prefix) {
			return name, kind, true
		}
		if inner, bare := strings.CutPrefix(name, "{"); bare {
			if inner, bare = strings.CutSuffix(inner, "}"); bare && strings.HasPrefix(inner, prefix) && !hasHashTag(inner) {
				return inner, kind, true
			}
		}
	}
	return "", "", false
}

// hasHashTag applies Redis Cluster's rule: the tag is what stands between the
// first '{' and the first '}' after it, and an empty one does not count.
func hasHashTag(key string) bool {
	_, after, found := strings.Cut(key, "{")
	return found && strings.IndexByte(after, '}') > 0
}

// sharesSlot reports whether a cluster keeps a lock key's companions beside it.
func sharesSlot(key string) bool {
	return hasHashTag(key) || strings.IndexByte(key, '}') < 0
}

// checkResource refuses names whose key would be that of a companion.
func checkResource(resource string) error {
	if resource == "" {
		return fmt.Errorf("the resource name is empty")
	}
	if resource == nodeName {
		return fmt.Errorf("the resource name %q is reserved for dlock's own bookkeeping", resource)
	}
	first, _, found := strings.Cut(resource, ":")
	if !found {
		return nil
	}
	switch first {
	case string(FenceCompanion), string(QueueCompanion), string(WaitCompanion), wakeName:
		return fmt.Errorf("resource names that start with %q are reserved for dlock's own bookkeeping", first+":")
	}
	return nil
}
