package text

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDurationTable(t *testing.T) {
	const day = 24 * time.Hour
	for in, want := range map[time.Duration]Safe{
		0:                                       "0.0s",
		-5 * time.Second:                        "0.0s",
		99 * time.Millisecond:                   "0.0s",
		900 * time.Millisecond:                  "0.9s",
		999*time.Millisecond + 999:              "0.9s",
		12300 * time.Millisecond:                "12.3s",
		time.Minute - 1:                         "59.9s",
		time.Minute:                             "1m00s",
		130 * time.Second:                       "2m10s",
		time.Hour - 1:                           "59m59s",
		62 * time.Minute:                        "1h02m",
		day - 1:                                 "23h59m",
		day:                                     "1d0h",
		3*day + 4*time.Hour + 59*time.Minute:    "3d4h",
		100*day - 1:                             "99d23h",
		100 * day:                               "100d",
		1000*day - 1:                            "999d",
		1000 * day:                              "2y",
		time.Duration(math.MaxInt64):            "292y",
		time.Duration(math.MinInt64):            "0.0s",
		10*time.Minute + 5*time.Second + 999999: "10m05s",
	} {
		if got := Duration(in); got != want {
			t.Errorf("Duration(%v) = %s, want %s", in, got, want)
		}
	}
}

func TestLatencyTable(t *testing.T) {
	for in, want := range map[time.Duration]Safe{
		0:                         "0.00ms",
		-1:                        "0.00ms",
		310 * time.Microsecond:    "0.31ms",
		999 * time.Microsecond:    "0.99ms",
		time.Millisecond:          "1.0ms",
		12345 * time.Microsecond:  "12.3ms",
		99999 * time.Microsecond:  "99.9ms",
		100 * time.Millisecond:    "100ms",
		999900 * time.Microsecond: "999ms",
		time.Second:               "1.0s",
		70 * time.Second:          "1m10s",
	} {
		if got := Latency(in); got != want {
			t.Errorf("Latency(%v) = %s, want %s", in, got, want)
		}
	}
}

func TestTimesStayShortAndNeverOverstate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64().Draw(t, "d") >> rapid.IntRange(0, 62).Draw(t, "shift"))
		for _, s := range []Safe{Duration(d), Latency(d)} {
			requireSafe(t, s)
			if Width(s) > 6 {
				t.Fatalf("%v is written %s", d, s)
			}
			if shown := readTime(t, s); shown > max(0, d) {
				t.Fatalf("%v is written %s, which is more", d, s)
			}
		}
	})
}

// readTime reads what Duration and Latency write.
func readTime(t *rapid.T, s Safe) time.Duration {
	text := string(s)
	days := time.Duration(0)
	const day = 24 * time.Hour
	if n, ok := strings.CutSuffix(text, "y"); ok {
		v, err := strconv.Atoi(n)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		return time.Duration(v) * 365 * day
	}
	if n, rest, ok := strings.Cut(text, "d"); ok {
		v, err := strconv.Atoi(n)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		days, text = time.Duration(v)*day, rest
	}
	if text == "" {
		return days
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return days + d
}

func TestCountTable(t *testing.T) {
	for in, want := range map[int64]Safe{
		0: "0", 7: "7", 999: "999", 1000: "1.0k", 1999: "1.9k", 12400: "12.4k", 12499: "12.4k", 99999: "99.9k",
		100000: "100k", 999999: "999k", 1000000: "1.0M", 1500000: "1.5M", 2_000_000_000: "2.0G",
		3_000_000_000_000: "3.0T", 4_000_000_000_000_000: "4.0P", math.MaxInt64: "9.2E",
		-5: "-5", -12400: "-12.4k", math.MinInt64: "-9.2E",
	} {
		if got := Count(in); got != want {
			t.Errorf("Count(%d) = %s, want %s", in, got, want)
		}
	}
	if got := Count(uint64(math.MaxUint64)); got != "18.4E" {
		t.Errorf("the largest number is written %s", got)
	}
}
