package dialect

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// The table for users says of each library what the code says of it.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/dialects.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 6 || !strings.HasPrefix(cells[0], "| ") {
			continue
		}
		cells[0] = strings.TrimPrefix(cells[0], "| ")
		cells[5] = strings.TrimSuffix(cells[5], " |")
		rows[cells[0]] = cells
	}
	for _, d := range dialects {
		want := []string{d.Name(), docPatterns(d), docConfidence(d), docHabits(d)}
		row := rows[d.Name()]
		if row == nil {
			t.Errorf("no row for %s", strings.Join(want, " | "))
			continue
		}
		if !slices.Equal(row[:4], want) {
			t.Errorf("the row of %s begins\n%q, and not\n%q", d.Name(), row[:4], want)
		}
		if row[4] == "" || row[5] == "" {
			t.Errorf("the row of %s is not complete", d.Name())
		}
		delete(rows, d.Name())
	}
	delete(rows, "Library")
	delete(rows, "---")
	for name := range rows {
		t.Errorf("there is a row for %q, which no dialect is called", name)
	}
}

func docPatterns(d Dialect) string {
	var out []string
	for _, p := range d.Patterns() {
		out = append(out, "`"+strings.ReplaceAll(p, "|", `\|`)+"`")
	}
	if out == nil {
		return "–"
	}
	return strings.Join(out, " ")
}

// docConfidence has how sure the examples of a library are.
func docConfidence(d Dialect) string {
	var out []string
	for sure, word := range []string{"possible", "likely", "certain"} {
		if slices.ContainsFunc(examples(), func(x example) bool {
			return x.as == d.Name() && x.as != Unknown && x.want.Confidence == Confidence(sure)
		}) {
			out = append(out, word)
		}
	}
	if out == nil {
		return "–"
	}
	return strings.Join(out, ", ")
}

// docHabits has the habits that a library has in any of its examples.
func docHabits(d Dialect) string {
	h := habitsOf(d.Name())
	for _, x := range examples() {
		if x.as != d.Name() || len(x.want.Candidates) > 1 {
			continue
		}
		w := x.want.Habits
		h.Renews = max(h.Renews, w.Renews)
		h.Endless = h.Endless || w.Endless
		h.Recreates = h.Recreates || w.Recreates
		h.Careless = h.Careless || w.Careless
		h.Enqueued = h.Enqueued || w.Enqueued
		h.Lingers = h.Lingers || w.Lingers
	}
	var out []string
	if h.Renews > 0 {
		out = append(out, fmt.Sprintf("renews %gs", h.Renews.Seconds()))
	}
	for _, habit := range []struct {
		has  bool
		word string
	}{
		{h.Endless, "endless"},
		{h.Recreates, "comes back"},
		{h.Careless, "unchecked"},
		{h.Enqueued, "enqueued"},
		{h.Lingers, "lingers"},
	} {
		if habit.has {
			out = append(out, habit.word)
		}
	}
	if out == nil {
		return "–"
	}
	return strings.Join(out, ", ")
}
