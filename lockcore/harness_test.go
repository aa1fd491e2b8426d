package lockcore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
	"dlock/lockcore"
	"dlock/lockcore/node"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// A go-redis pool that could not connect sleeps for a second between
		// two tries and notices only then that it was closed.
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// deployment is a lab with everything a test needs to look at it.
type deployment struct {
	t     testing.TB
	lab   *lab.Lab
	nodes []*node.Node
}

// onEach runs a test on n embedded nodes and on n redis-server processes.
func onEach(t *testing.T, n int, test func(t *testing.T, d *deployment)) {
	for _, kind := range []lab.Kind{lab.Embedded, lab.Process} {
		t.Run(string(kind), func(t *testing.T) { test(t, deploy(t, kind, n)) })
	}
}

func deploy(t testing.TB, kind lab.Kind, n int) *deployment {
	t.Helper()
	l := labtest.Start(t, lab.Config{Nodes: n, Kind: kind})
	nodes, err := node.OpenAll(l.URLs(), node.Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { node.CloseAll(nodes) })
	return &deployment{t: t, lab: l, nodes: nodes}
}

// patient makes the node timeout long enough for a loaded test machine, where
// an answer that is merely late must not be taken for a dead node. Tests about
// nodes that hang set a short one.
const patient = 2 * time.Second

func (d *deployment) locker(opts ...lockcore.Option) *lockcore.Locker {
	d.t.Helper()
	l, err := lockcore.New(d.nodes, append([]lockcore.Option{lockcore.WithNodeTimeout(patient), lockcore.WithOwner("tester:1")}, opts...)...)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { l.Close() })
	return l
}

func (d *deployment) acquire(l *lockcore.Locker, resource string, opts ...lockcore.Option) *lockcore.Lock {
	d.t.Helper()
	k, err := l.Acquire(context.Background(), resource, opts...)
	if err != nil {
		d.t.Fatal(err)
	}
	return k
}

// stored is what each node has under a key, "" for nothing and "?" for a node
// that does not answer.
func (d *deployment) stored(key string) []string {
	d.t.Helper()
	out := make([]string, len(d.nodes))
	for i, n := range d.nodes {
		if d.lab != nil && d.lab.Nodes()[i].State() != lab.Up {
			out[i] = "?"
			continue
		}
		v, err := n.Client().Get(context.Background(), key).Result()
		if err != nil && err != redis.Nil {
			d.t.Fatalf("%s: %v", n.Name(), err)
		}
		out[i] = v
	}
	return out
}

func (d *deployment) count(key, value string) int {
	n := 0
	for _, v := range d.stored(key) {
		if v == value {
			n++
		}
	}
	return n
}

// do sends one command to each of the nodes with the given indexes.
func (d *deployment) do(nodes []int, args ...any) {
	d.t.Helper()
	for _, i := range nodes {
		if err := d.nodes[i].Client().Do(context.Background(), args...).Err(); err != nil && err != redis.Nil {
			d.t.Fatalf("%s: %v: %v", d.nodes[i].Name(), args, err)
		}
	}
}

// setFence makes a fencing token the newest that node i has granted.
func (d *deployment) setFence(i int, key string, fence int64) {
	d.t.Helper()
	d.do([]int{i}, "SET", lockcore.CompanionKey("lock:", lockcore.FenceCompanion, key), fmt.Sprint(fence, " 0"))
}

func (d *deployment) kill(nodes ...int) {
	d.t.Helper()
	for _, i := range nodes {
		if err := d.lab.Nodes()[i].Kill(); err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *deployment) restart(wipe bool, nodes ...int) {
	d.t.Helper()
	for _, i := range nodes {
		if err := d.lab.Nodes()[i].Restart(context.Background(), wipe); err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *deployment) pause(nodes ...int) {
	d.t.Helper()
	for _, i := range nodes {
		if err := d.lab.Nodes()[i].Pause(); err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *deployment) resume(nodes ...int) {
	d.t.Helper()
	for _, i := range nodes {
		if err := d.lab.Nodes()[i].Resume(); err != nil {
			d.t.Fatal(err)
		}
	}
}

// eventually polls until ok, and fails the test if that never happens.
var eventually = labtest.Eventually

// ended waits for a channel that must be closed.
func ended(t testing.TB, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("never happened: %s", what)
	}
}

func allEqual(values []string, want string) bool {
	for _, v := range values {
		if v != want {
			return false
		}
	}
	return true
}

func show(values []string) string { return "[" + strings.Join(values, " | ") + "]" }
