package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

func parallelScenario() scenario {
	return scenario{
		name: "parallel",
		title: func(p plan) string {
			return fmt.Sprintf("%d parallel callers on names of their own: acquire and release", p.callers)
		},
		columns: []column{{"cycles", perSecond}, {"slowest slice", perSecond}, {"fastest slice", perSecond}},
		may:     everyone,
		run:     runParallel,
	}
}

// namesPerCaller is how many locks a caller takes in turn. With a single one it
// would meet its own release on the nodes that the quorum did not need.
const namesPerCaller = 16

func runParallel(ctx context.Context, f *field) error {
	const scenario = "parallel"
	type tally struct {
		cycles         int64
		took           time.Duration
		slowest, quick float64
	}
	tallies := make(map[string]*tally)
	err := f.rotate(ctx, scenario, f.plan.rounds, f.direct(), 1, everyone, func(ctx context.Context, t *turn, measured bool) error {
		span := f.plan.slice
		if !measured {
			span = f.plan.warm
		}
		n, took, err := f.hammer(ctx, t, scenario, span)
		if err != nil || !measured {
			return err
		}
		rate := float64(n) / took.Seconds()
		sum := tallies[t.name]
		if sum == nil {
			sum = &tally{slowest: rate}
			tallies[t.name] = sum
		}
		sum.cycles += n
		sum.took += took
		sum.slowest, sum.quick = min(sum.slowest, rate), max(sum.quick, rate)
		return nil
	})
	for name, t := range tallies {
		f.note(scenario, name, "cycles", float64(t.cycles)/t.took.Seconds())
		f.note(scenario, name, "slowest slice", t.slowest)
		f.note(scenario, name, "fastest slice", t.quick)
	}
	return err
}

// grace is how long after a slice a caller may still wait for its last lock.
const grace = time.Second

// hammer has all callers take and release as fast as they can. It took until the
// last one succeeded: a caller that waits in vain at the end, for a lock that
// could not be released, costs its own cycles and not those of the others.
func (f *field) hammer(ctx context.Context, t *turn, scenario string, span time.Duration) (cycles int64, took time.Duration, err error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	acquiring, cancel := context.WithTimeout(ctx, span+grace)
	defer cancel()
	began := time.Now()
	for caller := range f.plan.callers {
		names := make([]string, namesPerCaller)
		for i := range names {
			names[i] = fmt.Sprintf("%s-%d-%d", scenario, caller, i)
		}
		all.Go(func() {
			n, last := int64(0), time.Duration(0)
			for i := 0; time.Since(began) < span && ctx.Err() == nil; i++ {
				g, err := t.clients[0].acquire(acquiring, names[i%len(names)])
				if err == nil {
					err = g.release(ctx)
				}
				if err != nil {
					f.trouble(scenario, t, err)
					continue
				}
				n, last = n+1, time.Since(began)
			}
			mu.Lock()
			defer mu.Unlock()
			cycles += n
			took = max(took, last)
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return 0, 0, context.Cause(ctx)
	}
	if cycles == 0 {
		return 0, 0, errors.Join(errNothing, f.report.firstTrouble(scenario, f.nodes(), t.name))
	}
	return cycles, took, nil
}

// errNothing is why a scenario has no figures.
var errNothing = errors.New("not one lock could be taken and released")
