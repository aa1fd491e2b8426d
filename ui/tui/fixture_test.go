package tui

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"dlock/demo"
	"dlock/demo/lab"
	"dlock/inspect"
)

// t0 is the moment of every fixed screen.
var t0 = time.Date(2026, 3, 14, 12, 4, 31, 400e6, time.UTC)

func ago(d time.Duration) time.Time { return t0.Add(-d) }

func in(d time.Duration) inspect.Expiry { return inspect.Expiry{At: t0.Add(d)} }

const (
	tokenA = "a91f52c7-6d7e-4a07-9a5e-1f6b0c2d3c0d 1773489751400000 worker-7f9c:4411"
	tokenB = "77be0012-93aa-4c1e-8e0b-55d1c02f0142 1773489869100000 api-2:88"
)

// lockOf builds a lock from one letter per node: h the first owner's token, o
// another, f free, u unreachable, d denied.
func lockOf(key, answers string, state inspect.State, ttl time.Duration, flags ...inspect.Flag) inspect.Lock {
	l := inspect.Lock{
		ID: inspect.ID{Key: key}, Resource: key, Library: "dlock", Kind: "mutex", Type: "string",
		State: state, Flags: flags, Expiry: in(ttl), FullTTL: 30 * time.Second,
		HeldSince: ago(17700 * time.Millisecond), Votes: inspect.Votes{Need: len(answers)/2 + 1, Of: len(answers)},
	}
	a := inspect.Owner{Token: tokenA, Name: "worker-7f9c:4411", Count: 1, Expiry: in(ttl), Since: ago(20 * time.Second)}
	b := inspect.Owner{Token: tokenB, Name: "api-2:88", Count: 1, Expiry: in(28700 * time.Millisecond)}
	if state == inspect.Expired {
		l.Expiry, l.GoneAt = inspect.Expiry{}, ago(3*time.Second)
	}
	for i, c := range answers {
		cp := inspect.Copy{Node: "n" + string(rune('1'+i)), SampledAt: ago(300 * time.Millisecond), RTT: 400 * time.Microsecond}
		switch c {
		case 'h':
			cp.Answer, cp.Token, cp.HasToken, cp.Expiry, cp.Type = inspect.AnswerHeld, tokenA, true, in(ttl+time.Duration(i)*time.Millisecond), "string"
			cp.ChangedAt, cp.Change = ago(17700*time.Millisecond), inspect.Taken
			a.Votes = append(a.Votes, cp.Node)
			l.Votes.Agree++
		case 'o':
			cp.Answer, cp.Token, cp.HasToken, cp.Expiry, cp.Type = inspect.AnswerOther, tokenB, true, in(28700*time.Millisecond), "string"
			b.Votes = append(b.Votes, cp.Node)
		case 'u':
			cp.Answer, cp.Token, cp.Expiry, cp.Error = inspect.AnswerUnreachable, tokenA, in(ttl), "no answer in time"
			cp.SampledAt = ago(14 * time.Second)
			l.Votes.Unreachable++
		case 'd':
			cp.Answer, cp.Error = inspect.AnswerDenied, "NOPERM No permissions to access a key"
			l.Votes.Unreachable++
		default:
			cp.Answer = inspect.AnswerFree
		}
		l.Copies = append(l.Copies, cp)
	}
	if len(a.Votes) > 0 {
		l.Owners = append(l.Owners, a)
	}
	if len(b.Votes) > 0 {
		l.Owners = append(l.Owners, b)
	}
	return l
}

// incident is the snapshot of the fixed screens: something of everything.
func incident() inspect.Snapshot {
	split := lockOf("lock:orders:settle:eu-west", "hhuof", inspect.Split, 9100*time.Millisecond)
	split.HeldSince = ago(2*time.Minute + 10*time.Second)
	split.Findings = []inspect.Finding{{ID: "split", Severity: inspect.High,
		Text:   "Two tokens share the nodes and neither has 3 of 5: at most 3 if n3 still stores the first.",
		Advice: "Wait for the shorter copy to end, or find out which client is still at work before you release the other."}}
	noTTL := lockOf("lock:billing:invoice:run", "hhuhh", inspect.Held, 0, inspect.NoExpiry, inspect.Stuck)
	noTTL.Expiry = inspect.Expiry{Never: true}
	for i := range noTTL.Copies {
		if noTTL.Copies[i].Answer == inspect.AnswerHeld {
			noTTL.Copies[i].Expiry = inspect.Expiry{Never: true}
		}
	}
	noTTL.Owners[0].Name, noTTL.Owners[0].Expiry = "cron-01:4411", inspect.Expiry{Never: true}
	noTTL.HeldSince, noTTL.HeldIsMinimum = ago(62*time.Minute), true
	noTTL.Library, noTTL.Idle = "unknown", inspect.Known(41*time.Minute)
	noTTL.Waiters = inspect.Known(14)
	noTTL.Findings = []inspect.Finding{{ID: "no-expiry", Severity: inspect.Medium,
		Text:   "The key has no expiry and nobody has touched it for 41m, so it stays if its holder is gone.",
		Advice: "Ask whether cron-01:4411 still runs; if not, release it."}}
	stuck := lockOf("lock:search:reindex", "hhuhh", inspect.Held, 27800*time.Millisecond, inspect.Stuck)
	stuck.HeldSince, stuck.HeldIsMinimum, stuck.Renewals, stuck.LastRenewal = ago(62*time.Minute), true, 388, ago(2200*time.Millisecond)
	stuck.Owners[0].Name, stuck.Waiters, stuck.Fence = "idx-3:991", inspect.Known(6), inspect.Known(int64(212))
	weak := lockOf("lock:cart:checkout:88120", "hhuff", inspect.Partial, 2200*time.Millisecond)
	unknown := lockOf("lock:quota:reset:hourly", "dduff", inspect.Unknown, 0)
	unknown.Expiry, unknown.HeldSince = inspect.Expiry{}, time.Time{}
	exp := lockOf("lock:mail:digest:tue", "hhuhh", inspect.Held, 900*time.Millisecond, inspect.Expiring)
	left := lockOf("lock:report:daily:finance", "hhuho", inspect.Held, 19900*time.Millisecond, inspect.Leftover, inspect.Degraded)
	held := lockOf("lock:orders:settle:us-east", "hhuhh", inspect.Held, 12300*time.Millisecond)
	held.Waiters, held.Fence = inspect.Known(3), inspect.Known(int64(4711))
	long := lockOf("lock:inventory:warehouse:north-rhine-westphalia:aisle-44:sku:55-0192", "hhuhh", inspect.Held, 4400*time.Millisecond)
	hostile := lockOf("lock:\x1b[2J\x1b]52;c;aGk=\x07evil\r\n\u202e\x9b注文:42", "hhuhh", inspect.Held, 7*time.Second)
	hostile.Owners[0].Name = "ho\x00st\u202e:1"
	cjk := lockOf("lock:注文:決済:🔒", "hhuhh", inspect.Held, 24*time.Second)
	gone := lockOf("lock:cart:checkout:88017", "ffuff", inspect.Expired, 0)
	gone.HeldSince = time.Time{}

	nodes := []inspect.NodeStatus{
		{Name: "n1", Addr: "redis-a.prod:6379", State: inspect.NodeUp, Since: ago(2 * time.Hour), Role: "master", Version: "7.4.2", RTT: inspect.Known(400 * time.Microsecond), ClockOffset: inspect.Known(2 * time.Millisecond), Eviction: "noeviction", Locks: inspect.Known(12), SampledAt: ago(300 * time.Millisecond), Commands: 26, LookTime: 3 * time.Millisecond},
		{Name: "n2", Addr: "redis-b.prod:6379", State: inspect.NodeUp, Since: ago(2 * time.Hour), Role: "master", Version: "7.4.2", RTT: inspect.Known(500 * time.Microsecond), ClockOffset: inspect.Known(-1 * time.Millisecond), Eviction: "noeviction", Locks: inspect.Known(12), SampledAt: ago(300 * time.Millisecond), Commands: 26, LookTime: 3 * time.Millisecond},
		{Name: "n3", Addr: "redis-c.prod:6379", State: inspect.NodeDown, Since: ago(14 * time.Second), Error: "no answer in time", Version: "7.4.2", SampledAt: ago(14 * time.Second), NextTry: t0.Add(4 * time.Second)},
		{Name: "n4", Addr: "redis-d.prod:6379", State: inspect.NodeUp, Since: ago(2 * time.Hour), Role: "master", Version: "7.4.2", RTT: inspect.Known(400 * time.Microsecond), ClockOffset: inspect.Known(time.Duration(0)), Eviction: "noeviction", Locks: inspect.Known(12), SampledAt: ago(300 * time.Millisecond), Commands: 26, LookTime: 3 * time.Millisecond},
		{Name: "n5", Addr: "redis-e.prod:6379", State: inspect.NodeReplica, Since: ago(90 * time.Second), Role: "replica", Version: "7.2.5", RTT: inspect.Known(2100 * time.Microsecond), ClockOffset: inspect.Known(380 * time.Millisecond), Eviction: "allkeys-lru", Locks: inspect.Known(9), SampledAt: ago(300 * time.Millisecond), Commands: 20, LookTime: 9 * time.Millisecond, Denied: []string{"INFO", "OBJECT"}},
	}
	return inspect.Snapshot{
		Seq: 7, At: ago(200 * time.Millisecond), Interval: 2 * time.Second,
		Target: inspect.Target{Topology: inspect.Redlock, Quorum: 3, Nodes: nodes},
		Locks:  []inspect.Lock{split, noTTL, stuck, weak, unknown, exp, left, long, held, hostile, cjk, gone},
		Scan:   inspect.Progress{Match: []string{"lock:*"}, Keys: 12400, Passes: 3},
		Events: []inspect.Event{
			{At: ago(51 * time.Second), Kind: inspect.NodeWentUp, Node: "n5"},
			{At: ago(40 * time.Second), Kind: inspect.Released, Key: "lock:cart:checkout:88017", Owner: "api-4:12", Text: "held for 8.2s"},
			{At: ago(33 * time.Second), Kind: inspect.WentNoTTL, Key: "lock:billing:invoice:run", Owner: "cron-01:4411"},
			{At: ago(29 * time.Second), Kind: inspect.LostNode, Key: "lock:cart:checkout:88120", Node: "n5", Owner: "api-9:3", Text: "2 of 5 left"},
			{At: ago(14 * time.Second), Kind: inspect.NodeFell, Node: "n3", Text: "no answer in time"},
			{At: ago(2200 * time.Millisecond), Kind: inspect.Renewed, Key: "lock:search:reindex", Owner: "idx-3:991"},
			{At: ago(1300 * time.Millisecond), Kind: inspect.WentSplit, Key: "lock:orders:settle:eu-west", Node: "n4", Owner: "api-2:88", Text: "worker-7f9c:4411 lost n4"},
		},
	}
}

// fakeSource answers from values and counts what it is asked.
type fakeSource struct {
	mu       sync.Mutex
	snap     inspect.Snapshot
	get      func(keys []string) (inspect.Snapshot, error)
	result   inspect.Result
	executed []inspect.Plan
	dryRuns  int
	interval time.Duration
	refresh  int
	visible  []string
	emit     chan inspect.Snapshot
	watchErr error
}

func (f *fakeSource) Watch(ctx context.Context, emit func(inspect.Snapshot)) error {
	emit(f.snap)
	if f.watchErr != nil {
		return f.watchErr
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case s := <-f.emit:
			emit(s)
		}
	}
}

func (f *fakeSource) Refresh() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refresh++
}

func (f *fakeSource) SetInterval(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.interval = d
}

func (f *fakeSource) SetVisible(keys []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.visible = keys
}

func (f *fakeSource) Get(_ context.Context, keys ...string) (inspect.Snapshot, error) {
	if f.get != nil {
		return f.get(keys)
	}
	return f.snap, nil
}

func (f *fakeSource) Execute(_ context.Context, p inspect.Plan, dryRun bool) inspect.Result {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.result
	r.Plan, r.DryRun = p, dryRun
	if dryRun {
		f.dryRuns++
		r.Outcome, r.Nodes = inspect.OutNotSent, nil
		for _, s := range p.Steps {
			r.Nodes = append(r.Nodes, inspect.NodeOutcome{Node: s.Node, Outcome: inspect.OutNotSent, Detail: s.Why})
		}
		return r
	}
	f.executed = append(f.executed, p)
	return r
}

// fakeLab is a demo that is only told about.
type fakeLab struct {
	mu     sync.Mutex
	status demo.Status
	did    []string
	err    error
}

func (l *fakeLab) note(s string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.did = append(l.did, s)
	return l.err
}

func (l *fakeLab) Status() demo.Status      { return l.status }
func (l *fakeLab) Kill(node string) error   { return l.note("kill " + node) }
func (l *fakeLab) Pause(node string) error  { return l.note("pause " + node) }
func (l *fakeLab) Resume(node string) error { return l.note("resume " + node) }
func (l *fakeLab) Restart(_ context.Context, node string, wipe bool) error {
	if wipe {
		return l.note("wipe " + node)
	}
	return l.note("restart " + node)
}

func demoStatus() demo.Status {
	return demo.Status{
		Started: ago(41 * time.Second), Kind: lab.Embedded, TTL: 3 * time.Second,
		Workers: []demo.Worker{
			{Name: "worker-1", State: demo.Working, Resource: "stock:phone", Fence: 212, Since: ago(800 * time.Millisecond)},
			{Name: "worker-2", State: demo.Waiting, Resource: "stock:phone", Since: ago(100 * time.Millisecond), Note: "worker-1 is inside"},
			{Name: "worker-3", State: demo.Lost, Resource: "ledger", Fence: 207, Since: ago(1100 * time.Millisecond), Note: "needs 3 of 5, reached 2"},
			{Name: "worker-4", State: demo.Idle, Since: ago(1300 * time.Millisecond)},
		},
		Nodes: []lab.Status{
			{Name: "n1", Addr: "127.0.0.1:7001", State: lab.Up}, {Name: "n2", Addr: "127.0.0.1:7002", State: lab.Up},
			{Name: "n3", Addr: "127.0.0.1:7003", State: lab.Down}, {Name: "n4", Addr: "127.0.0.1:7004", State: lab.Up}, {Name: "n5", Addr: "127.0.0.1:7005", State: lab.Paused},
		},
		Grants: 212, Contended: 176, NoQuorum: 9, Losses: 3,
	}
}

// look is how a screen is drawn in a test.
type look struct {
	depth depth
	ascii bool
	theme string
}

var (
	coloured = look{depth: depth256}
	sixteen  = look{depth: depth16}
	mono     = look{depth: depthAttrs}
	plain    = look{depth: depthNone}
	ascii    = look{depth: depthNone, ascii: true}
)

// screen is an App in a test, driven by messages without a terminal.
type screen struct {
	t      testing.TB
	app    *App
	source *fakeSource
	now    time.Time
	quit   bool // the app wanted to end
}

func newScreen(t testing.TB, w, h int, l look, c Config) *screen {
	t.Helper()
	th, err := newTheme(l.theme, l.depth)
	if err != nil {
		t.Fatal(err)
	}
	k := &kit{theme: th, g: unicodeGlyphs()}
	if l.ascii {
		k.g = asciiGlyphs()
	}
	if c.Title == "" {
		c.Title = "payments-prod"
	}
	s := &screen{t: t, now: t0, source: &fakeSource{snap: incident(), emit: make(chan inspect.Snapshot)}}
	world := &world{ctx: context.Background(), source: s.source, lab: c.Lab, audit: c.Audit, out: discard{}, now: func() time.Time { return s.now }, pulse: func(int, time.Duration) cmd { return nil },
		crashed: func(v any) { t.Errorf("crashed: %v", v) }, running: newTracker(), stop: func() error { return nil }}
	s.app = newApp(c, k, world, ago(5*time.Minute))
	s.resize(w, h)
	return s
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

var errBoom = errors.New("boom")
