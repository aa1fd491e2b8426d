package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dlock/demo"
	"dlock/demo/lab"
	"dlock/ui/text"
	"dlock/ui/tui"
)

const (
	defaultHeadless = 10 * time.Second
	kindAuto        = "auto"
)

// demoRun is what the commands need of demo.Demo.
type demoRun interface {
	tui.Lab
	URLs() []string
	Stop() error
}

type demoStarter func(ctx context.Context, c demo.Config) (demoRun, error)

func startDemo(ctx context.Context, c demo.Config) (demoRun, error) {
	d, err := demo.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	return d, nil
}

func (p *program) demoCommand() *cobra.Command {
	var (
		conf     demo.Config
		kind     string
		headless bool
		duration time.Duration
	)
	c := &cobra.Command{
		Use:     "demo [options]",
		Short:   "Watch workers contend for locks on nodes that dlock starts itself",
		Long:    demoHelp,
		Example: demoExamples,
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("node") {
				return usage("dlock demo starts nodes of its own; leave out --node, or use dlock top to watch yours")
			}
			if !headless && c.Flags().Changed("duration") {
				return usage("--duration is for dlock demo --headless; the live view ends when you leave it")
			}
			if !headless && p.settings.output != "" {
				return usage("-o is for dlock demo --headless; the live view has no other format")
			}
			if kind != kindAuto {
				conf.Kind = lab.Kind(kind)
			}
			if !headless {
				return p.demoLive(c.Context(), conf)
			}
			format, err := p.format("text", "json")
			if err != nil {
				return err
			}
			return p.demoHeadless(c.Context(), conf, duration, format)
		},
	}
	f := c.Flags()
	f.Var(newCount(&conf.Nodes, demo.DefaultNodes, 1, demo.MaxNodes), "nodes", "Redis nodes to start")
	f.Var(newCount(&conf.Workers, demo.DefaultWorkers, 1, demo.MaxWorkers), "workers", "contending workers")
	f.Var(newCount(&conf.Resources, demo.DefaultResources, 1, demo.MaxResources), "resources", "resources they contend for")
	f.Var(newChoice(&kind, kindAuto, kindAuto, string(lab.Embedded), string(lab.Process)), "kind", "what the nodes are: embedded, redis-server, or auto for redis-server if it is installed")
	f.Var(newDuration(&conf.TTL, demo.DefaultTTL, time.Second), "ttl", "time to live of the locks")
	f.Uint64Var(&conf.Seed, "seed", 0, "`number` that makes the workers' choices repeatable")
	f.BoolVar(&headless, "headless", false, "run without a screen and print the tally")
	f.Var(newDuration(&duration, defaultHeadless, time.Millisecond), "duration", "with --headless: how long to run")
	return c
}

func (p *program) demoLive(ctx context.Context, conf demo.Config) (err error) {
	if err := p.needTerminal("use dlock demo --headless"); err != nil {
		return err
	}
	d, err := p.startDemo(ctx, conf)
	if err != nil {
		return err
	}
	defer func() { err = stopDemo(d, err) }()

	// The demo's nodes have nothing to do with the configured ones, so no
	// credentials go there.
	p.settings.nodes, p.settings.nodesFrom = d.URLs(), "the demo"
	p.settings.user, p.settings.password, p.settings.db, p.settings.match = "", "", 0, nil
	p.settings.sentinelUser, p.settings.tls, p.settings.insecure = "", false, false
	p.settings.cacert, p.settings.cert, p.settings.key, p.settings.sni = "", "", "", ""
	in, _, done, err := p.open(p.settings.readOnly)
	if err != nil {
		return err
	}
	defer done()
	c := p.screen()
	c.Title, c.Lab = "demo", d
	if p.settings.readOnly {
		c.ReadOnly = p.settings.readOnlyBy
	}
	// No audit: the file is a record of what was done to real locks.
	return p.runTUI(ctx, c, in)
}

func (p *program) demoHeadless(ctx context.Context, conf demo.Config, duration time.Duration, format string) (err error) {
	d, err := p.startDemo(ctx, conf)
	if err != nil {
		return err
	}
	defer func() { err = stopDemo(d, err) }()

	over := time.NewTimer(duration)
	defer over.Stop()
	select {
	case <-over.C:
	case <-ctx.Done():
	}
	tally := newTally(d.Status(), conf, p.now())
	if format == "json" {
		err = writeJSON(p.stdout, tally, true)
	} else {
		err = tally.write(p.stdout)
	}
	switch {
	case err != nil:
		return err
	case tally.Violations > 0:
		return exitWith(exitFailure, "two workers were inside one resource under valid locks: %s", count(int(tally.Violations), "time"))
	case ctx.Err() != nil:
		return quiet(exitInterrupted)
	}
	return nil
}

func (p *program) startDemo(ctx context.Context, conf demo.Config) (demoRun, error) {
	d, err := p.demo(ctx, conf)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, exitWith(exitFailure, "the demo does not start: %s", err)
	}
	return d, nil
}

func stopDemo(d demoRun, err error) error {
	if stopped := d.Stop(); err == nil && stopped != nil {
		return exitWith(exitFailure, "the demo's nodes did not stop cleanly: %s", stopped)
	}
	return err
}

// demoTally is what `demo --headless` prints.
type demoTally struct {
	Schema     int            `json:"schema"`
	Kind       string         `json:"kind"`
	DurationMS int64          `json:"duration_ms"`
	TTLMS      int64          `json:"ttl_ms"`
	Seed       uint64         `json:"seed"`
	Workers    int            `json:"workers"`
	Resources  int            `json:"resources"`
	Nodes      []demoNodeJSON `json:"nodes"`
	Grants     uint64         `json:"grants"`
	Contended  uint64         `json:"contended"`
	NoQuorum   uint64         `json:"no_quorum"`
	Losses     uint64         `json:"losses"`
	Violations uint64         `json:"violations"`
}

type demoNodeJSON struct {
	Name  string `json:"name"`
	Addr  string `json:"addr"`
	State string `json:"state"`
}

func newTally(s demo.Status, conf demo.Config, now time.Time) demoTally {
	t := demoTally{
		Schema:     jsonSchema,
		Kind:       string(s.Kind),
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
	}
	for _, n := range s.Nodes {
		t.Nodes = append(t.Nodes, demoNodeJSON{Name: n.Name, Addr: n.Addr, State: string(n.State)})
	}
	return t
}

func (t demoTally) write(w io.Writer) error {
	var b strings.Builder
	ran := time.Duration(t.DurationMS) * time.Millisecond
	fmt.Fprintf(&b, "%s, %s, %s, %s nodes, ttl %s, seed %d\n",
		count(len(t.Nodes), "node"), count(t.Workers, "worker"), count(t.Resources, "resource"), t.Kind,
		shortDuration(time.Duration(t.TTLMS)*time.Millisecond), t.Seed)
	line := func(n uint64, words string) { fmt.Fprintf(&b, "%8d  %s\n", n, words) }
	line(t.Grants, "grants in "+string(text.Duration(ran)))
	line(t.Contended, "waits, somebody else was inside")
	line(t.NoQuorum, "attempts without a quorum")
	line(t.Losses, "locks lost while held")
	line(t.Violations, "times two workers were inside one resource under valid locks")
	_, err := io.WriteString(w, b.String())
	return err
}
