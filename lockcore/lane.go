package lockcore

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// lane sends scripts to one node. Calls that come while others are on their
// way share a pipeline, so that many concurrent callers cost few round trips;
// a call that comes alone is sent at once. How many pipelines may be on their
// way at a time follows the round trip: on a fast link one or two, so that
// batches fill up, on a slow one more, so that nobody waits for a whole round
// trip before being sent.
//
// Calls keep no order among each other; see chain for what must.
type lane struct {
	client     redis.UniversalClient
	timeout    time.Duration
	background *background

	mu       sync.Mutex
	queue    []*call
	inFlight int
	rtt      time.Duration // the shortest of late; see observe
}

// call is one script on its way. done is called once, from a goroutine of the
// lane, and must not block.
type call struct {
	script *luaScript
	keys   []string
	args   []any
	queued time.Time
	cmd    *redis.Cmd
	// must says that it is sent however long it had to wait.
	must bool
	done func(reply string, sent bool, err error)
}

// errNotSent is the error of a call that waited for so long behind a node
// that hangs that it was not sent any more.
var errNotSent = context.DeadlineExceeded

const (
	slowestFast = time.Millisecond // round trip up to which a link counts as fast
	fastWindow  = 2                // pipelines on their way
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
	if l.inFlight > 0 || len(l.queue) > 0 {
		l.mu.Unlock()
		l.send(c)
		return
	}
	l.inFlight++
	l.mu.Unlock()
	l.flush([]*call{c}, min(l.timeout, limit))
	l.mu.Lock()
	if len(l.queue) > 0 { // others have come meanwhile
		l.mu.Unlock()
		l.background.Go(l.run)
		return
	}
	l.inFlight--
	l.mu.Unlock()
}

// send queues a call and returns at once.
func (l *lane) send(c *call) {
	c.queued = time.Now()
	l.mu.Lock()
	l.queue = append(l.queue, c)
	start := l.inFlight < l.window()
	if start {
		l.inFlight++
	}
	l.mu.Unlock()
	if start {
		l.background.Go(l.run)
	}
}

func (l *lane) window() int {
	if l.rtt > slowestFast {
		return slowWindow
	}
	return fastWindow
}

// run sends pipelines until the queue is empty.
func (l *lane) run() {
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.inFlight--
			l.mu.Unlock()
			return
		}
		n := min(len(l.queue), largestPipe)
		batch := l.queue[:n:n]
		l.queue = l.queue[n:]
		if len(l.queue) == 0 {
			l.queue = nil
		}
		l.mu.Unlock()
		l.flush(batch, l.timeout)
	}
}

func (l *lane) flush(batch []*call, limit time.Duration) {
	start := time.Now()
	fresh := batch[:0]
	for _, c := range batch {
		if start.Sub(c.queued) > l.timeout && !c.must {
			c.done("", false, errNotSent)
			continue
		}
		fresh = append(fresh, c)
	}
	if len(fresh) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	l.exec(ctx, fresh, func(c *call) *redis.Cmd { return c.command(ctx, "evalsha", c.script.hash) })
	l.observe(time.Since(start))

	var unknown []*call
	for _, c := range fresh {
		if err := c.cmd.Err(); err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
			unknown = append(unknown, c)
			continue
		}
		c.finish()
	}
	if len(unknown) > 0 {
		// The node was restarted, or told to forget its scripts.
		l.exec(ctx, unknown, func(c *call) *redis.Cmd { return c.command(ctx, "eval", c.script.source) })
		for _, c := range unknown {
			c.finish()
		}
	}
}

func (l *lane) exec(ctx context.Context, calls []*call, build func(*call) *redis.Cmd) {
	if len(calls) == 1 {
		calls[0].cmd = build(calls[0])
		_ = l.client.Process(ctx, calls[0].cmd) // the error is in the command
		return
	}
	pipe := l.client.Pipeline()
	for _, c := range calls {
		c.cmd = build(c)
		_ = pipe.Process(ctx, c.cmd)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		for _, c := range calls {
			// Each command has its own error, except where the connection
			// could not be set up: then go-redis tells only here.
			if c.cmd.Err() == nil && c.cmd.Val() == nil {
				c.cmd.SetErr(err)
			}
		}
	}
}

// observe follows the round trip of the link. It is the shortest time that a
// pipeline took, since the others are made long by what waits on this side;
// it rises slowly, so that a link which has become slower is noticed.
func (l *lane) observe(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rtt == 0 {
		l.rtt = took
	}
	l.rtt = min(took, l.rtt+l.rtt/64)
}

func (c *call) finish() {
	reply, err := c.cmd.Text()
	if err != nil {
		c.done("", true, err)
		return
	}
	c.done(reply, true, nil)
}

func (c *call) command(ctx context.Context, name, script string) *redis.Cmd {
	args := make([]any, 0, 3+len(c.keys)+len(c.args))
	args = append(args, name, script, len(c.keys))
	for _, k := range c.keys {
		args = append(args, k)
	}
	cmd := redis.NewCmd(ctx, append(args, c.args...)...)
	cmd.SetFirstKeyPos(3)
	return cmd
}
