package demo

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"dlock/demo/lab"
)

// Names of faults that are made up as they go, for [Config].
const (
	// FaultsRandom are faults that every mode which promises anything must
	// get over: nodes that die and come back with their data, hang, are cut
	// off or slow, never more than a minority at once.
	FaultsRandom = "random"
	// FaultsRough are those and all others: stopped and crashed workers,
	// clocks that jump, nodes that forget, failovers.
	FaultsRough = "rough"
)

// MaxScript is the longest script that is read, in bytes.
const MaxScript = 64 << 10

// Act is one line of a script.
type Act struct {
	At     time.Duration // from the start
	Fault  string
	Target string
	By     time.Duration
}

// String writes the act as a line of a script.
func (a Act) String() string {
	s := a.At.String() + " " + a.Fault
	if a.Target != "" {
		s += " " + a.Target
	}
	if a.By != 0 {
		s += " " + a.By.String()
	}
	return s
}

// Script is a list of faults with their times, in order.
type Script []Act

// ParseScript reads a script: one fault a line, or several with ';' between
// them, each with the time from the start, its name from [Faults], its target
// where it has one, and a duration where it takes one:
//
//	# two nodes die, one comes back
//	2s  kill n2
//	3s  kill n4
//	8s  restart n2
//	10s stop holder 9s
//
// What follows a '#' is a comment. Lines may be in any order. The error names
// the line, and repeats only words of our own.
func ParseScript(text string) (Script, error) {
	if len(text) > MaxScript {
		return nil, fmt.Errorf("the script is longer than %d bytes", MaxScript)
	}
	var script Script
	number := 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "#")
		for part := range strings.SplitSeq(line, ";") {
			words := strings.Fields(part)
			if len(words) == 0 {
				continue
			}
			act, err := parseAct(words)
			if err != nil {
				return nil, fmt.Errorf("line %d of the script: %w", number, err)
			}
			script = append(script, act)
		}
	}
	slices.SortStableFunc(script, func(a, b Act) int { return cmp.Compare(a.At, b.At) })
	return script, nil
}

func parseAct(words []string) (a Act, err error) {
	if a.At, err = time.ParseDuration(words[0]); err != nil || a.At < 0 {
		return a, errors.New("it starts with the time since the start, such as 5s")
	}
	if len(words) < 2 {
		return a, errors.New("a time is followed by a fault")
	}
	f, ok := FindFault(words[1])
	if !ok {
		return a, fmt.Errorf("there is no such fault; use %s", listed(Faults, func(f FaultInfo) string { return f.Name }))
	}
	a.Fault = f.Name
	rest := words[2:]
	if f.Target != OnNothing {
		if len(rest) == 0 {
			return a, fmt.Errorf("%s needs a %s", f.Name, f.Target)
		}
		a.Target, rest = rest[0], rest[1:]
	}
	if f.Takes && len(rest) > 0 {
		if a.By, err = time.ParseDuration(strings.TrimPrefix(rest[0], "+")); err != nil || a.By == 0 {
			return a, fmt.Errorf("%s takes a duration, such as 10s", f.Name)
		}
		if a.By < 0 && f.Name != "clock" {
			return a, fmt.Errorf("%s takes a duration above 0", f.Name)
		}
		rest = rest[1:]
	}
	if len(rest) > 0 {
		return a, fmt.Errorf("there is a word too many after %s", f.Name)
	}
	return a, nil
}

// faults are what breaks things while a demo runs.
type faults struct {
	script Script
	// random and rough make them up.
	random, rough bool
}

// parseFaults reads what a configuration says.
func parseFaults(c Config) (faults, error) {
	switch c.Faults {
	case "":
		return faults{}, nil
	case FaultsRandom:
		return faults{random: true}, nil
	case FaultsRough:
		return faults{random: true, rough: true}, nil
	}
	script, err := ParseScript(c.Faults)
	return faults{script: script}, err
}

// run breaks things until the demo ends. What cannot be done is noted and
// passed over.
func (f faults) run(d *Demo) {
	if f.random {
		d.breakAtRandom(f.rough)
		return
	}
	for _, act := range f.script {
		if !d.sleep(time.Until(d.started.Add(act.At))) {
			return
		}
		if f, _ := FindFault(act.Fault); d.checkTarget(f, act.Target) != nil {
			d.note(act.String() + " is passed over: " + d.checkTarget(f, act.Target).Error())
			continue
		}
		// It notes itself whether it could be done.
		_ = d.Inject(d.life, act.Fault, act.Target, act.By)
	}
}

func (d *Demo) sleep(wait time.Duration) bool {
	timer := time.NewTimer(max(0, wait))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-d.life.Done():
		return false
	}
}

// breakAtRandom breaks and heals, by the demo's seed.
func (d *Demo) breakAtRandom(rough bool) {
	// Not one of the streams that workers have.
	r := randFrom(d.config.Seed)
	for d.sleep(200*time.Millisecond + time.Duration(r.Int64N(int64(600*time.Millisecond)))) {
		d.mu.Lock()
		active := slices.Clone(d.active)
		d.mu.Unlock()
		act := nextRandom(r, d.config, d.scenario, active, d.thePair() != nil, rough)
		if act.Fault != "" {
			// It is noted whether it could be done.
			_ = d.Inject(d.life, act.Fault, act.Target, act.By)
		}
	}
}

func randFrom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1<<32)) }

// nextRandom makes up what to do, given what lasts: it heals as often as it
// breaks, and never has more than a minority of the nodes broken.
func nextRandom(r *rand.Rand, c Config, s Scenario, active []ActiveFault, pair, rough bool) Act {
	broken := map[string]bool{}
	for _, a := range active {
		broken[a.Target] = true
	}
	minority := (c.Nodes - 1) / 2
	if len(active) > 0 && (len(broken) >= max(1, minority) || r.IntN(2) == 0) {
		a := active[r.IntN(len(active))]
		f, _ := FindFault(a.Name)
		return Act{Fault: f.HealedBy, Target: a.Target}
	}
	var choices []FaultInfo
	for _, f := range Faults {
		ok := f.Random || rough && f.Rough
		switch {
		case f.Target == OnNode && minority == 0,
			f.Name == "failover" && (!pair || broken[""]), // no heir is left
			f.Name == "clock" && c.Kind != lab.Embedded:
			ok = false
		}
		if ok {
			choices = append(choices, f)
		}
	}
	if len(choices) == 0 {
		return Act{}
	}
	f := choices[r.IntN(len(choices))]
	a := Act{Fault: f.Name}
	switch f.Target {
	case OnNode:
		// One that is well; the shuffle makes the choice.
		for _, i := range r.Perm(c.Nodes) {
			if !broken[nodeName(i)] {
				a.Target = nodeName(i)
				break
			}
		}
	case OnWorker:
		a.Target = Holder
	case OnResource:
		a.Target = s.locks(c.Resources)[r.IntN(c.Resources)]
	}
	return a
}
