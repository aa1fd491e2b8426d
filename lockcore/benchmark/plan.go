package main

import "time"

// plan says how much of everything is done.
type plan struct {
	rounds int           // slices per contestant and scenario
	slice  time.Duration // what is measured of a slice
	warm   time.Duration // what is not, before it
	pool   int           // connections per node and client

	callers   int           // in parallel, on names of their own
	clients   int           // that contend for one name
	crowd     int           // that wait for one name when many do, spread over the clients
	crowdWarm time.Duration // until all of these have asked
	hold      time.Duration // how long a contender stays inside
	delay     time.Duration // each way, through the proxy
	slow      bool          // whether contestants that hang on a hung node are measured there

	held       int           // locks that the watchdog keeps
	heldTTL    time.Duration // their time to live
	heldWindow time.Duration // for how long it is watched
}

func full() plan {
	return plan{
		rounds: 5, slice: 1500 * time.Millisecond, warm: 300 * time.Millisecond,
		callers: 64, clients: 8, crowd: 1000, crowdWarm: 2500 * time.Millisecond, hold: time.Millisecond, delay: 5 * time.Millisecond, slow: true,
		// Two periods of renewal.
		held: 10_000, heldTTL: 30 * time.Second, heldWindow: 20 * time.Second,
	}
}

// quick is long enough to see that everything works and too short for figures.
func quick() plan {
	return plan{
		rounds: 1, slice: 120 * time.Millisecond, warm: 30 * time.Millisecond,
		callers: 64, clients: 8, crowd: 64, crowdWarm: 100 * time.Millisecond, hold: time.Millisecond, delay: 5 * time.Millisecond,
		held: 200, heldTTL: 900 * time.Millisecond, heldWindow: 600 * time.Millisecond,
	}
}
