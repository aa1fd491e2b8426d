package text

import "strings"

// Fitter makes text fit. Its zero value uses Unicode glyphs and is what the
// functions of the same names use.
type Fitter struct {
	// ASCII replaces … by ~, blocks by = and :, and makes Clean escape
	// everything beyond ASCII: for terminals whose locale is not UTF-8.
	ASCII bool
}

// Fit returns s in exactly w cells: cut at the right with an ellipsis, or
// followed by spaces.
func Fit(s Safe, w int) Safe { return Fitter{}.Fit(s, w) }

// FitRight returns s in exactly w cells, aligned to the right as numbers are;
// cut at the right with an ellipsis where it is too long.
func FitRight(s Safe, w int) Safe { return Fitter{}.FitRight(s, w) }

// FitMiddle returns s in exactly w cells: cut in the middle with an ellipsis so
// that its beginning and its last segment both stay, or followed by spaces. A
// segment begins with one of : / . |
func FitMiddle(s Safe, w int) Safe { return Fitter{}.FitMiddle(s, w) }

// Truncate returns s in at most w cells, cut at the right with an ellipsis.
func Truncate(s Safe, w int) Safe { return Fitter{}.Truncate(s, w) }

// TruncateMiddle returns s in at most w cells, cut as [FitMiddle] does.
func TruncateMiddle(s Safe, w int) Safe { return Fitter{}.TruncateMiddle(s, w) }

// Fit is the function [Fit] with this Fitter's ellipsis.
func (f Fitter) Fit(s Safe, w int) Safe {
	s, width := f.truncate(s, w)
	return padRight(s, width, w)
}

// FitRight is the function [FitRight] with this Fitter's ellipsis.
func (f Fitter) FitRight(s Safe, w int) Safe {
	s, width := f.truncate(s, w)
	if width >= w {
		return s
	}
	return Safe(spaces(w-width)) + s
}

// FitMiddle is the function [FitMiddle] with this Fitter's ellipsis.
func (f Fitter) FitMiddle(s Safe, w int) Safe {
	s, width := f.truncateMiddle(s, w)
	return padRight(s, width, w)
}

// Truncate is the function [Truncate] with this Fitter's ellipsis.
func (f Fitter) Truncate(s Safe, w int) Safe {
	s, _ = f.truncate(s, w)
	return s
}

// TruncateMiddle is the function [TruncateMiddle] with this Fitter's ellipsis.
func (f Fitter) TruncateMiddle(s Safe, w int) Safe {
	s, _ = f.truncateMiddle(s, w)
	return s
}

// ellipsis is one cell wide.
func (f Fitter) ellipsis() Safe {
	if f.ASCII || ambiguousWide {
		return "~"
	}
	return ellipsisRune
}

func (f Fitter) truncate(s Safe, w int) (Safe, int) {
	width := Width(s)
	if width <= w {
		return s, width
	}
	if w <= 0 {
		return "", 0
	}
	size, width := head(string(s), w-1)
	return s[:size] + f.ellipsis(), width + 1
}

func (f Fitter) truncateMiddle(s Safe, w int) (Safe, int) {
	total := Width(s)
	if total <= w {
		return s, total
	}
	if w <= 0 {
		return "", 0
	}
	room := w - 1
	start, tailWidth := lastSegment(string(s), room*2/3)
	if tailWidth == 0 {
		start, tailWidth = tail(string(s), room/2, total)
	}
	size, headWidth := head(string(s[:start]), room-tailWidth)
	return s[:size] + f.ellipsis() + s[start:], headWidth + 1 + tailWidth
}

// lastSegment returns where the last segment of s, its separator included,
// begins, and its width; the width is 0 if there is none of at most w cells. A
// separator at the very end belongs to the segment before it.
func lastSegment(s string, w int) (start, width int) {
	start = strings.LastIndexAny(s[:max(0, len(s)-1)], ":/.|")
	if start <= 0 {
		return 0, 0
	}
	if width = Width(Safe(s[start:])); width > w {
		return 0, 0
	}
	return start, width
}

func padRight(s Safe, width, w int) Safe {
	if width >= w {
		return s
	}
	return s + Safe(spaces(w-width))
}
