package main

import (
	"math"
	"slices"
	"sync"
	"time"
)

// samples collects durations. It is safe for concurrent use.
type samples struct {
	mu  sync.Mutex
	raw []time.Duration
}

func (s *samples) add(d ...time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw = append(s.raw, d...)
}

// millis is the percentile of what was collected, in milliseconds, and whether
// anything was.
func (s *samples) millis(percent float64) (float64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := percentile(s.raw, percent)
	return float64(d) / float64(time.Millisecond), ok
}

func (s *samples) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.raw)
}

// percentile is the smallest of the durations that at least percent of them do
// not exceed (nearest rank). percent is in (0, 100]. It is false for none.
func percentile(raw []time.Duration, percent float64) (time.Duration, bool) {
	if len(raw) == 0 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(raw))
	rank := int(math.Ceil(percent / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1], true
}
