package lockcore

import (
	"testing"
	"time"
)

func TestElapsedTakesTheClockThatSawMore(t *testing.T) {
	base := time.Now() // has a monotonic reading
	wall := base.Round(0)

	if got := elapsed(base, base.Add(3*time.Second)); got != 3*time.Second {
		t.Errorf("both clocks agree on 3 s, elapsed says %v", got)
	}
	// Wall clock alone, as after a resume from suspend: the monotonic
	// reading is gone from one side, so only the wall can be compared.
	if got := elapsed(base, wall.Add(5*time.Second)); got != 5*time.Second {
		t.Errorf("the wall clock saw 5 s, elapsed says %v", got)
	}
}

func TestLeaseCountsFromItsBase(t *testing.T) {
	base := time.Now()
	l := lease{base: base, length: time.Second}
	for _, c := range []struct{ after, want time.Duration }{
		{0, time.Second}, {400 * time.Millisecond, 600 * time.Millisecond}, {time.Second, 0}, {3 * time.Second, -2 * time.Second},
	} {
		if got := l.remaining(base.Add(c.after)); got != c.want {
			t.Errorf("after %v, %v remain, want %v", c.after, got, c.want)
		}
	}
}

func TestQuorumIsAMajorityOfTheConfiguredNodes(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 7: 4} {
		if got := Quorum(n); got != want {
			t.Errorf("quorum of %d is %d, want %d", n, got, want)
		}
	}
}
