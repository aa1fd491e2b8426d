package lockcore

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"dlock/lockcore/node"
)

//go:embed acquire.lua
var acquireLua string

//go:embed extend.lua
var extendLua string

//go:embed raise.lua
var raiseLua string

//go:embed release.lua
var releaseLua string

// redis.Script sends EVALSHA and falls back to EVAL on each call, so a node
// that restarted or was told to forget its scripts costs one round trip and
// no error.
var (
	acquireScript = redis.NewScript(acquireLua)
	extendScript  = redis.NewScript(extendLua)
	raiseScript   = redis.NewScript(raiseLua)
	releaseScript = redis.NewScript(releaseLua)
)

// voter is one node as the protocol sees it: four scripts.
type voter struct{ *node.Node }

// entry is what all four scripts are about.
type entry struct {
	key, fenceKey string
	token         string
	ttl           time.Duration
	companionLife int64 // ms, 0 for ever
}

func (e entry) keys() []string { return []string{e.key, e.fenceKey} }

// vote is a node's answer to an acquire.
type vote struct {
	granted bool
	fence   int64         // its counter, after the grant if there was one
	left    time.Duration // how long what is there lives; negative without expiry
	found   string        // the value that is there
	retried bool          // it was sent twice, so a late copy may still arrive
	err     error
}

// acquire asks for a grant. A connection that breaks is tried once more: the
// script is idempotent by token, and a broken connection is most often one
// that a restarted node left behind in the pool.
func (v voter) acquire(ctx context.Context, e entry, fence int64) vote {
	args := []any{e.token, e.ttl.Milliseconds(), fence, e.companionLife}
	reply, err := acquireScript.Run(ctx, v.Client(), e.keys(), args...).Slice()
	retried := false
	if node.Classify(err) == node.Unreachable && ctx.Err() == nil {
		retried = true
		reply, err = acquireScript.Run(ctx, v.Client(), e.keys(), args...).Slice()
	}
	if err != nil {
		return vote{err: err, retried: retried}
	}
	r := replyReader{reply: reply}
	out := vote{granted: r.int(0) == 1, fence: r.int(1), left: time.Duration(r.int(2)) * time.Millisecond, found: r.string(3), retried: retried}
	out.err = r.err
	return out
}

// standing is what a node says about an entry that we think is ours.
type standing int

const (
	isOurs    standing = 1
	isMissing standing = 0
	isOthers  standing = -1
)

// answer is a node's reply to extend or release.
type answer struct {
	standing standing
	fence    int64
	left     time.Duration
	found    string
	err      error
}

func (v voter) extend(ctx context.Context, e entry) answer {
	reply, err := extendScript.Run(ctx, v.Client(), e.keys(), e.token, e.ttl.Milliseconds(), e.companionLife).Slice()
	if err != nil {
		return answer{err: err}
	}
	r := replyReader{reply: reply}
	return answer{standing: standing(r.int(0)), fence: r.int(1), found: r.string(2), err: r.err}
}

func (v voter) raise(ctx context.Context, e entry, fence int64) (bool, error) {
	n, err := raiseScript.Run(ctx, v.Client(), e.keys(), e.token, fence, e.companionLife).Int()
	return n == 1, err
}

func (v voter) release(ctx context.Context, e entry, fence int64) answer {
	reply, err := releaseScript.Run(ctx, v.Client(), e.keys(), e.token, fence, e.companionLife).Slice()
	if err != nil {
		return answer{err: err}
	}
	r := replyReader{reply: reply}
	return answer{standing: standing(r.int(0)), left: time.Duration(r.int(1)) * time.Millisecond, found: r.string(2), err: r.err}
}

// replyReader takes a script's reply apart and remembers the first thing that
// is not as it should be.
type replyReader struct {
	reply []any
	err   error
}

func (r *replyReader) at(i int) any {
	if i >= len(r.reply) {
		r.fail()
		return nil
	}
	return r.reply[i]
}

func (r *replyReader) int(i int) int64 {
	switch v := r.at(i).(type) {
	case int64:
		return v
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		if err == nil {
			return n
		}
	}
	r.fail()
	return 0
}

func (r *replyReader) string(i int) string {
	s, ok := r.at(i).(string)
	if !ok {
		r.fail()
	}
	return s
}

func (r *replyReader) fail() {
	if r.err == nil {
		r.err = fmt.Errorf("the node answered something that is not the script's reply")
	}
}
