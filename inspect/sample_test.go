package inspect

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawSample asks, on paper, a server for a key that ends at the given moment:
// the answer is worked out somewhere within the round trip.
func drawSample(t *rapid.T, sent time.Time, end time.Time) sample {
	rtt := time.Duration(rapid.Int64Range(0, int64(300*time.Millisecond)).Draw(t, "rtt"))
	at := sent.Add(time.Duration(rapid.Int64Range(0, int64(rtt)).Draw(t, "when")))
	return sample{presence: present, asked: &trip{sent, sent.Add(rtt)}, life: end.Sub(at).Truncate(time.Millisecond)}
}

func TestSameGrant(t *testing.T) {
	base := time.Now()
	rapid.Check(t, func(t *rapid.T) {
		end := base.Add(time.Duration(rapid.Int64Range(int64(2*time.Second), int64(time.Hour)).Draw(t, "life")))
		first := drawSample(t, base, end)
		second := drawSample(t, base.Add(time.Second), end)
		if !sameGrant(first, second) {
			t.Fatalf("the same expiry looks different: %+v %+v", first, second)
		}
		if renewed(first, second) {
			t.Fatalf("the same expiry looks renewed: %+v %+v", first, second)
		}
		// The true expiry is never before earliest or after latest.
		for _, s := range []sample{first, second} {
			if end.Before(s.earliest()) || end.After(s.latest()) {
				t.Fatalf("%v is not within %v and %v", end, s.earliest(), s.latest())
			}
		}
		// A jump larger than both round trips and the slack is seen.
		rtts := first.received().Sub(first.sent()) + second.received().Sub(second.sent())
		jump := rtts + 2*time.Millisecond + clockSlack + 2*time.Millisecond
		moved := second
		moved.life += jump
		if sameGrant(first, moved) {
			t.Fatalf("a jump by %v is not seen: %+v %+v", jump, first, moved)
		}
		moved.life = second.life + rtts + 2*time.Millisecond + renewalStep
		if !renewed(first, moved) {
			t.Fatal("a renewal is not seen")
		}
	})
}

func TestSameGrantWithoutExpiry(t *testing.T) {
	never := sample{presence: present, never: true}
	some := sample{presence: present, life: time.Second}
	if !sameGrant(never, never) || sameGrant(never, some) || sameGrant(some, never) || sameGrant(sample{}, some) || sameGrant(sample{presence: forbidden}, some) {
		t.Error("wrong about keys without expiry")
	}
	if renewed(never, some) || renewed(some, never) {
		t.Error("a change between expiry and none is no renewal")
	}
}

func TestTouched(t *testing.T) {
	base := time.Now()
	before := sample{presence: present, never: true, touched: when(base.Add(-time.Hour)), read: when(base)}
	tests := []struct {
		name string
		last time.Time
		want bool
	}{
		{"our own reading", base.Add(time.Second), false},
		{"before our reading", base.Add(-time.Minute), false},
		{"somebody else", base.Add(10 * time.Second), true},
	}
	for _, tt := range tests {
		if got := touchedBetween(before, tt.last); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if touchedBetween(sample{}, base) {
		t.Error("without anything to compare with")
	}
	after := sample{presence: present, never: true, idleAsked: true, touched: when(base.Add(time.Second))}.succeeds(before)
	if !after.touchedAt().Equal(before.touchedAt()) {
		t.Error("our own reading counts as somebody's use")
	}
	after = sample{presence: present, never: true, idleAsked: true, touched: when(base.Add(time.Minute))}.succeeds(before)
	if !after.touchedAt().Equal(base.Add(time.Minute)) {
		t.Error("somebody's use does not count")
	}
}

func TestSucceeds(t *testing.T) {
	base := time.Now()
	free := sample{asked: when(base)}
	a := sample{presence: present, got: text("a"), asked: when(base.Add(time.Second))}
	b := sample{presence: present, got: text("b"), asked: when(base.Add(2 * time.Second))}
	if got := a.succeeds(free); !got.absentAt().Equal(base) {
		t.Error("a was not there at the sample before")
	}
	first := a.succeeds(free)
	if got := a.succeeds(first); !got.absentAt().Equal(base) {
		t.Error("what is known of a is forgotten")
	}
	if got := b.succeeds(first); !got.absentAt().Equal(a.sent()) {
		t.Error("b was not there while a was")
	}
	if got := a.succeeds(sample{presence: forbidden, asked: when(base)}); !got.absentAt().IsZero() {
		t.Error("a may have been there while we could not ask")
	}
}

func TestClampLife(t *testing.T) {
	now := time.Now()
	for _, ms := range []int64{-5, 0, 1, 12345, 31_557_600_000_000, 1<<63 - 1} {
		s := sample{presence: present, asked: when(now), life: clampLife(ms)}
		if s.life < 0 || s.expiry().At.Before(now) || s.latest().Before(now) {
			t.Errorf("%d ms gives %v", ms, s.life)
		}
	}
	if clampLife(12345) != 12345*time.Millisecond {
		t.Error("milliseconds are not kept")
	}
}

func TestBackoff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1000).Draw(t, "failures")
		d := backoff(n, rapid.Float64Range(0, 0.999).Draw(t, "r"))
		if d < firstBackoff*4/5 || d > maxBackoff*6/5 {
			t.Fatalf("backoff(%d) = %v", n, d)
		}
		if backoff(n, 0.5) > backoff(n+1, 0.5) {
			t.Fatalf("the pause shrinks at %d", n)
		}
	})
	if backoff(1, 0.5) != time.Second || backoff(100, 0.5) != 30*time.Second {
		t.Errorf("%v %v", backoff(1, 0.5), backoff(100, 0.5))
	}
}

func TestRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := ring{size: rapid.IntRange(1, 7).Draw(t, "size")}
		var views [][]Event
		var copies [][]Event
		n := rapid.IntRange(0, 60).Draw(t, "n")
		for i := range n {
			r.add(Event{At: time.Unix(int64(i), 0)})
			view, dropped := r.view()
			if len(view) != min(i+1, r.size) || dropped != uint64(i+1-len(view)) {
				t.Fatalf("after %d: %d events, %d dropped", i+1, len(view), dropped)
			}
			views = append(views, view)
			copies = append(copies, append([]Event(nil), view...))
		}
		for i, view := range views {
			for j := range view {
				if view[j] != copies[i][j] {
					t.Fatal("a view changed after it was handed out")
				}
			}
		}
	})
}

func TestHuman(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1234 * time.Microsecond: "1ms", 8140 * time.Millisecond: "8.1s", 12345 * time.Millisecond: "12s",
		time.Minute: "1m", 10 * time.Minute: "10m", time.Hour: "1h", 90 * time.Minute: "1h30m", time.Hour + 30*time.Second: "1h0m30s",
	} {
		if got := human(d); got != want {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
}
