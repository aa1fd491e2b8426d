package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dlock/demo"
	"dlock/demo/lab"
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
	SetMode(ctx context.Context, m demo.Mode) error
	Done() <-chan struct{}
	Finish(ctx context.Context) (demo.Status, error)
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

// demoWish is what the command line asks for.
type demoWish struct {
	conf     demo.Config
	modes    []demo.Mode // in the order in which they are to run
	duration time.Duration
	format   string
}

func (p *program) demoCommand() *cobra.Command {
	var (
		wish           demoWish
		kind, modes    string
		headless, tour bool
	)
	conf := &wish.conf
	c := &cobra.Command{
		Use:     "demo [options]",
		Short:   "Watch workers contend for locks on nodes that dlock starts itself",
		Long:    demoHelp(),
		Example: demoExamples,
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			changed := c.Flags().Changed
			if changed("node") {
				return usage("dlock demo starts nodes of its own; leave out --node, or use dlock top to watch yours")
			}
			if !headless && changed("duration") {
				return usage("--duration is for dlock demo --headless; the live view ends when you leave it")
			}
			if !headless && p.settings.output != "" {
				return usage("-o is for dlock demo --headless; the live view has no other format")
			}
			if tour && !headless {
				return usage("--tour prints its steps; add --headless")
			}
			if kind != kindAuto {
				conf.Kind = lab.Kind(kind)
			}
			// Unless given, these are the scenario's.
			for name, to := range map[string]*int{"workers": &conf.Workers, "resources": &conf.Resources, "rate": &conf.Rate} {
				if !changed(name) {
					*to = 0
				}
			}
			scenario, err := demo.FindScenario(conf.Scenario)
			if err != nil {
				return usage("--scenario: %s", err)
			}
			if wish.modes, err = demo.ParseModes(modes, scenario); err != nil {
				return usage("--mode: %s", err)
			}
			conf.Mode = wish.modes[0]
			if conf.Faults, err = readFaults(conf.Faults); err != nil {
				return err
			}
			if !headless {
				if len(wish.modes) > 1 {
					return usage("several modes one after the other are for dlock demo --headless; start the live view in one")
				}
				return p.demoLive(c.Context(), *conf)
			}
			if wish.format, err = p.format("text", "json"); err != nil {
				return err
			}
			if tour {
				return p.demoTour(c.Context(), *conf, wish.format)
			}
			return p.demoHeadless(c.Context(), wish)
		},
	}
	f := c.Flags()
	f.StringVar(&conf.Scenario, "scenario", demo.Scenarios[0].Name, "what happens: `NAME` of a scenario")
	f.StringVar(&modes, "mode", string(demo.DefaultMode), "how workers are kept apart: `NAME` of a mode; with --headless several with commas, or all")
	f.StringVar(&conf.Faults, "faults", "", "what breaks: random, rough, a `SCRIPT` in quotes, or a file that holds one")
	f.StringVar(&conf.Store, "store", "", "postgres://… `URL` of the store, in place of an SQLite file of our own; the password belongs into PGPASSWORD")
	f.Var(newCount(&conf.Nodes, demo.DefaultNodes, 1, demo.MaxNodes), "nodes", "Redis nodes to start")
	f.Var(newCount(&conf.Workers, demo.DefaultWorkers, 1, demo.MaxWorkers), "workers", "contending workers; other scenarios start with other numbers")
	f.Var(newCount(&conf.Resources, demo.DefaultResources, 1, demo.MaxResources), "resources", "resources they contend for; the same holds")
	f.Var(newCount(&conf.Rate, 2000, 1, demo.MaxRate), "rate", "buyers that arrive in a second, in the flash sale")
	f.Var(newChoice(&kind, kindAuto, kindAuto, string(lab.Embedded), string(lab.Process)), "kind", "what the nodes are: embedded, redis-server, or auto for redis-server if it is installed")
	f.Var(newDuration(&conf.TTL, demo.DefaultTTL, time.Second), "ttl", "time to live of the locks")
	f.BoolVar(&conf.Quarantine, "quarantine", false, "keep restarted nodes from voting for a TTL and seed fencing tokens by the clock, as the lock core does outside the demo")
	f.Uint64Var(&conf.Seed, "seed", 0, "`number` that makes the workers' choices repeatable, and random faults")
	f.BoolVar(&headless, "headless", false, "run without a screen and print the tally")
	f.BoolVar(&tour, "tour", false, "with --headless: go through the guided tour and print what is seen")
	f.Var(newDuration(&wish.duration, defaultHeadless, time.Millisecond), "duration", "with --headless: how long to run, each mode")
	return c
}

// readFaults returns what the demo is to be told of faults: a word or a
// script, which may be in a file.
func readFaults(given string) (string, error) {
	script := given
	switch {
	case given == "" || given == demo.FaultsRandom || given == demo.FaultsRough:
		return given, nil
	case !strings.ContainsAny(given, " \n"):
		raw, err := os.ReadFile(given)
		if err != nil {
			var path *fs.PathError
			if errors.As(err, &path) {
				err = path.Err // without the name, which may be anything
			}
			return "", usage("--faults is random, rough, a script in quotes or a file that holds one; there is no such file to read: %s", err)
		}
		script = string(raw)
	}
	acts, err := demo.ParseScript(script)
	if err != nil {
		return "", usage("--faults: %s", err)
	}
	if len(acts) == 0 {
		return "", nil
	}
	return script, nil
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

func (p *program) demoHeadless(ctx context.Context, wish demoWish) (err error) {
	d, err := p.startDemo(ctx, wish.conf)
	if err != nil {
		return err
	}
	defer func() { err = stopDemo(d, err) }()

	for i, mode := range wish.modes {
		if i > 0 && ctx.Err() == nil {
			if err := d.SetMode(ctx, mode); err != nil && ctx.Err() == nil {
				return exitWith(exitFailure, "the demo does not change to %s: %s", mode, err)
			}
		}
		p.demoWait(ctx, d, wish.duration)
	}
	// An interrupted run tells what it has seen, too.
	status, err := d.Finish(context.WithoutCancel(ctx))
	if err != nil {
		return exitWith(exitFailure, "the demo ended by itself: %s", err)
	}
	tally := newTally(status, wish.conf, p.now())
	if wish.format == "json" {
		err = writeJSON(p.stdout, tally, true)
	} else {
		err = tally.write(p.stdout)
	}
	switch {
	case err != nil:
		return err
	case len(tally.Broken) > 0:
		return exitWith(exitTrouble, "%s", strings.Join(tally.Broken, "; "))
	case ctx.Err() != nil:
		return quiet(exitInterrupted)
	}
	return nil
}

// demoWait lets the demo run for a while, or until it or the program ends.
func (p *program) demoWait(ctx context.Context, d demoRun, long time.Duration) {
	over := time.NewTimer(long)
	defer over.Stop()
	select {
	case <-over.C:
	case <-d.Done():
	case <-ctx.Done():
	}
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

func stopDemo(d interface{ Stop() error }, err error) error {
	if stopped := d.Stop(); err == nil && stopped != nil {
		return exitWith(exitFailure, "the demo's nodes did not stop cleanly: %s", stopped)
	}
	return err
}
