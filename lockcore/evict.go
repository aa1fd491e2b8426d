package lockcore

import "strconv"

// evictSource is the text of the eviction. It is made of the release's own, so
// that an eviction does what a release does.
var evictSource = script("keys", "common").source +
	"local function release()\n" + script("release").source + "end\n" +
	script("evict").source

// largestFence is the LARGEST of the scripts.
const largestFence = 1<<53 - 1

// Eviction is what takes a lock from a holder that does not release it. It is
// to be sent to every node; each decides by what it stores itself.
type Eviction struct {
	// Script is the text for EVAL. It answers an integer: 1 the lock was
	// taken from the token, 0 the key is free, -1 it is somebody else's, -2
	// it is not a string.
	Script string
	Keys   []string
	Args   []string
}

// Evict returns the eviction of a token from a lock's key under a prefix. Like
// the holder's own release it compares, and hands the lock to whoever has
// waited longest.
//
// fence is the largest fencing token that any node tells for the lock, 0 if
// none does. Later grants have larger tokens than the evicted one in any case:
// it counted only once a quorum stored its number, and each later grant needs
// a node of that quorum. What the eviction adds is to store fence+1, so that a
// holder which still has a quorum on nodes that were not reached does not put
// the entry back where it was evicted. A node that has no counter gets none.
//
// alone says that there is only one node, such as a cluster: then there is no
// node marker, which a cluster would keep in another slot.
func Evict(prefix, key, token string, fence int64, alone bool) Eviction {
	keys := []string{
		key,
		CompanionKey(prefix, FenceCompanion, key),
		CompanionKey(prefix, QueueCompanion, key),
		CompanionKey(prefix, WaitCompanion, key),
	}
	if !alone {
		keys = append(keys, NodeKey(prefix))
	}
	raised := int64(0)
	if 0 < fence && fence < largestFence {
		raised = fence + 1
	}
	return Eviction{Script: evictSource, Keys: keys, Args: []string{token, strconv.FormatInt(raised, 10)}}
}
