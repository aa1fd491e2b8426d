package inspect

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// scanState is a pass over one node's keyspace that can be taken up again
// where it was left.
type scanState struct {
	patterns []string
	budget   float64 // share of the server's time, of repeated passes
	pattern  int
	cursor   uint64
	started  time.Time
	running  bool
	seen     map[string]struct{} // names of this pass
	once     *once               // instead of seen, for all nodes together
	sights   []sighting          // companions that were found since the last slice
	spent    time.Duration       // of the server's time, in this pass

	passes  int
	names   int       // of the last pass, or of the first one so far
	cut     bool      // the last pass ended at its limit
	began   time.Time // when the last pass that was not cut was started
	nextDue time.Time
}

// slice bounds how much of a pass is done at once. Zero means no bound.
type slice struct {
	wall   time.Duration // ours
	server time.Duration // the server's, as far as we can tell
	names  int           // names found
}

const (
	// pageFloor is what a page is taken to cost the server at least, since
	// what is left of a round trip after the network's share is a guess.
	pageFloor = 50 * time.Microsecond
	// calmAfter is how many pages are asked for in a row before a look
	// that has no bound gives the server a rest after each.
	calmAfter = 100
	// firstHaste is how many times the budget the first pass may use.
	firstHaste = 12
)

var errBadPage = errors.New("the answer to SCAN is not one that a Redis server gives")

// due reports whether the scan has something to do.
func (s *scanState) due(now time.Time) bool {
	return s.running || !now.Before(s.nextDue)
}

// scan carries on with a pass and returns the names it has not seen in this
// pass before. An empty page is not the end: only cursor 0 is.
func (p *probe) scan(ctx context.Context, c *cost, s *scanState, limit slice) ([]string, error) {
	start := p.now()
	if !s.running {
		s.running, s.pattern, s.cursor, s.spent, s.cut, s.started = true, 0, 0, 0, false, start
		s.seen = make(map[string]struct{})
	}
	var found []string
	var server time.Duration
	for page := 0; ; page++ {
		b := p.batch()
		cmd := b.ask(ctx, "scan", s.cursor, "match", s.patterns[s.pattern], "count", p.count)
		sent, received, err := p.send(ctx, c, b)
		if err != nil {
			return found, err
		}
		reply, err := cmd.Result()
		if err != nil {
			p.note("SCAN", err)
			s.running, s.nextDue = false, received.Add(factsAge)
			return found, nil
		}
		p.permit("SCAN")
		cursor, names, ok := readPage(reply)
		if !ok {
			return found, &nodeError{errBadPage}
		}
		took := max(pageFloor, received.Sub(sent)-c.rtt.Value)
		server += took
		s.spent += took
		for _, name := range names {
			if len(s.seen) >= p.max || len(s.sights) >= p.max {
				s.cut = true
				break
			}
			if !s.fresh(p, name) {
				continue
			}
			found = append(found, name)
		}
		if s.passes == 0 && s.once == nil {
			s.names = len(s.seen)
		}
		if s.cursor = cursor; cursor == 0 {
			s.pattern++
		}
		if s.cut || s.pattern == len(s.patterns) {
			s.finish()
			return found, nil
		}
		if limit.names > 0 && len(found) >= limit.names || limit.wall > 0 && received.Sub(start) >= limit.wall || limit.server > 0 && server >= limit.server {
			return found, nil
		}
		if limit == (slice{}) && page >= calmAfter {
			if err := sleep(ctx, took); err != nil {
				return found, &nodeError{err}
			}
		}
	}
}

// fresh reports whether a name is new in this pass and a row of its own.
func (s *scanState) fresh(p *probe, name string) bool {
	if s.once != nil {
		return !p.folded(s, name) && s.once.add(name)
	}
	if _, dup := s.seen[name]; dup || p.folded(s, name) {
		return false
	}
	s.seen[name] = struct{}{}
	return true
}

func (s *scanState) finish() {
	s.running = false
	s.passes++
	if s.once == nil {
		s.names = len(s.seen)
	}
	s.seen = nil
	if !s.cut {
		s.began = s.started
	}
	s.nextDue = s.started.Add(time.Duration(float64(s.spent) / s.budget))
}

// abandon gives a pass up; the next one starts afresh. A cursor is worth
// nothing after the server was away.
func (s *scanState) abandon() {
	s.running, s.seen, s.sights, s.nextDue = false, nil, nil, time.Time{}
}

func readPage(reply any) (cursor uint64, names []string, ok bool) {
	parts, isList := reply.([]any)
	if !isList || len(parts) != 2 {
		return 0, nil, false
	}
	list, isList := parts[1].([]any)
	cursor, isCursor := readCursor(parts[0])
	if !isList || !isCursor {
		return 0, nil, false
	}
	names = make([]string, 0, len(list))
	for _, item := range list {
		name, isString := item.(string)
		if !isString {
			return 0, nil, false
		}
		names = append(names, name)
	}
	return cursor, names, true
}

func readCursor(reply any) (uint64, bool) {
	text, ok := reply.(string)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

// sleep waits, or returns early with the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
