package main

import (
	"time"

	"dlock/lockcore"
)

// target is what dlock is to reach. limits are by number of nodes; there is no
// target where there is no limit.
type target struct {
	name    string
	unit    unit
	atLeast bool // else at most
	limits  map[int]float64
	value   func(r *report, nodes int) (float64, bool)
}

// verdict is what came of a target.
type verdict struct {
	Target  string   `json:"target"`
	Nodes   int      `json:"nodes"`
	Unit    unit     `json:"unit"`
	AtLeast bool     `json:"at_least"`
	Limit   *float64 `json:"limit"` // nil: none for so many nodes
	Value   *float64 `json:"value"` // nil: not measured
	Met     bool     `json:"met"`
}

// always is the same limit on one node and on five.
func always(limit float64) map[int]float64 { return map[int]float64{1: limit, 5: limit} }

func onOneAndFive(one, five float64) map[int]float64 { return map[int]float64{1: one, 5: five} }

// own is a figure of dlock.
func own(scenario, name string) func(*report, int) (float64, bool) {
	return func(r *report, nodes int) (float64, bool) { return r.value(scenario, nodes, dlock, name) }
}

// against is a figure of dlock over the same of another contestant.
func against(scenario, name, other string) func(*report, int) (float64, bool) {
	return func(r *report, nodes int) (float64, bool) {
		ours, ok1 := r.value(scenario, nodes, dlock, name)
		theirs, ok2 := r.value(scenario, nodes, other, name)
		if !ok1 || !ok2 || theirs == 0 {
			return 0, false
		}
		return ours / theirs, true
	}
}

var nodeTimeout = float64(lockcore.DefaultNodeTimeout) / float64(time.Millisecond)

var targets = []target{
	{"parallel: rate against redsync", times, true, onOneAndFive(4, 5), against("parallel", "cycles", "redsync")},
	{"serial: p50 against redsync", times, false, onOneAndFive(1, 0.8), against("serial", "cycle p50", "redsync")},
	{"serial: p99 against redsync", times, false, onOneAndFive(1, 0.8), against("serial", "cycle p99", "redsync")},
	{"serial: p50 against the floor", times, false, always(1.25), against("serial", "cycle p50", "floor")},
	{"hand-off: p50 against redsync", times, false, onOneAndFive(1.0/20, 1.0/10), against("handoff", "gap p50", "redsync")},
	{"10 ms away: acquire p50", millis, false, always(12.5), own("remote", "acquire p50")},
	{"10 ms away: release p50", millis, false, always(12.5), own("remote", "release p50")},
	{"10 ms away: hand-off p50", millis, false, always(13), own("remote-handoff", "gap p50")},
	{"10 ms away: hand-off p99", millis, false, always(20), own("remote-handoff", "gap p99")},
	{"one node hung: acquire p99", millis, false, map[int]float64{5: nodeTimeout}, own("hung", "acquire p99")},
	{"one node hung: release p99", millis, false, map[int]float64{5: nodeTimeout}, own("hung", "release p99")},
	{"few waiters: commands per grant and node", count, false, always(2.5), own("waiters", "commands")},
	{"many waiters: commands per grant and node", count, false, always(2.5), own("crowd", "commands")},
	{"few waiters: luckiest over unluckiest client", times, false, always(1.1), own("waiters", "luckiest/unluckiest")},
}

// verdicts judges the figures, target by target, for each number of nodes that
// was measured.
func (r *report) verdicts() []verdict {
	var all []verdict
	sizes := r.sizes()
	for _, t := range targets {
		for _, n := range sizes {
			v := verdict{Target: t.name, Nodes: n, Unit: t.unit, AtLeast: t.atLeast}
			limit, limited := t.limits[n]
			if limited {
				v.Limit = &limit
			}
			value, measured := t.value(r, n)
			if measured {
				v.Value = &value
			}
			if limited && measured {
				v.Met = value <= limit
				if t.atLeast {
					v.Met = value >= limit
				}
			}
			all = append(all, v)
		}
	}
	return all
}
