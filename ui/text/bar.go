package text

import (
	"math"
	"strings"
)

const (
	eighthBlocks = " ▏▎▍▌▋▊▉█" // from empty to full, left to right
	sparkBlocks  = "▁▂▃▄▅▆▇█"  // from low to high
	sparkASCII   = ".:|"
)

// Bar returns a bar of exactly w cells that is filled from the left by the
// given fraction, in eighths of a cell or, with ascii, in whole cells. A
// fraction outside 0 to 1 counts as the nearer end, NaN as 0. Only a fraction
// of 0 is quite empty, and only one of 1 quite full unless there is but one step.
func Bar(fraction float64, w int, ascii bool) Safe { return Fitter{ASCII: ascii}.Bar(fraction, w) }

// Bar is the function [Bar] with this Fitter's glyphs.
func (f Fitter) Bar(fraction float64, w int) Safe {
	if w <= 0 {
		return ""
	}
	if f.ASCII || ambiguousWide {
		full := steps(fraction, w)
		return Safe(strings.Repeat("=", full) + spaces(w-full))
	}
	eighths := steps(fraction, 8*w)
	full, part := eighths/8, eighths%8
	out := strings.Repeat("█", full)
	if part > 0 {
		out += string([]rune(eighthBlocks)[part])
		full++
	}
	return Safe(out + spaces(w-full))
}

// steps returns how many of n steps the fraction fills, rounded down except
// that only nothing is none and, where there are two steps or more, only the
// whole is all.
func steps(fraction float64, n int) int {
	switch {
	case !(fraction > 0): // NaN too
		return 0
	case fraction >= 1:
		return n
	default:
		return min(max(1, int(fraction*float64(n))), max(1, n-1))
	}
}

// Spark returns a line of exactly w cells that shows the last w values, the
// newest at the right; where there are fewer, it begins with spaces. A value of
// top or more has full height; if top is not above 0, the largest value shown
// has. Zero and negative values have the lowest mark, any other a higher one,
// and NaN, for a value that is not known, is a space.
func Spark(values []float64, top float64, w int, ascii bool) Safe {
	return Fitter{ASCII: ascii}.Spark(values, top, w)
}

// Spark is the function [Spark] with this Fitter's glyphs.
func (f Fitter) Spark(values []float64, top float64, w int) Safe {
	if w <= 0 {
		return ""
	}
	values = values[max(0, len(values)-w):]
	if !(top > 0) {
		top = 0
		for _, v := range values {
			if v > top { // never true for NaN
				top = v
			}
		}
	}
	glyphs := []rune(sparkBlocks)
	if f.ASCII || ambiguousWide {
		glyphs = []rune(sparkASCII)
	}
	var out strings.Builder
	out.WriteString(spaces(w - len(values)))
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			out.WriteByte(' ')
		case v <= 0:
			out.WriteRune(glyphs[0])
		case v >= top: // also where both are infinite
			out.WriteRune(glyphs[len(glyphs)-1])
		default:
			above := len(glyphs) - 1
			out.WriteRune(glyphs[1+min(above-1, int(v/top*float64(above)))])
		}
	}
	return Safe(out.String())
}
