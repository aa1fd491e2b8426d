package demo_test

import (
	"slices"
	"testing"

	"dlock/demo"
	"dlock/demo/lab"
)

// The tour runs from start to end and back again, and the same seed shows the
// same.
func TestTour(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind lab.Kind) {
		tour, err := demo.StartTour(t.Context(), kind, 3)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := tour.Close(); err != nil {
				t.Error(err)
			}
		}()
		var forth []demo.Seen
		for range demo.Steps {
			seen, err := tour.Next(t.Context())
			if err != nil {
				t.Fatalf("%v; seen %q", err, seen.Lines)
			}
			if seen.Step != len(forth) || seen.Of != len(demo.Steps) || len(seen.Lines) == 0 {
				t.Errorf("step %d is %+v", len(forth), seen)
			}
			forth = append(forth, seen)
		}
		for _, name := range []string{"minority", "acquire"} {
			i := slices.IndexFunc(demo.Steps, func(s demo.Step) bool { return s.Name == name })
			again, err := tour.Do(t.Context(), i)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(again.Lines, forth[i].Lines) {
				t.Errorf("%s shows %q and then %q", name, forth[i].Lines, again.Lines)
			}
		}
		if seen, err := tour.Back(t.Context()); err != nil || seen.Step != 0 {
			t.Errorf("before the first step comes %+v, %v", seen, err)
		}
		if _, err := tour.Do(t.Context(), len(demo.Steps)); err == nil {
			t.Error("there is a step too many")
		}
	})
}
