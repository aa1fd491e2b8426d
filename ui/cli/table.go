package cli

import (
	"io"
	"slices"
	"strings"

	"dlock/ui/text"
)

// column is one column of a table and how it gives way when the terminal is
// too narrow.
type column struct {
	title text.Safe
	right bool
	// least is the width the column may be cut to, 0 for never cut; tight
	// is the same when the terminal is so narrow that columns had to go.
	least, tight int
	// middle cuts out the middle rather than the end.
	middle bool
	// drop orders the columns that may go entirely: 1 goes first, 0 never.
	drop int
}

type cell struct {
	text  text.Safe
	style style
}

// table is rows of cells under titles.
type table struct {
	columns []column
	rows    [][]cell
}

const gap = 2

// write prints the table. With a limit every line has at most that many cells;
// without one nothing is cut.
func (t *table) write(w io.Writer, l look) error {
	widths := t.fit(l.width)
	var b strings.Builder
	head := make([]cell, len(t.columns))
	for i, c := range t.columns {
		head[i] = cell{text: c.title, style: bold}
	}
	t.line(&b, l, widths, head)
	for _, row := range t.rows {
		t.line(&b, l, widths, row)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *table) line(b *strings.Builder, l look, widths []int, row []cell) {
	fit := l.fitter()
	last := -1
	for i, w := range widths {
		if w > 0 {
			last = i
		}
	}
	first := true
	for i, w := range widths {
		if w == 0 {
			continue
		}
		if !first {
			b.WriteString(strings.Repeat(" ", gap))
		}
		first = false
		s := row[i].text
		if t.columns[i].middle {
			s = fit.TruncateMiddle(s, w)
		} else {
			s = fit.Truncate(s, w)
		}
		pad := strings.Repeat(" ", max(0, w-text.Width(s)))
		if t.columns[i].right {
			b.WriteString(pad)
		}
		b.WriteString(l.paint(row[i].style, string(s)))
		if !t.columns[i].right && i != last {
			b.WriteString(pad)
		}
	}
	b.WriteByte('\n')
}

// fit returns each column's width; 0 drops the column.
func (t *table) fit(limit int) []int {
	natural := make([]int, len(t.columns))
	for i, c := range t.columns {
		natural[i] = text.Width(c.title)
	}
	for _, row := range t.rows {
		for i, c := range row {
			natural[i] = max(natural[i], text.Width(c.text))
		}
	}
	if limit <= 0 || total(natural) <= limit {
		return natural
	}
	for drop := 1; ; drop++ {
		if widths := t.shrink(natural, limit, drop >= tightAfter); total(widths) <= limit {
			return widths
		}
		i := t.dropped(drop)
		if i < 0 {
			return squeeze(t.shrink(natural, limit, true), limit)
		}
		natural[i] = 0
	}
}

// tightAfter is how many columns go before others are cut to their tight width.
const tightAfter = 3

// shrink cuts columns down to their least width, as far as needed.
func (t *table) shrink(natural []int, limit int, tight bool) []int {
	widths := slices.Clone(natural)
	for i, c := range t.columns {
		least := c.least
		if tight && c.tight > 0 {
			least = c.tight
		}
		if least > 0 && widths[i] > least {
			widths[i] -= min(widths[i]-least, max(0, total(widths)-limit))
		}
	}
	return widths
}

func (t *table) dropped(order int) int {
	for i, c := range t.columns {
		if c.drop == order {
			return i
		}
	}
	return -1
}

// squeeze cuts from the right until the line fits a terminal of any width.
func squeeze(widths []int, limit int) []int {
	for i := len(widths) - 1; i >= 0; i-- {
		if over := total(widths) - limit; over > 0 {
			widths[i] = max(0, widths[i]-over)
		}
	}
	return widths
}

func total(widths []int) int {
	sum, shown := 0, 0
	for _, w := range widths {
		if w > 0 {
			sum += w
			shown++
		}
	}
	return sum + gap*max(0, shown-1)
}
