package lockcore

import (
	"cmp"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"dlock/lockcore/node"
)

//go:embed script/*.lua
var scriptFiles embed.FS

var (
	acquireScript = script("keys", "free", "common", "acquire")
	extendScript  = script("keys", "still", "common", "extend")
	raiseScript   = script("keys", "common", "raise")
	releaseScript = script("keys", "own", "common", "release")
	birthScript   = script("birth")
)

// luaScript is a script and its name on the server.
type luaScript struct{ source, hash string }

func script(parts ...string) *luaScript {
	var source string
	for _, p := range parts {
		b, err := scriptFiles.ReadFile("script/" + p + ".lua")
		if err != nil {
			panic(err) // a file that is embedded is there
		}
		source += string(b)
	}
	return luaText(source)
}

func luaText(source string) *luaScript {
	sum := sha1.Sum([]byte(source))
	return &luaScript{source: source, hash: hex.EncodeToString(sum[:])}
}

// voter is one node as the protocol sees it: five scripts. Each is sent
// without waiting, unless the caller says that it would wait anyway; done is
// called once with the answer, most often from another goroutine, and must not
// block.
type voter struct {
	*node.Node
	lane *lane
	run  *runID
	owed *atomic.Int64 // tokens that are still to be released, see giveBack
	// alone says that there is no other node to talk to meanwhile, so that a
	// caller may as well wait for this one.
	alone bool
}

// send has a call sent, and waits for its answer where that costs the caller
// nothing; limit is for how long at most, 0 not at all.
func (v voter) send(c *call, limit time.Duration) {
	if v.alone && limit > 0 {
		v.lane.do(c, limit)
		return
	}
	v.lane.send(c)
}

// entry is what all scripts on one lock are about, for one token. It does not
// change.
type entry struct {
	keys    []string
	token   string
	ticket  int64
	ttl     time.Duration
	ttlMs   int64
	lifeMs  int64  // of the fence companion, 0 for ever
	channel string // where this process listens
	release *luaScript
	// plain is the release of nothing but the key, which is nearly every one.
	plain []any
}

// newEntry names the keys that the scripts of one lock touch. Every one is
// declared, so that access lists and strict servers see them.
func newEntry(cfg *config, marker bool, key string, token Token, channel string) *entry {
	e := &entry{
		keys: make([]string, 0, 5), token: token.String(), ticket: token.Ticket,
		ttl: cfg.ttl, ttlMs: cfg.ttl.Milliseconds(), lifeMs: cfg.companionLife(), channel: channel,
		release: cmp.Or(cfg.mutant.release, releaseScript),
	}
	e.keys = append(e.keys, key,
		CompanionKey(cfg.prefix, FenceCompanion, key),
		CompanionKey(cfg.prefix, QueueCompanion, key),
		CompanionKey(cfg.prefix, WaitCompanion, key))
	if marker {
		e.keys = append(e.keys, NodeKey(cfg.prefix))
	}
	e.plain = e.releaseOf(0, 0)
	return e
}

// request is what an acquire says, the same to every node. window is how long
// to stay queued; 0 is not to queue.
func (e *entry) request(fence int64, window time.Duration) []any {
	queue := "0"
	if window > 0 {
		queue = strconv.FormatInt(window.Milliseconds(), 10) + " " + e.channel
	}
	return command(acquireScript, e.keys, &e.token, &e.ticket, &e.ttlMs, fence, &e.lifeMs, &queue)
}

func (e *entry) extendOf(fence int64, putBack bool) []any {
	back := 0
	if putBack {
		back = 1
	}
	return command(extendScript, e.keys, &e.token, &e.ttlMs, fence, &e.lifeMs, back)
}

func (e *entry) releaseOf(fence int64, late time.Duration) []any {
	return command(e.release, e.keys, &e.token, fence, &e.lifeMs, late.Milliseconds())
}

// verdict is a node's decision on an acquire.
type verdict int

// The numbers are those of acquire.lua.
const (
	refused     verdict = 0
	granted     verdict = 1
	unborn      verdict = 2 // the node has no marker
	quarantined verdict = 3 // it may have forgotten locks and stays out
	gone        verdict = 4 // the token was released before its acquire came
)

// vote is a node's answer to an acquire.
type vote struct {
	verdict verdict
	fence   int64         // its counter, after the grant if there was one
	left    time.Duration // how long what is there lives (negative without expiry), or the quarantine lasts
	found   string        // the value that is there
	ahead   int64         // waiters that asked before
	longest time.Duration // the longest TTL that was asked of this node
	err     error
	unsent  bool // with err: it never left this process
	twice   bool // a first request broke off with its connection and may arrive yet
}

// acquire asks for a grant, with an entry's request. A connection that breaks is tried once more: the
// script is idempotent by token, and a broken connection is most often one
// that a restarted node left behind in the pool. limit is how long the caller
// would wait for the answer anyway.
func (v voter) acquire(request []any, limit time.Duration, done func(vote)) {
	c := &call{script: acquireScript, args: request}
	twice := false
	answered := func(reply string, sent bool, err error) {
		if err != nil {
			done(vote{err: err, unsent: !sent, twice: twice})
			return
		}
		r := replyReader{rest: reply}
		out := vote{verdict: verdict(r.int()), fence: r.int(), left: r.ms(), ahead: r.int(), longest: r.ms()}
		out.found, out.err, out.twice = r.rest, r.err, twice
		done(out)
	}
	c.done = func(reply string, sent bool, err error) {
		if node.Classify(err) != node.Unreachable {
			answered(reply, sent, err)
			return
		}
		c.done, twice = answered, sent
		v.lane.send(c)
	}
	v.send(c, limit)
}

// standing is what a node says about an entry that we think is ours.
type standing int

// The numbers are those of extend.lua and release.lua.
const (
	isOurs    standing = 1
	isMissing standing = 0
	isOthers  standing = -1
	isBack    standing = 2 // it was missing and has been put back
)

// answer is a node's reply to extend or release.
type answer struct {
	standing standing
	fence    int64
	left     time.Duration
	found    string
	err      error
}

func (v voter) extend(e *entry, fence int64, putBack bool, done func(answer)) {
	v.lane.send(&call{
		script: extendScript, args: e.extendOf(fence, putBack),
		done: func(reply string, _ bool, err error) {
			if err != nil {
				done(answer{err: err})
				return
			}
			r := replyReader{rest: reply}
			out := answer{standing: standing(r.int()), fence: r.int()}
			out.found, out.err = r.rest, r.err
			done(out)
		},
	})
}

func (v voter) raise(e *entry, fence int64, done func(bool, error)) {
	v.lane.send(&call{
		script: raiseScript, args: command(raiseScript, e.keys, &e.token, fence, &e.lifeMs),
		done: func(reply string, _ bool, err error) {
			if err != nil {
				done(false, err)
				return
			}
			r := replyReader{rest: reply}
			done(r.int() == 1, r.err)
		},
	})
}

// release deletes the entry if it is ours. late is how long an acquire of the
// same token may still be on its way to the node; 0 if none is. limit is how
// long the caller would wait for the answer anyway; 0 if it would not.
func (v voter) release(e *entry, fence int64, late, limit time.Duration, done func(answer)) {
	args := e.plain
	if fence != 0 || late != 0 {
		args = e.releaseOf(fence, late)
	}
	v.send(&call{
		script: e.release, args: args,
		done: func(reply string, _ bool, err error) {
			if err != nil {
				done(answer{err: err})
				return
			}
			r := replyReader{rest: reply}
			out := answer{standing: standing(r.int()), left: r.ms()}
			out.found, out.err = r.rest, r.err
			done(out)
		},
	}, limit)
}

// bear marks the node. See birth.lua.
func (v voter) bear(marker string, nothingForgotten bool, longest time.Duration, done func()) {
	first := 0
	if nothingForgotten {
		first = 1
	}
	v.lane.send(&call{
		script: birthScript, args: command(birthScript, []string{marker}, first, longest.Milliseconds(), v.run.load(), 0),
		// If it failed the next acquire finds the node unmarked again.
		done: func(string, bool, error) { done() },
	})
}

// replyReader takes a script's reply apart, part by part, and remembers the
// first thing that is not as it should be. What is left at the end is text that
// may be anything.
type replyReader struct {
	rest string
	err  error
}

var errNoReply = errors.New("the node answered something that is not the script's reply")

func (r *replyReader) int() int64 {
	part, rest, _ := strings.Cut(r.rest, " ")
	r.rest = rest
	n, err := strconv.ParseInt(part, 10, 64)
	if err != nil && r.err == nil {
		r.err = errNoReply
	}
	return n
}

// ms reads a time, negative for no end. A server may claim any number, so it
// is kept to what can be added to.
func (r *replyReader) ms() time.Duration {
	const most = int64(math.MaxInt64 / time.Millisecond / 2)
	return time.Duration(min(max(r.int(), -1), most)) * time.Millisecond
}
