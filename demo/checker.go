package demo

import (
	"sync"

	"dlock/lockcore"
)

// checker sees every worker that enters and leaves and counts the moments in
// which two are inside one resource, each under a lock that is valid at that
// moment. It shares this process's clock with the workers, so it cannot be
// fooled by the nodes.
type checker struct {
	mu     sync.Mutex
	within map[string]map[*visit]bool
	found  uint64
}

type visit struct {
	worker string
	lock   *lockcore.Lock
}

// enter records that a worker is inside; the function it returns records that
// it has left.
func (c *checker) enter(resource, worker string, lock *lockcore.Lock) (leave func()) {
	v := &visit{worker, lock}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.within == nil {
		c.within = make(map[string]map[*visit]bool)
	}
	if c.within[resource] == nil {
		c.within[resource] = make(map[*visit]bool)
	}
	for other := range c.within[resource] {
		// A holder whose lease has just ended has been told to leave and
		// may not have got round to it.
		if other.lock.Valid() && lock.Valid() {
			c.found++
		}
	}
	c.within[resource][v] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.within[resource], v)
	}
}

// inside names a worker that is inside a resource, "" if there is none.
func (c *checker) inside(resource string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for v := range c.within[resource] {
		return v.worker
	}
	return ""
}

func (c *checker) violations() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.found
}
