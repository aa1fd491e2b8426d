package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// missing stands for a figure that was not measured.
const missing = "-"

// print writes the facts, the figures of each scenario, and the targets.
func (r *report) print(w io.Writer, p plan) error {
	var b strings.Builder
	for _, f := range r.machine {
		fmt.Fprintf(&b, "%s: %s\n", f.Name, f.Value)
	}
	for _, s := range scenarios() {
		r.printScenario(&b, s, p)
	}
	r.printTargets(&b)
	r.printProblems(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *report) printScenario(b *strings.Builder, s scenario, p plan) {
	titled := false
	for _, n := range r.sizes() {
		head := []string{fmt.Sprintf("N=%d", n)}
		for _, c := range s.columns {
			head = append(head, c.name)
		}
		rows := [][]string{head}
		for _, c := range contestants() {
			row := []string{c.name}
			measured := false
			for _, column := range s.columns {
				v, ok := r.value(s.name, n, c.name, column.name)
				measured = measured || ok
				row = append(row, cell(v, ok, column.unit))
			}
			if measured {
				rows = append(rows, row)
			}
		}
		if len(rows) == 1 {
			continue
		}
		if !titled {
			fmt.Fprintf(b, "\n%s: %s\n", s.name, s.title(p))
			titled = true
		}
		align(b, rows)
		for _, k := range r.remarks {
			if k.Scenario == s.name && k.Nodes == n {
				fmt.Fprintf(b, "  (%s)\n", k.Text)
			}
		}
	}
}

func cell(v float64, ok bool, u unit) string {
	if !ok {
		return missing
	}
	return u.show(v)
}

func (r *report) printTargets(b *strings.Builder) {
	rows := [][]string{{"targets"}}
	for _, n := range r.sizes() {
		rows[0] = append(rows[0], fmt.Sprintf("N=%d", n), "target", "met")
	}
	verdicts := r.verdicts()
	for _, t := range targets {
		row := []string{t.name}
		measured := false
		for _, v := range verdicts {
			if v.Target == t.name {
				row = append(row, v.cells()...)
				measured = measured || v.Value != nil
			}
		}
		if measured { // else its scenario was not run
			rows = append(rows, row)
		}
	}
	if len(rows) == 1 {
		return
	}
	b.WriteByte('\n')
	align(b, rows)
}

// cells are the value, the limit, and whether it is met.
func (v verdict) cells() []string {
	value, limit, met := missing, missing, missing
	if v.Value != nil {
		value = v.Unit.show(*v.Value)
	}
	if v.Limit != nil {
		sign := "≤ "
		if v.AtLeast {
			sign = "≥ "
		}
		limit = sign + v.Unit.show(*v.Limit)
	}
	if v.Value != nil && v.Limit != nil {
		met = "NO"
		if v.Met {
			met = "yes"
		}
	}
	return []string{value, limit, met}
}

func (r *report) printProblems(b *strings.Builder) {
	for i, p := range r.problems {
		if i == 0 {
			b.WriteString("\nerrors that did not end the run:\n")
		}
		fmt.Fprintf(b, "  %s, N=%d, %s: %d, the first: %q\n", p.Scenario, p.Nodes, p.Contestant, p.Count, p.First)
	}
}

// align writes rows with the first column to the left and the others to the
// right, each as wide as its widest cell.
func align(b *strings.Builder, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, c := range row {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if i == 0 {
				line.WriteString("  " + c + space)
			} else {
				line.WriteString("   " + space + c)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}
