package text

import (
	"strconv"
	"time"
)

// Duration writes a length of time for people in at most six characters: 0.9s,
// 12.3s, 2m10s, 1h02m, 3d4h, 250d, 12y. It rounds down, so that what is left of
// a lock is never overstated. A negative duration counts as 0.
func Duration(d time.Duration) Safe {
	const day = 24 * time.Hour
	n := func(unit time.Duration) string { return strconv.FormatInt(int64(d/unit), 10) }
	two := func(v time.Duration) string { return strconv.Itoa(int(v) + 100)[1:] }
	d = max(0, d)
	switch {
	case d < time.Minute:
		return Safe(n(time.Second) + "." + strconv.Itoa(int(d/(100*time.Millisecond)%10)) + "s")
	case d < time.Hour:
		return Safe(n(time.Minute) + "m" + two(d/time.Second%60) + "s")
	case d < day:
		return Safe(n(time.Hour) + "h" + two(d/time.Minute%60) + "m")
	case d < 100*day:
		return Safe(n(day) + "d" + strconv.Itoa(int(d/time.Hour%24)) + "h")
	case d < 1000*day:
		return Safe(n(day) + "d")
	default:
		return Safe(n(365*day) + "y")
	}
}

// Latency writes a short time, such as a round trip, in at most six characters:
// 0.04ms, 3.1ms, 250ms, and from one second on as [Duration] does. It rounds
// down; a negative duration counts as 0.
func Latency(d time.Duration) Safe {
	d = max(0, d)
	ms := d.Milliseconds()
	switch {
	case d < time.Millisecond:
		return Safe("0." + strconv.Itoa(int(d/(10*time.Microsecond)) + 100)[1:] + "ms")
	case d < 100*time.Millisecond:
		return Safe(strconv.FormatInt(ms, 10) + "." + strconv.Itoa(int(d/(100*time.Microsecond)%10)) + "ms")
	case d < time.Second:
		return Safe(strconv.FormatInt(ms, 10) + "ms")
	default:
		return Duration(d)
	}
}

// Integer is what [Count] counts with.
type Integer interface {
	~int | ~int32 | ~int64 | ~uint | ~uint32 | ~uint64
}

// Count writes a number in at most five characters, six with a minus sign:
// 999, 1.2k, 12.4k, 124k, 1.5M, and so on in steps of a thousand (k, M, G, T,
// P, E). It rounds towards zero.
func Count[N Integer](n N) Safe {
	sign, u := "", uint64(n)
	if n < 0 {
		sign, u = "-", -u
	}
	if u < 1000 {
		return Safe(sign + strconv.FormatUint(u, 10))
	}
	unit, i := uint64(1000), 0
	for u/unit >= 1000 {
		unit *= 1000
		i++
	}
	whole := strconv.FormatUint(u/unit, 10)
	if u/unit < 100 {
		whole += "." + strconv.FormatUint(u%unit/(unit/10), 10)
	}
	return Safe(sign + whole + "kMGTPE"[i:i+1])
}
