package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// arena is the place that one lock protects. Those who hold the lock enter it;
// it sees how long the lock took from one to the next, and whether the lock does
// what it is for. It is safe for concurrent use.
type arena struct {
	mu     sync.Mutex
	inside int
	last   int       // who left last
	left   time.Time // when, which is just before the release; zero before the first time
	next   chan struct{}
	fence  int64

	measuring bool
	gaps      []time.Duration
	grants    []int // per client
	overlaps  int
	repeats   int // fencing tokens that did not grow
}

func newArena(clients int) *arena {
	return &arena{next: make(chan struct{}), grants: make([]int, clients)}
}

// enter is called by a client as soon as it holds the lock, with the grant's
// fencing token or 0.
func (a *arena) enter(client int, fence int64) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.inside++; a.inside > 1 {
		a.overlaps++
	}
	if fence != 0 && fence <= a.fence {
		a.repeats++
	}
	a.fence = max(a.fence, fence)
	if a.measuring {
		a.grants[client]++
		if !a.left.IsZero() && a.last != client {
			a.gaps = append(a.gaps, now.Sub(a.left))
		}
	}
	close(a.next)
	a.next = make(chan struct{})
}

// leave is called by a client just before it releases. What it returns is closed
// when somebody has entered after it.
func (a *arena) leave(client int) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inside--
	a.last, a.left = client, time.Now()
	return a.next
}

// measure begins or ends the time in which gaps and grants are noted.
func (a *arena) measure(on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.measuring = on
}

// awaitGap returns when a gap has been noted, or cannot be expected any more,
// because the lock does not do what it is for.
func (a *arena) awaitGap(ctx context.Context) error {
	for {
		a.mu.Lock()
		seen, next := len(a.gaps) > 0 || a.broken() != nil, a.next
		a.mu.Unlock()
		if seen {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// verdict is an error if the lock did not do what it is for.
func (a *arena) verdict() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.broken()
}

func (a *arena) broken() error {
	if a.overlaps > 0 {
		return fmt.Errorf("two were inside at one time, %d times", a.overlaps)
	}
	if a.repeats > 0 {
		return fmt.Errorf("the fencing token did not grow, %d times", a.repeats)
	}
	return nil
}
