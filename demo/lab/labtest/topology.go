package labtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dlock/demo/lab"
)

// Deployment is several servers that stand behind one URL.
type Deployment struct {
	// URL is redis+cluster://… or redis+sentinel://….
	URL string
	// Lab has the servers. Of a cluster they are the primaries in the order of
	// their slots, of a sentinel set first the master and then its replica,
	// until something is made to fail over.
	Lab *lab.Lab
	// Sentinel is the address of the sentinel, "" for a cluster.
	Sentinel string
}

// StartCluster makes a cluster of this many primaries, each with its share of
// the slots, that ends with the test. The arguments are for redis-server.
func StartCluster(t testing.TB, primaries int, args ...string) Deployment {
	t.Helper()
	l := Start(t, lab.Config{Nodes: primaries, Kind: lab.Process, Args: append([]string{"--cluster-enabled", "yes", "--cluster-node-timeout", "1000"}, args...)})
	ctx := t.Context()
	first := Client(t, l.Nodes()[0])
	for i, n := range l.Nodes() {
		if err := Client(t, n).ClusterAddSlotsRange(ctx, i*16384/primaries, (i+1)*16384/primaries-1).Err(); err != nil {
			t.Fatal(err)
		}
		host, port, _ := net.SplitHostPort(n.Addr())
		if err := first.ClusterMeet(ctx, host, port).Err(); err != nil {
			t.Fatal(err)
		}
	}
	var addrs []string
	for _, n := range l.Nodes() {
		addrs = append(addrs, n.Addr())
		c := Client(t, n)
		waitFor(t, "the cluster to stand", func() bool {
			info, err := c.ClusterInfo(ctx).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", primaries))
		})
	}
	return Deployment{URL: "redis+cluster://" + strings.Join(addrs, ","), Lab: l}
}

// StartSentinel makes a master, a replica of it and a sentinel that fails over
// when the master is gone for half a second. It ends with the test. The name of
// the master is mymaster.
func StartSentinel(t testing.TB, args ...string) Deployment {
	t.Helper()
	l := Start(t, lab.Config{Nodes: 2, Kind: lab.Process, Args: args})
	ctx := t.Context()
	host, port, _ := net.SplitHostPort(l.Nodes()[0].Addr())
	replica := Client(t, l.Nodes()[1])
	if err := replica.Do(ctx, "REPLICAOF", host, port).Err(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the replica to follow", func() bool {
		info, err := replica.Info(ctx, "replication").Result()
		return err == nil && strings.Contains(info, "master_link_status:up")
	})
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	free.Close()
	_, own, _ := net.SplitHostPort(addr)
	dir := t.TempDir()
	conf := filepath.Join(dir, "sentinel.conf")
	text := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\nsentinel monitor mymaster %s %s 1\nsentinel down-after-milliseconds mymaster 500\nsentinel failover-timeout mymaster 3000\n", own, dir, host, port)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	path, _ := lab.FindServer()
	cmd := exec.Command(path, conf, "--sentinel")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	s := redis.NewSentinelClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer s.Close()
	waitFor(t, "the sentinel to know the replica", func() bool {
		replicas, err := s.Replicas(ctx, "mymaster").Result()
		return err == nil && len(replicas) == 1 && strings.Contains(replicas[0]["master-link-status"], "ok")
	})
	return Deployment{URL: "redis+sentinel://" + addr + "/mymaster", Lab: l, Sentinel: addr}
}

// waitFor asks until it is so. Servers tell nobody when they are ready. The
// limit is only there so that a broken test ends.
func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	limit := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-again.C:
		case <-limit:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
