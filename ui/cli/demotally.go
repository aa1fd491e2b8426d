package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"dlock/demo"
	"dlock/ui/text"
)

// demoTally is what `demo --headless` prints.
type demoTally struct {
	Schema     int             `json:"schema"`
	Scenario   string          `json:"scenario"`
	Kind       string          `json:"kind"`
	Store      string          `json:"store"`
	DurationMS int64           `json:"duration_ms"`
	TTLMS      int64           `json:"ttl_ms"`
	Seed       uint64          `json:"seed"`
	Workers    int             `json:"workers"`
	Resources  int             `json:"resources"`
	Nodes      []demoNodeJSON  `json:"nodes"`
	Grants     uint64          `json:"grants"`
	Contended  uint64          `json:"contended"`
	NoQuorum   uint64          `json:"no_quorum"`
	Losses     uint64          `json:"losses"`
	Violations uint64          `json:"violations"`
	Modes      []demoModeJSON  `json:"modes"`
	Events     []demoEventJSON `json:"events"`
	Broken     []string        `json:"broken"`
}

type demoNodeJSON struct {
	Name  string `json:"name"`
	Addr  string `json:"addr"`
	State string `json:"state"`
}

// demoModeJSON is a row of the table of modes. What a mode cannot have is 0.
type demoModeJSON struct {
	Mode          string   `json:"mode"`
	RanMS         int64    `json:"ran_ms"`
	Operations    uint64   `json:"operations"`
	Writes        uint64   `json:"writes"`
	PerSecond     float64  `json:"operations_per_second"`
	WaitP50US     int64    `json:"wait_p50_us"`
	WaitP99US     int64    `json:"wait_p99_us"`
	Contended     uint64   `json:"contended"`
	DoubleEntries uint64   `json:"double_entries"`
	Violations    uint64   `json:"violations"`
	Oversold      int64    `json:"oversold"`
	LostUpdates   int64    `json:"lost_updates"`
	OffBy         int64    `json:"off_by"`
	DoneTwice     int64    `json:"done_twice"`
	Refused       uint64   `json:"refused_by_fence"`
	Conflicts     uint64   `json:"refused_by_version"`
	Losses        uint64   `json:"losses"`
	NoQuorum      uint64   `json:"no_quorum"`
	GaveUp        uint64   `json:"gave_up"`
	Stuck         uint64   `json:"stuck"`
	Failed        uint64   `json:"failed"`
	TurnedAway    uint64   `json:"turned_away"`
	Voided        []string `json:"voided"`
	Broken        []string `json:"broken"`
}

type demoEventJSON struct {
	MS   int64  `json:"ms"` // since the start
	Text string `json:"text"`
}

func newTally(s demo.Status, conf demo.Config, now time.Time) demoTally {
	t := demoTally{
		Schema:     jsonSchema,
		Scenario:   s.Scenario.Name,
		Kind:       string(s.Kind),
		Store:      s.Store,
		DurationMS: millis(now.Sub(s.Started)),
		TTLMS:      millis(s.TTL),
		Seed:       conf.Seed,
		Workers:    len(s.Workers),
		Resources:  conf.Resources,
		Nodes:      make([]demoNodeJSON, 0, len(s.Nodes)),
		Grants:     s.Grants,
		Contended:  s.Contended,
		NoQuorum:   s.NoQuorum,
		Losses:     s.Losses,
		Violations: s.Violations,
		Modes:      make([]demoModeJSON, 0, len(s.Table)),
		Events:     make([]demoEventJSON, 0, len(s.Events)),
		Broken:     append([]string{}, s.Broken()...),
	}
	if t.Resources == 0 {
		t.Resources = s.Scenario.Resources
	}
	for _, n := range s.Nodes {
		t.Nodes = append(t.Nodes, demoNodeJSON{Name: n.Name, Addr: n.Addr, State: string(n.State)})
	}
	for _, m := range s.Table {
		t.Modes = append(t.Modes, newModeJSON(m))
	}
	for _, e := range s.Events {
		t.Events = append(t.Events, demoEventJSON{millis(e.At.Sub(s.Started)), e.Text})
	}
	return t
}

func newModeJSON(m demo.ModeTally) demoModeJSON {
	row := demoModeJSON{
		Mode: string(m.Mode), RanMS: millis(m.Ran), Operations: m.Operations, Writes: m.Writes,
		WaitP50US: m.WaitP50.Microseconds(), WaitP99US: m.WaitP99.Microseconds(), Contended: m.Contended,
		DoubleEntries: m.DoubleEntries, Violations: m.Violations,
		Oversold: m.Store.Oversold, LostUpdates: m.Store.Lost, OffBy: m.Store.OffBy, DoneTwice: m.Store.Twice,
		Refused: m.Refused, Conflicts: m.Conflicts, Losses: m.Losses, NoQuorum: m.NoQuorum, GaveUp: m.GaveUp,
		Stuck: m.Stuck, Failed: m.Failed, TurnedAway: m.TurnedAway,
		Voided: append([]string{}, m.Voided...), Broken: append([]string{}, m.Broken...),
	}
	if s := m.Ran.Seconds(); s > 0 {
		row.PerSecond = float64(int64(float64(m.Operations)/s*10)) / 10
	}
	return row
}

func (t demoTally) write(w io.Writer) error {
	var b strings.Builder
	ran := time.Duration(t.DurationMS) * time.Millisecond
	fmt.Fprintf(&b, "%s for %s: %s, %s, %s, %s nodes, %s, ttl %s, seed %d\n", t.Scenario, string(text.Duration(ran)),
		count(len(t.Nodes), "node"), count(t.Workers, "worker"), count(t.Resources, "resource"), t.Kind, t.Store,
		shortDuration(time.Duration(t.TTLMS)*time.Millisecond), t.Seed)

	rows := []struct {
		title string
		value func(m demoModeJSON) string
	}{
		{"operations", func(m demoModeJSON) string { return tallied(m.Operations) }},
		{"a second", func(m demoModeJSON) string { return tallied(int64(m.PerSecond)) }},
		{"wait, half", func(m demoModeJSON) string { return micros(m.WaitP50US) }},
		{"wait, 99 %", func(m demoModeJSON) string { return micros(m.WaitP99US) }},
		{"somebody was inside", func(m demoModeJSON) string { return tallied(m.Contended) }},
		{"double entries", func(m demoModeJSON) string { return tallied(m.DoubleEntries) }},
		{"  both with valid locks", func(m demoModeJSON) string { return tallied(m.Violations) }},
		{"oversold", func(m demoModeJSON) string { return tallied(m.Oversold) }},
		{"lost updates", func(m demoModeJSON) string { return tallied(m.LostUpdates) }},
		{"ledger off by", func(m demoModeJSON) string { return tallied(m.OffBy) }},
		{"done twice", func(m demoModeJSON) string { return tallied(m.DoneTwice) }},
		{"refused by the fence", func(m demoModeJSON) string { return tallied(m.Refused) }},
		{"refused by the version", func(m demoModeJSON) string { return tallied(m.Conflicts) }},
		{"locks lost while held", func(m demoModeJSON) string { return tallied(m.Losses) }},
		{"attempts without a quorum", func(m demoModeJSON) string { return tallied(m.NoQuorum) }},
		{"gave up on a second lock", func(m demoModeJSON) string { return tallied(m.GaveUp) }},
		{"locks stuck for ever", func(m demoModeJSON) string { return tallied(m.Stuck) }},
		{"failed", func(m demoModeJSON) string { return tallied(m.Failed) }},
		{"buyers turned away", func(m demoModeJSON) string { return tallied(m.TurnedAway) }},
	}
	width := func(m demoModeJSON) int { return max(len(m.Mode), 9) }
	fmt.Fprintf(&b, "%-26s", "")
	for _, m := range t.Modes {
		fmt.Fprintf(&b, "  %*s", width(m), m.Mode)
	}
	b.WriteByte('\n')
	for _, r := range rows {
		line, blank := fmt.Sprintf("%-26s", r.title), true
		for _, m := range t.Modes {
			value := r.value(m)
			blank = blank && value == nothing
			line += fmt.Sprintf("  %*s", width(m), value)
		}
		if !blank {
			b.WriteString(line + "\n")
		}
	}
	for _, m := range t.Modes {
		if len(m.Voided) > 0 {
			fmt.Fprintf(&b, "%s: what it promises does not cover %s\n", m.Mode, strings.Join(m.Voided, ", "))
		}
	}
	if len(t.Events) > 0 {
		b.WriteString("what was done:\n")
	}
	for _, e := range t.Events {
		fmt.Fprintf(&b, "%9s  %s\n", fmt.Sprintf("%.1fs", float64(e.MS)/1000), string(text.Escaped(e.Text)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// nothing stands for 0, so that what is there is seen.
const nothing = "."

func tallied[N int64 | uint64](n N) string {
	if n == 0 {
		return nothing
	}
	return fmt.Sprint(n)
}

// micros writes a short time with three digits or less.
func micros(us int64) string {
	switch {
	case us == 0:
		return nothing
	case us < 1000:
		return fmt.Sprintf("%dµs", us)
	case us < 100_000:
		return fmt.Sprintf("%.1fms", float64(us)/1000)
	case us < 1_000_000:
		return fmt.Sprintf("%dms", us/1000)
	default:
		return fmt.Sprintf("%.1fs", float64(us)/1e6)
	}
}
