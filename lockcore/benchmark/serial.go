package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

func serialScenario() scenario {
	return scenario{
		name:  "serial",
		title: func(plan) string { return "One caller: acquire, release, and both" },
		columns: []column{
			{"cycle p50", millis}, {"cycle p99", millis},
			{"acquire p50", millis}, {"acquire p99", millis}, {"release p50", millis}, {"release p99", millis},
		},
		may: everyone,
		run: func(ctx context.Context, f *field) error { return runSerial(ctx, f, "serial", f.direct()) },
	}
}

func remoteScenario() scenario {
	return scenario{
		name: "remote",
		title: func(p plan) string {
			return fmt.Sprintf("One caller, through a round trip of %v: acquire, release, and both", 2*p.delay)
		},
		columns: serialScenario().columns,
		may:     everyone,
		run: func(ctx context.Context, f *field) error {
			return f.remotely(ctx, "remote", func(c connect) error { return runSerial(ctx, f, "remote", c) })
		},
	}
}

// times of the steps of a lock, one after the other.
type steps struct{ cycle, acquire, release samples }

func runSerial(ctx context.Context, f *field, scenario string, c connect) error {
	taken := make(map[string]*steps)
	err := f.rotate(ctx, scenario, f.plan.rounds, c, 1, everyone, func(ctx context.Context, t *turn, measured bool) error {
		if !measured {
			return f.cycle(ctx, t, scenario, f.plan.warm, new(steps))
		}
		s := taken[t.name]
		if s == nil {
			s = new(steps)
			taken[t.name] = s
		}
		return f.cycle(ctx, t, scenario, f.plan.slice, s)
	})
	for name, s := range taken {
		f.noteSteps(scenario, name, s)
	}
	return err
}

func (f *field) noteSteps(scenario, contestant string, s *steps) {
	f.noteMillis(scenario, contestant, "cycle p50", &s.cycle, 50)
	f.noteMillis(scenario, contestant, "cycle p99", &s.cycle, 99)
	f.noteMillis(scenario, contestant, "acquire p50", &s.acquire, 50)
	f.noteMillis(scenario, contestant, "acquire p99", &s.acquire, 99)
	f.noteMillis(scenario, contestant, "release p50", &s.release, 50)
	f.noteMillis(scenario, contestant, "release p99", &s.release, 99)
}

// cycle takes and releases, one after the other, for a while, but at least once.
func (f *field) cycle(ctx context.Context, t *turn, scenario string, span time.Duration, s *steps) error {
	names := make([]string, namesPerCaller)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", scenario, i)
	}
	began := time.Now()
	succeeded := false
	for i := 0; i == 0 || time.Since(began) < span; i++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		asked := time.Now()
		g, err := t.clients[0].acquire(ctx, names[i%len(names)])
		if err != nil {
			f.trouble(scenario, t, err)
			continue
		}
		held := time.Now()
		err = g.release(ctx)
		free := time.Now()
		if err != nil {
			f.trouble(scenario, t, err)
			continue
		}
		s.cycle.add(free.Sub(asked))
		s.acquire.add(held.Sub(asked))
		s.release.add(free.Sub(held))
		succeeded = true
	}
	if !succeeded {
		return errors.Join(errNothing, f.report.firstTrouble(scenario, f.nodes(), t.name))
	}
	return nil
}
