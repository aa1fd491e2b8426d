package lockcore

import (
	"errors"
	"testing"
	"time"
)

func TestWhenALaneStartsAnotherPipeline(t *testing.T) {
	now := time.Now()
	old := longestFast + 1
	flights := func(n, calls int, age time.Duration) []*flight {
		var fs []*flight
		for range n {
			fs = append(fs, &flight{left: now.Add(-age), calls: calls})
		}
		return fs
	}
	for _, c := range []struct {
		name    string
		flights []*flight
		queued  int
		rtt     time.Duration
		want    bool
	}{
		{"nothing is on its way", nil, 1, 0, true},
		{"one call is on its way", flights(1, 1, 0), 1, 0, true},
		{"a long pipeline is on its way", flights(1, 40, 0), 19, 0, false},
		{"and half as much has come", flights(1, 40, 0), 20, 0, true},
		{"it hangs", flights(1, 40, old), 1, 0, true},
		{"and another is on its way", append(flights(1, 40, old), flights(1, 1, 0)...), 1, 0, true},
		{"two are on their way", flights(2, 20, 0), 400, 0, false},
		{"two hang", flights(2, 20, old), 1, 0, true},
		{"all hang", flights(mostHanging, 1, old), 400, 0, false},
		{"the link is slow", flights(3, 40, 0), 1, slowestFast + 1, true},
		{"the link is slow and full", flights(slowWindow, 1, 0), 1, slowestFast + 1, false},
	} {
		l := &lane{flights: c.flights, queue: make([]*call, c.queued), rtt: c.rtt}
		if got := l.mayStart(now); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestTheRoundTripIsTheShortestOfLate(t *testing.T) {
	l := new(lane)
	now := time.Now()
	see := func(took, want time.Duration) {
		t.Helper()
		l.observe(now.Add(-took), now)
		if l.rtt != want {
			t.Errorf("after one of %v it is %v, want %v", took, l.rtt, want)
		}
	}
	see(3*time.Millisecond, 3*time.Millisecond)
	see(time.Millisecond, time.Millisecond)
	for range 1000 {
		see(time.Second, time.Millisecond) // the machine is busy
	}
	now = now.Add(rttSpan + 1)
	see(10*time.Millisecond, time.Millisecond)
	now = now.Add(rttSpan + 1)
	see(20*time.Millisecond, 10*time.Millisecond) // the link has become slower
}

// What a release sends to a node that the quorum did not need depends on the
// answer that came after the run had ended.
func TestWhatALateAnswerSaves(t *testing.T) {
	const fence = 7
	failed := errors.New("gone")
	for name, c := range map[string]struct {
		ballot ballot
		news   *vote
		raise  int64
		late   bool
	}{
		"granted before":          {ballot{granted: true, vote: vote{fence: fence}}, nil, 0, false},
		"granted less before":     {ballot{granted: true, vote: vote{fence: fence - 1}}, nil, fence, false},
		"granted later":           {ballot{inFlight: true}, &vote{verdict: granted, fence: fence}, 0, false},
		"granted less later":      {ballot{inFlight: true}, &vote{verdict: granted, fence: fence - 1}, fence, false},
		"refused later":           {ballot{inFlight: true}, &vote{verdict: refused, fence: fence}, fence, false},
		"failed later":            {ballot{inFlight: true}, &vote{verdict: granted, fence: fence, err: failed}, fence, true},
		"never left":              {ballot{inFlight: true}, &vote{err: failed, unsent: true}, fence, false},
		"never answered":          {ballot{inFlight: true}, nil, fence, true},
		"an earlier one was lost": {ballot{inFlight: true, lost: true}, &vote{verdict: granted, fence: fence}, 0, true},
		"refused before":          {ballot{vote: vote{fence: fence}}, nil, fence, false},
	} {
		can := &candidate{cfg: &config{ttl: time.Second}, fence: fence, ballots: []ballot{{}, c.ballot}}
		can.box.news = []event{{node: 0, vote: vote{verdict: granted, fence: 99}}, {node: 1, pushed: true, vote: vote{verdict: granted, fence: 99}}}
		if c.news != nil {
			can.box.news = append(can.box.news, event{node: 1, vote: *c.news})
		}
		if got := can.raiseOn(1); got != c.raise {
			t.Errorf("%s: raises %d, want %d", name, got, c.raise)
		}
		if got := can.late(1) > 0; got != c.late {
			t.Errorf("%s: late %v, want %v", name, got, c.late)
		}
	}
}
