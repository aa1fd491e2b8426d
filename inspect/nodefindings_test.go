package inspect

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func ids(findings []NodeFinding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, f.ID+"/"+string(f.Severity)+"/"+strings.Join(f.Nodes, "+"))
	}
	return out
}

// voter is a server without anything to find.
func voter(name string, change ...func(*serverFacts)) serverFacts {
	s := serverFacts{name: name, addr: "10.0.0." + name[1:] + ":6379", answers: true, facts: facts{
		role: "master", version: "7.2.4", runID: "run-" + name, replID: "repl-" + name, eviction: "noeviction",
		uptime: Known(100 * time.Hour), aof: Known(true), save: Known(""), stopsOnSaveError: Known(true),
		minReplicas: Known(0), maxMemory: Known[int64](0), usedMemory: Known[int64](1 << 20),
	}}
	for _, do := range change {
		do(&s)
	}
	return s
}

func TestNodeFindings(t *testing.T) {
	now := time.Now()
	fact := func(change func(*facts)) func(*serverFacts) { return func(s *serverFacts) { change(&s.facts) } }
	clock := func(offset, slack time.Duration) func(*serverFacts) {
		return fact(func(f *facts) { f.clock = clockReading{known: true, server: now.Add(offset), ours: now, slack: slack} })
	}
	replicaOf := func(addr, replID string) func(*serverFacts) {
		return fact(func(f *facts) { f.role, f.master, f.replID = "replica", addr, replID })
	}
	for _, c := range []struct {
		what     string
		topology Topology
		servers  []serverFacts
		change   func(*deploymentFacts)
		want     []string
		says     string // in the text of the first
	}{
		{what: "nothing", servers: []serverFacts{voter("n1"), voter("n2"), voter("n3")}},
		{what: "nothing is known", servers: []serverFacts{{name: "n1", answers: true}, {name: "n2", answers: true}, {name: "n3", answers: true}}},
		{what: "silent nodes have no findings of old facts", servers: []serverFacts{voter("n1", func(s *serverFacts) { s.answers = false; s.facts.eviction = "allkeys-lru"; s.facts.runID = "run-n2" }), voter("n2")}},

		{what: "one server twice", servers: []serverFacts{voter("n1"), voter("n2"), voter("n3", fact(func(f *facts) { f.runID, f.replID = "run-n1", "repl-n1" }))},
			want: []string{"same-server/high/n1+n3"}, says: "n1 and n3 are one server, and its vote counts 2 times. Of 3 votes only 2 are independent, so the quorum of 2 is not what it seems."},
		{what: "one server three times", servers: []serverFacts{voter("n1"), voter("n2", fact(func(f *facts) { f.runID = "run-n1" })), voter("n3", fact(func(f *facts) { f.runID = "run-n1" }))},
			want: []string{"same-server/high/n1+n2+n3"}, says: "only 1 is independent"},
		{what: "master and replica by address", servers: []serverFacts{voter("n1"), voter("n2", replicaOf("10.0.0.1:6379", "")), voter("n3")},
			want: []string{"replica-voter/high/n2"}, says: "replica of n1: it repeats its master's vote and has none of its own. Of 3 votes only 2 are"},
		{what: "master and replica by replication id", servers: []serverFacts{voter("n1"), voter("n2", replicaOf("localhost:6379", "repl-n1")), voter("n3")},
			want: []string{"replica-voter/high/n2"}, says: "replica of n1: "},
		{what: "two replicas of a server that is not listed", servers: []serverFacts{voter("n1"), voter("n2", replicaOf("h:1", "x")), voter("n3", replicaOf("h:1", "x"))},
			want: []string{"replica-voter/high/n2", "replica-voter/high/n3"}, says: "replica of h:1: it repeats its master's vote and has none of its own. Of 3 votes only 2 are"},
		{what: "a replica alone", topology: Single, servers: []serverFacts{voter("n1", replicaOf("h:1", "x"))},
			want: []string{"replica-voter/high/n1"}, says: "read-only replica of h:1: it may be behind"},

		{what: "clocks apart", servers: []serverFacts{voter("n1", clock(0, 0)), voter("n2", clock(-time.Second, time.Millisecond)), voter("n3", clock(time.Second, time.Millisecond))},
			want: []string{"clock-offset/medium/n2+n3"}, says: "n3 is 2s (± 2ms) ahead of that of n2"},
		{what: "clocks that may be together", servers: []serverFacts{voter("n1", clock(0, 0)), voter("n2", clock(200*time.Millisecond, 150*time.Millisecond))}},
		{what: "a clock apart from ours alone", topology: Single, servers: []serverFacts{voter("n1", clock(time.Hour, 0))}},
		{what: "ahead", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.jump, f.jumped = 3*time.Second, now.Add(-time.Minute) }))},
			want: []string{"clock-jump/high/n1"}, says: "jumped ahead by 3s, 1m ago: every lock on it ends that much too early"},
		{what: "back", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.jump, f.jumped = -3*time.Second, now }))}, want: []string{"clock-jump/medium/n1"}, says: "back by 3s"},
		{what: "long ago", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.jump, f.jumped = time.Hour, now.Add(-time.Hour) }))}},

		{what: "evicts any", servers: []serverFacts{voter("n1", fact(func(f *facts) {
			f.eviction, f.maxMemory, f.evicted = "allkeys-lru", Known[int64](1<<30), Known[int64](7)
		}))},
			want: []string{"eviction/high/n1"}, says: "any key (allkeys-lru) when its memory is full: a lock can vanish before its time. It has dropped 7 so far."},
		{what: "evicts what expires", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.eviction, f.maxMemory = "volatile-ttl", Maybe[int64]{} }))}, want: []string{"eviction/high/n1"}, says: "which locks have"},
		{what: "without a limit", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.eviction = "volatile-lru" }))}, want: []string{"eviction/low/n1"}, says: "which it is not"},
		{what: "full", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.maxMemory = Known[int64](1 << 20) }))}, want: []string{"out-of-memory/high/n1"}, says: "(OOM)"},
		{what: "full and evicting any", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.maxMemory, f.eviction = Known[int64](1<<20), "allkeys-random" }))}, want: []string{"eviction/high/n1"}},
		{what: "a full replica", topology: Single, servers: []serverFacts{voter("n1", replicaOf("h:1", "x"), fact(func(f *facts) { f.maxMemory = Known[int64](1) }))}, want: []string{"replica-voter/high/n1"}},

		{what: "keeps nothing", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.aof = Known(false) }))}, want: []string{"no-persistence/medium/n1"}},
		{what: "keeps nothing, alone", topology: Single, servers: []serverFacts{voter("n1", fact(func(f *facts) { f.aof = Known(false) }))}, want: []string{"no-persistence/low/n1"}},
		{what: "keeps snapshots", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.aof, f.save = Known(false), Known("3600 1") }))}},
		{what: "save is not known", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.aof, f.save = Known(false), Maybe[string]{} }))}},
		{what: "started lately", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.uptime = Known(10 * time.Minute) }))}, want: []string{"restarted/low/n1"}, says: "n1 was started 10m ago."},
		{what: "started within a lock's life", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.uptime = Known(2 * time.Hour) }))}, change: func(d *deploymentFacts) { d.longest = 3 * time.Hour }, want: []string{"restarted/medium/n1"}, says: "may still be held"},
		{what: "and it forgets", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.uptime, f.aof = Known(2*time.Hour), Known(false) }))}, change: func(d *deploymentFacts) { d.longest = 3 * time.Hour }, want: []string{"restarted/high/n1", "no-persistence/medium/n1"}},
		{what: "restarted before our eyes", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.uptime, f.restarted = Known(time.Minute), now.Add(-time.Minute) }))}, want: []string{"restarted/medium/n1"}, says: "while dlock watched"},

		{what: "too few replicas", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.minReplicas, f.good = Known(2), Known(1) }))}, want: []string{"no-replicas/high/n1"}, says: "1 replica follows in time, fewer than the 2"},
		{what: "enough replicas", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.minReplicas, f.good = Known(1), Known(1) }))}},
		{what: "no replica, and CONFIG is not permitted", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.minReplicas, f.good = Maybe[int]{}, Known(0) }))}, want: []string{"no-replicas/high/n1"}},
		{what: "a snapshot failed", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.saveFailed, f.save = true, Known("60 1") }))}, want: []string{"misconf/high/n1"}, says: "snapshot"},
		{what: "it failed and nothing depends on it", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.saveFailed, f.save, f.stopsOnSaveError = true, Known("60 1"), Known(false) }))}},
		{what: "the file cannot be written", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.appendFailed = true }))}, want: []string{"misconf/high/n1"}, says: "append-only"},

		{what: "a shard", topology: Single, servers: []serverFacts{voter("n1", fact(func(f *facts) { f.cluster = true }))}, want: []string{"cluster-shard/high/n1"}},
		{what: "ancient", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.version = "2.6.17" }))}, want: []string{"old-version/high/n1"}},
		{what: "old", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.version = "4.0.14" }))}, want: []string{"old-version/medium/n1"}},
		{what: "a version of another form", servers: []serverFacts{voter("n1", fact(func(f *facts) { f.version = "x.y" }))}},

		{what: "not serving", servers: []serverFacts{voter("n1", func(s *serverFacts) { s.answers, s.down, s.refusal = false, true, "LOADING Redis is loading" })}, want: []string{"not-serving/high/n1"}, says: "LOADING Redis is loading."},
		{what: "keys that are off limits", servers: []serverFacts{voter("n1", func(s *serverFacts) { s.barred = 3 })}, want: []string{"forbidden-keys/medium/n1"}, says: "3 keys that match"},
		{what: "a shard is down", topology: Cluster, servers: []serverFacts{voter("n1"), voter("n2", func(s *serverFacts) { s.answers, s.down, s.slots = false, true, 5461 })}, want: []string{"shard-down/high/n2"}, says: "(10.0.0.2:6379) does not answer: what is locked in its 5461 of"},
		{what: "slots without a server", topology: Cluster, servers: []serverFacts{voter("n1")}, change: func(d *deploymentFacts) { d.uncovered = 1 }, want: []string{"slots-uncovered/high/"}},
		{what: "sentinels are silent", topology: Sentinel, servers: []serverFacts{voter("n1")}, change: func(d *deploymentFacts) { d.lost, d.why = []string{"n1"}, []string{"connection refused"} }, want: []string{"lookup-failed/medium/n1"}},
		{what: "worst first", servers: []serverFacts{
			voter("n1", fact(func(f *facts) { f.uptime, f.aof = Known(time.Minute), Known(false) })), voter("n2", fact(func(f *facts) { f.appendFailed = true }))},
			want: []string{"misconf/high/n2", "no-persistence/medium/n1", "restarted/low/n1"}},
	} {
		d := deploymentFacts{topology: c.topology, quorum: len(c.servers)/2 + 1, servers: c.servers}
		if d.topology == "" {
			d.topology = Redlock
		}
		if c.change != nil {
			c.change(&d)
		}
		got := nodeFindings(d, now)
		if !slices.Equal(ids(got), c.want) {
			t.Errorf("%s: %q, want %q", c.what, ids(got), c.want)
			continue
		}
		for n, f := range got {
			if f.Advice == "" || !strings.HasSuffix(f.Text, ".") || !strings.HasSuffix(f.Advice, ".") {
				t.Errorf("%s: %+v", c.what, f)
			}
			if n == 0 && !strings.Contains(f.Text, c.says) {
				t.Errorf("%s: %q is not in %q", c.what, c.says, f.Text)
			}
		}
	}
}

func TestClockJump(t *testing.T) {
	base := time.Now()
	at := func(ours, server time.Duration) clockReading {
		return clockReading{known: true, ours: base.Add(ours), server: base.Add(server), slack: time.Millisecond}
	}
	for _, c := range []struct {
		what          string
		before, after clockReading
		jump          time.Duration
		jumped        bool
	}{
		{"steady", at(0, 5*time.Second), at(time.Minute, time.Minute+5*time.Second), 0, false},
		{"slewed", at(0, 0), at(time.Minute, time.Minute+30*time.Millisecond), 30 * time.Millisecond, false},
		{"ahead", at(0, 0), at(time.Minute, time.Minute+2*time.Second), 2 * time.Second, true},
		{"back", at(0, 0), at(time.Minute, time.Minute-2*time.Second), -2 * time.Second, true},
		{"first reading", clockReading{}, at(0, time.Hour), 0, false},
		{"not known any more", at(0, time.Hour), clockReading{}, 0, false},
		{"long pauses allow for more", at(0, 0), at(time.Hour, time.Hour+time.Second), time.Second, false},
	} {
		jump, jumped := clockJump(c.before, c.after)
		if jump != c.jump || jumped != c.jumped {
			t.Errorf("%s: %v, %v", c.what, jump, jumped)
		}
	}
}

func TestReadInfo(t *testing.T) {
	var f facts
	f.readInfo("# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\nuptime_in_seconds:60\r\n" +
		"used_memory:100\r\nmem_not_counted_for_evict:30\r\nmaxmemory:50\r\nmaxmemory_policy:allkeys-lru\r\nevicted_keys:4\r\n" +
		"aof_enabled:0\r\nrdb_last_bgsave_status:err\r\naof_last_write_status:ok\r\nrole:slave\r\nconnected_slaves:2\r\nmaster_replid:r1\r\nmin_slaves_good_slaves:1\r\n" +
		"slave0:ip=10.0.0.2,port=6379,state=online,offset=42,lag=1\r\nslave1:ip=10.0.0.3,port=6379,state=online,offset=42,lag=7\r\ncluster_enabled:1\r\n")
	if f.version != "7.0.15" || f.runID != "abc" || f.uptime != Known(time.Minute) || f.usedMemory != Known[int64](70) || f.maxMemory != Known[int64](50) ||
		f.eviction != "allkeys-lru" || f.evicted != Known[int64](4) || f.aof != Known(false) || !f.saveFailed || f.appendFailed || f.role != "replica" ||
		f.replicas != Known(2) || f.replID != "r1" || f.good != Known(1) || f.lag != Known(7*time.Second) || !f.cluster {
		t.Errorf("%+v", f)
	}
	f = facts{}
	f.readInfo("redis_version:7.2.4\nvalkey_version:8.1.0\nuptime_in_seconds:-1\nconnected_slaves:many\nused_memory:99999999999999999999\nmaxmemory\nslave0:lag=x\nslavery:lag=3\nrun_id:" + strings.Repeat("x", valueMost+1))
	want := facts{version: "8.1.0"}
	if f != want {
		t.Errorf("%+v", f)
	}
}

func FuzzReadInfo(f *testing.F) {
	f.Add("# Server\r\nredis_version:7.0.15\r\nslave0:ip=1,lag=1\r\n", "save", "3600 1")
	f.Fuzz(func(t *testing.T, info, name, value string) {
		var got facts
		got.readInfo(info)
		got.readSetting(name, []any{name, value})
		if got.uptime.Value < 0 || got.lag.Value < 0 || got.usedMemory.Value < 0 || got.replicas.Value < 0 || len(got.runID) > valueMost {
			t.Errorf("%+v", got)
		}
		for _, finding := range nodeFindings(deploymentFacts{topology: Redlock, quorum: 2, servers: []serverFacts{{name: "n1", answers: true, facts: got}, voter("n2")}}, time.Now()) {
			if len(finding.Text) > 1000 {
				t.Errorf("%d bytes: %s", len(finding.Text), finding.ID)
			}
		}
	})
}
