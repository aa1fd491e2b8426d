package lockcore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"dlock/lockcore/node"
)

// Problem is something about the nodes that makes locks weaker than they look.
type Problem struct {
	// Node is the node's name, "" if it concerns all.
	Node string
	// Text says what it is and what to do, in one sentence. Bytes from the
	// server may be in it.
	Text string
}

func (p Problem) String() string {
	if p.Node == "" {
		return p.Text
	}
	return p.Node + ": " + p.Text
}

// Check asks the nodes what they are and reports what makes them poor voters:
// replicas, one server behind two addresses, shards of a cluster handed over
// as voters, eviction, missing persistence, and an even number of them. It is
// meant for the start of a program; nothing depends on it. A node that does
// not answer, or does not allow INFO, is passed over.
func (l *Locker) Check(ctx context.Context) []Problem {
	var problems []Problem
	if n := len(l.voters); n > 1 && n%2 == 0 {
		problems = append(problems, Problem{Text: fmt.Sprintf(
			"%d nodes stand no more failures than %d would; use an odd number", n, n-1)})
	}
	facts := make([]serverFacts, len(l.voters))
	var asked sync.WaitGroup
	for i, v := range l.voters {
		asked.Go(func() { facts[i] = v.facts(ctx) })
	}
	asked.Wait()
	servers := make(map[string]string)
	for i, f := range facts {
		name := l.voters[i].Name()
		add := func(text string) { problems = append(problems, Problem{Node: name, Text: text}) }
		if other, dup := servers[f.runID]; dup && f.runID != "" {
			add("is the same server as " + other + ", whose vote would count twice")
		}
		servers[f.runID] = name
		if f.role == "slave" {
			add("is a replica; a lock must be taken on its master, and a replica must not vote")
		}
		if f.replicas > 0 && len(l.voters) > 1 && l.voters[i].Topology() == node.Single {
			add("has replicas; a failover to one can forget a lock, so give it none, or quarantine it after a failover")
		}
		if f.cluster && l.voters[i].Topology() != node.Cluster {
			add("is a shard of a cluster and holds only part of the keys; use a redis+cluster:// URL")
		}
		if strings.HasPrefix(f.eviction, "allkeys") || strings.HasPrefix(f.eviction, "volatile") {
			add("may evict keys (" + f.eviction + "), so a lock can vanish before its time; set maxmemory-policy noeviction")
		}
		if f.known && !f.persistent && l.cfg.durable {
			add("keeps nothing on disk, although WithDurable says that it never forgets")
		}
	}
	return problems
}

// serverFacts is what INFO tells of a server.
type serverFacts struct {
	known      bool
	runID      string
	role       string
	replicas   int
	cluster    bool
	eviction   string
	persistent bool
}

func (v voter) facts(ctx context.Context) serverFacts {
	if v.Topology() == node.Cluster {
		return serverFacts{} // many servers; the cluster looks after their roles
	}
	ctx, cancel := context.WithTimeout(ctx, v.Timeout())
	defer cancel()
	text, err := v.Client().Info(ctx).Result()
	if err != nil {
		return serverFacts{}
	}
	lines := strings.Split(text, "\n")
	get := func(name string) string {
		i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, name+":") })
		if i < 0 {
			return ""
		}
		return strings.TrimSpace(lines[i][len(name)+1:])
	}
	f := serverFacts{
		known: get("run_id") != "", runID: get("run_id"), role: get("role"), cluster: get("cluster_enabled") == "1",
		eviction: get("maxmemory_policy"), persistent: get("aof_enabled") == "1",
	}
	_, _ = fmt.Sscan(get("connected_slaves"), &f.replicas)
	return f
}
