package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// contend has a number of waiters want one name for as long as during takes. With
// sitOut, whoever has released asks again only when another has held the lock, so
// that it must change hands.
func (f *field) contend(ctx context.Context, t *turn, scenario string, waiters int, sitOut bool, during func(ctx context.Context, a *arena) error) (*arena, error) {
	a := newArena(waiters)
	name := f.name(scenario)
	contending, end := context.WithCancel(ctx)
	defer end()
	var all sync.WaitGroup
	for i := range waiters {
		client := t.clients[i%len(t.clients)]
		all.Go(func() {
			for contending.Err() == nil {
				g, err := client.acquire(contending, name)
				if err != nil {
					if contending.Err() == nil {
						f.trouble(scenario, t, err)
						_ = sleep(contending, pauseBetween)
					}
					continue
				}
				a.enter(i, g.fence())
				_ = sleep(contending, f.plan.hold)
				another := a.leave(i)
				if err := g.release(context.WithoutCancel(contending)); err != nil {
					f.trouble(scenario, t, err)
				}
				if sitOut {
					select {
					case <-another:
					case <-contending.Done():
					}
				}
			}
		})
	}
	err := during(contending, a)
	end()
	all.Wait()
	if err == nil {
		err = a.verdict()
	}
	return a, err
}

func handoffScenario() scenario {
	return scenario{
		name: "handoff",
		title: func(p plan) string {
			return fmt.Sprintf("%d clients on one name, none twice in a row: from calling release to the next one having it", p.clients)
		},
		columns: []column{{"gap p50", millis}, {"gap p99", millis}, {"gap max", millis}, {"gaps", whole}},
		may:     whoWaits,
		run:     func(ctx context.Context, f *field) error { return runHandoff(ctx, f, "handoff", f.direct()) },
	}
}

func remoteHandoffScenario() scenario {
	return scenario{
		name: "remote-handoff",
		title: func(p plan) string {
			return fmt.Sprintf("%d clients on one name, none twice in a row, through a round trip of %v", p.clients, 2*p.delay)
		},
		columns: handoffScenario().columns,
		may:     whoWaits,
		run: func(ctx context.Context, f *field) error {
			return f.remotely(ctx, "remote-handoff", func(c connect) error { return runHandoff(ctx, f, "remote-handoff", c) })
		},
	}
}

func runHandoff(ctx context.Context, f *field, scenario string, c connect) error {
	gaps := make(map[string]*samples)
	err := f.rotate(ctx, scenario, f.plan.rounds, c, f.plan.clients, whoWaits, func(ctx context.Context, t *turn, measured bool) error {
		a, err := f.contend(ctx, t, scenario, f.plan.clients, true, func(ctx context.Context, a *arena) error {
			return f.watch(ctx, t, scenario, a, f.plan.warm, measured)
		})
		if err != nil || !measured {
			return err
		}
		s := gaps[t.name]
		if s == nil {
			s = new(samples)
			gaps[t.name] = s
		}
		s.add(a.gaps...)
		return nil
	})
	for name, s := range gaps {
		f.noteMillis(scenario, name, "gap p50", s, 50)
		f.noteMillis(scenario, name, "gap p99", s, 99)
		f.noteMillis(scenario, name, "gap max", s, 100)
		f.note(scenario, name, "gaps", float64(s.count()))
	}
	return err
}

// watch lets contenders come into their stride and then, if this is to be
// measured, notes what they do for a slice, and for as long as it takes to see
// the lock change hands once. A lock that nobody gets any more does not end the
// run; what it has to show are the grants that there were.
func (f *field) watch(ctx context.Context, t *turn, scenario string, a *arena, warm time.Duration, measured bool) error {
	if err := sleep(ctx, warm); err != nil || !measured {
		return err
	}
	a.measure(true)
	defer a.measure(false)
	if err := sleep(ctx, f.plan.slice); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeoutCause(ctx, standstill, fmt.Errorf("the lock did not change hands within %v", standstill))
	defer cancel()
	err := a.awaitGap(waiting)
	if err != nil && ctx.Err() == nil {
		f.trouble(scenario, t, err)
		return nil
	}
	return err
}

// standstill is how long after a slice that saw no lock change hands it is waited
// for: longer than a lock lives whose holder is gone.
const standstill = 2 * ttl

func waitersScenario() scenario {
	return scenario{
		name: "waiters",
		title: func(p plan) string {
			return fmt.Sprintf("%d clients on one name: server commands per grant and node, and how even the grants are", p.clients)
		},
		columns: []column{{"commands", count}, {"grants", perSecond}, {"luckiest/unluckiest", times}},
		may:     whoWaits,
		run: func(ctx context.Context, f *field) error {
			return runWaiters(ctx, f, "waiters", f.plan.clients, f.plan.rounds, f.plan.warm, true)
		},
	}
}

func crowdScenario() scenario {
	return scenario{
		name: "crowd",
		title: func(p plan) string {
			return fmt.Sprintf("%s waiters on one name, in %d clients: server commands per grant and node", group(fmt.Sprint(p.crowd)), p.clients)
		},
		columns: []column{{"commands", count}, {"grants", perSecond}},
		may:     whoWaits,
		run: func(ctx context.Context, f *field) error {
			return runWaiters(ctx, f, "crowd", f.plan.crowd, min(f.plan.rounds, crowdRounds), f.plan.crowdWarm, false)
		},
	}
}

// crowdRounds bounds the rounds with many waiters, which take longer.
const crowdRounds = 3

func runWaiters(ctx context.Context, f *field, scenario string, waiters, rounds int, warm time.Duration, fairness bool) error {
	type tally struct {
		calls  int64
		took   time.Duration
		grants []int
	}
	tallies := make(map[string]*tally)
	err := f.rotate(ctx, scenario, rounds, f.direct(), f.plan.clients, whoWaits, func(ctx context.Context, t *turn, measured bool) error {
		if !measured {
			// Connections are made by fewer as well.
			_, err := f.contend(ctx, t, scenario, f.plan.clients, false, func(ctx context.Context, a *arena) error {
				return f.watch(ctx, t, scenario, a, f.plan.warm, false)
			})
			return err
		}
		var sent int64
		var took time.Duration
		a, err := f.contend(ctx, t, scenario, waiters, false, func(ctx context.Context, a *arena) error {
			if err := sleep(ctx, warm); err != nil {
				return err
			}
			before, err := commandCalls(ctx, f.asking, t.commands)
			if err != nil {
				return err
			}
			began := time.Now()
			if err := f.watch(ctx, t, scenario, a, 0, true); err != nil {
				return err
			}
			took = time.Since(began)
			after, err := commandCalls(ctx, f.asking, t.commands)
			sent = after - before
			return err
		})
		if err != nil {
			return err
		}
		sum := tallies[t.name]
		if sum == nil {
			sum = &tally{grants: make([]int, waiters)}
			tallies[t.name] = sum
		}
		sum.calls += sent
		sum.took += took
		for i, g := range a.grants {
			sum.grants[i] += g
		}
		return nil
	})
	for name, t := range tallies {
		grants := 0
		for _, g := range t.grants {
			grants += g
		}
		if grants > 0 {
			f.note(scenario, name, "commands", float64(t.calls)/float64(grants)/float64(f.nodes()))
		}
		f.note(scenario, name, "grants", float64(grants)/t.took.Seconds())
		if fairness {
			// One that got nothing counts as if it got one, which is too
			// kind but a number.
			f.note(scenario, name, "luckiest/unluckiest", float64(slices.Max(t.grants))/float64(max(1, slices.Min(t.grants))))
		}
	}
	return err
}
