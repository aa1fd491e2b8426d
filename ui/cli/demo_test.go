package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"dlock/demo"
	"dlock/demo/lab"
	"dlock/ui/tui"
)

// fakeDemo is a demo that has already happened.
type fakeDemo struct {
	tui.Lab
	status  demo.Status
	stopped int
	stopErr error
}

func (f *fakeDemo) Status() demo.Status { return f.status }
func (f *fakeDemo) URLs() []string {
	return []string{"redis://127.0.0.1:7101", "redis://127.0.0.1:7102"}
}
func (f *fakeDemo) Stop() error { f.stopped++; return f.stopErr }

func tallied(violations uint64) *fakeDemo {
	return &fakeDemo{status: demo.Status{
		Started: fixedNow.Add(-10 * time.Second), Kind: lab.Embedded, TTL: 6 * time.Second, Workers: make([]demo.Worker, 4),
		Nodes:  []lab.Status{{Name: "n1", Addr: "127.0.0.1:7101", State: lab.Up}, {Name: "n2", Addr: "127.0.0.1:7102", State: lab.Down}},
		Grants: 120, Contended: 45, NoQuorum: 6, Losses: 1, Violations: violations,
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
		{"text", nil, tallied(0), exitOK},
		{"json", []string{"-o", "json"}, tallied(0), exitOK},
		{"violations", nil, tallied(2), exitFailure},
		{"not stopped", nil, &fakeDemo{stopErr: errors.New("n1 is a zombie")}, exitFailure},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got demo.Config
			e := invocation{
				args: append(args, c.more...),
				demo: func(_ context.Context, conf demo.Config) (demoRun, error) { got = conf; return c.d, nil },
			}.run(t)
			wantCode(t, e, c.code)
			if want := (demo.Config{Nodes: 2, Workers: 4, Resources: 3, Kind: lab.Embedded, TTL: 6 * time.Second, Seed: 7}); got != want {
				t.Errorf("config %+v", got)
			}
			if c.d.stopped != 1 {
				t.Errorf("stopped %d times", c.d.stopped)
			}
			switch c.name {
			case "text":
				want := "2 nodes, 4 workers, 3 resources, embedded nodes, ttl 6s, seed 7\n" +
					"     120  grants in 10.0s\n      45  waits, somebody else was inside\n       6  attempts without a quorum\n" +
					"       1  locks lost while held\n       0  times two workers were inside one resource under valid locks\n"
				if e.out != want {
					t.Errorf("%s", e.out)
				}
			case "json":
				var tally demoTally
				if err := json.Unmarshal([]byte(e.out), &tally); err != nil {
					t.Fatal(err)
				}
				if tally.Grants != 120 || tally.DurationMS != 10_000 || tally.Nodes[1].State != "down" || tally.Schema != 1 {
					t.Errorf("%+v", tally)
				}
			case "violations":
				wantSentence(t, e, "2 times")
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
	d := tallied(0)
	e := invocation{
		args: []string{"demo", "--headless", "--duration", "1h"}, ctx: ctx,
		demo: func(context.Context, demo.Config) (demoRun, error) { cancel(); return d, nil },
	}.run(t)
	wantCode(t, e, exitInterrupted)
	wantSilentStderr(t, e)
	if d.stopped != 1 || !strings.Contains(e.out, "120  grants") {
		t.Errorf("stopped %d: %s", d.stopped, e.out)
	}
}

// The live demo looks at the demo's nodes, whatever else is configured, and
// takes no credentials there.
func TestLiveDemo(t *testing.T) {
	d := tallied(0)
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
