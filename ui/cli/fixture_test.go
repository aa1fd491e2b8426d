package cli

import (
	"fmt"
	"time"

	"dlock/inspect"
	"dlock/inspect/dialect"
)

var fixedNow = time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.UTC)

func in(d time.Duration) inspect.Expiry { return inspect.Expiry{At: fixedNow.Add(d)} }

var never = inspect.Expiry{Never: true}

const (
	tokenA = "5d02c1f0-8a55-4c8e-9f0e-0b7c6f1be8aa 1772600767000000 web-3:4711"
	tokenB = "77be0142-0000-4c8e-9f0e-0b7c6f1be8aa 1772600767000000 api-2:9"
)

// lockOf makes a lock from one answer per node: a token, "" for none, "!" for
// no answer, "#" for not permitted. Each copy lives for ttl.
func lockOf(key string, ttl inspect.Expiry, answers ...string) inspect.Lock {
	l := inspect.Lock{
		ID: inspect.ID{Key: key}, Resource: key, Library: "unknown", Kind: "mutex", Type: "string",
		Expiry: ttl, Votes: inspect.Votes{Need: len(answers)/2 + 1, Of: len(answers)},
	}
	votes := map[string][]string{}
	var order []string
	for i, a := range answers {
		c := inspect.Copy{Node: fmt.Sprintf("n%d", i+1), SampledAt: fixedNow}
		switch a {
		case "":
			c.Answer = inspect.AnswerFree
		case "!":
			c.Answer, c.Error = inspect.AnswerUnreachable, "connection refused"
			l.Votes.Unreachable++
		case "#":
			c.Answer, c.Error = inspect.AnswerDenied, "NOPERM No permissions to access a key"
			l.Votes.Unreachable++
		default:
			c.Token, c.HasToken, c.Expiry, c.Type = a, true, ttl, "string"
			if votes[a] == nil {
				order = append(order, a)
			}
			votes[a] = append(votes[a], c.Node)
			c.Answer = inspect.AnswerHeld
			if a != order[0] {
				c.Answer = inspect.AnswerOther
			}
		}
		l.Copies = append(l.Copies, c)
	}
	for _, token := range order {
		o := inspect.Owner{Token: token, Count: 1, Votes: votes[token], Expiry: ttl}
		switch token {
		case tokenA:
			o.Name, o.Host, o.PID = "web-3:4711", "web-3", 4711
		case tokenB:
			o.Name, o.Host, o.PID = "api-2:9", "api-2", 9
		}
		l.Owners = append(l.Owners, o)
	}
	if len(order) > 0 {
		l.Votes.Agree = len(votes[order[0]])
	}
	switch {
	case l.Votes.Agree >= l.Votes.Need:
		l.State = inspect.Held
	case len(order) > 1:
		l.State = inspect.Split
	case l.Votes.Agree+l.Votes.Unreachable >= l.Votes.Need:
		l.State = inspect.Unknown
	case len(order) == 1:
		l.State = inspect.Partial
	default:
		l.State = inspect.Expired
	}
	return l
}

// picture is a snapshot of locks on n nodes; the named ones are down.
func picture(n int, locks []inspect.Lock, down ...int) inspect.Snapshot {
	s := inspect.Snapshot{
		Seq: 1, At: fixedNow, Complete: len(down) == 0, Locks: locks,
		Target: inspect.Target{Topology: inspect.Redlock, Quorum: n/2 + 1},
		Scan:   inspect.Progress{Match: []string{"lock:*"}, Keys: 1234, Passes: 1},
	}
	if n == 1 {
		s.Target.Topology = inspect.Single
	}
	for i := range n {
		s.Target.Nodes = append(s.Target.Nodes, inspect.NodeStatus{
			Name: fmt.Sprintf("n%d", i+1), Addr: fmt.Sprintf("127.0.0.1:%d", 7001+i),
			State: inspect.NodeUp, Role: "master", Version: "7.0.15",
			RTT: inspect.Known(310 * time.Microsecond), ClockOffset: inspect.Known(time.Duration(0)),
			Locks: inspect.Known(len(locks)),
		})
	}
	for _, i := range down {
		s.Target.Nodes[i] = inspect.NodeStatus{
			Name: s.Target.Nodes[i].Name, Addr: s.Target.Nodes[i].Addr,
			State: inspect.NodeDown, Error: "connection refused",
		}
	}
	return s
}

const hostileKey = "lock:x\x1b[31mRED\nsecond\tline\r\u202eabc\\"

// everyKind is a picture with one lock of each kind that is shown differently.
func everyKind() inspect.Snapshot {
	split := lockOf("lock:orders:settle:eu-west", in(9100*time.Millisecond), tokenA, tokenA, tokenB, tokenB, "!")
	split.Library = "redsync"
	split.Findings = []inspect.Finding{{ID: "split", Severity: inspect.High, Text: "two owners, none has the 3 nodes it needs", Advice: "wait 9.1s, or release one of them"}}

	forever := lockOf("lock:billing:invoice:run", never, "cron-01", "cron-01", "cron-01", "cron-01", "!")
	forever.Flags = []inspect.Flag{inspect.NoExpiry, inspect.Stuck}
	forever.HeldSince, forever.HeldIsMinimum = fixedNow.Add(-62*time.Minute), true
	forever.Idle = inspect.Known(62 * time.Minute)
	forever.Findings = []inspect.Finding{{ID: "no-expiry", Severity: inspect.High, Text: "the key has no time to live", Advice: "release it once its holder is known to be gone"}}

	held := lockOf("lock:orders:42", in(8123*time.Millisecond), tokenA, tokenA, tokenA, tokenA, "!")
	held.Resource, held.Library = "orders:42", "dlock"
	held.FullTTL = 10 * time.Second
	held.HeldSince = fixedNow.Add(-12044 * time.Millisecond)
	held.Owners[0].Since = fixedNow.Add(-13 * time.Second)
	held.Fence, held.Waiters = inspect.Known[int64](12), inspect.Known(3)
	held.Renewals, held.LastRenewal = 4, fixedNow.Add(-time.Second)

	partial := lockOf("lock:cart:checkout:88120", in(2200*time.Millisecond), "api-9", "", "", "", "!")
	unknown := lockOf("lock:quota:reset:hourly", inspect.Expiry{}, "#", "#", "#", "", "!")
	unknown.Type = ""

	hash := lockOf("lock:redisson", in(time.Minute), "", "", "", "", "!")
	hash.State, hash.Type, hash.Kind = inspect.Held, "hash", ""
	hash.Votes.Agree = 4
	for i := range 4 {
		hash.Copies[i].Answer, hash.Copies[i].Type, hash.Copies[i].Expiry = inspect.AnswerHeld, "hash", in(time.Minute)
	}

	// A lock with everything that only some libraries tell, and the past that
	// only somebody who has watched knows.
	shared := lockOf("lock:rw", in(20*time.Second), tokenA, tokenA, tokenA, tokenA, "!")
	shared.Library, shared.Kind, shared.Type, shared.Shared = "redisson", "read-write", "hash", true
	shared.Candidates, shared.Confidence = []string{"redisson", "redissonlike"}, dialect.Likely
	shared.Owners[0].Holds, shared.Owners[0].Loss = true, in(20*time.Second)
	shared.Owners[0].Thread, shared.Owners[0].Mode, shared.Owners[0].Count = "77", "read", 2
	shared.Owners[0].Until = fixedNow.Add(19 * time.Second)
	shared.Owners = append(shared.Owners, inspect.Owner{
		Token: tokenB, Name: "api-2:9", Host: "api-2", PID: 9, Count: 1, Mode: "read", Votes: []string{"n1", "n2", "n3"},
		Holds: true, Loss: in(9 * time.Second), Expiry: in(10 * time.Second),
	})
	shared.Waiters, shared.WaitersAreProcesses = inspect.Known(3), true
	shared.WaiterList = []dialect.Waiter{
		{Token: "w1", Owner: "web-1:1", Since: fixedNow.Add(-3 * time.Second)},
		{Token: "w\x1b2", Until: fixedNow.Add(time.Second)},
	}
	shared.Companions = []inspect.Companion{{Key: "redisson_rwlock_timeout:{lock:rw}\n", Of: "lock:rw", Role: dialect.RoleInfo, Type: "zset"}}
	shared.Stats = inspect.Stats{Holds: 12, Total: 36 * time.Second, Longest: 9 * time.Second, Waits: 2, WaitTotal: 4 * time.Second, LongestWait: 3 * time.Second}
	shared.History = []inspect.Event{
		{At: fixedNow.Add(-2 * time.Second), Kind: inspect.Taken, Key: "lock:rw", Token: tokenA, Owner: "web-3:4711", Text: "4 of 5 nodes"},
		{At: fixedNow.Add(-time.Second), Kind: inspect.LostNode, Key: "lock:rw", Node: "n5", Token: "bare\x1b", Text: "4 of 5 nodes left, without n5"},
	}

	orphan := lockOf("redisson_lock_queue:{lock:gone}", in(time.Minute), "", "", "", "", "!")
	orphan.Library, orphan.Type = "redisson", "list"
	orphan.Companion = &inspect.Companion{Key: orphan.ID.Key, Of: "lock:gone", Role: dialect.RoleQueue, Type: "list"}
	for i := range 4 {
		orphan.Copies[i].Answer, orphan.Copies[i].Type, orphan.Copies[i].Expiry = inspect.AnswerOther, "list", in(time.Minute)
	}
	orphan.Findings = []inspect.Finding{{ID: "orphan", Severity: inspect.Medium, Text: "a queue without its lock", Advice: "delete it once nobody waits"}}

	s := picture(5, []inspect.Lock{
		split, forever, partial, unknown, held, hash,
		lockOf(hostileKey, in(time.Second), "t\x1b]0;owned\a", "t\x1b]0;owned\a", "t\x1b]0;owned\a", "", "!"),
		lockOf("lock:\xff\xfe", in(time.Second), "\x80tok", "\x80tok", "\x80tok", "\x80tok", "!"),
		lockOf("lock:注文:42:مفتاح", in(26*time.Hour), `"quoted"`, `"quoted"`, `"quoted"`, `"quoted"`, "!"),
		lockOf("-n", in(time.Second), "--token", "--token", "--token", "--token", "!"),
		shared, orphan,
	}, 4)
	s.Target.Nodes[1].Denied = []string{"CONFIG", "INFO"}
	s.Findings = []inspect.NodeFinding{
		{Finding: inspect.Finding{ID: "same-server", Severity: inspect.High, Text: "n1, n2 are one server, and its vote counts 2 times.", Advice: "Give each vote a server of its own."}, Nodes: []string{"n1", "n2"}},
		{Finding: inspect.Finding{ID: "clock-offset", Severity: inspect.Medium, Text: "The clocks differ\x1b[2J.", Advice: "Keep them together."}},
		{Finding: inspect.Finding{ID: "no-persistence", Severity: inspect.Low, Text: "n3 keeps nothing on disk.", Advice: "Set appendonly yes."}, Nodes: []string{"n3"}},
	}
	return s
}
