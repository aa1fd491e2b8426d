package main

import (
	"fmt"
	"math"
	"strconv"
)

// unit says what a number counts, and with that how it is written.
type unit string

const (
	perSecond unit = "1/s"
	millis    unit = "ms"
	times     unit = "×"
	count     unit = ""
	percent   unit = "%"
	whole     unit = "#" // a count of things, not an average
)

// show writes a number with three digits that count, or with all that stand
// before the point.
func (u unit) show(v float64) string {
	digits := 0
	if size := math.Abs(v); u != whole && size > 0 && size < 100 {
		digits = max(0, min(4, 2-int(math.Floor(math.Log10(size)))))
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if digits == 0 {
		text = group(text)
	}
	switch u {
	case millis, percent:
		return fmt.Sprintf("%s %s", text, u)
	case times:
		return text + string(u)
	case perSecond:
		return text + "/s"
	default:
		return text
	}
}

// group sets commas between each three digits of a whole number.
func group(digits string) string {
	sign := ""
	if digits != "" && digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}
