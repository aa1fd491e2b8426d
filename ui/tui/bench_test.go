package tui

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"dlock/inspect"
)

// lots is a snapshot of n locks.
func lots(n int) inspect.Snapshot {
	s := incident()
	s.Locks = nil
	for i := range n {
		s.Locks = append(s.Locks, lockOf(fmt.Sprintf("lock:tenant:%05d:migrate", i), "hhhhh", inspect.Held, time.Duration(i%30+1)*time.Second))
	}
	return s
}

var sizes = []int{1000, 10_000, 100_000}

// BenchmarkKeyToFrame is a key and the screen that answers it.
func BenchmarkKeyToFrame(b *testing.B) {
	for _, n := range sizes {
		snap := lots(n)
		for name, key := range map[string]string{"down": "j", "page": "pgdown", "mark": "m", "end": "G"} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				s := newScreen(b, 160, 50, coloured, Config{})
				s.load(snap)
				for b.Loop() {
					s.now = s.now.Add(10 * time.Millisecond)
					s.pressNow(key)
					s.app.View()
				}
			})
		}
	}
}

// BenchmarkFilterLetter is a letter typed into the filter: what the loop does,
// and with many locks beside it what is done outside of it.
func BenchmarkFilterLetter(b *testing.B) {
	for _, n := range sizes {
		snap := lots(n)
		b.Run(fmt.Sprintf("loop/%d", n), func(b *testing.B) {
			s := newScreen(b, 160, 50, coloured, Config{})
			s.load(snap)
			words := []string{"tenant:0", "tenant:00"}
			for i := 0; b.Loop(); i++ {
				s.app.arranging = false
				s.app.setFilter(words[i%2])
				s.app.View()
			}
		})
		b.Run(fmt.Sprintf("outside/%d", n), func(b *testing.B) {
			s := newScreen(b, 160, 50, coloured, Config{})
			s.load(snap)
			s.app.locks.filter = parseFilter("tenant:0")
			o := s.app.arrangement(snap, true)
			for b.Loop() {
				o.arrange()
			}
		})
	}
}

// BenchmarkSnapshot is what the loop does for a snapshot that arrives.
func BenchmarkSnapshot(b *testing.B) {
	for _, n := range sizes {
		snap := lots(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := newScreen(b, 160, 50, coloured, Config{})
			s.load(snap)
			o := s.app.arrangement(snap, false).arrange()
			for b.Loop() {
				if n < manyLocks {
					s.app.onSnapshot(snap)
				} else {
					s.app.arranging = true
					s.app.onArranged(o)
				}
				s.app.View()
			}
		})
	}
}

// BenchmarkBulk is a frame of the dialog of as many locks as it takes.
func BenchmarkBulk(b *testing.B) {
	s := newScreen(b, 160, 50, coloured, Config{})
	snap := lots(maxBulk)
	s.source.snap = snap
	s.load(snap)
	s.press("M", "X")
	if s.app.bulk == nil {
		b.Fatal("there is no dialog")
	}
	for b.Loop() {
		s.app.View()
	}
}

// BenchmarkMemory tells what the screen itself keeps beside a snapshot, with
// every lock marked.
func BenchmarkMemory(b *testing.B) {
	for _, n := range sizes {
		snap := lots(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				s := newScreen(b, 160, 50, coloured, Config{})
				s.load(snap)
				s.press("M")
				s.app.View()
				runtime.GC()
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
				runtime.KeepAlive(s)
			}
		})
	}
}
