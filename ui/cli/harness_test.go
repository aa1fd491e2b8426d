package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"dlock/inspect"
	"dlock/lockcore/node"
	"dlock/ui/tui"
)

// invocation is one run of the command line against a fake.
type invocation struct {
	args   []string
	env    []string
	stdin  string
	fake   *fakeInspector
	stdout io.Writer // captured when nil

	// The streams that are terminals, and how wide.
	inTTY, outTTY, errTTY bool
	width                 int

	tui  tuiRunner
	demo demoStarter
	ctx  context.Context

	secret string // what is typed when a password is asked for
}

type ending struct {
	code     int
	out, err string
	settings settings // as they stood at the end
	readOnly []bool   // how each connection was opened
	prompts  []string // what was asked for
}

func (inv invocation) run(t *testing.T) ending {
	t.Helper()
	var out, errs bytes.Buffer
	var end ending
	stdin := strings.NewReader(inv.stdin)
	var stdout io.Writer = &out
	if inv.stdout != nil {
		stdout = inv.stdout
	}
	env := inv.env
	if inv.outTTY {
		// A terminal comes with a name; a test that gives one prevails.
		env = append([]string{"TERM=xterm"}, env...)
	}
	p := newProgram(env, stdin, stdout, &errs)
	p.now = func() time.Time { return fixedNow }
	p.identity = func() identity { return identity{name: "alice@bastion", sudo: ""} }
	p.terminal = func(stream any) (int, bool) {
		switch stream {
		case any(stdin):
			return inv.width, inv.inTTY
		case any(stdout):
			return inv.width, inv.outTTY
		default:
			return inv.width, inv.errTTY
		}
	}
	p.connect = func(s *settings, readOnly bool) (*connection, error) {
		// The URLs are judged for real; only what answers is a fake.
		nodes, err := s.open(readOnly)
		if err != nil {
			return nil, err
		}
		defer node.CloseAll(nodes)
		end.readOnly = append(end.readOnly, readOnly)
		fake := inv.fake
		if fake == nil {
			fake = &fakeInspector{}
		}
		c := &connection{inspector: fake, close: func() { fake.closed++ }}
		for _, n := range nodes {
			c.addrs = append(c.addrs, n.Addr())
		}
		return c, nil
	}
	p.readSecret = func(_ context.Context, prompt string) (string, error) {
		end.prompts = append(end.prompts, prompt)
		return inv.secret, nil
	}
	p.runTUI = func(context.Context, tui.Config, tui.Source) error {
		t.Error("the live view was started")
		return nil
	}
	if inv.tui != nil {
		p.runTUI = inv.tui
	}
	if inv.demo != nil {
		p.demo = inv.demo
	}
	ctx := inv.ctx
	if ctx == nil {
		ctx = t.Context()
	}
	end.code = p.main(ctx, inv.args)
	end.out, end.err, end.settings = out.String(), errs.String(), p.settings
	if inv.fake != nil && inv.fake.closed != len(end.readOnly) {
		t.Errorf("%d connections were opened and %d closed", len(end.readOnly), inv.fake.closed)
	}
	return end
}

// fakeInspector answers with what it was given.
type fakeInspector struct {
	inspector // nil: a method that a test did not expect panics
	snapshot  inspect.Snapshot
	err       error
	execute   func(inspect.Plan) inspect.Result
	onLook    func()

	asked    [][]string
	executed []inspect.Plan
	dry      []bool
	closed   int
}

func (f *fakeInspector) Stream(ctx context.Context, emit func(time.Time, []inspect.Lock) error) (inspect.Snapshot, error) {
	s, err := f.Look(ctx)
	locks := s.Locks
	s.Locks = nil
	if emitErr := emit(s.At, locks); emitErr != nil {
		return s, emitErr
	}
	return s, err
}

func (f *fakeInspector) Look(ctx context.Context) (inspect.Snapshot, error) {
	if f.onLook != nil {
		f.onLook()
	}
	return f.snapshot, f.err
}

func (f *fakeInspector) Get(ctx context.Context, keys ...string) (inspect.Snapshot, error) {
	f.asked = append(f.asked, keys)
	if f.onLook != nil {
		f.onLook()
	}
	return f.snapshot, f.err
}

func (f *fakeInspector) Execute(_ context.Context, p inspect.Plan, dryRun bool) inspect.Result {
	f.executed = append(f.executed, p)
	f.dry = append(f.dry, dryRun)
	if dryRun {
		return inspect.Result{Plan: p, DryRun: true, Outcome: inspect.OutNotSent, At: fixedNow}
	}
	r := inspect.Result{Plan: p, Outcome: inspect.OutReleased, Freed: true, At: fixedNow, Took: 12 * time.Millisecond}
	if f.execute != nil {
		r = f.execute(p)
		r.Plan, r.At = p, fixedNow
	}
	return r
}

func wantCode(t *testing.T, e ending, code int) {
	t.Helper()
	if e.code != code {
		t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", e.code, code, e.out, e.err)
	}
}

func wantSilentStderr(t *testing.T, e ending) {
	t.Helper()
	if e.err != "" {
		t.Errorf("stderr is not empty: %q", e.err)
	}
}

// wantSentence checks that standard error is one line of ours with the words.
func wantSentence(t *testing.T, e ending, words ...string) {
	t.Helper()
	if !strings.HasPrefix(e.err, "dlock: ") || strings.Count(e.err, "\n") != 1 || !strings.HasSuffix(e.err, "\n") {
		t.Errorf("stderr is not one sentence: %q", e.err)
	}
	for _, w := range words {
		if !strings.Contains(e.err, w) {
			t.Errorf("stderr does not say %q: %q", w, e.err)
		}
	}
}
