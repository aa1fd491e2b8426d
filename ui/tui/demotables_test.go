package tui

import (
	"strings"
	"testing"
	"time"

	"dlock/demo"
	"dlock/demo/store"
)

func TestPromisesOfModes(t *testing.T) {
	snap := incident()
	sc := sceneOf(&snap, 120, 36)
	for _, c := range []struct {
		tally demo.ModeTally
		want  string
	}{
		{demo.ModeTally{Mode: demo.Naive}, "makes none"},
		{demo.ModeTally{Mode: demo.Fenced}, "kept"},
		{demo.ModeTally{Mode: demo.Redlock, Voided: []string{"stop", "empty"}}, "off since: stop empty"},
		{demo.ModeTally{Mode: demo.Redlock, Voided: []string{"stop"}, Broken: []string{"two were inside\x1b"}}, ` BROKEN two were inside\x1b`},
	} {
		if _, got := promise(sc, &c.tally); string(got) != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestModesAreCompared(t *testing.T) {
	st := demoStatus()
	st.Table = []demo.ModeTally{{Mode: demo.Naive, Ran: 10 * time.Second, Operations: 500, DoubleEntries: 17, Store: store.Audit{Oversold: 12, Lost: 5, Twice: -1}}, {Mode: demo.Fenced, Ran: time.Millisecond, Operations: 3, Refused: 1, Conflicts: 1}}
	st.Mode = demo.Fenced
	snap := incident()
	sc := sceneOf(&snap, 120, 36)
	sc.lab = &st
	lines := (&demoView{}).modesTable(sc, 116)
	if row := strings.Fields(lineWith(t, lines, "naive")); strings.Join(row, " ") != "naive 500 50 0.00ms 0.00ms 17 17 0 0 makes none" {
		t.Errorf("%q", row)
	}
	if row := strings.Fields(lineWith(t, lines, "redlock+fence")); strings.Join(row, " ") != "> redlock+fence 3 - 0.00ms 0.00ms 0 0 2 0 kept" {
		t.Errorf("%q", row)
	}
}

// Two at once are seen as such, and so is who stayed past the lease.
func TestInsideShowsTwoAtOnce(t *testing.T) {
	st := demoStatus()
	st.Inside = []demo.Visit{
		{Worker: "worker-2", Resource: "stock", From: ago(5 * time.Second), To: ago(4 * time.Second), Double: true},
		{Worker: "worker-1", Resource: "stock", From: ago(10 * time.Second), To: ago(3 * time.Second), StoppedAt: ago(9 * time.Second), WokenAt: ago(4 * time.Second), LeaseEnded: ago(4 * time.Second)},
		{Worker: "worker-3", Resource: "stock", From: ago(50 * time.Second), To: ago(40 * time.Second)},
	}
	snap := incident()
	sc := sceneOf(&snap, 120, 36)
	sc.lab = &st
	lines := (&demoView{}).inside(sc, 116)
	if len(lines) != 3 {
		t.Fatalf("%d lines: %q", len(lines), lines)
	}
	if one := lines[1]; !strings.HasPrefix(one, "worker-1") || !strings.Contains(one, "A━") || !strings.Contains(one, "░!") {
		t.Errorf("%q", one)
	}
	if two := lines[2]; !strings.HasPrefix(two, "worker-2") || !strings.Contains(two, "2━") {
		t.Errorf("%q", two)
	}
}
