package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"dlock/demo/lab"
	"dlock/inspect"
)

// ailing is a picture with findings of every kind, some of them alike.
func ailing() inspect.Snapshot {
	s := everyKind()
	for i := range alikeMost + 2 {
		l := lockOf(fmt.Sprintf("lock:forever:%d", i), never, "t", "t", "t", "t", "!")
		l.Findings = []inspect.Finding{{ID: "no-expiry", Severity: inspect.High, Text: "It has no expiry.", Advice: "Find its holder."}}
		s.Locks = append(s.Locks, l)
	}
	return s
}

func TestDoctorScreens(t *testing.T) {
	healthy := picture(3, []inspect.Lock{lockOf("lock:a", in(time.Second), "t", "t", "t")})
	for _, c := range []struct {
		name  string
		width int
		args  []string
		snap  inspect.Snapshot
		code  int
	}{
		{"pipe", 0, nil, ailing(), exitTrouble},
		{"80", 80, []string{"--color", "never"}, ailing(), exitTrouble},
		{"colour", 0, []string{"--color", "always"}, ailing(), exitTrouble},
		{"json", 0, []string{"-o", "json"}, ailing(), exitTrouble},
		{"healthy", 0, nil, healthy, exitOK},
		{"healthy-json", 0, []string{"-o", "json"}, healthy, exitOK},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := invocation{args: append([]string{"doctor"}, c.args...), fake: &fakeInspector{snapshot: c.snap}, outTTY: c.width > 0, width: c.width}.run(t)
			wantCode(t, e, c.code)
			golden.RequireEqual(t, []byte(e.out))
			checkPrintable(t, e.out)
			if len(e.readOnly) != 1 || !e.readOnly[0] {
				t.Error("doctor did not open its nodes read-only")
			}
			if strings.Contains(c.name, "json") {
				wantJSON(t, "doctor", e.out)
			}
		})
	}
}

func TestDoctorExitCodes(t *testing.T) {
	with := func(severity inspect.Severity, down ...int) inspect.Snapshot {
		s := picture(3, nil, down...)
		s.Findings = []inspect.NodeFinding{{Finding: inspect.Finding{ID: "x", Severity: severity, Text: "T", Advice: "A"}, Nodes: []string{"n1"}}}
		return s
	}
	of := func(severity inspect.Severity) inspect.Snapshot {
		l := lockOf("lock:a", in(1e9), "t", "t", "t")
		l.Findings = []inspect.Finding{{ID: "x", Severity: severity, Text: "T", Advice: "A"}}
		return picture(3, []inspect.Lock{l})
	}
	for _, c := range []struct {
		name string
		snap inspect.Snapshot
		err  error
		code int
		said string
	}{
		{"nothing", picture(3, nil), nil, exitOK, ""},
		{"low", with(inspect.Low), nil, exitOK, ""},
		{"medium", with(inspect.Medium), nil, exitTrouble, ""},
		{"high", with(inspect.High), nil, exitTrouble, ""},
		{"a lock, low", of(inspect.Low), nil, exitOK, ""},
		{"a lock, medium", of(inspect.Medium), nil, exitTrouble, ""},
		{"a node is silent", picture(3, nil, 1), nil, exitIncomplete, "incomplete: n2"},
		{"trouble, and a node is silent", with(inspect.High, 1), nil, exitTrouble, "incomplete: n2"},
		{"no node", picture(3, nil, 0, 1, 2), inspect.ErrNoNode, exitNoNode, "no node answers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := invocation{args: []string{"doctor"}, fake: &fakeInspector{snapshot: c.snap, err: c.err}}.run(t)
			wantCode(t, e, c.code)
			if c.said == "" {
				wantSilentStderr(t, e)
			} else {
				wantSentence(t, e, c.said)
			}
		})
	}
}

// A server that is there and does not serve is refusing, not out of reach.
func TestServersThatRefuseAreNotUnreachable(t *testing.T) {
	s := picture(2, nil, 0, 1)
	s.Target.Nodes[0].Error = "LOADING Redis is loading the dataset in memory"
	s.Findings = []inspect.NodeFinding{{Finding: inspect.Finding{ID: "not-serving", Severity: inspect.High, Text: "n1 is there"}, Nodes: []string{"n1"}}}
	for _, args := range [][]string{{"ls"}, {"get", "k"}, {"doctor"}, {"release", "k", "--token", "t", "--audit", "none"}} {
		e := invocation{args: args, fake: &fakeInspector{snapshot: s, err: inspect.ErrNoNode}}.run(t)
		wantCode(t, e, exitRefused)
		wantSentence(t, e, "LOADING")
	}
}

func TestProbeWritesNothingWhenReadOnly(t *testing.T) {
	e := invocation{args: []string{"doctor", "--probe", "--read-only"}, fake: &fakeInspector{}}.run(t)
	wantCode(t, e, exitRefused)
	wantSentence(t, e, "--probe takes a lock", "refused by --read-only")
	if len(e.readOnly) != 0 {
		t.Error("it went to the nodes")
	}
}

func TestProbeOnNodes(t *testing.T) {
	s := newSite(t, lab.Embedded, 3)
	var d struct {
		Probe struct {
			OK    bool
			Steps []struct {
				Step  string
				OK    bool
				Error *string
			}
		}
		Findings []struct{ ID, Text string }
	}
	probe := func() ending {
		t.Helper()
		e := s.run("doctor", "--probe", "-o", "json")
		wantJSON(t, "doctor", e.out)
		if err := json.Unmarshal([]byte(e.out), &d); err != nil {
			t.Fatal(err)
		}
		return e
	}
	probe()
	if !d.Probe.OK || len(d.Probe.Steps) != 3 {
		t.Errorf("%+v", d.Probe)
	}
	if v := s.stored(1, "lock:"+probeResource); v != "" {
		t.Errorf("the probe's lock is still there: %q", v)
	}
	text := s.run("doctor", "--probe")
	for _, words := range []string{"probe  acquire  done", "probe  renew    done", "probe  release  done"} {
		if !strings.Contains(text.out, words) {
			t.Errorf("not %q:\n%s", words, text.out)
		}
	}

	// Somebody has it: that is said, and is trouble.
	s.do([]int{1, 2, 3}, "SET", "lock:"+probeResource, "foreign", "PX", 60_000)
	e := probe()
	wantCode(t, e, exitTrouble)
	if d.Probe.OK || len(d.Probe.Steps) != 1 || d.Probe.Steps[0].Error == nil || d.Findings[0].ID != "probe" || !strings.Contains(d.Findings[0].Text, "is held by") {
		t.Errorf("%+v", d)
	}
}
