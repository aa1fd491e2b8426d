package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"dlock/demo/lab"
	"dlock/demo/store"
	"dlock/lockcore"
	"dlock/lockcore/node"
)

const (
	// tourNodes is how many nodes the tour has, tourTTL how long a lease is
	// there.
	tourNodes = 5
	tourTTL   = time.Second
	// tourPatience bounds each step. Only what hangs reaches it.
	tourPatience = 30 * time.Second
)

// Step is one stop of the tour: something that is done on real nodes, and
// checked.
type Step struct {
	Name  string // one word, for links and tests
	Title string
	// Text says in a sentence or two what is going to be seen.
	Text string

	// do does it and tells, line by line, what was seen. An error means that
	// it was not what the text says.
	do func(ctx context.Context, s *stage) error
}

// Seen is how a step went.
type Seen struct {
	// Step counts from 0, Of is how many there are.
	Step, Of    int
	Title, Text string
	// Lines are what was seen, a sentence each.
	Lines []string
}

// Tour is a guided tour of what a lock does and does not do, on nodes and with
// a store of its own. Every step sets up what it needs, so that they can be
// gone through in any order and as often as one likes. It is safe for
// concurrent use; steps are done one at a time.
type Tour struct {
	lab   *lab.Lab
	store *store.Store
	seed  uint64

	mu   sync.Mutex
	at   int // -1 before the first
	runs int
}

// StartTour starts the nodes of a tour; ctx bounds the start only. Kind "" is
// [lab.Embedded], which needs nothing installed. Which nodes the tour kills
// depends on the seed alone. Close it when done.
func StartTour(ctx context.Context, kind lab.Kind, seed uint64) (*Tour, error) {
	l, err := lab.Start(ctx, lab.Config{Nodes: tourNodes, Kind: kind})
	if err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, "")
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &Tour{lab: l, store: s, seed: seed, at: -1}, nil
}

// Close stops the nodes and removes the store.
func (t *Tour) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.lab.Close(), t.store.Close())
}

// URLs are the addresses of the tour's nodes, for whoever wants to look.
func (t *Tour) URLs() []string { return t.lab.URLs() }

// Nodes tells what the tour's nodes are at present.
func (t *Tour) Nodes() []lab.Status { return t.lab.Status() }

// Next does the step after the last one; at the end it does the last one
// again.
func (t *Tour) Next(ctx context.Context) (Seen, error) { return t.move(ctx, +1) }

// Back does the step before the last one; at the start it does the first one
// again.
func (t *Tour) Back(ctx context.Context) (Seen, error) { return t.move(ctx, -1) }

func (t *Tour) move(ctx context.Context, by int) (Seen, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = min(max(0, t.at+by), len(Steps)-1)
	return t.do(ctx, t.at)
}

// Do does the step of a number. An error means that what the text says was not
// to be seen; what was is returned with it.
func (t *Tour) Do(ctx context.Context, step int) (Seen, error) {
	if step < 0 || step >= len(Steps) {
		return Seen{}, fmt.Errorf("the tour has steps 1 to %d, not %d", len(Steps), step+1)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = step
	return t.do(ctx, step)
}

func (t *Tour) do(ctx context.Context, i int) (Seen, error) {
	step := Steps[i]
	seen := Seen{Step: i, Of: len(Steps), Title: step.Title, Text: step.Text}
	ctx, cancel := context.WithTimeout(ctx, tourPatience)
	defer cancel()
	t.runs++
	s, err := t.raise(ctx, uint64(i))
	if err == nil {
		err = step.do(ctx, s)
		seen.Lines = s.lines
		s.clear()
	}
	if err != nil {
		return seen, fmt.Errorf("step %d of the tour, %s: %w", i+1, step.Name, err)
	}
	return seen, nil
}

// stage is where a step is played: nodes that are well and empty, and two
// clients.
type stage struct {
	tour       *Tour
	rand       *rand.Rand
	operator   []*node.Node
	alice, bob *actor
	lines      []string
}

// actor is a client with a cable of its own.
type actor struct {
	cable  lab.Link
	nodes  []*node.Node
	locker *lockcore.Locker
}

func (t *Tour) raise(ctx context.Context, step uint64) (_ *stage, err error) {
	s := &stage{tour: t, rand: rand.New(rand.NewPCG(t.seed, step))}
	defer func() {
		if err != nil {
			s.clear()
		}
	}()
	for _, n := range t.lab.Nodes() {
		if n.State() == lab.Up {
			continue
		}
		if err := n.Restart(ctx, true); err != nil {
			return nil, err
		}
	}
	if s.operator, err = node.OpenAll(t.lab.URLs(), node.Options{Timeout: time.Second}); err != nil {
		return nil, err
	}
	for _, n := range s.operator {
		if err := n.Client().FlushAll(ctx).Err(); err != nil {
			return nil, err
		}
	}
	if s.alice, err = s.actor("alice"); err != nil {
		return nil, err
	}
	s.bob, err = s.actor("bob")
	return s, err
}

func (s *stage) actor(name string) (*actor, error) {
	a := &actor{}
	var err error
	if a.nodes, err = node.OpenAll(s.tour.lab.URLs(), node.Options{Timeout: time.Second, PoolSize: connections, Dialer: a.cable.Dial}); err != nil {
		return nil, err
	}
	a.locker, err = lockcore.New(a.nodes,
		lockcore.WithOwner(name), lockcore.WithTTL(tourTTL), lockcore.WithNodeTimeout(nodeTimeout), lockcore.WithDurable())
	if err != nil {
		node.CloseAll(a.nodes)
		return nil, err
	}
	return a, nil
}

func (s *stage) clear() {
	for _, a := range []*actor{s.alice, s.bob} {
		if a != nil {
			a.locker.Close()
			node.CloseAll(a.nodes)
		}
	}
	node.CloseAll(s.operator)
}

func (s *stage) say(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// until asks again and again, until ok says yes.
func until(ctx context.Context, what string, ok func() bool) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("this was never seen: %s", what)
		case <-tick.C:
		}
	}
	return nil
}

// votes counts the nodes that store a lock's key with this value.
func (s *stage) votes(ctx context.Context, key, value string) int {
	n := 0
	for _, o := range s.operator {
		if v, err := o.Client().Get(ctx, key).Result(); err == nil && v == value {
			n++
		}
	}
	return n
}

// kill kills so many nodes, which the seed chooses, and returns their names.
func (s *stage) kill(count int) (names []string, err error) {
	nodes := s.tour.lab.Nodes()
	for _, i := range s.rand.Perm(len(nodes))[:count] {
		if err := nodes[i].Kill(); err != nil {
			return nil, err
		}
		names = append(names, nodes[i].Name())
	}
	return names, nil
}
