package tui

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"dlock/demo"
	"dlock/demo/lab"
	"dlock/demo/store"
	"dlock/inspect"
	"dlock/inspect/dialect"
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
		a.Holds, a.Loss = state == inspect.Held, in(ttl)
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
	split.History = []inspect.Event{
		{At: ago(130 * time.Second), Kind: inspect.Taken, Token: tokenA, Owner: "worker-7f9c:4411", Text: "5 of 5 nodes"},
		{At: ago(110 * time.Second), Kind: inspect.Renewed, Token: tokenA, Owner: "worker-7f9c:4411", Text: "30s left"},
		{At: ago(90 * time.Second), Kind: inspect.Renewed, Token: tokenA, Owner: "worker-7f9c:4411", Text: "30s left"},
		{At: ago(21 * time.Second), Kind: inspect.Renewed, Token: tokenA, Owner: "worker-7f9c:4411", Text: "30s left"},
		{At: ago(1300 * time.Millisecond), Kind: inspect.WentSplit, Token: tokenA, Owner: "worker-7f9c:4411", Text: "the nodes disagree"}}
	held.History = []inspect.Event{
		{At: ago(200 * time.Second), Kind: inspect.Taken, Token: "t1", Owner: "api-2:88"},
		{At: ago(100 * time.Second), Kind: inspect.HandedOver, Token: "t2", Owner: "api-4:12", Text: "from api-2:88"},
		{At: ago(60 * time.Second), Kind: inspect.Ended, Token: "t2", Owner: "api-4:12"},
		{At: ago(40 * time.Second), Kind: inspect.Taken, Token: "t3", Owner: "api-2:88"},
		{At: ago(17700 * time.Millisecond), Kind: inspect.HandedOver, Token: tokenA, Owner: "worker-7f9c:4411", Text: "from api-2:88"}}
	held.Stats = inspect.Stats{Holds: 3, Total: 163 * time.Second, Longest: 100 * time.Second, Waits: 2, WaitTotal: 3 * time.Second, LongestWait: 2 * time.Second}
	held.WaiterList = []dialect.Waiter{{Token: tokenB, Owner: "api-2:88", Since: ago(4 * time.Second), Until: t0.Add(6 * time.Second)}, {Token: "0b13cc41-93aa-4c1e-8e0b-55d1c02f0142", Owner: "api-4:12", Since: ago(2 * time.Second)}, {Token: "77be"}}
	held.Companions = []inspect.Companion{{Key: "lock:fence:{lock:orders:settle:us-east}", Of: held.ID.Key, Role: dialect.RoleFence, Type: "string"}, {Key: "lock:queue:{lock:orders:settle:us-east}", Of: held.ID.Key, Role: dialect.RoleQueue, Type: "zset"}}
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
		Findings: []inspect.NodeFinding{
			{Finding: inspect.Finding{ID: "replica-voter", Severity: inspect.High, Text: "n5 is a read-only replica of n1: it repeats its master's vote and has none of its own. Of 5 votes only 4 are independent, so the quorum of 3 is not what it seems.", Advice: "Replace it by a server that replicates nothing."}, Nodes: []string{"n5"}},
			{Finding: inspect.Finding{ID: "eviction", Severity: inspect.High, Text: "n5 drops any key (allkeys-lru) when its memory is full: a lock can vanish before its time.", Advice: "Set maxmemory-policy noeviction, or keep locks on a server of their own."}, Nodes: []string{"n5"}},
			{Finding: inspect.Finding{ID: "clock-offset", Severity: inspect.Medium, Text: "The clock of n5 is 381ms (± 2ms) ahead of that of n2, and a lock of 10s allows for 102ms of drift.", Advice: "A steady difference ends no lock early; keep the clocks together all the same, since a clock that is put right in one step does."}, Nodes: []string{"n2", "n5"}},
			{Finding: inspect.Finding{ID: "no-persistence", Severity: inspect.Medium, Text: "n1 keeps nothing on disk (no append-only file, no save points): after a restart it has no locks, and grants them again.", Advice: "Set appendonly yes, or keep it out of use for the longest time to live after each restart."}, Nodes: []string{"n1"}},
		},
		Scan: inspect.Progress{Match: []string{"lock:*"}, Keys: 12400, Passes: 3},
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

// kinds is the incident with locks of other kinds and libraries beside it.
func kinds() inspect.Snapshot {
	readers := lockOf("lock:report:yearly", "hhuhh", inspect.Held, 25*time.Second)
	readers.Library, readers.Kind, readers.Type, readers.Shared = "redisson", dialect.ReadWrite, "hash", true
	readers.Confidence, readers.Habits = dialect.Certain, dialect.Habits{Renews: 10 * time.Second, Recreates: true}
	readers.Owners = nil
	for i, name := range []string{"reader-a", "reader-b", "reader-c"} {
		readers.Owners = append(readers.Owners, inspect.Owner{Token: name + ":1", Name: name, Thread: "1", Mode: "read", Count: i + 1, Votes: []string{"n1", "n2", "n4", "n5"}, Holds: true, Loss: in(25 * time.Second), Expiry: in(25 * time.Second), Until: t0.Add(25 * time.Second)})
	}
	maybe := lockOf("jobs:import", "hhuhh", inspect.Held, 11*time.Second)
	maybe.Library, maybe.Candidates, maybe.Confidence, maybe.Owners[0].Name = "redis-py/redsync", []string{"redis-py", "redsync", "redislock"}, dialect.Possible, ""
	orphan := inspect.Lock{ID: inspect.ID{Key: "redisson_lock_queue:{pay}"}, Resource: "redisson_lock_queue:{pay}", Library: "redisson", Kind: dialect.Fair, Type: "list", State: inspect.Expired, Votes: inspect.Votes{Need: 3, Of: 5},
		Companion: &inspect.Companion{Key: "redisson_lock_queue:{pay}", Of: "pay", Role: dialect.RoleQueue, Type: "list"}, Waiters: inspect.Known(4)}
	for i := range 5 {
		orphan.Copies = append(orphan.Copies, inspect.Copy{Node: "n" + string(rune('1'+i)), Answer: inspect.AnswerFree, SampledAt: ago(300 * time.Millisecond)})
	}
	s := incident()
	s.Locks = append(s.Locks, maybe, readers, orphan)
	return s
}

// nothing is a deployment that is well and has no lock.
func nothing() inspect.Snapshot {
	s := incident()
	s.Locks, s.Events, s.Findings, s.Complete = nil, nil, nil, true
	for i := range s.Target.Nodes {
		n := &s.Target.Nodes[i]
		n.State, n.Error, n.Locks, n.Denied = inspect.NodeUp, "", inspect.Known(0), nil
	}
	s.Scan.Keys = 0
	return s
}

// unreached is a deployment of which too little answers, for one reason each.
func unreached() inspect.Snapshot {
	s := nothing()
	s.Complete = false
	for i, why := range []string{"dial: connect: connection refused (nothing listens there)", "dial: lookup redis-b.prod: no such host", "dial: no connection in time", "NOAUTH Authentication required."} {
		n := &s.Target.Nodes[i]
		n.State, n.Error, n.Since, n.NextTry = inspect.NodeDown, why, ago(9*time.Second), t0.Add(time.Duration(i)*4*time.Second)
	}
	s.Target.Nodes[3].State = inspect.NodeDenied
	return s
}

// cluster is a deployment in which each lock is on one of several nodes.
func cluster() inspect.Snapshot {
	s := nothing()
	s.Target.Topology, s.Target.Quorum = inspect.Cluster, 1
	s.Target.Nodes = s.Target.Nodes[:3]
	for i := range s.Target.Nodes {
		n := &s.Target.Nodes[i]
		n.Role, n.Replicas, n.ReplicaLag = "master", inspect.Known(i), inspect.Known(time.Duration(i)*700*time.Millisecond)
		l := lockOf("lock:{slot"+n.Name+"}:job", "h", inspect.Held, 12*time.Second)
		l.Copies[0].Node, l.Owners[0].Votes = n.Name, []string{n.Name}
		s.Locks = append(s.Locks, l)
	}
	down := &s.Target.Nodes[2]
	down.State, down.Error, down.Since = inspect.NodeDown, "no answer in time", ago(9*time.Second)
	down.Replicas, down.ReplicaLag = inspect.Maybe[int]{}, inspect.Maybe[time.Duration]{}
	l := lockOf("lock:{slotn3}:job", "u", inspect.Unknown, 12*time.Second)
	l.Copies[0].Node = "n3"
	s.Locks[2], s.Complete = l, false
	s.Findings = []inspect.NodeFinding{{Finding: inspect.Finding{ID: "shard-down", Severity: inspect.High, Text: "n3 (redis-c.prod:6379) does not answer: what is locked in its 5461 of 16384 slots cannot be seen or taken.", Advice: "Bring it back, or let a replica take over; until then no lock there is known to be free."}, Nodes: []string{"n3"}}}
	return s
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
		Scenario: demo.Scenarios[0], Mode: demo.Fenced, Store: "sqlite",
		Table: []demo.ModeTally{
			{Mode: demo.Naive, Ran: 12 * time.Second, Operations: 410, Writes: 388, WaitP50: 4 * time.Millisecond, WaitP99: 310 * time.Millisecond, Contended: 90, DoubleEntries: 17, Store: store.Audit{Entries: 388, Oversold: 12, Lost: 5}},
			{Mode: demo.Redlock, Ran: 9 * time.Second, Operations: 222, Writes: 220, WaitP50: 9 * time.Millisecond, WaitP99: 420 * time.Millisecond, DoubleEntries: 1, Losses: 1, Voided: []string{"stop"}, Store: store.Audit{Lost: 1}},
			{Mode: demo.Fenced, Ran: 20 * time.Second, Operations: 580, Writes: 571, WaitP50: 9 * time.Millisecond, WaitP99: 433 * time.Millisecond, Refused: 2, Losses: 2},
		},
		Faults: []demo.ActiveFault{{Name: "kill", Target: "n3", Since: ago(8 * time.Second)}, {Name: "slow", Target: "n1", By: 80 * time.Millisecond, Since: ago(3 * time.Second)}},
		Events: []demo.Event{{At: ago(8 * time.Second), Text: "n3 was killed"}, {At: ago(3 * time.Second), Text: "everything sent to n1 arrives 80ms later"}},
		Inside: []demo.Visit{
			{Worker: "worker-2", Resource: "stock:phone", Fence: 210, From: ago(18 * time.Second), To: ago(14 * time.Second)},
			{Worker: "worker-1", Resource: "stock:phone", Fence: 211, From: ago(13 * time.Second), To: ago(6 * time.Second), StoppedAt: ago(11 * time.Second), WokenAt: ago(7 * time.Second), LeaseEnded: ago(8 * time.Second)},
			{Worker: "worker-3", Resource: "ledger", Fence: 207, From: ago(16 * time.Second), To: ago(4 * time.Second)},
			{Worker: "worker-4", Resource: "stock:phone", Fence: 212, From: ago(7500 * time.Millisecond), To: ago(5 * time.Second), Double: true},
			{Worker: "worker-1", Resource: "stock:phone", Fence: 213, From: ago(800 * time.Millisecond)},
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
