package cli

import (
	"context"
	"log/slog"
	"time"

	"dlock/inspect"
	"dlock/lockcore/node"
)

// connection is an inspector on open nodes.
type connection struct {
	inspector inspector
	addrs     []string
	close     func()
}

// connect opens the configured nodes for inspection. Nothing is sent yet.
func connect(s *settings, readOnly bool) (*connection, error) {
	nodes, err := s.open(readOnly)
	if err != nil {
		return nil, err
	}
	c := &connection{inspector: inspect.New(nodes, s.config()), close: func() { node.CloseAll(nodes) }}
	for _, n := range nodes {
		c.addrs = append(c.addrs, n.Addr())
	}
	return c, nil
}

// guarded is an inspector whose answers carry no secret and leave a trace.
type guarded struct {
	inspector
	redactor redactor
	debug    *slog.Logger
}

func (g *guarded) Look(ctx context.Context) (inspect.Snapshot, error) {
	s, err := g.inspector.Look(ctx)
	return g.seen("look", s, err), err
}

func (g *guarded) Stream(ctx context.Context, emit func(time.Time, []inspect.Lock) error) (inspect.Snapshot, error) {
	s, err := g.inspector.Stream(ctx, func(at time.Time, locks []inspect.Lock) error {
		return emit(at, mapChanged(locks, g.redactor.lock))
	})
	return g.seen("stream", s, err), err
}

func (g *guarded) Get(ctx context.Context, keys ...string) (inspect.Snapshot, error) {
	s, err := g.inspector.Get(ctx, keys...)
	return g.seen("get", s, err), err
}

func (g *guarded) Watch(ctx context.Context, emit func(inspect.Snapshot)) error {
	return g.inspector.Watch(ctx, func(s inspect.Snapshot) { emit(g.seen("watch", s, nil)) })
}

func (g *guarded) Execute(ctx context.Context, p inspect.Plan, dryRun bool) inspect.Result {
	r := g.redactor.result(g.inspector.Execute(ctx, p, dryRun))
	g.debug.Debug("release", "key", string(quoted(p.ID.Key)), "outcome", r.Outcome, "dry_run", dryRun, "took", r.Took)
	return r
}

func (g *guarded) seen(what string, s inspect.Snapshot, err error) inspect.Snapshot {
	s = g.redactor.snapshot(s)
	if !g.debug.Enabled(context.Background(), slog.LevelDebug) {
		return s
	}
	g.debug.Debug(what, "seq", s.Seq, "locks", len(s.Locks), "complete", s.Complete, "error", g.redactor.Redact(errText(err)))
	for _, n := range s.Target.Nodes {
		g.debug.Debug("node", "seq", s.Seq, "name", n.Name, "addr", n.Addr, "state", n.State, "error", n.Error, "rtt", n.RTT.Value, "commands", n.Commands)
	}
	return s
}
