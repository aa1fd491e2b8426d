package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"

	"dlock/demo/lab"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := program(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchmark:", err)
		os.Exit(1)
	}
}

// choice is what a run is to do.
type choice struct {
	plan        plan
	sizes       []int
	scenarios   []scenario
	contestants []contestant
	json        string
	cpuProfile  string
}

// choose reads the arguments.
func choose(args []string, usage io.Writer) (choice, error) {
	flags := flag.NewFlagSet("benchmark", flag.ContinueOnError)
	flags.SetOutput(usage)
	short := flags.Bool("quick", false, "short slices: to see that everything works, not for figures")
	only := flags.String("only", "", "scenarios to run, separated by commas: "+strings.Join(names(scenarios(), func(s scenario) string { return s.name }), ","))
	who := flags.String("contestants", "", "contestants to run, separated by commas: "+strings.Join(names(contestants(), func(c contestant) string { return c.name }), ","))
	sizes := flags.String("nodes", "1,5", "numbers of nodes, separated by commas")
	rounds := flags.Int("rounds", 0, "slices per contestant and scenario; 0 means the usual number")
	pool := flags.Int("pool", 10*runtime.GOMAXPROCS(0), "connections per node and client")
	jsonFile := flags.String("json", "", "file to write all figures to")
	profile := flags.String("cpuprofile", "", "file to write a CPU profile of the run to")
	if err := flags.Parse(args); err != nil {
		return choice{}, err
	}
	if flags.NArg() > 0 {
		return choice{}, fmt.Errorf("%q is not understood; everything is given by flags", flags.Arg(0))
	}
	c := choice{plan: full(), json: *jsonFile, cpuProfile: *profile}
	if *short {
		c.plan = quick()
	}
	if *rounds < 0 || *pool < 1 {
		return choice{}, errors.New("-rounds and -pool cannot be negative, and a pool has at least one connection")
	}
	if *rounds > 0 {
		c.plan.rounds = *rounds
	}
	c.plan.pool = *pool
	for _, text := range strings.Split(*sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || n > lab.MaxNodes {
			return choice{}, fmt.Errorf("-nodes %q is not a list of numbers from 1 to %d", *sizes, lab.MaxNodes)
		}
		if !slices.Contains(c.sizes, n) {
			c.sizes = append(c.sizes, n)
		}
	}
	var err error
	if c.scenarios, err = pick(scenarios(), *only, "scenario", func(s scenario) string { return s.name }); err != nil {
		return choice{}, err
	}
	c.contestants, err = pick(contestants(), *who, "contestant", func(c contestant) string { return c.name })
	return c, err
}

func names[T any](all []T, name func(T) string) []string {
	var out []string
	for _, x := range all {
		out = append(out, name(x))
	}
	return out
}

// pick returns those that a list names, in their own order, or all if the list
// is empty.
func pick[T any](all []T, list, what string, name func(T) string) ([]T, error) {
	if list == "" {
		return all, nil
	}
	wanted := strings.Split(list, ",")
	for _, w := range wanted {
		if !slices.Contains(names(all, name), w) {
			return nil, fmt.Errorf("there is no %s %q; there are %s", what, w, strings.Join(names(all, name), ", "))
		}
	}
	return slices.DeleteFunc(all, func(x T) bool { return !slices.Contains(wanted, name(x)) }), nil
}

func program(ctx context.Context, args []string, out, progress io.Writer) (err error) {
	c, err := choose(args, progress)
	if err != nil {
		return err
	}
	if c.cpuProfile != "" {
		file, err := os.Create(c.cpuProfile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	// What was measured before an error is worth seeing.
	r, err := measure(ctx, c, func(format string, args ...any) { fmt.Fprintf(progress, format+"\n", args...) })
	err = errors.Join(err, r.print(out, c.plan))
	if c.json != "" {
		err = errors.Join(err, writeFile(c.json, r.writeJSON))
	}
	return err
}

func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// measure runs the scenarios, on one number of nodes after the other. The report
// is usable on error.
func measure(ctx context.Context, c choice, say func(string, ...any)) (*report, error) {
	r := &report{machine: facts(c.plan)}
	for i, n := range c.sizes {
		if err := measureOn(ctx, c, n, i == 0, r, say); err != nil {
			return r, err
		}
	}
	return r, nil
}

func measureOn(ctx context.Context, c choice, nodes int, first bool, r *report, say func(string, ...any)) (err error) {
	f, err := openField(ctx, nodes, c.plan, c.contestants, r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if first {
		server, err := f.serverFact(ctx)
		if err != nil {
			return err
		}
		r.machine = append(r.machine, server)
	}
	for _, s := range c.scenarios {
		if nodes < s.least {
			continue
		}
		say("N=%d: %s", nodes, s.name)
		if err := s.run(ctx, f); err != nil {
			return err
		}
	}
	return nil
}
