package text

import (
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

func TestBarTable(t *testing.T) {
	skipIfAmbiguousWide(t)
	for _, c := range []struct {
		fraction    float64
		w           int
		bar, inText Safe
	}{
		{0, 4, "    ", "    "},
		{1, 4, "████", "===="},
		{0.5, 4, "██  ", "==  "},
		{0.625, 4, "██▌ ", "==  "},
		{0.001, 4, "▏   ", "=   "},
		{0.9999, 4, "███▉", "=== "},
		{2, 2, "██", "=="},
		{-1, 2, "  ", "  "},
		{math.NaN(), 2, "  ", "  "},
		{math.Inf(1), 2, "██", "=="},
		{0.5, 1, "▌", "="},
		{1, 0, "", ""},
		{1, -3, "", ""},
	} {
		if got := Bar(c.fraction, c.w, false); got != c.bar {
			t.Errorf("Bar(%v, %d) = %q, want %q", c.fraction, c.w, got, c.bar)
		}
		if got := Bar(c.fraction, c.w, true); got != c.inText {
			t.Errorf("Bar(%v, %d) in ASCII = %q, want %q", c.fraction, c.w, got, c.inText)
		}
	}
}

func TestSparkTable(t *testing.T) {
	skipIfAmbiguousWide(t)
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		values         []float64
		top            float64
		w              int
		spark, inASCII Safe
	}{
		{nil, 1, 3, "   ", "   "},
		{[]float64{1, 2}, 2, 0, "", ""},
		{[]float64{0, 1, 2, 4, 8}, 8, 5, "▁▂▃▅█", ".::||"},
		{[]float64{0, 1, 2, 4, 8}, 8, 2, "▅█", "||"},
		{[]float64{8}, 8, 3, "  █", "  |"},
		{[]float64{0, nan, -1, 99}, 8, 4, "▁ ▁█", ". .|"},
		{[]float64{1, 2}, 0, 2, "▅█", "||"},
		{[]float64{1, 2}, nan, 2, "▅█", "||"},
		{[]float64{0, 0}, 0, 2, "▁▁", ".."},
		{[]float64{nan, nan}, 0, 2, "  ", "  "},
		{[]float64{1, inf}, 0, 2, "▂█", ":|"},
		{[]float64{1e-300}, 1, 1, "▂", ":"},
	} {
		if got := Spark(c.values, c.top, c.w, false); got != c.spark {
			t.Errorf("Spark(%v, %v, %d) = %q, want %q", c.values, c.top, c.w, got, c.spark)
		}
		if got := Spark(c.values, c.top, c.w, true); got != c.inASCII {
			t.Errorf("Spark(%v, %v, %d) in ASCII = %q, want %q", c.values, c.top, c.w, got, c.inASCII)
		}
	}
}

func TestBarAndSparkAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, ascii := rapid.IntRange(-2, 50).Draw(t, "w"), rapid.Bool().Draw(t, "ascii")
		fraction := rapid.Float64().Draw(t, "fraction")
		bar := Bar(fraction, w, ascii)
		spark := Spark(rapid.SliceOf(rapid.Float64()).Draw(t, "values"), rapid.Float64().Draw(t, "top"), w, ascii)
		for _, s := range []Safe{bar, spark} {
			requireSafe(t, s)
			if got := ansi.StringWidth(string(s)); got != max(0, w) {
				t.Fatalf("%q has %d cells, want %d", s, got, w)
			}
		}
		if w > 1 {
			if empty := strings.TrimSpace(string(bar)) == ""; empty != !(fraction > 0) {
				t.Fatalf("Bar(%v, %d) = %q", fraction, w, bar)
			}
			full := bar == Repeat("█", w) || bar == Repeat("=", w)
			if full != (fraction >= 1) {
				t.Fatalf("Bar(%v, %d) = %q", fraction, w, bar)
			}
		}
	})
}
