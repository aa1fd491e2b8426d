package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
)

// figure is one number that was measured. Its unit is that of its column.
type figure struct {
	Scenario   string  `json:"scenario"`
	Nodes      int     `json:"nodes"`
	Contestant string  `json:"contestant"`
	Name       string  `json:"name"`
	Unit       unit    `json:"unit"`
	Value      float64 `json:"value"`
}

// remark is something that a reader of a scenario's figures should know.
type remark struct {
	Scenario string `json:"scenario"`
	Nodes    int    `json:"nodes"`
	Text     string `json:"text"`
}

// problem is an error that did not end the run.
type problem struct {
	Scenario   string `json:"scenario"`
	Nodes      int    `json:"nodes"`
	Contestant string `json:"contestant"`
	Count      int    `json:"count"`
	First      string `json:"first"`
}

// report is everything that a run found out. It is safe for concurrent use.
type report struct {
	mu       sync.Mutex
	machine  []fact
	figures  []figure
	remarks  []remark
	problems []problem
}

func (r *report) add(f figure) {
	f.Unit = unitOf(f.Scenario, f.Name)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.figures = append(r.figures, f)
}

func (r *report) remark(scenario string, nodes int, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remarks = append(r.remarks, remark{scenario, nodes, text})
}

func (r *report) trouble(scenario string, nodes int, contestant string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.problems {
		p := &r.problems[i]
		if p.Scenario == scenario && p.Nodes == nodes && p.Contestant == contestant {
			p.Count++
			return
		}
	}
	r.problems = append(r.problems, problem{scenario, nodes, contestant, 1, err.Error()})
}

// firstTrouble is the first error of a contestant in a scenario, or nil.
func (r *report) firstTrouble(scenario string, nodes int, contestant string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.problems {
		if p.Scenario == scenario && p.Nodes == nodes && p.Contestant == contestant {
			return errors.New(p.First)
		}
	}
	return nil
}

// value looks a figure up.
func (r *report) value(scenario string, nodes int, contestant, name string) (float64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.figures {
		if f.Scenario == scenario && f.Nodes == nodes && f.Contestant == contestant && f.Name == name {
			return f.Value, true
		}
	}
	return 0, false
}

// sizes are the numbers of nodes that figures exist for, in ascending order.
func (r *report) sizes() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	var sizes []int
	for _, f := range r.figures {
		if !slices.Contains(sizes, f.Nodes) {
			sizes = append(sizes, f.Nodes)
		}
	}
	slices.SortFunc(sizes, cmp.Compare)
	return sizes
}

// writeJSON writes everything, with the verdicts on the targets.
func (r *report) writeJSON(w io.Writer) error {
	verdicts := r.verdicts()
	r.mu.Lock()
	defer r.mu.Unlock()
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Machine  []fact    `json:"machine"`
		Figures  []figure  `json:"figures"`
		Targets  []verdict `json:"targets"`
		Remarks  []remark  `json:"remarks"`
		Problems []problem `json:"problems"`
	}{r.machine, r.figures, verdicts, r.remarks, r.problems})
}
