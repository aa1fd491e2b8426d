package demo

import (
	"fmt"
	"slices"
	"strings"
)

// Mode is a way to keep workers apart.
type Mode string

// The modes, from none at all to what the lock core and the store do together,
// and what a database does alone.
const (
	None        Mode = "none"
	Naive       Mode = "naive"
	Single      Mode = "single"
	Replica     Mode = "replica"
	Redlock     Mode = "redlock"
	Fenced      Mode = "redlock+fence"
	Optimistic  Mode = "optimistic"
	Pessimistic Mode = "pessimistic"
)

// ModeInfo describes a mode.
type ModeInfo struct {
	Mode Mode
	// Does says in a sentence what it does.
	Does string
	// Lock says that it takes a lock in Redis.
	Lock bool
	// Excludes says that it is meant to let one worker in at a time. The
	// checker does not watch the others: [Optimistic] lets everybody in and
	// refuses at the end.
	Excludes bool
	// PromisesExclusion: no two workers are inside one resource under locks
	// that are both valid. PromisesStore: what is stored is exact. Either
	// holds until a fault happens that the mode does not cover (see
	// [FaultInfo]).
	PromisesExclusion, PromisesStore bool
}

// Modes are all modes, in the order in which they tell a story.
var Modes = []ModeInfo{
	{Mode: None, Does: "nothing keeps workers apart", Excludes: true},
	{Mode: Naive, Does: "SETNX, then EXPIRE, then a bare DEL, on the first node", Lock: true, Excludes: true},
	{Mode: Single, Does: "the lock core on the first node alone", Lock: true, Excludes: true, PromisesExclusion: true},
	{Mode: Replica, Does: "the lock core on a Redis with an asynchronous replica", Lock: true, Excludes: true, PromisesExclusion: true},
	{Mode: Redlock, Does: "the lock core on a quorum of all nodes", Lock: true, Excludes: true, PromisesExclusion: true},
	{Mode: Fenced, Does: "the same, and the store refuses stale fencing tokens", Lock: true, Excludes: true, PromisesExclusion: true, PromisesStore: true},
	{Mode: Optimistic, Does: "no lock; the store refuses a write over a newer version", PromisesStore: true},
	{Mode: Pessimistic, Does: "the database's own lock: SELECT … FOR UPDATE, or BEGIN IMMEDIATE on SQLite", Excludes: true, PromisesExclusion: true, PromisesStore: true},
}

// Info returns what is known of a mode.
func (m Mode) Info() (ModeInfo, bool) {
	i := slices.IndexFunc(Modes, func(x ModeInfo) bool { return x.Mode == m })
	if i < 0 {
		return ModeInfo{}, false
	}
	return Modes[i], true
}

// ParseModes reads the names of modes, separated by commas; "all" is every
// mode that the scenario has.
func ParseModes(text string, s Scenario) ([]Mode, error) {
	if text == "all" {
		return slices.Clone(s.Modes), nil
	}
	var modes []Mode
	for name := range strings.SplitSeq(text, ",") {
		m := Mode(strings.TrimSpace(name))
		if err := s.allows(m); err != nil {
			return nil, err
		}
		modes = append(modes, m)
	}
	return modes, nil
}

// allows reports why a mode cannot be used in a scenario.
func (s Scenario) allows(m Mode) error {
	if slices.Contains(s.Modes, m) {
		return nil
	}
	if _, known := m.Info(); !known {
		return fmt.Errorf("there is no mode of that name; use %s", listed(Modes, func(i ModeInfo) string { return string(i.Mode) }))
	}
	return fmt.Errorf("the scenario %s has no mode %s; use %s", s.Name, m, listed(s.Modes, func(m Mode) string { return string(m) }))
}

// listed writes "a, b or c".
func listed[T any](all []T, name func(T) string) string {
	var b strings.Builder
	for i, x := range all {
		switch {
		case i == 0:
		case i == len(all)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(name(x))
	}
	return b.String()
}
