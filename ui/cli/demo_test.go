package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dlock/demo"
	"dlock/demo/lab"
	"dlock/demo/store"
	"dlock/ui/tui"
)

// fakeDemo is a demo that has already happened.
type fakeDemo struct {
	tui.Lab
	status  demo.Status
	stopped int
	stopErr error

	finishErr error
	modes     []demo.Mode
}

func (f *fakeDemo) Status() demo.Status { return f.status }
func (f *fakeDemo) URLs() []string {
	return []string{"redis://127.0.0.1:7101", "redis://127.0.0.1:7102"}
}
func (f *fakeDemo) Stop() error { f.stopped++; return f.stopErr }
func (f *fakeDemo) SetMode(_ context.Context, m demo.Mode) error {
	f.modes = append(f.modes, m)
	return nil
}
func (f *fakeDemo) Done() <-chan struct{}                       { return nil }
func (f *fakeDemo) Finish(context.Context) (demo.Status, error) { return f.status, f.finishErr }

func finished(broken ...string) *fakeDemo {
	return &fakeDemo{status: demo.Status{
		Started: fixedNow.Add(-10 * time.Second), Kind: lab.Embedded, TTL: 6 * time.Second, Workers: make([]demo.Worker, 4),
		Scenario: demo.Scenarios[0], Store: "SQLite 3",
		Nodes:  []lab.Status{{Name: "n1", Addr: "127.0.0.1:7101", State: lab.Up}, {Name: "n2", Addr: "127.0.0.1:7102", State: lab.Down}},
		Grants: 120, Contended: 45, NoQuorum: 6, Losses: 1,
		Table: []demo.ModeTally{
			{Mode: demo.None, Ran: 5 * time.Second, Operations: 100, WaitP50: 5 * time.Microsecond, DoubleEntries: 7, Store: store.Audit{Oversold: 3, Lost: 4}},
			{Mode: demo.Fenced, Ran: 5 * time.Second, Operations: 20, WaitP50: 12 * time.Millisecond, Contended: 45, NoQuorum: 6, Losses: 1, Refused: 1, Voided: []string{"evict"}, Broken: broken},
		},
		Events: []demo.Event{{At: fixedNow.Add(-8 * time.Second), Text: "kill n2"}},
	}}
}

func TestHeadlessDemo(t *testing.T) {
	args := []string{"demo", "--headless", "--duration", "1ms", "--nodes", "2", "--workers", "4", "--resources", "3", "--kind", "embedded", "--ttl", "6s", "--seed", "7"}
	for _, c := range []struct {
		name string
		more []string
		d    *fakeDemo
		code int
	}{
		{"text", nil, finished(), exitOK},
		{"json", []string{"-o", "json"}, finished(), exitOK},
		{"broken", nil, finished("redlock promises something", "and another thing"), exitTrouble},
		{"ended by itself", nil, &fakeDemo{finishErr: errors.New("a worker panicked")}, exitFailure},
		{"not stopped", nil, &fakeDemo{stopErr: errors.New("n1 is a zombie")}, exitFailure},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got demo.Config
			e := invocation{
				args: append(args, c.more...),
				demo: func(_ context.Context, conf demo.Config) (demoRun, error) { got = conf; return c.d, nil },
			}.run(t)
			wantCode(t, e, c.code)
			if want := (demo.Config{Nodes: 2, Workers: 4, Resources: 3, Kind: lab.Embedded, TTL: 6 * time.Second, Seed: 7, Scenario: "contention", Mode: demo.Redlock}); got != want {
				t.Errorf("config %+v", got)
			}
			if c.d.stopped != 1 {
				t.Errorf("stopped %d times", c.d.stopped)
			}
			switch c.name {
			case "text":
				want := `contention for 10.0s: 2 nodes, 4 workers, 3 resources, embedded nodes, SQLite 3, ttl 6s, seed 7
                                 none  redlock+fence
operations                        100             20
a second                           20              4
wait, half                        5µs         12.0ms
somebody was inside                 .             45
double entries                      7              .
oversold                            3              .
lost updates                        4              .
refused by the fence                .              1
locks lost while held               .              1
attempts without a quorum           .              6
redlock+fence: what it promises does not cover evict
what was done:
     2.0s  kill n2
`
				if e.out != want {
					t.Errorf("%s", e.out)
				}
			case "json":
				var tally demoTally
				if err := json.Unmarshal([]byte(e.out), &tally); err != nil {
					t.Fatal(err)
				}
				if tally.Grants != 120 || tally.DurationMS != 10_000 || tally.Nodes[1].State != "down" || tally.Schema != 1 || len(tally.Modes) != 2 ||
					tally.Modes[0].Oversold != 3 || tally.Modes[0].PerSecond != 20 || tally.Modes[1].Refused != 1 || tally.Events[0].MS != 2000 {
					t.Errorf("%+v", tally)
				}
			case "broken":
				wantSentence(t, e, "redlock promises something; and another thing")
			case "ended by itself":
				wantSentence(t, e, "a worker panicked")
			case "not stopped":
				wantSentence(t, e, "n1 is a zombie")
			}
		})
	}
}

func TestDemoThatDoesNotStart(t *testing.T) {
	e := invocation{
		args: []string{"demo", "--headless"},
		demo: func(context.Context, demo.Config) (demoRun, error) { return nil, errors.New("no port is free") },
	}.run(t)
	wantCode(t, e, exitFailure)
	wantSentence(t, e, "the demo does not start: no port is free")
}

func TestInterruptedDemoStillTells(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := finished()
	e := invocation{
		args: []string{"demo", "--headless", "--duration", "1h"}, ctx: ctx,
		demo: func(context.Context, demo.Config) (demoRun, error) { cancel(); return d, nil },
	}.run(t)
	wantCode(t, e, exitInterrupted)
	wantSilentStderr(t, e)
	if d.stopped != 1 || !strings.Contains(e.out, "operations") {
		t.Errorf("stopped %d: %s", d.stopped, e.out)
	}
}

// The live demo looks at the demo's nodes, whatever else is configured, and
// takes no credentials there.
func TestLiveDemo(t *testing.T) {
	d := finished()
	started := 0
	e := invocation{
		args: []string{"demo"}, env: []string{"DLOCK_NODES=redis://prod:1", "DLOCK_PASSWORD=secret", "DLOCK_MATCH=x*"}, inTTY: true, outTTY: true, width: 80,
		demo: func(context.Context, demo.Config) (demoRun, error) { return d, nil },
		tui: func(_ context.Context, c tui.Config, _ tui.Source) error {
			started++
			if c.Lab != tui.Lab(d) || c.ReadOnly != "" || c.Audit != nil {
				t.Errorf("%+v", c)
			}
			return nil
		},
	}.run(t)
	wantCode(t, e, exitOK)
	if started != 1 || d.stopped != 1 {
		t.Errorf("started %d, stopped %d", started, d.stopped)
	}
	if s := e.settings; s.password != "" || s.nodes[0] != d.URLs()[0] || len(s.match) != 0 {
		t.Errorf("settings %+v", s)
	}
}

func TestRealHeadlessDemo(t *testing.T) {
	var out, errs bytes.Buffer
	args := []string{"demo", "--headless", "--duration", "500ms", "--kind", "embedded", "--nodes", "3", "--workers", "4", "-o", "json"}
	code := Main(t.Context(), args, nil, strings.NewReader(""), &out, &errs)
	var tally demoTally
	if err := json.Unmarshal(out.Bytes(), &tally); err != nil {
		t.Fatalf("exit code %d, %v: %s %s", code, err, out.String(), errs.String())
	}
	if code != exitOK || tally.Violations != 0 || len(tally.Nodes) != 3 || tally.Workers != 4 || tally.Kind != "embedded" {
		t.Errorf("exit code %d, %+v", code, tally)
	}
}

// Modes run one after the other, each for the duration, and a script may be in
// a file.
func TestHeadlessModesAndFaults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "faults")
	const script = "1s kill n1 # the first\n2s restart n1\n"
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{file: script, "random": "random", "1s kill n1; 2s restart n1": "1s kill n1; 2s restart n1", "": ""} {
		d := finished()
		e := invocation{
			args: []string{"demo", "--headless", "--duration", "1ms", "--scenario", "flash-sale", "--mode", "none,redlock+fence, single", "--faults", given},
			demo: func(_ context.Context, conf demo.Config) (demoRun, error) {
				if conf.Faults != want || conf.Mode != demo.None || conf.Workers != 0 || conf.Rate != 0 {
					t.Errorf("--faults %q: %+v", given, conf)
				}
				return d, nil
			},
		}.run(t)
		wantCode(t, e, exitOK)
		if !slices.Equal(d.modes, []demo.Mode{demo.Fenced, demo.Single}) {
			t.Errorf("then came %q", d.modes)
		}
	}
}

// A real run that damages what it does not promise to keep is no failure.
func TestRealDamageAndTour(t *testing.T) {
	var out, errs bytes.Buffer
	args := []string{"demo", "--headless", "--duration", "1s", "--kind", "embedded", "--nodes", "1", "--scenario", "flash-sale", "--mode", "none", "-o", "json"}
	code := Main(t.Context(), args, nil, strings.NewReader(""), &out, &errs)
	var tally demoTally
	if err := json.Unmarshal(out.Bytes(), &tally); err != nil {
		t.Fatalf("exit code %d, %v: %s %s", code, err, out.String(), errs.String())
	}
	if code != exitOK || len(tally.Modes) != 1 || tally.Modes[0].LostUpdates == 0 || tally.Modes[0].Mode != "none" {
		t.Errorf("exit code %d, %+v", code, tally)
	}
	out.Reset()
	code = Main(t.Context(), []string{"demo", "--headless", "--tour", "--kind", "embedded"}, nil, strings.NewReader(""), &out, &errs)
	if code != exitOK || errs.Len() != 0 {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	for _, s := range demo.Steps {
		if !strings.Contains(out.String(), s.Title+"\n") {
			t.Errorf("the tour lacks %q", s.Title)
		}
	}
}

// The help names all that there is.
func TestDemoHelpIsComplete(t *testing.T) {
	e := invocation{args: []string{"demo", "--help"}}.run(t)
	for _, f := range demo.Faults {
		if !strings.Contains(e.out, "\n  "+f.Name+" ") {
			t.Errorf("the help lacks the fault %s", f.Name)
		}
	}
	for _, m := range demo.Modes {
		if !strings.Contains(e.out, "\n  "+string(m.Mode)+" ") {
			t.Errorf("the help lacks the mode %s", m.Mode)
		}
	}
	for _, s := range demo.Scenarios {
		if !strings.Contains(e.out, "\n  "+s.Name+" ") {
			t.Errorf("the help lacks the scenario %s", s.Name)
		}
	}
}
