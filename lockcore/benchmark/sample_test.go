package main

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The percentile is one of the samples; at least so many are at or below it, and
// fewer are below.
func TestPercentile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOfN(rapid.Map(rapid.Int64Range(0, 50), func(n int64) time.Duration { return time.Duration(n) }), 1, 200).Draw(t, "raw")
		percent := rapid.Float64Range(0.01, 100).Draw(t, "percent")
		got, ok := percentile(raw, percent)
		if !ok || !slices.Contains(raw, got) {
			t.Fatalf("%v is not one of the samples", got)
		}
		below, upTo := 0, 0
		for _, d := range raw {
			if d < got {
				below++
			}
			if d <= got {
				upTo++
			}
		}
		want := percent / 100 * float64(len(raw))
		if float64(upTo) < want || float64(below) >= want {
			t.Fatalf("%d of %d are below %v and %d up to it; %g were wanted", below, len(raw), got, upTo, want)
		}
	})
	if _, ok := percentile(nil, 50); ok {
		t.Error("nothing has a percentile")
	}
}
