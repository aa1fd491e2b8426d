package inspect

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The histories of single locks take no more room than they may, those that
// changed last are there, and what was handed out does not change.
func TestPast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(10, 200).Draw(t, "most")
		p := newPast(most)
		last := map[string]int{}
		var views, copies [][]Event
		n := rapid.IntRange(1, 300).Draw(t, "n")
		for i := range n {
			key := fmt.Sprint(rapid.IntRange(0, 30).Draw(t, "key"))
			p.add(Event{Key: key, At: time.Unix(int64(i), 0)})
			last[key] = i
			view, _ := p.of(key).ring.view()
			if len(view) == 0 || len(view) > historyOf || !view[len(view)-1].At.Equal(time.Unix(int64(i), 0)) {
				t.Fatalf("%v", view)
			}
			views, copies = append(views, view), append(copies, slices.Clone(view))
		}
		events, stories := 0, 0
		oldestKept := n
		for key, at := range last {
			if one := p.of(key); one != nil {
				events += len(one.ring.events)
				stories++
				oldestKept = min(oldestKept, at)
			}
		}
		if p.events != events+storyCost*stories || p.events > most && stories > 1 {
			t.Fatalf("counts %d, has %d events of %d locks, may have %d", p.events, events, stories, most)
		}
		for key, at := range last {
			if p.of(key) == nil && at > oldestKept {
				t.Fatalf("%s was dropped before one that changed earlier", key)
			}
		}
		if len(last) > stories && p.dropped == 0 {
			t.Fatal("what was dropped is not counted")
		}
		for i := range views {
			if !slices.Equal(views[i], copies[i]) {
				t.Fatal("a view changed after it was handed out")
			}
		}
	})
}

// Holds that were seen whole make the statistics, others do not.
func TestStats(t *testing.T) {
	a, b := has("aaaa", time.Minute), has("bbbb", time.Minute)
	s := newStage(t, 3, Config{})
	s.step(all(3, a)...) // was there before
	s.step(all(3, free)...)
	for _, d := range []time.Duration{2 * time.Second, 4 * time.Second} {
		s.step(all(3, a)...)
		s.after(d, all(3, free)...)
	}
	s.step(all(3, a)...)
	l, _ := s.after(3*time.Second, all(3, b)...) // handed over
	if l.Stats.Holds != 3 || l.Stats.Total != 9*time.Second || l.Stats.Longest != 4*time.Second {
		t.Errorf("%+v", l.Stats)
	}
	if mean, ok := l.Stats.MeanHold(); !ok || mean != 3*time.Second {
		t.Errorf("%v", mean)
	}
	if _, ok := l.Stats.MeanWait(); ok {
		t.Error("a wait that nothing tells of")
	}
	want := []EventKind{Released, Taken, Released, Taken, Released, Taken, HandedOver}
	if l, _ = s.step(all(3, b)...); !slices.Equal(kinds(l.History, "lock:x"), want) {
		t.Errorf("%v, want %v", kinds(l.History, "lock:x"), want)
	}
}
