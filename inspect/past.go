package inspect

import (
	ordered "container/list"
	"time"
)

const (
	// historyOf is how many events are kept of one lock.
	historyOf = 32
	// historyMost bounds how many events are kept of all locks together;
	// beyond it the histories of those that changed least recently go.
	historyMost = 100_000
)

// Stats is what was seen of a lock since the inspection began: holds that were
// seen from their beginning to their end. Its zero value is "none".
type Stats struct {
	// Holds counts them; Total is their length in sum and Longest the
	// longest of them.
	Holds          int
	Total, Longest time.Duration
	// Waits counts the holds of which it is known how long their holder had
	// waited before; WaitTotal and LongestWait are about those waits.
	Waits                  int
	WaitTotal, LongestWait time.Duration
}

// MeanHold is how long the lock was held on average, known if Holds is not 0.
func (s Stats) MeanHold() (time.Duration, bool) {
	if s.Holds == 0 {
		return 0, false
	}
	return s.Total / time.Duration(s.Holds), true
}

// MeanWait is how long holders had waited on average, known if Waits is not 0.
func (s Stats) MeanWait() (time.Duration, bool) {
	if s.Waits == 0 {
		return 0, false
	}
	return s.WaitTotal / time.Duration(s.Waits), true
}

// past keeps what happened to single locks, also beyond their end, of as many
// as there is room for.
type past struct {
	most    int // events
	events  int
	order   ordered.List // of *story, the one that changed last in front
	by      map[string]*ordered.Element
	dropped uint64 // histories
}

// story is what happened to one lock.
type story struct {
	key   string
	ring  ring
	stats Stats
}

// storyCost is how many events' room a story takes by itself.
const storyCost = 2

func newPast(most int) *past { return &past{most: most, by: make(map[string]*ordered.Element)} }

// of returns the story of a lock, with what has happened already; nil when
// nothing has.
func (p *past) of(key string) *story {
	if e, ok := p.by[key]; ok {
		return e.Value.(*story)
	}
	return nil
}

// open returns the story of a lock, made if there is none, in front of the
// others.
func (p *past) open(key string) *story {
	if e, ok := p.by[key]; ok {
		p.order.MoveToFront(e)
		return e.Value.(*story)
	}
	s := &story{key: key, ring: ring{size: historyOf}}
	p.by[key] = p.order.PushFront(s)
	p.events += storyCost
	return s
}

func (p *past) add(e Event) {
	s := p.open(e.Key)
	p.events -= len(s.ring.events)
	s.ring.add(e)
	p.events += len(s.ring.events)
	p.shrink()
}

// hold enters a hold that is over.
func (p *past) hold(key string, d time.Duration, wait Maybe[time.Duration]) {
	s := p.open(key)
	s.stats.Holds++
	s.stats.Total += d
	s.stats.Longest = max(s.stats.Longest, d)
	if wait.Known {
		s.stats.Waits++
		s.stats.WaitTotal += wait.Value
		s.stats.LongestWait = max(s.stats.LongestWait, wait.Value)
	}
	p.shrink()
}

// shrink drops histories until there is room again, but for the newest one.
func (p *past) shrink() {
	for p.events > p.most && p.order.Len() > 1 {
		s := p.order.Remove(p.order.Back()).(*story)
		delete(p.by, s.key)
		p.events -= storyCost + len(s.ring.events)
		p.dropped++
	}
}
