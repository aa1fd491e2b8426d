package demo

import (
	"sync"
	"time"
)

// visits is how many of the last visits are remembered.
const visits = 2000

// Visit is one worker's time inside a resource.
type Visit struct {
	Worker, Resource string
	Fence            int64
	From, To         time.Time // To is zero while it is inside
	// StoppedAt and WokenAt are when the worker was stopped in it and when
	// it went on, zero if it was not or has not yet.
	StoppedAt, WokenAt time.Time
	// LeaseEnded is when its lock ended before it left, zero if it did not.
	LeaseEnded time.Time
	// Double says that another worker was inside when it entered.
	Double bool
}

// checker sees every worker that enters and leaves, and shares this process's
// clock with them, so it cannot be fooled by the nodes. It is safe for
// concurrent use.
type checker struct {
	mu     sync.Mutex
	within map[string]map[*stay]bool
	past   []Visit // a ring
	oldest int
}

// stay is a visit that is not over.
type stay struct {
	Visit
	checker *checker
	valid   func() bool
}

// enter records that a worker is inside and tells how many others are, and how
// many of these under a lock that is valid while this one's is.
func (c *checker) enter(resource, worker string, in inside) (s *stay, others, violations uint64) {
	s = &stay{Visit: Visit{Worker: worker, Resource: resource, Fence: in.fence, From: time.Now()}, checker: c, valid: in.valid}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.within == nil {
		c.within = make(map[string]map[*stay]bool)
	}
	if c.within[resource] == nil {
		c.within[resource] = make(map[*stay]bool)
	}
	for other := range c.within[resource] {
		others++
		// A holder whose lease has just ended has been told to leave and
		// may not have got round to it.
		if other.valid() && s.valid() {
			violations++
		}
	}
	s.Double = others > 0
	c.within[resource][s] = true
	return s, others, violations
}

// note changes what is known of a visit while it is on.
func (s *stay) note(change func(*Visit)) {
	s.checker.mu.Lock()
	defer s.checker.mu.Unlock()
	if s.To.IsZero() {
		change(&s.Visit)
	}
}

func (s *stay) leave() {
	c := s.checker
	c.mu.Lock()
	defer c.mu.Unlock()
	s.To = time.Now()
	delete(c.within[s.Resource], s)
	if len(c.past) < visits {
		c.past = append(c.past, s.Visit)
		return
	}
	c.past[c.oldest] = s.Visit
	c.oldest = (c.oldest + 1) % visits
}

// inside names a worker that is inside a resource, "" if there is none.
func (c *checker) inside(resource string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range c.within[resource] {
		return s.Worker
	}
	return ""
}

// since returns the visits that were not over at a moment, oldest first by
// their end; those that are on come last.
func (c *checker) since(t time.Time) []Visit {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Visit
	for i := range c.past {
		if v := c.past[(c.oldest+i)%len(c.past)]; !v.To.Before(t) {
			all = append(all, v)
		}
	}
	for _, stays := range c.within {
		for s := range stays {
			all = append(all, s.Visit)
		}
	}
	return all
}
