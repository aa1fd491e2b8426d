package inspect

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"dlock/inspect/dialect"
	"dlock/lockcore"
	"dlock/lockcore/node"
)

const (
	// chunk is how many keys are asked about in one round trip.
	chunk = 500
	// chatty is up to how many keys a look also asks for what it could do
	// without on each pass: idle time and number of waiters.
	chatty = 2000
	// forbiddenAge is how long a refusal of a key is believed. Each attempt
	// leaves a line in the server's ACL log.
	forbiddenAge = 30 * time.Second
	// longestFence is more than a fence companion holds.
	longestFence = 64
	// longestLife caps a remaining life: beyond it a key never ends in any
	// sense that matters here, and the arithmetic would overflow.
	longestLife = 100 * 365 * 24 * time.Hour
)

// question is one key on its way through the round trips of a look.
type question struct {
	key    string
	before sample
	known  bool // there is a sample before
	fresh  bool // the value is to be read in any case
	keys   int  // how many the look is about

	pttl, idle, queue, value, kind, get, fence *redis.Cmd
	sample                                     sample
	lastTouch                                  time.Time // as the idle time tells
	moved                                      error     // the server's word that another one serves the key
	read                                       bool      // the value is to be read
}

// knowledge is what a look starts from.
type knowledge struct {
	before func(key string) (sample, bool)
	fresh  func(key string) bool // the value is to be read in any case; nil is never
	keys   int                   // how many are asked about in all
}

// sample asks one node about keys and returns one sample for each. It reads a
// value if that is wanted, if it has not been read before, if the remaining life
// or the idle time shows that something was written since, and now and then
// because they do not show everything. The error is a *nodeError and means that
// nothing is known.
func (p *probe) sample(ctx context.Context, c *cost, keys []string, k knowledge) (map[string]sample, error) {
	k.keys = len(keys)
	out := make(map[string]sample, len(keys))
	for len(keys) > 0 {
		n := min(chunk, len(keys))
		if err := p.sampleChunk(ctx, c, keys[:n], k, len(keys) <= chatty, out); err != nil {
			return nil, err
		}
		keys = keys[n:]
	}
	return out, nil
}

func (p *probe) sampleChunk(ctx context.Context, c *cost, keys []string, k knowledge, curious bool, out map[string]sample) error {
	questions := make([]*question, 0, len(keys))
	now := p.now()
	for _, key := range keys {
		q := &question{key: key, keys: k.keys, fresh: k.fresh != nil && k.fresh(key)}
		q.before, q.known = k.before(key)
		if q.known && q.before.presence == forbidden && now.Sub(q.before.sent) < forbiddenAge {
			out[key] = q.before
			continue
		}
		questions = append(questions, q)
	}
	steps := []func(context.Context, *cost, []*question, bool) error{p.askLife, p.askValue, p.askRest}
	for _, step := range steps {
		if err := step(ctx, c, questions, curious); err != nil {
			return err
		}
	}
	for _, q := range questions {
		if q.known {
			q.sample = q.sample.succeeds(q.before)
		}
		out[q.key] = q.sample
	}
	p.goAhead(ctx, c, questions, k, out)
	return nil
}

// askLife is the first round trip: what is left of each key, and without
// touching it when it was last used and how many wait for it.
func (p *probe) askLife(ctx context.Context, c *cost, questions []*question, curious bool) error {
	b := p.batch()
	for _, q := range questions {
		q.pttl = b.ask(ctx, "pttl", q.key)
		if (curious || !q.known || q.before.never) && p.allowed("OBJECT") {
			q.idle = b.ask(ctx, "object", "idletime", q.key)
		}
		if curious && p.allowed("ZCARD") && strings.HasPrefix(q.key, p.prefix) {
			q.queue = b.ask(ctx, "zcard", lockcore.CompanionKey(p.prefix, lockcore.QueueCompanion, q.key))
		}
	}
	sent, received, err := p.send(ctx, c, b)
	if err != nil {
		return err
	}
	for _, q := range questions {
		q.sample.sent, q.sample.received = sent, received
		life, err := q.pttl.Int64()
		switch {
		case node.Classify(err) == node.Moved:
			q.moved = err
			q.sample.presence, q.sample.err = forbidden, word("PTTL", err)
			continue
		case node.Classify(err) == node.Forbidden && refusesCommand(err):
			// Without PTTL nothing can be said about any key.
			return &nodeError{err}
		case err != nil:
			q.sample.presence, q.sample.err = forbidden, word("PTTL", err)
			continue
		case life == -2:
			continue
		}
		q.sample.presence = present
		q.sample.never = life < 0
		q.sample.life = clampLife(life)
		p.readIdle(q)
		q.sample.waiters = p.readCount("ZCARD", q.queue)
		p.decideRead(q)
	}
	return nil
}

func clampLife(ms int64) time.Duration {
	if ms <= 0 {
		return 0
	}
	if ms > int64(longestLife/time.Millisecond) {
		return longestLife
	}
	return time.Duration(ms) * time.Millisecond
}

// decideRead settles whether the value has to be read, and carries over what
// is known if not.
func (p *probe) decideRead(q *question) {
	b := q.before
	unchanged := q.known && sameGrant(b, q.sample) && !(q.sample.idleAsked && touchedBetween(b, q.lastTouch))
	if q.fresh || !unchanged || outdated(b, q.sample, q.key, q.keys) || b.content == unread && p.worthReading(b, q.sample.sent) {
		q.read = true
		return
	}
	q.sample.content, q.sample.kind, q.sample.token = b.content, b.kind, b.token
	q.sample.readAt, q.sample.barred, q.sample.err = b.readAt, b.barred, b.err
	q.sample.fence, q.sample.granted = b.fence, b.granted
	if !q.sample.waiters.Known && q.queue == nil {
		q.sample.waiters = b.waiters
	}
}

// worthReading reports whether a value that could not be read may be readable
// by now.
func (p *probe) worthReading(before sample, now time.Time) bool {
	if before.barred && now.Sub(before.readAt) < forbiddenAge {
		return false
	}
	return p.allowed("GETRANGE") || p.allowed("GET")
}

func (p *probe) readIdle(q *question) {
	if q.idle == nil {
		return
	}
	seconds, err := q.idle.Int64()
	switch {
	case nilReply(err):
		return
	case err != nil:
		p.note("OBJECT", err)
		return
	case seconds < 0 || seconds > int64(longestLife/time.Second):
		return
	}
	q.lastTouch = q.sample.sent.Add(-time.Duration(seconds) * time.Second)
	q.sample.touchedAt = q.lastTouch
	q.sample.idleAsked = true
}

func (p *probe) readCount(command string, cmd *redis.Cmd) Maybe[int] {
	if cmd == nil {
		return Maybe[int]{}
	}
	n, err := cmd.Int64()
	if err != nil {
		p.note(command, err)
		return Maybe[int]{}
	}
	if n < 0 || n > math.MaxInt32 {
		return Maybe[int]{}
	}
	return Known(int(n))
}

// askValue is the second round trip: the values that have to be read. A value
// that is no longer than a token can be comes whole, of a longer one just
// enough to see that.
func (p *probe) askValue(ctx context.Context, c *cost, questions []*question, _ bool) error {
	b := p.batch()
	for _, q := range questions {
		if !q.read {
			continue
		}
		if q.idle == nil && p.allowed("OBJECT") {
			q.idle = b.ask(ctx, "object", "idletime", q.key)
		}
		switch {
		case p.allowed("GETRANGE"):
			q.value = b.ask(ctx, "getrange", q.key, 0, maxToken)
		case p.allowed("GET"):
			q.get = b.ask(ctx, "get", q.key)
		}
	}
	_, received, err := p.send(ctx, c, b)
	if err != nil {
		return err
	}
	for _, q := range questions {
		if !q.read {
			continue
		}
		if !q.sample.idleAsked {
			p.readIdle(q)
		}
		if q.value != nil {
			p.readValue(q, "GETRANGE", q.value, received)
		} else if q.get != nil {
			p.readValue(q, "GET", q.get, received)
		}
	}
	return nil
}

// readValue takes in the answer to GETRANGE or GET.
func (p *probe) readValue(q *question, command string, cmd *redis.Cmd, at time.Time) {
	s := &q.sample
	value, err := cmd.Text()
	switch {
	case nilReply(err):
		// It ended between the two round trips.
		s.presence = absent
	case node.Classify(err) == node.Moved:
		q.moved = err
		s.content, s.readAt, s.err = unread, at, word(command, err)
	case node.Classify(err) == node.WrongType:
		s.content, s.readAt, s.err = foreign, at, errNoString
	case err != nil:
		p.note(command, err)
		s.content, s.readAt, s.err = unread, at, word(command, err)
		s.barred = node.Classify(err) == node.Forbidden && !refusesCommand(err)
	case len(value) > maxToken:
		s.content, s.kind, s.readAt, s.err = foreign, "string", at, errLongValue
	default:
		s.content, s.kind, s.token, s.readAt, s.barred, s.err = token, "string", value, at, false, ""
	}
}

// Why a value is no token.
const (
	errLongValue = "the value is longer than 4096 bytes and cannot be a lock token"
	errNoString  = "the key is no string and cannot be a lock token"
)

// askRest is the third round trip, for few keys: the type of what is no
// string; GET where GETRANGE was refused, or where its empty answer leaves
// open whether there is an empty value or none; and the fence of dlock's own
// locks.
func (p *probe) askRest(ctx context.Context, c *cost, questions []*question, _ bool) error {
	b := p.batch()
	for _, q := range questions {
		s := &q.sample
		if !q.read || s.presence != present {
			continue
		}
		empty := q.value != nil && s.content == token && s.token == ""
		if (empty || q.value != nil && s.content == unread) && p.allowed("GET") {
			q.get = b.ask(ctx, "get", q.key)
		} else {
			q.get = nil
		}
		if s.content != token && s.kind == "" && p.allowed("TYPE") {
			q.kind = b.ask(ctx, "type", q.key)
		}
		if s.content == token && isDlock(s.token) {
			companion := lockcore.CompanionKey(p.prefix, lockcore.FenceCompanion, q.key)
			switch {
			case p.allowed("GETRANGE"):
				q.fence = b.ask(ctx, "getrange", companion, 0, longestFence)
			case p.allowed("GET"):
				q.fence = b.ask(ctx, "get", companion)
			}
		}
	}
	_, received, err := p.send(ctx, c, b)
	if err != nil {
		return err
	}
	for _, q := range questions {
		p.readRest(q, received)
	}
	return nil
}

func (p *probe) readRest(q *question, at time.Time) {
	s := &q.sample
	if !q.read || s.presence != present {
		return
	}
	if q.kind != nil {
		kind, err := q.kind.Text()
		switch {
		case err != nil:
			p.note("TYPE", err)
		case kind == "none":
			s.presence = absent
			return
		case kind != "string":
			s.content, s.kind, s.err = foreign, kind, ""
		default:
			s.kind = kind
		}
	}
	if q.get != nil && s.content != foreign {
		p.readValue(q, "GET", q.get, at)
	}
	if q.fence != nil {
		p.readFence(q)
	}
}

func (p *probe) readFence(q *question) {
	text, err := q.fence.Text()
	if err != nil {
		return // what may not be asked was noted with the lock's own value
	}
	fence, sinceMs, ok := lockcore.ParseFence(text)
	if !ok {
		return
	}
	q.sample.fence = Known(fence)
	if sinceMs > 0 && sinceMs < math.MaxInt64/int64(time.Millisecond) {
		q.sample.granted = Known(sinceMs)
	}
}

func isDlock(value string) bool {
	_, d := dialect.Recognise(dialect.Text("", value))
	return d.Name() == dialect.Dlock
}
