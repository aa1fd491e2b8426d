package inspect

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"dlock/inspect/dialect"
	"dlock/lockcore/node"
)

const (
	// chunk is how many keys are asked about in one round trip.
	chunk = 500
	// chatty is up to how many keys a look also asks for what it could do
	// without on each pass: idle times, and what companions tell.
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

	pttl, idle, value, get, kind, size, memory, items *redis.Cmd

	sample    sample
	lastTouch time.Time // as the idle time tells
	read      bool      // the value is to be read
	untyped   bool      // it is no string, or not known to be one
	// collection is the type of what has fields or members; length and bytes
	// are what the server says of it, -1 when not known.
	collection    string
	length, bytes int64
	more          inquiry
	plain         bool  // no idle time is wanted
	early         bool  // the value is asked for together with the remaining life
	moved         error // the server's word that another one serves the key
}

// knowledge is what a look starts from.
type knowledge struct {
	before func(key string) (sample, bool)
	fresh  func(key string) bool // the value is to be read in any case; nil is never
	// keys is how many are asked about in turn, if that is more than are
	// asked about now.
	keys int
	// quiet leaves out what a look could do without on each pass.
	quiet bool
	// plain says that nothing is known and nothing but lives and values is
	// wanted, which then come in one round trip.
	plain bool
}

// sample asks one node about keys and returns one sample for each. It reads a
// value if that is wanted, if it has not been read before, if the remaining life
// or the idle time shows that something was written since, and now and then
// because they do not show everything. The error is a *nodeError and means that
// nothing is known.
func (p *probe) sample(ctx context.Context, c *cost, keys []string, k knowledge) (map[string]sample, error) {
	k.keys = max(k.keys, len(keys))
	out := make(map[string]sample, len(keys))
	for len(keys) > 0 {
		n := min(chunk, len(keys))
		if err := p.sampleChunk(ctx, c, keys[:n], k, !k.quiet && len(keys) <= chatty, out); err != nil {
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
		q := &question{key: key, keys: k.keys, fresh: k.fresh != nil && k.fresh(key), length: -1, bytes: -1}
		q.before, q.known = k.before(key)
		if q.known && q.before.presence == forbidden && now.Sub(q.before.sent()) < forbiddenAge {
			out[key] = q.before
			continue
		}
		questions = append(questions, q)
	}
	if k.plain {
		p.plan(questions)
	}
	if err := p.askLife(ctx, c, questions, curious && !k.plain); err != nil {
		return err
	}
	reads := make([]*question, 0, len(questions))
	for _, q := range questions {
		if q.read {
			reads = append(reads, q)
		}
	}
	steps := []func(context.Context, *cost, []*question) error{p.askValues, p.askKind, p.askSize, p.askItems, p.askMore}
	if k.plain {
		steps = steps[:len(steps)-1]
	}
	for _, step := range steps {
		if err := step(ctx, c, reads); err != nil {
			return err
		}
	}
	for _, q := range questions {
		if !q.sample.ownsIdleTime() {
			q.sample.idle, q.sample.touched, q.sample.idleAsked = 0, nil, false
		}
		if q.known {
			q.sample = q.sample.succeeds(q.before)
		}
		out[q.key] = q.sample
	}
	p.goAhead(ctx, c, questions, k, out)
	return nil
}

// askLife is the first round trip: what is left of each key, and without
// touching it when it was last used and what its companions tell.
func (p *probe) askLife(ctx context.Context, c *cost, questions []*question, curious bool) error {
	b := p.batch()
	for _, q := range questions {
		q.pttl = b.ask(ctx, "pttl", q.key)
		if q.early {
			q.value = b.ask(ctx, "getrange", q.key, 0, maxToken)
		}
		if !q.plain && (curious || !q.known || q.before.never) && p.allowed("OBJECT") {
			q.idle = b.ask(ctx, "object", "idletime", q.key)
		}
		if curious {
			q.more = p.inquire(ctx, b, q.before.got)
		}
	}
	sent, received, err := p.send(ctx, c, b)
	if err != nil {
		return err
	}
	now := &trip{sent, received}
	for _, q := range questions {
		q.sample.asked = now
		life, err := q.pttl.Int64()
		switch {
		case node.Classify(err) == node.Moved:
			q.moved = err
			q.sample.presence, q.sample.got = forbidden, &reading{entry: dialect.Entry{Key: q.key}, err: word("PTTL", err)}
			continue
		case node.Classify(err) == node.Forbidden && refusesCommand(err):
			// Without PTTL nothing can be said about any key.
			return &nodeError{err}
		case err != nil:
			q.sample.presence, q.sample.got = forbidden, &reading{entry: dialect.Entry{Key: q.key}, err: word("PTTL", err)}
			continue
		case life == -2:
			continue
		}
		q.sample.presence = present
		q.sample.never = life < 0
		q.sample.life = clampLife(life)
		p.readIdle(q, now)
		p.decideRead(q)
		if q.early {
			p.readValue(q, "GETRANGE", q.value, now)
		}
	}
	return nil
}

// plan has values asked for together with the remaining lives as far as is known
// to be safe: where the last values were small.
func (p *probe) plan(questions []*question) {
	small := p.allowed("GETRANGE") && p.fit("GETRANGE") >= len(questions)
	for _, q := range questions {
		q.plain, q.early = true, small && !q.known
	}
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
	if q.fresh || !unchanged || outdated(b, q.sample, q.key, q.keys) || b.content() == unread && p.worthReading(b, q.sample.sent()) {
		q.read = true
		return
	}
	s := &q.sample
	s.got, s.read, s.barred, s.told = b.got, b.read, b.barred, b.told
	p.learnMore(q)
}

// worthReading reports whether a value that could not be read may be readable
// by now.
func (p *probe) worthReading(before sample, now time.Time) bool {
	if before.barred && now.Sub(before.readAt()) < forbiddenAge {
		return false
	}
	kind := before.got.kind()
	if commands, collection := collections[kind]; collection {
		return p.allowed(commands.whole) || p.allowed(commands.page)
	}
	return p.allowed("GETRANGE") || p.allowed("GET")
}

func (p *probe) readIdle(q *question, at *trip) {
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
	case seconds < 0 || seconds > math.MaxUint32:
		return
	}
	q.sample.idle, q.sample.touched, q.sample.idleAsked = uint32(seconds), at, true
	q.lastTouch = q.sample.touchedAt()
}

// askValues reads the strings, in as many round trips as their size takes. A
// value that is no longer than a token can be comes whole, of a longer one just
// enough to see that; only where GETRANGE is refused all of it is fetched.
func (p *probe) askValues(ctx context.Context, c *cost, questions []*question) error {
	rest := make([]*question, 0, len(questions))
	for _, q := range questions {
		if _, ok := collections[q.before.got.kind()]; ok && q.before.content() == known {
			q.collection = q.before.got.kind()
			continue
		}
		if q.early {
			continue
		}
		rest = append(rest, q)
	}
	for len(rest) > 0 {
		command := "GETRANGE"
		if !p.allowed(command) {
			command = "GET"
		}
		n := min(p.fit(command), len(rest))
		if err := p.askValue(ctx, c, command, rest[:n]); err != nil {
			return err
		}
		asked := rest[:n]
		rest = rest[n:]
		if command != "GET" && !p.allowed(command) {
			for _, q := range asked {
				if q.sample.presence == present && q.sample.content() == unread {
					q.value, q.untyped = nil, false
					rest = append(rest, q)
				}
			}
		}
	}
	return nil
}

func (p *probe) askValue(ctx context.Context, c *cost, command string, questions []*question) error {
	b := p.batch()
	for _, q := range questions {
		p.askIdle(ctx, b, q)
		switch {
		case !p.allowed(command):
		case command == "GET":
			q.get = b.ask(ctx, "get", q.key)
		default:
			q.value = b.ask(ctx, "getrange", q.key, 0, maxToken)
		}
	}
	sent, received, err := p.send(ctx, c, b)
	if err != nil {
		// The answers may have been too large for the time there is.
		p.fitted(command, batchBytes*len(questions), len(questions))
		return err
	}
	at, bytes := &trip{sent, received}, 0
	for _, q := range questions {
		if !q.sample.idleAsked {
			p.readIdle(q, at)
		}
		cmd := q.value
		if cmd == nil {
			cmd = q.get
		}
		if cmd != nil {
			bytes += p.readValue(q, command, cmd, at)
		} else {
			q.untyped = true
			p.keep(q, &reading{content: unread, err: command + ": " + p.refusal(command)}, "", at)
		}
	}
	p.fitted(command, bytes, len(questions))
	return nil
}

// askIdle asks for the idle time of a key whose value is about to be read, if
// that was not done before.
func (p *probe) askIdle(ctx context.Context, b *batch, q *question) {
	if q.idle == nil && !q.plain && p.allowed("OBJECT") {
		q.idle = b.ask(ctx, "object", "idletime", q.key)
	}
}

// readValue takes in the answer to GETRANGE or GET and returns its length.
func (p *probe) readValue(q *question, command string, cmd *redis.Cmd, at *trip) int {
	s := &q.sample
	value, err := cmd.Text()
	switch {
	case nilReply(err):
		// It ended between the two round trips.
		s.presence = absent
		return 0
	case node.Classify(err) == node.Moved:
		q.moved = err
		p.keep(q, &reading{content: unread, err: word(command, err)}, "", at)
	case node.Classify(err) == node.WrongType:
		q.untyped = true
		p.keep(q, &reading{content: foreign, err: errNoString}, "", at)
	case err != nil:
		p.note(command, err)
		q.untyped = true
		p.keep(q, &reading{content: unread, err: word(command, err)}, "", at)
		s.barred = node.Classify(err) == node.Forbidden && !refusesCommand(err)
	case len(value) > maxToken:
		p.keep(q, &reading{content: foreign, err: errLongValue}, "string", at)
	default:
		e := dialect.Text(q.key, value)
		e.NodeTime = p.nodeTime(at.received)
		p.keepEntry(q, e, at)
	}
	return len(value)
}

// keepEntry records what was read. Where it is what was known before, that
// stands on.
func (p *probe) keepEntry(q *question, e dialect.Entry, at *trip) {
	q.sample.read, q.sample.barred = at, false
	if e.Type == "string" && q.before.content() == known && q.before.got.entry.Type == "string" && q.before.got.entry.Value == e.Value {
		q.sample.got = q.before.got
		return
	}
	q.sample.got = decode(e, p.own)
}

// keep records why nothing was read.
func (p *probe) keep(q *question, r *reading, kind string, at *trip) {
	r.entry = dialect.Entry{Key: q.key, Type: kind}
	r.recognise(p.own)
	q.sample.read, q.sample.got = at, r
}

// nodeTime is the node's clock at a moment of ours, zero when it is not known.
func (p *probe) nodeTime(at time.Time) time.Time {
	clock := p.known().clock
	if !clock.known {
		return time.Time{}
	}
	return at.Round(0).Add(clock.offset())
}

// askKind finds out the type of what is no string, and asks with GET where an
// empty answer to GETRANGE leaves open whether there is an empty value or none.
func (p *probe) askKind(ctx context.Context, c *cost, questions []*question) error {
	b := p.batch()
	for _, q := range questions {
		s := &q.sample
		if s.presence != present || q.collection != "" {
			continue
		}
		empty := s.content() == known && s.got.entry.Value == ""
		if q.value != nil && empty && p.allowed("GET") {
			q.get = b.ask(ctx, "get", q.key)
		} else {
			q.get = nil
		}
		if q.untyped && p.allowed("TYPE") {
			q.kind = b.ask(ctx, "type", q.key)
		}
	}
	sent, received, err := p.send(ctx, c, b)
	if err != nil {
		return err
	}
	at := &trip{sent, received}
	for _, q := range questions {
		p.readKind(q, at)
	}
	return nil
}

func (p *probe) readKind(q *question, at *trip) {
	s := &q.sample
	if s.presence != present {
		return
	}
	if q.kind != nil {
		kind, err := q.kind.Text()
		_, collection := collections[kind]
		switch {
		case err != nil:
			p.note("TYPE", err)
		case kind == "none":
			s.presence = absent
			return
		case collection:
			q.collection = kind
			p.keep(q, &reading{content: unread, err: s.err()}, kind, at)
			return
		case kind != "string":
			p.keep(q, &reading{content: foreign}, kind, at)
			return
		default:
			p.keep(q, &reading{content: s.content(), err: s.err()}, kind, at)
		}
	}
	if q.get != nil && s.content() != foreign {
		p.readValue(q, "GET", q.get, at)
	}
}

const (
	// batchBytes is how much the answers of one round trip are meant to hold,
	// so that large values do not make a node miss its timeout.
	batchBytes = 256 << 10
	// wholeMost is how many values are fetched at once that may be of any size.
	wholeMost = 16
)

// fitting is what was learnt of the answers to one command.
type fitting struct {
	size int // bytes of one, lately
	last int // how many were asked for at once
}

// fit is how many values are asked for at once, going by the size of those that
// came last. A command that fetches whole values begins with one.
func (p *probe) fit(command string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, ok := p.sizes[command]
	most := chunk
	if command == "GET" {
		most = min(wholeMost, max(1, 2*f.last))
	}
	if !ok {
		return most
	}
	return max(1, min(most, batchBytes/max(1, f.size)))
}

// fitted records how large the answers were. It believes large ones at once
// and small ones bit by bit.
func (p *probe) fitted(command string, bytes, answers int) {
	if answers == 0 {
		return
	}
	mean := bytes / answers
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sizes == nil {
		p.sizes = make(map[string]fitting)
	}
	if f, ok := p.sizes[command]; ok {
		mean = max(mean, (f.size+mean)/2)
	}
	p.sizes[command] = fitting{size: mean, last: answers}
}

// upper is a command's name as refusals of it are remembered.
func upper(command string) string { return strings.ToUpper(command) }
