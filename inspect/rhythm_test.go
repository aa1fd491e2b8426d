package inspect

import (
	"testing"
	"time"
)

// A lock that is renewed every three seconds and asked about every twenty seems
// to be renewed every twenty: such renewals are counted and not timed.
func TestRhythmOfRenewals(t *testing.T) {
	const life = time.Minute
	s := newStage(t, 1, Config{})
	s.step(has("a", life))
	var l Lock
	for range 3 {
		l, _ = s.after(20*time.Second, has("a", life))
	}
	if l.Renewals != 3 || l.RenewalPeriod != 0 {
		t.Errorf("%d renewals, every %v, from looks far apart", l.Renewals, l.RenewalPeriod)
	}
	follow := func() {
		for second := range 7 {
			l, _ = s.step(has("a", life-time.Duration(second%3)*time.Second))
		}
	}
	follow()
	if l.RenewalPeriod != 3*time.Second {
		t.Errorf("every %v, from looks a second apart", l.RenewalPeriod)
	}
	l, _ = s.after(20*time.Second, has("a", life))
	if l.RenewalPeriod != 3*time.Second {
		t.Errorf("every %v, after a pause in looking", l.RenewalPeriod)
	}
	follow()
	if l.RenewalPeriod != 3*time.Second || l.LastRenewal.IsZero() {
		t.Errorf("every %v, after it was watched again", l.RenewalPeriod)
	}
	if l, _ = s.step(has("b", life)); l.RenewalPeriod != 0 {
		t.Errorf("the next holder renews every %v", l.RenewalPeriod)
	}
}
