package inspect

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
	"dlock/lockcore/node"
)

// fieldOn is a field over a deployment behind one URL, which may also write.
func fieldOn(t *testing.T, d labtest.Deployment, c Config) *field {
	t.Helper()
	f := &field{t: t, lab: d.Lab}
	for _, n := range d.Lab.Nodes() {
		f.clients = append(f.clients, labtest.Client(t, n))
	}
	f.nodes = open(t, []string{d.URL}, node.Options{Timeout: time.Second, DialTimeout: time.Second})
	f.Inspector = New(f.nodes, c)
	return f
}

// shardOf is the number of the lab's node that serves a key of a fresh cluster.
func (f *field) shardOf(key string) int {
	n := len(f.clients)
	for i := range n {
		if node.Slot(key) < (i+1)*16384/n {
			return i
		}
	}
	panic("no shard")
}

// keysOn names some keys that a shard of a fresh cluster serves.
func (f *field) keysOn(shard, count int) []string {
	var keys []string
	for i := 0; len(keys) < count; i++ {
		if key := "lock:k" + strconv.Itoa(i); f.shardOf(key) == shard {
			keys = append(keys, key)
		}
	}
	return keys
}

func TestClusterLooksAtEveryShard(t *testing.T) {
	f := fieldOn(t, labtest.StartCluster(t, 3), Config{})
	for i := range 60 {
		key := fmt.Sprintf("lock:job:%d", i)
		f.set(key, "token-"+strconv.Itoa(i), time.Minute, f.shardOf(key)+1)
	}
	snap := f.look()
	if !snap.Complete || snap.Blind() || len(snap.Locks) != 60 || snap.Target.Topology != Cluster || snap.Target.Quorum != 1 || len(snap.Target.Nodes) != 3 {
		t.Fatalf("complete %v, %d locks, %+v", snap.Complete, len(snap.Locks), snap.Target)
	}
	for _, l := range snap.Locks {
		shard := snap.Target.Nodes[f.shardOf(l.ID.Key)]
		if l.State != Held || l.Votes != (Votes{Need: 1, Agree: 1, Of: 1}) || len(l.Copies) != 1 || l.Copies[0].Node != shard.Name || l.Copies[0].Answer != AnswerHeld {
			t.Errorf("%+v", l)
		}
	}
	for i, n := range snap.Target.Nodes {
		if n.State != NodeUp || n.Addr != f.lab.Nodes()[i].Addr() || n.Name != "n"+strconv.Itoa(i+1) || !n.Locks.Known || n.Locks.Value == 0 {
			t.Errorf("%+v", n)
		}
	}
	some := f.keysOn(1, 1)[0]
	got, err := f.Get(t.Context(), "lock:job:7", "lock:none", some)
	if err != nil || len(got.Locks) != 3 || lock(t, got, "lock:job:7").State != Held || lock(t, got, "lock:none").State != Expired {
		t.Errorf("%+v %v", got.Locks, err)
	}

	l := lock(t, snap, "lock:job:3")
	p, err := PlanRelease(l, l.Owners[0].Token)
	if err != nil || len(p.Steps) != 1 {
		t.Fatalf("%+v %v", p, err)
	}
	if r := f.Execute(t.Context(), p, false); r.Outcome != OutReleased || !r.Freed {
		t.Errorf("%+v", r)
	}
	if r := f.Execute(t.Context(), p, false); r.Outcome != OutAlreadyGone {
		t.Errorf("%+v", r)
	}
}

// A slot that moves is followed: to where ASK says while it is on its way, to
// where MOVED says afterwards; and a release goes to where the key is by then.
func TestClusterFollowsASlot(t *testing.T) {
	f := fieldOn(t, labtest.StartCluster(t, 3), Config{Interval: MinInterval})
	ctx := t.Context()
	stays, moves := "lock:{tag}:stays", "lock:{tag}:moves"
	slot := node.Slot(stays)
	from, to := f.shardOf(stays), (f.shardOf(stays)+1)%3
	f.set(stays, "token-s", time.Minute, from+1)
	f.set(moves, "token-m", time.Minute, from+1)
	w := f.watch()
	w.until("both", func(s Snapshot) bool { return len(s.Locks) == 2 && s.Complete })
	ids := make([]string, 3)
	for i, c := range f.clients {
		ids[i] = c.Do(ctx, "cluster", "myid").Val().(string)
	}
	do := func(shard int, args ...any) {
		t.Helper()
		if err := f.clients[shard].Do(ctx, args...).Err(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	do(to, "cluster", "setslot", slot, "importing", ids[from])
	do(from, "cluster", "setslot", slot, "migrating", ids[to])
	host, port, _ := net.SplitHostPort(f.lab.Nodes()[to].Addr())
	do(from, "migrate", host, port, moves, 0, 5000)

	held := func(s Snapshot) bool {
		for _, l := range s.Locks {
			if l.State != Held || len(l.Copies) != 1 || l.Copies[0].Answer != AnswerHeld {
				t.Errorf("%s is %s: %+v", l.ID.Key, l.State, l.Copies)
			}
		}
		return len(s.Locks) == 2
	}
	for range 3 {
		w.until("both while the slot is on its way", held)
	}
	if snap := f.look(); !held(snap) || !snap.Complete {
		t.Errorf("%+v", snap)
	}
	do(from, "migrate", host, port, stays, 0, 5000)
	for _, shard := range []int{to, from, 3 - from - to} {
		do(shard, "cluster", "setslot", slot, "node", ids[to])
	}
	snap := w.until("the slot at its new place", func(s Snapshot) bool {
		return held(s) && s.Locks[0].Copies[0].Node == s.Target.Nodes[to].Name && s.Complete
	})
	p, err := PlanRelease(lock(t, snap, moves), "token-m")
	if err != nil {
		t.Fatal(err)
	}
	if r := f.Execute(ctx, p, false); r.Outcome != OutReleased {
		t.Errorf("%+v", r)
	}
}

// What a shard that is down has is not gone but unknown, and the others are
// looked at as before.
func TestClusterNamesAShardThatIsDown(t *testing.T) {
	// The others go on serving although not all slots are covered.
	f := fieldOn(t, labtest.StartCluster(t, 3, "--cluster-require-full-coverage", "no", "--cluster-allow-reads-when-down", "yes"), Config{Interval: MinInterval})
	there, lost := f.keysOn(0, 1)[0], f.keysOn(1, 1)[0]
	f.set(there, "token-0", time.Minute, 1)
	f.set(lost, "token-1", time.Minute, 2)
	w := f.watch()
	w.until("both", func(s Snapshot) bool { return len(s.Locks) == 2 && s.Complete && !s.Blind() })
	kill(t, f.lab, "n2")
	snap := w.until("a node is down", func(s Snapshot) bool { return s.Target.Nodes[1].State == NodeDown })
	if l := lock(t, snap, lost); l.State != Unknown || l.Copies[0].Answer != AnswerUnreachable || snap.Complete || !snap.Blind() {
		t.Errorf("complete %v: %+v", snap.Complete, l)
	}
	if l := lock(t, snap, there); l.State != Held {
		t.Errorf("%+v", l)
	}
	if f := nodeFinding(t, snap, "shard-down"); len(f.Nodes) != 1 || f.Nodes[0] != "n2" || f.Severity != High {
		t.Errorf("%+v", f)
	}
	got, err := f.Get(t.Context(), lost, there)
	if err != nil || got.Complete || lock(t, got, lost).State != Unknown || lock(t, got, there).State != Held {
		t.Errorf("%+v %v", got, err)
	}
	n, _ := f.lab.Node("n2")
	if err := n.Restart(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	w.until("all are back", func(s Snapshot) bool {
		return s.Complete && lock(t, s, lost).State == Held
	})
}

// A cluster that does not serve says so and shows no lock as gone.
func TestClusterDown(t *testing.T) {
	f := fieldOn(t, labtest.StartCluster(t, 3), Config{})
	key := f.keysOn(0, 1)[0]
	f.set(key, "token-0", time.Minute, 1)
	kill(t, f.lab, "n3")
	waitUntil(t, "n1 does not serve", func() bool {
		return strings.HasPrefix(fmt.Sprint(f.clients[0].Get(t.Context(), key).Err()), "CLUSTERDOWN")
	})
	snap, err := f.Look(t.Context())
	n := snap.Target.Nodes[0]
	if snap.Complete || n.State != NodeDown || !strings.HasPrefix(n.Error, "CLUSTERDOWN") {
		t.Errorf("%+v %v", n, err)
	}
	if f := nodeFinding(t, snap, "not-serving"); !strings.Contains(f.Text, "CLUSTERDOWN") {
		t.Errorf("%+v", f)
	}
	if l := snap.Locks; len(l) != 0 && l[0].State != Unknown {
		t.Errorf("%+v", l)
	}
}

func TestClusterThatNobodyAnswersFor(t *testing.T) {
	i := New(open(t, []string{"redis+cluster://127.0.0.1:1,127.0.0.1:2"}, node.Options{}), Config{})
	snap, err := i.Look(t.Context())
	if n := snap.Target.Nodes[0]; err == nil || len(snap.Target.Nodes) != 1 || n.State != NodeDown || !strings.Contains(n.Error, "connection refused") || n.Addr != "127.0.0.1:1,127.0.0.1:2" || !snap.Blind() {
		t.Errorf("%+v %v", n, err)
	}
	l := labtest.Start(t, lab.Config{Nodes: 1, Kind: lab.Process})
	i = New(open(t, []string{"redis+cluster://" + l.Nodes()[0].Addr()}, node.Options{}), Config{})
	snap, _ = i.Look(t.Context())
	if n := snap.Target.Nodes[0]; n.State == NodeUp || !strings.Contains(n.Error, "not part of a cluster") {
		t.Errorf("%+v", n)
	}
}

// One shard of a cluster behind redis:// holds part of the keys only.
func TestOneShardIsNoServer(t *testing.T) {
	d := labtest.StartCluster(t, 3)
	f := fieldOn(t, d, Config{})
	here, there := f.keysOn(0, 1)[0], f.keysOn(1, 1)[0]
	f.set(here, "token-0", time.Minute, 1)
	i := New(open(t, d.Lab.URLs()[:1], node.Options{}), Config{})
	snap, err := i.Get(t.Context(), here, there)
	if err != nil || lock(t, snap, here).State != Held {
		t.Errorf("%+v %v", snap, err)
	}
	if l := lock(t, snap, there); l.State != Unknown || !strings.Contains(l.Copies[0].Error, "redis+cluster://") || snap.Complete {
		t.Errorf("complete %v: %+v", snap.Complete, l)
	}
	if f := nodeFinding(t, snap, "cluster-shard"); f.Severity != High {
		t.Errorf("%+v", f)
	}
}

func TestSentinelIsFollowed(t *testing.T) {
	d := labtest.StartSentinel(t)
	f := fieldOn(t, d, Config{Interval: MinInterval})
	master, replica := d.Lab.Nodes()[0], d.Lab.Nodes()[1]
	f.set("lock:a", "token-a", time.Minute, 1)
	snap := f.look()
	n := snap.Target.Nodes[0]
	if snap.Target.Topology != Sentinel || snap.Target.Quorum != 1 || len(snap.Target.Nodes) != 1 || !snap.Complete || n.Addr != master.Addr() || n.Role != "master" || n.Replicas != Known(1) || !n.ReplicaLag.Known {
		t.Fatalf("%+v", snap.Target)
	}
	if err := f.clients[0].Wait(t.Context(), 1, 5*time.Second).Err(); err != nil {
		t.Fatal(err)
	}
	w := f.watch()
	w.untilLock("the lock", "lock:a", func(l Lock) bool { return l.State == Held })
	if err := master.Kill(); err != nil {
		t.Fatal(err)
	}
	silent := false
	snap = w.until("the new master", func(s Snapshot) bool {
		n := s.Target.Nodes[0]
		if n.State == NodeDown {
			silent = true
			if l := lock(t, s, "lock:a"); l.State != Unknown {
				t.Errorf("while the master is down it is %s", l.State)
			}
		}
		return n.Addr == replica.Addr() && n.State == NodeUp
	})
	if l := lock(t, snap, "lock:a"); !silent || l.State != Held || !snap.Complete {
		t.Errorf("seen silent: %v; %+v", silent, l)
	}
	moved := false
	for _, e := range snap.Events {
		moved = moved || e.Kind == NodeWentUp && e.Node == "n1" && strings.Contains(e.Text, replica.Addr())
	}
	if !moved {
		t.Errorf("no event tells: %+v", snap.Events)
	}
	p, err := PlanRelease(lock(t, snap, "lock:a"), "token-a")
	if err != nil {
		t.Fatal(err)
	}
	if r := f.Execute(t.Context(), p, false); r.Outcome != OutReleased {
		t.Errorf("%+v", r)
	}
}

func TestSentinelThatDoesNotTell(t *testing.T) {
	d := labtest.StartSentinel(t)
	i := New(open(t, []string{"redis+sentinel://" + d.Sentinel + "/other"}, node.Options{}), Config{})
	snap, err := i.Look(t.Context())
	if n := snap.Target.Nodes[0]; err == nil || !strings.Contains(n.Error, "no sentinel knows a master") {
		t.Errorf("%+v %v", n, err)
	}
	// One that does not answer beside one that does changes nothing.
	i = New(open(t, []string{"redis+sentinel://127.0.0.1:1," + d.Sentinel + "/mymaster"}, node.Options{}), Config{})
	if snap, err := i.Look(t.Context()); err != nil || !snap.Complete {
		t.Errorf("%+v %v", snap.Target, err)
	}
	i = New(open(t, []string{"redis+sentinel://127.0.0.1:1/mymaster"}, node.Options{}), Config{})
	snap, err = i.Look(t.Context())
	if n := snap.Target.Nodes[0]; err == nil || n.State != NodeDown || !strings.HasPrefix(n.Error, "sentinel lookup: dial: connection refused") {
		t.Errorf("%+v %v", n, err)
	}
}

func TestUnixSocketAndUserAreInspected(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l := labtest.Start(t, lab.Config{Nodes: 1, Kind: lab.Process, Args: []string{"--unixsocket", socket}})
	c := labtest.Client(t, l.Nodes()[0])
	if err := c.Do(t.Context(), "acl", "setuser", "ana", "on", ">p#s/s", "~lock:*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	if err := c.Set(t.Context(), "lock:a", "token-a", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	i := New(open(t, []string{"unix://ana:p%23s%2Fs@" + socket}, node.Options{}), Config{})
	snap, err := i.Look(t.Context())
	if err != nil || !snap.Complete || lock(t, snap, "lock:a").State != Held || snap.Target.Nodes[0].Addr != socket {
		t.Errorf("%+v %v", snap, err)
	}
}

func TestConnectionsSayWhoseTheyAre(t *testing.T) {
	f := newField(t, lab.Process, 1, Config{})
	f.look()
	list, err := f.clients[0].ClientList(t.Context()).Result()
	if err != nil || !strings.Contains(list, " name="+node.ClientName+" ") {
		t.Errorf("%s %v", list, err)
	}
}

func nodeFinding(t *testing.T, s Snapshot, id string) NodeFinding {
	t.Helper()
	for _, f := range s.Findings {
		if f.ID == id {
			return f
		}
	}
	t.Errorf("no finding %q among %+v", id, s.Findings)
	return NodeFinding{}
}

// waitUntil asks until it is so.
func waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !ok() {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		}
	}
}
