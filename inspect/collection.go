package inspect

import (
	"context"

	"github.com/redis/go-redis/v9"

	"dlock/inspect/dialect"
	"dlock/lockcore/node"
)

// collectionCommands are the commands that read a type which has fields or
// members.
type collectionCommands struct {
	size  string
	whole string // all, or as much as is asked for
	page  string // a page of it, however large it is
	// bounded says that whole takes a range; otherwise it is only sent where
	// the size is known to be small.
	bounded bool
	// pairs says that each item has a value or a score.
	pairs bool
}

var collections = map[string]collectionCommands{
	"hash": {size: "HLEN", whole: "HGETALL", page: "HSCAN", pairs: true},
	"set":  {size: "SCARD", whole: "SMEMBERS", page: "SSCAN"},
	"zset": {size: "ZCARD", whole: "ZRANGE", page: "ZSCAN", bounded: true, pairs: true},
	"list": {size: "LLEN", whole: "LRANGE", bounded: true},
}

// largestEntry is how many bytes are fetched for one collection at most. A lock
// is far smaller; what is larger is somebody's data.
const largestEntry = 64 << 10

// askSize finds out how large the collections are before any is read.
func (p *probe) askSize(ctx context.Context, c *cost, questions []*question) error {
	b := p.batch()
	for _, q := range questions {
		if q.collection == "" {
			continue
		}
		p.askIdle(ctx, b, q)
		if size := collections[q.collection].size; p.allowed(size) {
			q.size = b.ask(ctx, size, q.key)
		}
		if p.allowed("MEMORY") {
			// All of what is read whole is weighed: one large field may hide
			// among many small ones.
			q.memory = b.ask(ctx, "memory", "usage", q.key, "samples", dialect.MaxItems)
		}
	}
	sent, received, err := p.send(ctx, c, b)
	if err != nil {
		return err
	}
	at := &trip{sent, received}
	for _, q := range questions {
		if q.collection == "" {
			continue
		}
		if !q.sample.idleAsked {
			p.readIdle(q, at)
		}
		if q.length = p.number(q, collections[q.collection].size, q.size, at); q.length == 0 {
			q.sample.presence, q.collection = absent, ""
		}
		q.bytes = p.number(q, "MEMORY", q.memory, at)
	}
	return nil
}

// number takes in a count that may be refused; -1 stands for one that is not
// known. A key that turns out to be of another type is left for the next look.
func (p *probe) number(q *question, command string, cmd *redis.Cmd, at *trip) int64 {
	if cmd == nil {
		return -1
	}
	n, err := cmd.Int64()
	switch {
	case nilReply(err):
		return -1
	case node.Classify(err) == node.WrongType:
		p.keep(q, &reading{content: unread, err: word(command, err)}, "", at)
		q.collection = ""
		return -1
	case err != nil:
		p.note(command, err)
		return -1
	case n < 0:
		return -1
	}
	return n
}

// tooLarge reports whether a collection is more than a lock can be. Of a large
// one with small items a page is read.
func (q *question) tooLarge() bool {
	if q.bytes <= largestEntry {
		return false
	}
	items := max(1, q.length)
	return q.bytes/items*min(items, dialect.MaxItems) > largestEntry
}

// askItems reads the collections, and the node's clock with them: deadlines in
// them are to be compared with it.
func (p *probe) askItems(ctx context.Context, c *cost, questions []*question) error {
	var rest []*question
	for _, q := range questions {
		switch {
		case q.collection == "":
		case q.tooLarge():
			p.keep(q, &reading{content: foreign, err: errTooLarge}, q.collection, q.sample.asked)
		default:
			rest = append(rest, q)
		}
	}
	for len(rest) > 0 {
		n, bytes := 0, int64(0)
		for n < len(rest) && (n == 0 || bytes < batchBytes) {
			bytes += max(rest[n].bytes, 1024)
			n++
		}
		if err := p.askItemsOf(ctx, c, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

func (p *probe) askItemsOf(ctx context.Context, c *cost, questions []*question) error {
	b := p.batch()
	const most = dialect.MaxItems
	asked := make([]string, len(questions))
	for n, q := range questions {
		how := collections[q.collection]
		small := q.length >= 0 && q.length <= most
		var args []any
		switch {
		case how.bounded && p.allowed(how.whole) && q.collection == "zset":
			// The upper end: what lapses last, or was refreshed last.
			args = []any{how.whole, q.key, -most - 1, -1, "withscores"}
		case how.bounded && p.allowed(how.whole):
			args = []any{how.whole, q.key, 0, most}
		case small && p.allowed(how.whole):
			args = []any{how.whole, q.key}
		case how.page != "" && p.allowed(how.page):
			args = []any{how.page, q.key, 0, "count", most}
		default:
			continue
		}
		asked[n] = args[0].(string)
		q.items = b.ask(ctx, args...)
	}
	var clock *redis.Cmd
	if b.size > 0 && p.allowed("TIME") {
		clock = b.ask(ctx, "time")
	}
	sent, received, err := p.send(ctx, c, b)
	if err != nil {
		return err
	}
	at := &trip{sent, received}
	var e dialect.Entry
	if clock != nil {
		if reply, err := clock.Result(); err != nil {
			p.note("TIME", err)
		} else if t, ok := readTime(reply); ok {
			e.NodeTime = t
		}
	}
	for n, q := range questions {
		if q.items == nil {
			p.keep(q, &reading{content: unread, err: "the server refuses the commands that read a " + q.collection}, q.collection, at)
			continue
		}
		e.Key, e.Type, e.Items, e.Cut = q.key, q.collection, nil, false
		p.readItems(q, asked[n], e, at)
	}
	return nil
}

// readItems takes in the answer to a command that reads a collection.
func (p *probe) readItems(q *question, command string, e dialect.Entry, at *trip) {
	how := collections[q.collection]
	reply, err := q.items.Result()
	switch {
	case nilReply(err):
		q.sample.presence = absent
		return
	case node.Classify(err) == node.WrongType:
		p.keep(q, &reading{content: unread, err: word(command, err)}, "", at)
		return
	case err != nil:
		p.note(command, err)
		p.keep(q, &reading{content: unread, err: word(command, err)}, q.collection, at)
		q.sample.barred = node.Classify(err) == node.Forbidden && !refusesCommand(err)
		return
	}
	if command == how.page {
		cursor, page, ok := readCursorPage(reply)
		if !ok {
			p.keep(q, &reading{content: unread, err: command + ": the answer is not one that a Redis server gives"}, q.collection, at)
			return
		}
		e.Cut, reply = cursor != 0, page
	}
	items, ok := readItemList(reply, how.pairs)
	if !ok {
		p.keep(q, &reading{content: unread, err: command + ": the answer is not one that a Redis server gives"}, q.collection, at)
		return
	}
	if len(items) == 0 && !e.Cut {
		q.sample.presence = absent
		return
	}
	if len(items) > dialect.MaxItems {
		if q.collection == "zset" && command == how.whole {
			items = items[len(items)-dialect.MaxItems:]
		}
		items, e.Cut = items[:dialect.MaxItems:dialect.MaxItems], true
	}
	e.Items = items
	e.Cut = e.Cut || q.length > int64(len(items))
	p.keepEntry(q, e, at)
}

func readCursorPage(reply any) (cursor uint64, page any, ok bool) {
	parts, isList := reply.([]any)
	if !isList || len(parts) != 2 {
		return 0, nil, false
	}
	cursor, ok = readCursor(parts[0])
	return cursor, parts[1], ok
}

func readItemList(reply any, pairs bool) ([]dialect.Item, bool) {
	list, ok := reply.([]any)
	if !ok || pairs && len(list)%2 != 0 {
		return nil, false
	}
	step := 1
	if pairs {
		step = 2
	}
	items := make([]dialect.Item, 0, len(list)/step)
	for n := 0; n < len(list); n += step {
		var i dialect.Item
		if i.Name, ok = list[n].(string); !ok {
			return nil, false
		}
		if pairs {
			if i.Value, ok = list[n+1].(string); !ok {
				return nil, false
			}
		}
		items = append(items, i)
	}
	return items, true
}
