package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"dlock/demo"
	"dlock/ui/text"
)

// tourStepJSON is one step of `demo --tour --headless -o json`.
type tourStepJSON struct {
	Step  int      `json:"step"`
	Of    int      `json:"of"`
	Title string   `json:"title"`
	Text  string   `json:"text"`
	Seen  []string `json:"seen"`
	Error string   `json:"error,omitempty"`
}

// demoTour goes through the guided tour and prints what it sees.
func (p *program) demoTour(ctx context.Context, conf demo.Config, format string) (err error) {
	tour, err := demo.StartTour(ctx, conf.Kind, conf.Seed)
	if err != nil {
		return exitWith(exitFailure, "the tour does not start: %s", err)
	}
	defer func() { err = stopDemo(stopper(tour.Close), err) }()
	var steps []tourStepJSON
	var failed error
	for range demo.Steps {
		seen, err := tour.Next(ctx)
		step := tourStepJSON{Step: seen.Step + 1, Of: seen.Of, Title: seen.Title, Text: seen.Text, Seen: append([]string{}, seen.Lines...), Error: errText(err)}
		steps = append(steps, step)
		if format == "text" {
			if err := step.write(p.stdout); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return quiet(exitInterrupted)
		}
		if err != nil {
			failed = exitWith(exitFailure, "%s", err)
			break
		}
	}
	if format == "json" {
		if err := writeJSON(p.stdout, map[string]any{"schema": jsonSchema, "steps": steps}, true); err != nil {
			return err
		}
	}
	return failed
}

// stopper is a function that stops something.
type stopper func() error

func (s stopper) Stop() error { return s() }

func (s tourStepJSON) write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d/%d  %s\n     %s\n", s.Step, s.Of, s.Title, s.Text)
	for _, line := range s.Seen {
		fmt.Fprintf(&b, "   > %s\n", string(text.Escaped(line)))
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}
