package lockcore_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
	"dlock/lockcore"
	"dlock/lockcore/node"
)

// openOne opens a deployment that is one node to the lock core.
func openOne(t *testing.T, url string) *deployment {
	t.Helper()
	n, err := node.Open(url, node.Options{Timeout: 2 * time.Second, DialTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return &deployment{t: t, nodes: []*node.Node{n}}
}

func TestCluster(t *testing.T) {
	d := openOne(t, labtest.StartCluster(t, 3).URL)
	l := d.locker(lockcore.WithTTL(time.Minute))
	// Enough names to be on every shard, with and without hash tags.
	for i := range 12 {
		for _, resource := range []string{fmt.Sprintf("job:%d", i), fmt.Sprintf("job:{%d}:x", i), fmt.Sprintf("odd{}%d", i)} {
			k, err := l.Acquire(background, resource)
			if strings.Contains(resource, "{}") {
				// No companion of this key could be in its slot.
				if err == nil || !strings.Contains(err.Error(), "hash tag") {
					t.Errorf("%s: %v", resource, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", resource, err)
			}
			if got := d.stored(k.Key()); got[0] != k.Token().String() {
				t.Errorf("%s: stored %q", resource, got)
			}
			if err := k.Extend(background); err != nil {
				t.Errorf("%s: extend: %v", resource, err)
			}
			if err := k.Release(background); err != nil {
				t.Errorf("%s: release: %v", resource, err)
			}
		}
	}
	// Hand-over on every shard, to a waiter of another process.
	for i := range 6 {
		resource := fmt.Sprintf("hot:%d", i)
		k := d.acquire(l, resource)
		got := make(chan error, 1)
		other := d.locker(lockcore.WithOwner("other:1"))
		go func() {
			next, err := other.Acquire(background, resource, lockcore.WithWait(time.Minute))
			if err == nil {
				err = next.Release(background)
			}
			got <- err
		}()
		eventually(t, "the waiter to be queued", func() bool { return d.waiting(0, k.Key()) == 1 })
		if err := k.Release(background); err != nil {
			t.Fatal(err)
		}
		if err := <-got; err != nil {
			t.Error(err)
		}
	}
}

func TestAClusterDoesNotVoteAmongOthers(t *testing.T) {
	a, err := node.Open("redis+cluster://127.0.0.1:1", node.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := node.Open("redis://127.0.0.1:2", node.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := lockcore.New([]*node.Node{a, b}); err == nil {
		t.Error("a cluster is accepted as a voter")
	}
}

func TestSentinelFollowsAFailover(t *testing.T) {
	set := labtest.StartSentinel(t)
	d := openOne(t, set.URL)
	locker := d.locker(lockcore.WithTTL(3*time.Second), lockcore.WithReplicas(1, time.Second))
	k := d.acquire(locker, "job")
	if n, asked := k.Replicas(); n != 1 || !asked {
		t.Errorf("%d replicas confirmed, asked %v", n, asked)
	}
	if err := set.Lab.Nodes()[0].Kill(); err != nil {
		t.Fatal(err)
	}
	// The replica has the lock, so its holder keeps it through the failover
	// or is told that it has not.
	next := d.acquire(locker, "other", lockcore.WithWait(time.Minute))
	if err := next.Release(background); err != nil {
		t.Error(err)
	}
	if k.Valid() && d.stored(k.Key())[0] != k.Token().String() {
		t.Error("a lock is called valid that the new master does not have")
	}
}

func TestReplicasAreToldNotDemanded(t *testing.T) {
	d := deploy(t, lab.Process, 1)
	l := d.locker(lockcore.WithReplicas(2, 100*time.Millisecond))
	k := d.acquire(l, "job")
	if n, asked := k.Replicas(); n != 0 || !asked {
		t.Errorf("%d replicas confirmed, asked %v", n, asked)
	}
	if _, asked := d.acquire(d.locker(), "other").Replicas(); asked {
		t.Error("replicas were asked for")
	}
}

func TestCheckFindsPoorVoters(t *testing.T) {
	l := labtest.Start(t, lab.Config{Nodes: 4, Kind: lab.Process, Args: []string{"--maxmemory-policy", "noeviction"}})
	ctx := context.Background()
	host, port, _ := net.SplitHostPort(l.Nodes()[0].Addr())
	if err := labtest.Client(t, l.Nodes()[1]).Do(ctx, "REPLICAOF", host, port).Err(); err != nil {
		t.Fatal(err)
	}
	if err := labtest.Client(t, l.Nodes()[2]).ConfigSet(ctx, "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
	urls := l.URLs()
	_, last, _ := net.SplitHostPort(l.Nodes()[3].Addr())
	nodes, err := node.OpenAll(append(urls[:4:4], "redis://localhost:"+last, urls[0]+"/")[:5], node.Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { node.CloseAll(nodes) })
	eventually(t, "the master to have its replica", func() bool {
		info, err := labtest.Client(t, l.Nodes()[0]).Info(ctx, "replication").Result()
		return err == nil && strings.Contains(info, "connected_slaves:1")
	})
	locker, err := lockcore.New(nodes)
	if err != nil {
		t.Fatal(err)
	}
	defer locker.Close()
	var all strings.Builder
	for _, p := range locker.Check(ctx) {
		fmt.Fprintln(&all, p)
	}
	for _, want := range []string{"n1: has replicas", "n2: is a replica", "n3: may evict keys (allkeys-lru)", "n5: is the same server as n4"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("nothing says %q in:\n%s", want, all.String())
		}
	}
	if strings.Count(all.String(), "\n") != 4 {
		t.Errorf("more than there is to say:\n%s", all.String())
	}
}

func TestObserverHearsOfEverything(t *testing.T) {
	d := deploy(t, lab.Embedded, 3)
	type end struct {
		resource string
		cause    error
	}
	acquired := make(chan lockcore.Acquisition, 10)
	renewed := make(chan error, 10)
	ended := make(chan end, 10)
	l := d.locker(lockcore.WithWatchdog(false), lockcore.WithObserver(lockcore.Observer{
		Acquired: func(a lockcore.Acquisition) { acquired <- a },
		Renewed:  func(_ string, _ time.Duration, err error) { renewed <- err },
		Ended:    func(resource string, _ time.Duration, cause error) { ended <- end{resource, cause} },
	}))
	k := d.acquire(l, "job")
	if a := <-acquired; a.Resource != "job" || a.Err != nil || a.Attempts != 1 {
		t.Errorf("%+v", a)
	}
	if _, err := l.TryAcquire(background, "job"); err == nil {
		t.Fatal("taken twice")
	}
	if a := <-acquired; a.Err == nil {
		t.Errorf("%+v", a)
	}
	if err := k.Extend(background); err != nil || <-renewed != nil {
		t.Errorf("extend: %v", err)
	}
	if err := k.Release(background); err != nil {
		t.Fatal(err)
	}
	if e := <-ended; e.resource != "job" || e.cause != lockcore.ErrReleased {
		t.Errorf("%+v", e)
	}
}
