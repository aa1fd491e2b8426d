package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dlock/demo/lab"
)

// remotely has what is done go through a proxy per node that makes the way
// longer, and remarks how long it really is.
func (f *field) remotely(ctx context.Context, scenario string, do func(connect) error) (err error) {
	sleep, stop, err := newAlarm()
	if err != nil {
		return err
	}
	defer stop()
	way := newLine(f.plan.delay, time.Now, sleep)
	defer way.close()
	c := connect{pool: f.plan.pool}
	for _, n := range f.lab.Nodes() {
		p, err := newProxy(way, n.Addr())
		if err != nil {
			return fmt.Errorf("the proxy of %s does not start: %w", n.Name(), err)
		}
		defer p.close()
		c.addrs = append(c.addrs, p.addr())
	}
	if err := do(c); err != nil {
		return err
	}
	return f.remarkRoundTrip(ctx, scenario, c)
}

// roundTrips is how many PINGs tell how long the way is.
const roundTrips = 100

func (f *field) remarkRoundTrip(ctx context.Context, scenario string, c connect) error {
	client := peerClient(c.addrs[0], 1)
	defer client.Close()
	var s samples
	for i := range roundTrips + 1 {
		began := time.Now()
		if err := client.Ping(ctx).Err(); err != nil {
			return fmt.Errorf("no answer through the proxy: %w", err)
		}
		if i > 0 { // the first one connects
			s.add(time.Since(began))
		}
	}
	p50, _ := s.millis(50)
	p99, _ := s.millis(99)
	f.report.remark(scenario, f.nodes(), fmt.Sprintf("PING through the proxy: p50 %s, p99 %s", millis.show(p50), millis.show(p99)))
	return nil
}

func hungScenario() scenario {
	return scenario{
		name:    "hung",
		title:   func(plan) string { return "One caller while one node hangs: acquire, release, and both" },
		columns: serialScenario().columns,
		least:   3,
		may:     whoBears,
		run:     runHung,
	}
}

// runHung pauses the last node after every contestant has warmed up. Those that a
// hung node holds for seconds take one lock, once.
func runHung(ctx context.Context, f *field) (err error) {
	const scenario = "hung"
	nodes := f.lab.Nodes()
	hung := nodes[len(nodes)-1]
	defer func() {
		if hung.State() == lab.Paused {
			err = errors.Join(err, hung.Resume())
		}
	}()
	taken := make(map[string]*steps)
	err = f.rotate(ctx, scenario, f.plan.rounds, f.direct(), 1, whoBears, func(ctx context.Context, t *turn, measured bool) error {
		if !measured {
			return f.cycle(ctx, t, scenario, f.plan.warm, new(steps))
		}
		if err := hung.Pause(); err != nil {
			return err
		}
		s, again := taken[t.name]
		if again && t.slow {
			return nil
		}
		if !again {
			s = new(steps)
			taken[t.name] = s
		}
		span := f.plan.slice
		if t.slow {
			span = 0
		}
		return f.cycle(ctx, t, scenario, span, s)
	})
	for name, s := range taken {
		f.noteSteps(scenario, name, s)
	}
	return err
}
