package lockcore

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// lane sends scripts to one node. Calls that come while others are on their
// way share a pipeline, so that many concurrent callers cost few round trips;
// a call that comes alone is sent at once. How many pipelines may be on their
// way at a time follows the round trip: on a fast link one or two (see mayStart),
// so that batches fill up, on a slow one more, so that nobody waits for a whole
// round trip before being sent.
//
// Calls keep no order among each other; see chain for what must.
type lane struct {
	client     redis.UniversalClient
	timeout    time.Duration
	background *background

	mu      sync.Mutex
	queue   []*call   // what waits to be sent
	flights []*flight // what is on its way
	// The round trip, and what it is taken from; see observe.
	rtt, lately, before time.Duration
	since               time.Time
}

// flight is a pipeline on its way, or about to leave.
type flight struct {
	left  time.Time
	calls int
}

// call is one script on its way. done is called once, from a goroutine of the
// lane or of the caller, and must not block.
type call struct {
	script *luaScript
	args   []any // as EVALSHA has them; other calls may share them
	queued time.Time
	cmd    *redis.StringCmd
	done   func(reply string, sent bool, err error)
}

// errNotSent is the error of a call that waited for so long behind a node
// that hangs that it was not sent any more.
var errNotSent = context.DeadlineExceeded

const (
	slowestFast = time.Millisecond      // round trip up to which a link counts as fast
	longestFast = 20 * time.Millisecond // after which a pipeline on such a link is taken to hang
	mostHanging = 8                     // of which no more are sent beside them
	rttSpan     = 5 * time.Second       // how far back the round trip is remembered, and up to twice that
	fastWindow  = 2                     // pipelines on their way that do not hang
	slowWindow  = 32
	largestPipe = 512 // calls in one pipeline
)

func newLane(v voter, b *background) *lane {
	return &lane{client: v.Client(), timeout: v.Timeout(), background: b}
}

// do sends a call and waits for the answer if the lane has nothing else to do;
// otherwise it is send. It saves the two switches of goroutines that a caller
// who has nothing to do meanwhile would pay for. It waits for at most limit.
func (l *lane) do(c *call, limit time.Duration) {
	c.queued = time.Now()
	l.mu.Lock()
	if len(l.flights) > 0 || len(l.queue) > 0 {
		l.mu.Unlock()
		l.send(c)
		return
	}
	f := &flight{left: c.queued, calls: 1}
	l.flights = append(l.flights, f)
	l.mu.Unlock()
	l.flush([]*call{c}, nil, min(l.timeout, limit))
	l.mu.Lock()
	if len(l.queue) > 0 { // others have come meanwhile
		l.mu.Unlock()
		l.background.Go(func() { l.run(f) })
		return
	}
	l.land(f)
	l.mu.Unlock()
}

// send queues a call and returns at once.
func (l *lane) send(c *call) {
	c.queued = time.Now()
	var f *flight
	l.mu.Lock()
	l.queue = append(l.queue, c)
	if l.mayStart(c.queued) {
		f = &flight{left: c.queued}
		l.flights = append(l.flights, f)
	}
	l.mu.Unlock()
	if f != nil {
		l.background.Go(func() { l.run(f) })
	}
}

// mayStart reports whether what is queued is to be sent in a pipeline of its
// own, beside those on their way. On a fast link a second one waits until it is
// half as long as the first: else the second is a trickle of single calls, each
// of which costs both sides as much as a pipeline. Pipelines that hang hold up
// no others, unless there are so many that the node must be what hangs.
func (l *lane) mayStart(now time.Time) bool {
	if l.rtt > slowestFast {
		return len(l.flights) < slowWindow
	}
	lively, calls := 0, 0
	for _, f := range l.flights {
		if now.Sub(f.left) <= longestFast {
			lively++
			calls += f.calls
		}
	}
	if len(l.flights)-lively >= mostHanging {
		return false
	}
	return lively == 0 || lively < fastWindow && 2*len(l.queue) >= calls
}

// land ends a flight. The lane is locked.
func (l *lane) land(f *flight) {
	i := slices.Index(l.flights, f)
	l.flights = slices.Delete(l.flights, i, i+1)
}

// run sends pipelines until the queue is empty, one after the other.
func (l *lane) run(f *flight) {
	var batch []*call
	var pipe redis.Pipeliner
	for {
		clear(batch)
		if len(batch) > 1 {
			// Those who have just been answered may have more to send: it
			// goes into the next pipeline if they come before us.
			runtime.Gosched()
		}
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.land(f)
			l.mu.Unlock()
			return
		}
		if len(l.queue) <= largestPipe {
			// All of it, and the next ones go where the last batch was.
			batch, l.queue = l.queue, batch[:0]
		} else {
			batch = append(batch[:0], l.queue[:largestPipe]...)
			l.queue = append(l.queue[:0], l.queue[largestPipe:]...)
		}
		f.left, f.calls = time.Now(), len(batch)
		l.mu.Unlock()
		if pipe == nil && len(batch) > 1 {
			pipe = l.client.Pipeline()
		}
		l.flush(batch, pipe, l.timeout)
	}
}

// flush sends calls and deals with their answers, within limit. pipe is an empty
// pipeline, needed for more than one.
func (l *lane) flush(batch []*call, pipe redis.Pipeliner, limit time.Duration) {
	start := time.Now()
	fresh := batch[:0]
	for _, c := range batch {
		if start.Sub(c.queued) > l.timeout {
			c.done("", false, errNotSent)
			continue
		}
		fresh = append(fresh, c)
	}
	if len(fresh) == 0 {
		return
	}
	// The sockets have time limits too, but not what else may take time: the
	// wait for a connection, and making one.
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for _, c := range fresh {
		c.cmd = redis.NewStringCmd(ctx, c.args...)
	}
	l.exec(ctx, fresh, pipe)
	l.observe(start, time.Now())

	var unknown []*call
	for _, c := range fresh {
		if err := c.cmd.Err(); err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
			c.cmd = redis.NewStringCmd(ctx, c.whole()...)
			unknown = append(unknown, c)
			continue
		}
		c.finish()
	}
	if len(unknown) > 0 {
		// The node was restarted, or told to forget its scripts.
		l.exec(ctx, unknown, pipe)
		for _, c := range unknown {
			c.finish()
		}
	}
}

// exec has the server run the calls' commands. Errors are left in those.
func (l *lane) exec(ctx context.Context, calls []*call, pipe redis.Pipeliner) {
	if len(calls) == 1 {
		_ = l.client.Process(ctx, calls[0].cmd)
		return
	}
	for _, c := range calls {
		_ = pipe.Process(ctx, c.cmd)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		for _, c := range calls {
			// Each command has its own error, except where the connection
			// could not be set up: then go-redis tells only here. No script
			// answers with nothing.
			if c.cmd.Err() == nil && c.cmd.Val() == "" {
				c.cmd.SetErr(err)
			}
		}
	}
}

// observe follows the round trip of the link: the shortest time that a pipeline
// took lately, since the others are made long by what waits on both sides, as
// they all are when the machine is busy.
func (l *lane) observe(start, end time.Time) {
	took := end.Sub(start)
	l.mu.Lock()
	defer l.mu.Unlock()
	if end.Sub(l.since) > rttSpan {
		l.since, l.before, l.lately = end, l.lately, took
	}
	l.lately = min(l.lately, took)
	l.rtt = l.lately
	if l.before > 0 {
		l.rtt = min(l.rtt, l.before)
	}
}

func (c *call) finish() {
	reply, err := c.cmd.Result()
	if err == redis.Nil {
		err = errNoReply // else it would look like success
	}
	c.done(reply, true, err)
}

// command writes a script's call: name, script, number of keys, keys, arguments.
// Strings and numbers are best given as pointers, which cost nothing to keep.
func command(script *luaScript, keys []string, args ...any) []any {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, "evalsha", &script.hash, len(keys))
	for i := range keys {
		all = append(all, &keys[i])
	}
	return append(all, args...)
}

// whole is the call with the script's text instead of its name.
func (c *call) whole() []any {
	all := slices.Clone(c.args)
	all[0], all[1] = "eval", &c.script.source
	return all
}
