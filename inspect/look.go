package inspect

import (
	"context"
	"maps"
	"slices"
	"time"

	"dlock/lockcore"
)

// job is one look at one node.
type job struct {
	scan  *scanState // nil: names are not looked for
	limit slice
	keys  []string
	// rest are keys that are asked about in turn: only for what changes fast,
	// and of all known ones, which are total.
	rest  []string
	total int
	// before are the node's samples so far. Nobody changes them while the
	// look is under way.
	before map[string]sample
	fresh  func(key string) bool // whose values are to be read in any case; nil is none
	learn  bool                  // ask the server about itself if that was long ago
	plain  bool                  // ask for nothing but remaining lives and values
	// mine tells which names that the scan finds are to be asked about here;
	// nil is all.
	mine func(key string) bool
}

// report is what came of a job.
type report struct {
	member  int
	samples map[string]sample
	sights  []sighting // companions that a scan has found
	others  []string   // names that were found and are to be asked about elsewhere
	cost    cost
	keys    spending // on job.keys
	rest    spending // on job.rest
	err     error
}

// spending is what asking about some keys took: of our time, and of the server's
// as far as we can tell.
type spending struct {
	keys         int
	wall, server time.Duration
}

// since is what was spent since the cost was another one.
func (c *cost) since(before cost, keys int) spending {
	trips, wire := c.trips-before.trips, c.wire-before.wire
	if trips == 0 {
		return spending{}
	}
	server := wire - time.Duration(trips)*c.rtt.Value
	return spending{keys: keys, wall: wire, server: max(server, time.Duration(trips)*pageFloor)}
}

// look carries out a job. It always sends at least one command, so that its
// error also tells whether the node is there.
func (p *probe) look(ctx context.Context, j job) report {
	var r report
	if p.broken != nil {
		r.err = &nodeError{p.broken}
		return r
	}
	r.samples, r.err = p.doLook(ctx, j, &r)
	return r
}

func (p *probe) doLook(ctx context.Context, j job, r *report) (map[string]sample, error) {
	c := &r.cost
	keys := j.keys
	before := func(key string) (sample, bool) {
		s, ok := j.before[key]
		return s, ok
	}
	if j.scan != nil && j.scan.due(p.now()) {
		lastPass := j.scan.began
		found, err := p.scan(ctx, c, j.scan, j.limit)
		if err != nil {
			return nil, err
		}
		locks, companions, err := p.sift(ctx, c, j.scan.sights)
		if err != nil {
			return nil, err
		}
		j.scan.sights, r.sights = nil, companions
		found = append(found, locks...)
		found = slices.DeleteFunc(found, func(key string) bool {
			s, ok := j.before[key]
			return ok && s.presence != absent // its turn comes without the scan
		})
		if j.mine != nil {
			found = slices.DeleteFunc(found, func(key string) bool {
				mine := j.mine(key)
				if !mine {
					r.others = append(r.others, key)
				}
				return !mine
			})
		}
		keys = join(j.keys, found)
		if !lastPass.IsZero() {
			pass := &trip{lastPass, lastPass}
			// SCAN returns everything that is there all the time, so
			// what the last pass did not return was not there yet
			// when it began.
			before = func(key string) (sample, bool) {
				if s, ok := j.before[key]; ok {
					return s, true
				}
				return sample{presence: absent, asked: pass}, true
			}
		}
	}
	start := *c
	samples, err := p.sample(ctx, c, keys, knowledge{before: before, fresh: j.fresh, plain: j.plain})
	if err != nil {
		return nil, err
	}
	r.keys = c.since(start, len(keys))
	if len(j.rest) > 0 {
		start = *c
		more, err := p.sample(ctx, c, j.rest, knowledge{before: before, fresh: j.fresh, keys: j.total, quiet: true})
		if err != nil {
			return nil, err
		}
		r.rest = c.since(start, len(j.rest))
		maps.Copy(more, samples)
		samples = more
	}
	if c.commands == 0 {
		b := p.batch()
		b.ask(ctx, "pttl", lockcore.NodeKey(p.prefix))
		if _, _, err := p.send(ctx, c, b); err != nil {
			return nil, err
		}
	}
	if j.learn {
		// Last, because the first command may have to connect, and the
		// clock is only as exact as its round trip is short.
		if err := p.learn(ctx, c); err != nil {
			return nil, err
		}
	}
	return samples, nil
}

// join adds to keys the names that are not among them.
func join(keys, names []string) []string {
	if len(names) == 0 {
		return keys
	}
	extra := make(map[string]struct{}, len(names))
	for _, name := range names {
		extra[name] = struct{}{}
	}
	for _, key := range keys {
		delete(extra, key)
	}
	out := append(make([]string, 0, len(keys)+len(extra)), keys...)
	for name := range extra {
		out = append(out, name)
	}
	return out
}
