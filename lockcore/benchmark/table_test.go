package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// example is a report with some figures, one of a target that is met, one of a
// target that is missed, and holes.
func example() *report {
	r := &report{machine: []fact{{"CPUs", "2"}}}
	add := func(scenario string, nodes int, contestant, name string, value float64) {
		r.add(figure{Scenario: scenario, Nodes: nodes, Contestant: contestant, Name: name, Value: value})
	}
	add("parallel", 1, dlock, "cycles", 50123.4)
	add("parallel", 1, "redsync", "cycles", 10000)
	add("parallel", 5, dlock, "cycles", 9000)
	add("parallel", 5, "redsync", "cycles", 2000)
	add("serial", 1, dlock, "cycle p50", 0.10949)
	add("serial", 1, "redislock", "cycle p50", 0.1)
	add("remote", 5, dlock, "acquire p50", 12.5)
	add("remote", 5, dlock, "release p50", 12.6)
	add("waiters", 1, dlock, "luckiest/unluckiest", 1.1)
	add("handoff", 1, dlock, "gaps", 12)
	r.remark("remote", 5, "PING through the proxy: p50 10.2 ms, p99 11.0 ms")
	r.trouble("serial", 1, "redsync", errors.New("first\n"))
	r.trouble("serial", 1, "redsync", errors.New("second"))
	return r
}

func TestReport(t *testing.T) {
	var got bytes.Buffer
	if err := example().print(&got, full()); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "report.txt")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("the report is not as in %s (run go test -update if it should be):\n%s", golden, got.String())
	}
}

func TestVerdicts(t *testing.T) {
	type result struct{ limited, measured, met bool }
	got := make(map[string]map[int]result)
	for _, v := range example().verdicts() {
		if got[v.Target] == nil {
			got[v.Target] = make(map[int]result)
		}
		got[v.Target][v.Nodes] = result{v.Limit != nil, v.Value != nil, v.Met}
	}
	for _, c := range []struct {
		target string
		nodes  int
		want   result
	}{
		{"parallel: rate against redsync", 1, result{true, true, true}},
		{"parallel: rate against redsync", 5, result{true, true, false}},
		{"serial: p50 against the floor", 1, result{true, false, false}},
		{"10 ms away: acquire p50", 5, result{true, true, true}}, // exactly the limit
		{"10 ms away: release p50", 5, result{true, true, false}},
		{"few waiters: luckiest over unluckiest client", 1, result{true, true, true}},
		{"one node hung: acquire p99", 1, result{false, false, false}},
		{"one node hung: acquire p99", 5, result{true, false, false}},
	} {
		if got := got[c.target][c.nodes]; got != c.want {
			t.Errorf("%s, N=%d: %+v, want %+v", c.target, c.nodes, got, c.want)
		}
	}
}

// Targets name their figures by text, which must be that of a column.
func TestTargetsAreMeasured(t *testing.T) {
	r := &report{}
	for _, s := range scenarios() {
		for _, c := range s.columns {
			for _, who := range contestants() {
				for _, n := range []int{1, 5} {
					r.add(figure{Scenario: s.name, Nodes: n, Contestant: who.name, Name: c.name, Value: 1})
				}
			}
		}
	}
	for _, v := range r.verdicts() {
		if v.Value == nil {
			t.Errorf("no scenario measures %q", v.Target)
		}
	}
}

func TestJSONHasEverything(t *testing.T) {
	r := example()
	var out bytes.Buffer
	if err := r.writeJSON(&out); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Machine  []fact
		Figures  []figure
		Targets  []verdict
		Remarks  []remark
		Problems []problem
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Machine) != 1 || len(got.Figures) != 10 || len(got.Targets) != 2*len(targets) || len(got.Remarks) != 1 {
		t.Errorf("something is missing in %s", out.String())
	}
	if len(got.Problems) != 1 || got.Problems[0].Count != 2 || got.Problems[0].First != "first\n" {
		t.Errorf("problems are %+v", got.Problems)
	}
	if got.Figures[0].Unit != perSecond {
		t.Errorf("the unit of cycles is %q", got.Figures[0].Unit)
	}
}

func TestShow(t *testing.T) {
	for _, c := range []struct {
		unit unit
		v    float64
		want string
	}{
		{count, 0, "0"}, {count, 2, "2.00"}, {count, 12.345, "12.3"}, {count, 1234567.8, "1,234,568"},
		{millis, 0.01234, "0.0123 ms"}, {millis, 0.000012, "0.0000 ms"}, {millis, 99.96, "100.0 ms"}, {millis, 100, "100 ms"}, {millis, 5003.2, "5,003 ms"},
		{times, 0.05, "0.0500×"}, {perSecond, 999.6, "1,000/s"}, {percent, 7.5, "7.50 %"}, {whole, 12, "12"}, {whole, 1000, "1,000"},
		{count, -1234, "-1,234"},
	} {
		if got := c.unit.show(c.v); got != c.want {
			t.Errorf("%v %v is shown as %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}
