package tui

import (
	"slices"
	"time"

	"dlock/demo"
	"dlock/inspect"
	"dlock/ui/text"
)

// scene is everything a view draws from. It is filled before a screen is
// drawn and is not kept.
type scene struct {
	*kit
	lay layout

	title, env, envColor string
	readOnly             string

	// snap is what is shown; loaded is false before the first snapshot.
	snap   *inspect.Snapshot
	loaded bool
	counts tally
	// now is the moment that is shown: it stands still while paused. wall
	// is the real one.
	now, wall time.Time
	// since is when this program began to watch.
	since time.Time

	marks *marks
	// replay is where the player of a recording stands, nil for live data.
	replay *Position

	paused   bool
	pausedAt time.Time
	waiting  int // events that came while paused
	// broken is why the stream of snapshots has ended, if it has.
	broken text.Safe

	lab *demo.Status
}

// dataAt is the moment of the newest answer that is shown.
func dataAt(s *inspect.Snapshot) time.Time {
	var newest time.Time
	for i := range s.Target.Nodes {
		if at := s.Target.Nodes[i].SampledAt; at.After(newest) {
			newest = at
		}
	}
	if newest.IsZero() {
		return s.At
	}
	return newest
}

// answered reports whether any node has ever answered.
func answered(s *inspect.Snapshot) bool {
	return slices.ContainsFunc(s.Target.Nodes, func(n inspect.NodeStatus) bool { return !n.SampledAt.IsZero() })
}

// stale reports whether the data is older than it should be by more than a
// look that was late.
func (sc *scene) stale() bool {
	if !sc.loaded || sc.paused || sc.replay != nil {
		return false
	}
	return sc.now.Sub(dataAt(sc.snap)) > staleAfter(sc.snap.Interval)
}

func staleAfter(interval time.Duration) time.Duration { return 2*interval + 2*time.Second }

// tally counts locks by what their row says.
type tally struct {
	locks   int // all but those that are gone
	gone    int
	waiting int // clients that wait, where that is known
	// by has one entry per word, worst first.
	by []counted
}

type counted struct {
	badge badge
	n     int
}

// count tallies a snapshot's locks.
func count(k *kit, locks []inspect.Lock) tally {
	var t tally
	kinds := []badge{
		k.stateBadge(inspect.Split), k.flagBadge(inspect.NoExpiry), k.flagBadge(inspect.Stuck), k.stateBadge(inspect.Partial),
		k.stateBadge(inspect.Unknown), k.flagBadge(inspect.Expiring), k.flagBadge(inspect.Leftover), k.flagBadge(inspect.Degraded), k.stateBadge(inspect.Held),
	}
	n := make([]int, len(kinds))
	for i := range locks {
		l := &locks[i]
		if l.State == inspect.Expired {
			t.gone++
			continue
		}
		t.locks++
		if l.Waiters.Known {
			t.waiting += l.Waiters.Value
		}
		word := k.badge(l).word
		for j := range kinds {
			if kinds[j].word == word {
				n[j]++
				break
			}
		}
	}
	for j, b := range kinds {
		if n[j] > 0 {
			t.by = append(t.by, counted{b, n[j]})
		}
	}
	return t
}
