package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dlock/lockcore"
)

func watchdogScenario() scenario {
	return scenario{
		name: "watchdog",
		title: func(p plan) string {
			return fmt.Sprintf("%s locks held with a TTL of %v: what the watchdog costs", group(fmt.Sprint(p.held)), p.heldTTL)
		},
		columns: []column{
			{"renewals", perSecond}, {"commands, all nodes", perSecond}, {"client CPU", percent},
			{"lost", whole}, {"beside p50", millis}, {"beside p99", millis}, {"beside max", millis},
			{"taken in", millis}, {"released in", millis},
		},
		may: func(_ plan, c contestant) bool { return c.name == dlock },
		run: runWatchdog,
	}
}

// runWatchdog holds many locks in one client. The other contestants have no
// watchdog.
//
// The locks are taken at about one time, so their renewals come in bursts. The
// time that is watched begins and ends halfway between two of these. After it, one
// more lock is taken and released all the time for a period, which tells what the
// renewals cost those who share the client ("beside").
func runWatchdog(ctx context.Context, f *field) error {
	const scenario = "watchdog"
	var self *contestant
	for i := range f.entries {
		if f.entries[i].name == dlock {
			self = &f.entries[i]
		}
	}
	if self == nil {
		return nil
	}
	if err := settle(ctx); err != nil {
		return err
	}
	client, err := newDlock(f.direct(), lockcore.WithTTL(f.plan.heldTTL))
	if err != nil {
		return err
	}
	t := &turn{contestant: *self, clients: []locker{client}}
	defer func() { f.trouble(scenario, t, client.close()) }()

	locks := make([]*lockcore.Lock, f.plan.held)
	name := f.name(scenario)
	began := time.Now()
	err = f.each(len(locks), func(i int) error {
		var err error
		locks[i], err = client.locker.Acquire(ctx, fmt.Sprintf("%s-%d", name, i))
		return err
	})
	defer func() {
		_ = f.each(len(locks), func(i int) error {
			if locks[i] == nil {
				return nil
			}
			return locks[i].Release(ctx)
		})
	}()
	if err != nil {
		return err
	}
	takenIn := time.Since(began)
	period := f.plan.heldTTL / 3
	if err := sleep(ctx, period/2); err != nil {
		return err
	}

	renewals := func() (n int) {
		for _, k := range locks {
			n += k.Renewals()
		}
		return n
	}
	sentBefore, err := commandCalls(ctx, f.asking, self.commands)
	if err != nil {
		return err
	}
	renewedBefore := renewals()
	busyBefore, _ := cpuTime()
	watched := time.Now()
	if err := sleep(ctx, f.plan.heldWindow); err != nil {
		return err
	}
	span := time.Since(watched).Seconds()
	busy, known := cpuTime()
	renewed := renewals()
	sent, err := commandCalls(ctx, f.asking, self.commands)
	if err != nil {
		return err
	}
	lost := 0
	for _, k := range locks {
		if err := k.Err(); err != nil {
			lost++
			f.trouble(scenario, t, err)
		}
	}
	var beside steps
	if err := f.cycle(ctx, t, scenario, period, &beside); err != nil {
		return err
	}
	began = time.Now()
	_ = f.each(len(locks), func(i int) error {
		f.trouble(scenario, t, locks[i].Release(ctx))
		locks[i] = nil
		return nil
	})
	f.note(scenario, dlock, "released in", time.Since(began).Seconds()*1000)
	f.note(scenario, dlock, "taken in", takenIn.Seconds()*1000)
	f.note(scenario, dlock, "renewals", float64(renewed-renewedBefore)/span)
	f.note(scenario, dlock, "commands, all nodes", float64(sent-sentBefore)/span)
	if known {
		f.note(scenario, dlock, "client CPU", 100*(busy-busyBefore).Seconds()/span)
	}
	f.note(scenario, dlock, "lost", float64(lost))
	f.noteMillis(scenario, dlock, "beside p50", &beside.cycle, 50)
	f.noteMillis(scenario, dlock, "beside p99", &beside.cycle, 99)
	f.noteMillis(scenario, dlock, "beside max", &beside.cycle, 100)
	return nil
}

// each calls do for 0 to n-1 with as many callers as there are in parallel.
func (f *field) each(n int, do func(i int) error) error {
	var all sync.WaitGroup
	errs := make([]error, f.plan.callers)
	for caller := range f.plan.callers {
		all.Go(func() {
			for i := caller; i < n; i += f.plan.callers {
				if err := do(i); err != nil && errs[caller] == nil {
					errs[caller] = err
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
