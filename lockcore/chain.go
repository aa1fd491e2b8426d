package lockcore

import "sync"

// chain keeps what is sent to one node for one token in order: the next step
// starts when the last one was answered, or never will be. Without it a
// release could overtake its own acquire on another connection and leave a
// key behind that nobody owns.
type chain struct {
	mu    sync.Mutex
	busy  bool
	loose bool // keeps no order: only a mutant does that
	steps []func(done func())
}

// then runs step behind all earlier ones, at once if there are none. The step
// calls done, once, when the next may start; neither may block.
func (c *chain) then(step func(done func())) {
	c.mu.Lock()
	if c.busy && !c.loose {
		c.steps = append(c.steps, step)
		c.mu.Unlock()
		return
	}
	c.busy = true
	c.mu.Unlock()
	step(c.next)
}

func (c *chain) next() {
	c.mu.Lock()
	if len(c.steps) == 0 {
		c.busy = false
		c.mu.Unlock()
		return
	}
	step := c.steps[0]
	c.steps = c.steps[1:]
	c.mu.Unlock()
	step(c.next)
}
