package inspect

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
	"dlock/lockcore"
	"dlock/lockcore/node"
)

// grants are the ACL lines that docs/acl.md gives a role: what it cannot do
// without, and what may be added.
type grants struct {
	needed   []string
	optional [][]string
}

const aclPassword = "pw-of-the-test"

func grantsFor(t *testing.T, user string) grants {
	t.Helper()
	text, err := os.ReadFile("../docs/acl.md")
	if err != nil {
		t.Fatal(err)
	}
	var g grants
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 4 || words[0] != "ACL" || words[1] != "SETUSER" || words[2] != user {
			continue
		}
		rules := strings.Fields(strings.ReplaceAll(strings.Join(words[3:], " "), "PASSWORD", aclPassword))
		if g.needed == nil {
			g.needed = rules
		} else {
			g.optional = append(g.optional, rules)
		}
	}
	if len(g.needed) == 0 || len(g.optional) == 0 {
		t.Fatalf("docs/acl.md has no lines for %s", user)
	}
	return g
}

// permit gives the user exactly these rules.
func permit(t *testing.T, c *redis.Client, user string, rules ...string) {
	t.Helper()
	args := []any{"acl", "setuser", user}
	for _, r := range rules {
		args = append(args, r)
	}
	if err := c.Do(context.Background(), args...).Err(); err != nil {
		t.Fatalf("%v: %v", rules, err)
	}
}

// as opens the lab's nodes as a user.
func as(t *testing.T, user string, urls ...string) []*node.Node {
	t.Helper()
	return open(t, urls, node.Options{Username: user, Password: aclPassword, Timeout: 2 * time.Second, DialTimeout: 2 * time.Second})
}

func TestLeastUserLooks(t *testing.T) {
	const user = "dlock-look"
	g := grantsFor(t, user)
	l := labtest.Start(t, lab.Config{Nodes: 1, Kind: lab.Process})
	c := labtest.Client(t, l.Nodes()[0])
	for key, token := range map[string]string{"lock:a": "token-a", "lock:fence:{lock:a}": "x", "other": "x"} {
		if err := c.Set(t.Context(), key, token, time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, words := range [][]any{
		{"hset", "lock:hash", thread1, "1"}, {"zadd", "lock:zset", 1, "m"}, {"sadd", "lock:set", "m"}, {"rpush", "lock:list", "m"},
	} {
		if err := c.Do(t.Context(), words...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	full, err := lockcore.New(open(t, l.URLs(), node.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	if _, err := full.Acquire(t.Context(), "own"); err != nil {
		t.Fatal(err)
	}
	look := func(rules ...string) Snapshot {
		t.Helper()
		permit(t, c, user, rules...)
		snap, err := New(as(t, user, l.URLs()...), Config{}).Look(t.Context())
		if err != nil || !snap.Complete || len(snap.Locks) != 6 || snap.Target.Nodes[0].State != NodeUp {
			t.Errorf("%q: %+v, %v", rules, snap, err)
		}
		for _, one := range snap.Locks {
			if one.State != Held || !one.Expiry.IsKnown() {
				t.Errorf("%q: %+v", rules, one)
			}
		}
		return snap
	}
	least := look(g.needed...)
	if got := lock(t, least, "lock:a"); len(got.Owners) != 0 {
		t.Errorf("an owner that may not be read: %+v", got)
	}
	denied := least.Target.Nodes[0].Denied
	if want := []string{"CONFIG", "GET", "GETRANGE", "INFO", "OBJECT", "ROLE", "TIME", "TYPE"}; !slices.Equal(denied, want) {
		t.Errorf("not permitted: %q, want %q", denied, want)
	}

	// Without any of those that are listed as optional something is not
	// permitted.
	everything := slices.Clone(g.needed)
	for _, rules := range g.optional {
		everything = append(everything, rules...)
	}
	for n, rules := range g.optional {
		command, _, _ := strings.Cut(strings.ToUpper(strings.TrimPrefix(rules[0], "+")), "|")
		switch command {
		case "CLIENT", "SELECT", "CLUSTER", "ASKING":
			continue // see below
		}
		others := slices.Clone(g.needed)
		for i, rules := range g.optional {
			if i != n {
				others = append(others, rules...)
			}
		}
		denied := look(others...).Target.Nodes[0].Denied
		if !slices.ContainsFunc(denied, func(d string) bool { return strings.HasPrefix(d, command) }) {
			t.Errorf("%q changes nothing: %q", rules, denied)
		}
	}
	best := look(everything...)
	if n := best.Target.Nodes[0]; len(n.Denied) != 0 || n.Role != "master" || n.Version == "" || n.Eviction == "" || !n.ClockOffset.Known {
		t.Errorf("%+v", n)
	}
	if got := lock(t, best, "lock:own"); !got.Fence.Known || !got.Waiters.Known || !got.Idle.Known || len(got.Owners) != 1 {
		t.Errorf("%+v", got)
	}
	if got := lock(t, best, "lock:hash"); got.Type != "hash" || len(got.Owners) != 1 || got.Library != "redisson" {
		t.Errorf("%+v", got)
	}
	list := c.ClientList(t.Context()).Val()
	named := slices.ContainsFunc(strings.Split(list, "\n"), func(line string) bool {
		return strings.Contains(line, " name="+node.ClientName+" ") && strings.Contains(line, " user="+user+" ")
	})
	if !named {
		t.Errorf("no connection of that name: %s", list)
	}
	nodes := as(t, user, l.URLs()[0]+"/3")
	if snap, err := New(nodes, Config{}).Look(t.Context()); err != nil || len(snap.Locks) != 0 {
		t.Errorf("database 3: %+v, %v", snap, err)
	}
}

func TestLeastUserReleases(t *testing.T) {
	const user = "dlock-release"
	g := grantsFor(t, user)
	l := labtest.Start(t, lab.Config{Nodes: 3, Kind: lab.Process})
	for _, n := range l.Nodes() {
		c := labtest.Client(t, n)
		permit(t, c, user, g.needed...)
		for _, key := range []string{"lock:a", "other:a"} {
			if err := c.Set(t.Context(), key, "token-a", time.Minute).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	release(t, New(as(t, user, l.URLs()...), Config{}), "lock:a", "token-a")
}

// release frees a lock as `dlock release` does.
func release(t *testing.T, i *Inspector, key, token string) {
	t.Helper()
	snap, err := i.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	p, err := PlanRelease(lock(t, snap, key), token)
	if err != nil {
		t.Fatalf("%v: %+v", err, snap)
	}
	if r := i.Execute(t.Context(), p, false); r.Outcome != OutReleased || !r.Freed {
		t.Errorf("%+v", r)
	}
}

// What the user may not do is said, and nothing is called released.
func TestReleaseThatIsNotPermitted(t *testing.T) {
	const user = "dlock-look"
	g := grantsFor(t, user)
	l := labtest.Start(t, lab.Config{Nodes: 1, Kind: lab.Process})
	c := labtest.Client(t, l.Nodes()[0])
	permit(t, c, user, append(slices.Clone(g.needed), "+get")...)
	if err := c.Set(t.Context(), "lock:a", "token-a", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	i := New(as(t, user, l.URLs()...), Config{})
	snap, err := i.Get(t.Context(), "lock:a")
	if err != nil {
		t.Fatal(err)
	}
	p, err := PlanRelease(lock(t, snap, "lock:a"), "token-a")
	if err != nil {
		t.Fatal(err)
	}
	if r := i.Execute(t.Context(), p, false); r.Outcome != OutRefused || r.Freed || !strings.Contains(r.Nodes[0].Detail, "NOPERM") {
		t.Errorf("%+v", r)
	}
}

func TestLeastUsersOnACluster(t *testing.T) {
	d := labtest.StartCluster(t, 3)
	f := fieldOn(t, d, Config{})
	looks, releases, locks := grantsFor(t, "dlock-look"), grantsFor(t, "dlock-release"), grantsFor(t, "dlock-lock")
	clusterOnly := func(g grants) []string { return append(slices.Clone(g.needed), "+cluster|slots") }
	for _, g := range []grants{looks, releases, locks} {
		if !slices.ContainsFunc(g.optional, func(rules []string) bool { return slices.Equal(rules, []string{"+cluster|slots"}) }) {
			t.Error("the page does not list what a cluster needs")
		}
	}
	for n, c := range f.clients {
		permit(t, c, "dlock-look", clusterOnly(looks)...)
		permit(t, c, "dlock-release", clusterOnly(releases)...)
		permit(t, c, "dlock-lock", clusterOnly(locks)...)
		f.set(f.keysOn(n, 1)[0], "token-a", time.Minute, n+1)
	}
	snap, err := New(as(t, "dlock-look", d.URL), Config{}).Look(t.Context())
	if err != nil || !snap.Complete || len(snap.Locks) != 3 {
		t.Errorf("%+v, %v", snap, err)
	}
	for n := range f.clients {
		release(t, New(as(t, "dlock-release", d.URL), Config{}), f.keysOn(n, 1)[0], "token-a")
	}
	lockAndHandOver(t, as(t, "dlock-lock", d.URL))
	for _, c := range f.clients {
		permit(t, c, "dlock-look", looks.needed...)
	}
	snap, err = New(as(t, "dlock-look", d.URL), Config{}).Look(t.Context())
	if n := snap.Target.Nodes[0]; n.State != NodeDenied || !strings.Contains(n.Error, "cluster|slots") {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestLeastUserLocks(t *testing.T) {
	const user = "dlock-lock"
	g := grantsFor(t, user)
	for _, nodes := range []int{1, 3} {
		l := labtest.Start(t, lab.Config{Nodes: nodes, Kind: lab.Process})
		for _, rules := range append([][]string{nil}, g.optional...) {
			for _, n := range l.Nodes() {
				permit(t, labtest.Client(t, n), user, append(slices.Clone(g.needed), rules...)...)
			}
			lockAndHandOver(t, as(t, user, l.URLs()...))
		}
		for _, n := range l.Nodes() {
			// Whatever was tried in vain stands in the server's log.
			log := labtest.Client(t, n).Do(t.Context(), "acl", "log").Val()
			for _, entry := range log.([]any) {
				fields := entry.([]any)
				for i := 0; i+1 < len(fields); i += 2 {
					if fields[i] == "object" && !slices.Contains([]any{"client|setname", "info"}, fields[i+1]) {
						t.Errorf("%s was refused %v", n.Name(), fields[i+1])
					}
				}
			}
		}
	}
}

// lockAndHandOver takes a lock, lets the watchdog renew it, waits for it in
// another process' place, and releases it to that.
func lockAndHandOver(t *testing.T, nodes []*node.Node) {
	t.Helper()
	renewed := make(chan error, 100)
	first, err := lockcore.New(nodes, lockcore.WithNodeTimeout(2*time.Second), lockcore.WithTTL(3*time.Second), lockcore.WithObserver(lockcore.Observer{
		Renewed: func(_ string, _ time.Duration, err error) { renewed <- err },
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := lockcore.New(nodes, lockcore.WithNodeTimeout(2*time.Second), lockcore.WithOwner("second:1"))
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	k, err := first.Acquire(t.Context(), "job")
	if err != nil {
		t.Fatal(err)
	}
	if err := <-renewed; err != nil {
		t.Errorf("not renewed: %v", err)
	}
	type grant struct {
		lock *lockcore.Lock
		err  error
	}
	got := make(chan grant, 1)
	go func() {
		next, err := second.Acquire(t.Context(), "job", lockcore.WithWait(time.Minute))
		got <- grant{next, err}
	}()
	watch := nodes[0].Client()
	waitUntil(t, "the waiter is queued", func() bool {
		n, err := watch.Eval(t.Context(), "return #redis.call('ZRANGE', KEYS[1], 0, -1)", []string{lockcore.CompanionKey(lockcore.DefaultPrefix, lockcore.QueueCompanion, k.Key())}).Int()
		return err == nil && n == 1
	})
	if err := k.Release(t.Context()); err != nil {
		t.Errorf("not released: %v", err)
	}
	next := <-got
	if next.err != nil {
		t.Fatalf("not handed over: %v", next.err)
	}
	if next.lock.Fence() <= k.Fence() {
		t.Errorf("fence %d after %d", next.lock.Fence(), k.Fence())
	}
	if err := next.lock.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestLeastUserOfSentinels(t *testing.T) {
	d := labtest.StartSentinel(t)
	g := grantsFor(t, "dlock-sentinel")
	sentinel := redis.NewClient(&redis.Options{Addr: d.Sentinel, DisableIdentity: true, Protocol: 2})
	defer sentinel.Close()
	master := labtest.Client(t, d.Lab.Nodes()[0])
	looks, locks := grantsFor(t, "dlock-look"), grantsFor(t, "dlock-lock")
	permit(t, master, "dlock-look", looks.needed...)
	permit(t, master, "dlock-lock", locks.needed...)
	if err := master.Set(t.Context(), "lock:a", "token-a", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	as := func(user, sentinelUser string) []*node.Node {
		return open(t, []string{d.URL}, node.Options{
			Username: user, Password: aclPassword, SentinelUsername: sentinelUser, SentinelPassword: aclPassword, Timeout: time.Second, DialTimeout: time.Second,
		})
	}
	permit(t, sentinel, "dlock-sentinel", g.needed...)
	snap, err := New(as("dlock-look", "dlock-sentinel"), Config{}).Look(t.Context())
	if err != nil || !snap.Complete || lock(t, snap, "lock:a").State != Held {
		t.Errorf("%+v, %v", snap, err)
	}
	permit(t, sentinel, "dlock-sentinel", slices.Concat(append([][]string{g.needed}, g.optional...)...)...)
	lockAndHandOver(t, as("dlock-lock", "dlock-sentinel"))
	for _, entry := range sentinel.Do(t.Context(), "acl", "log").Val().([]any) {
		if fields := entry.([]any); !slices.Contains(fields, any("client|setname")) {
			t.Errorf("the sentinel refused %v", fields)
		}
	}
	permit(t, sentinel, "dlock-sentinel", "-@all")
	snap, err = New(as("dlock-look", "dlock-sentinel"), Config{}).Look(t.Context())
	if n := snap.Target.Nodes[0]; n.State != NodeDenied || !strings.Contains(n.Error, "NOPERM") {
		t.Errorf("%+v, %v", n, err)
	}
}
