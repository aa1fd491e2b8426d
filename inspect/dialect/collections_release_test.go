package dialect

import (
	"context"
	"fmt"
	"maps"
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

// late is a moment that no test reaches, in Unix milliseconds.
const late = "4070908800000"

// do sends a command that is written as words.
func do(t *testing.T, c *redis.Client, words ...string) any {
	t.Helper()
	args := make([]any, len(words))
	for i, w := range words {
		args[i] = w
	}
	v, err := c.Do(t.Context(), args...).Result()
	if err != nil && err != redis.Nil {
		t.Fatalf("%q: %v", words, err)
	}
	return v
}

// entryOn reads an entry as it stands on a node.
func entryOn(t *testing.T, c *redis.Client, key string) Entry {
	t.Helper()
	ctx := t.Context()
	e := Entry{Key: key, Type: c.Type(ctx, key).Val(), NodeTime: time.Now()}
	switch e.Type {
	case "string":
		e.Value, e.HasValue = c.Get(ctx, key).Val(), true
	case "hash":
		for name, value := range c.HGetAll(ctx, key).Val() {
			e.Items = append(e.Items, Item{name, value})
		}
	case "zset":
		all := wordsIn(do(t, c, "ZRANGE", key, "0", "-1", "WITHSCORES"))
		for i := 0; i+1 < len(all); i += 2 {
			e.Items = append(e.Items, Item{all[i], all[i+1]})
		}
	case "set":
		for _, name := range c.SMembers(ctx, key).Val() {
			e.Items = append(e.Items, Item{Name: name})
		}
	}
	return e
}

// everything is what a node stores, one line per key.
func everything(t *testing.T, c *redis.Client) []string {
	t.Helper()
	var out []string
	for _, key := range c.Keys(t.Context(), "*").Val() {
		e := entryOn(t, c, key)
		words := []string{key, e.Value}
		if e.Type == "list" {
			words = append(words, c.LRange(t.Context(), key, 0, -1).Val()...)
		}
		items := map[string]string{}
		for _, i := range e.Items {
			items[i.Name] = i.Value
		}
		for _, name := range slices.Sorted(maps.Keys(items)) {
			words = append(words, name, items[name])
		}
		out = append(out, strings.Join(words, " "))
	}
	slices.Sort(out)
	return out
}

type command = []string

// removal is a holder that is released.
type removal struct {
	name  string
	as    string    // the dialect
	state []command // what makes the lock and what stands beside it
	key   string
	token string
	after []string // what is stored afterwards
	said  string   // what subscribers of any channel hear
	// between are changes after the lock was looked at, each of which the
	// release must answer with Other.
	between []command
}

var removals = []removal{
	{
		name: "mutex", as: "redisson", key: "a", token: vThread,
		state:   []command{{"HSET", "a", vThread, "2"}},
		said:    "redisson_lock__channel:{a} 0",
		between: []command{{"HSET", "a", vThread, "1"}, {"HSET", "a", vOther, "1"}},
	},
	{
		name: "fair, the first has given up", as: "redisson", key: "a", token: vThread,
		state: []command{
			{"HSET", "a", vThread, "1"}, {"RPUSH", "redisson_lock_queue:{a}", "gone", vOther, "next"},
			{"ZADD", "redisson_lock_timeout:{a}", past, "gone", late, vOther, late, "next"}, {"SET", "redisson_lock_token:{a}", "7"},
		},
		after: []string{
			"redisson_lock_queue:{a}  " + vOther + " next",
			"redisson_lock_timeout:{a}  " + vOther + " " + late + " next " + late,
			"redisson_lock_token:{a} 7",
		},
		said:    "redisson_lock__channel:{a}:" + vOther + " 0, redisson_lock__channel:{a} 0",
		between: []command{{"HINCRBY", "a", vThread, "1"}},
	},
	{
		name: "one of two readers", as: "redisson", key: "a", token: vThread,
		state: []command{
			{"HSET", "a", "mode", "read", vThread, "2", vOther, "1"}, {"SET", "{a}:" + vThread + ":rwlock_timeout:1", "1"},
			{"SET", "{a}:" + vThread + ":rwlock_timeout:2", "1"}, {"SET", "{a}:" + vOther + ":rwlock_timeout:1", "1"},
		},
		after:   []string{"a  " + vOther + " 1 mode read", "{a}:" + vOther + ":rwlock_timeout:1 1"},
		between: []command{{"HSET", "a", vThread, "1"}},
	},
	{
		name: "last reader", as: "redisson", key: "a", token: vThread,
		state: []command{{"HSET", "a", "mode", "read", vThread, "1"}},
		said:  "redisson_rwlock:{a} 0",
	},
	{
		name: "writer", as: "redisson", key: "a{1}", token: vThread + ":write",
		state:   []command{{"HSET", "a{1}", "mode", "write", vThread + ":write", "1"}},
		said:    "redisson_rwlock:a{1} 1",
		between: []command{{"HSET", "a{1}", vThread + ":write", "2"}},
	},
	{
		name: "writer that reads", as: "redisson", key: "a", token: vThread + ":write",
		state: []command{{"HSET", "a", "mode", "write", vThread + ":write", "1", vThread, "1"}},
		after: []string{"a  " + vThread + " 1 mode read"},
		said:  "redisson_rwlock:{a} 1",
	},
	{
		name: "reads of the writer", as: "redisson", key: "a", token: vThread,
		state: []command{{"HSET", "a", "mode", "write", vThread + ":write", "1", vThread, "1"}},
		after: []string{"a  " + vThread + ":write 1 mode write"},
	},
	{
		name: "one value of a group", as: "redisson", key: "a", token: vHash,
		state: []command{
			{"HSET", "a", vHash, vThread, vFaster + ":expire_time", late, vFaster + ":lock_count", "1"},
			{"HSET", "a", "AAAAAAAAAAAAAAAAAAAAAA", vOther, "AAAAAAAAAAAAAAAAAAAAAA:" + vOther + ":expire_time", late, "AAAAAAAAAAAAAAAAAAAAAA:" + vOther + ":lock_count", "1"},
		},
		after:   []string{"a  AAAAAAAAAAAAAAAAAAAAAA " + vOther + " AAAAAAAAAAAAAAAAAAAAAA:" + vOther + ":expire_time " + late + " AAAAAAAAAAAAAAAAAAAAAA:" + vOther + ":lock_count 1"},
		said:    "redisson_lock__channel:{a} 0",
		between: []command{{"HSET", "a", vHash, vOther}, {"HSET", "a", vFaster + ":lock_count", "2"}},
	},
	{
		name: "permit", as: "redisson", key: "{a}:timeout", token: vPermit,
		state:   []command{{"ZADD", "{a}:timeout", late, vPermit, "922337203685477", "\xfd123456789abcdef"}, {"SET", "a", "3"}},
		after:   []string{"a 4", "{a}:timeout  \xfd123456789abcdef 922337203685477"},
		said:    "redisson_sc:{a} 4",
		between: []command{{"ZREM", "{a}:timeout", vPermit}, {"SET", "{a}", "1"}},
	},
	{
		name: "writer", as: "symfony", key: "a", token: vSymfony,
		state:   []command{{"ZADD", "a", late, "__write__", late, vSymfony}},
		between: []command{{"ZREM", "a", vSymfony}},
	},
	{
		name: "one of two readers", as: "symfony", key: "a", token: vSymfony,
		state: []command{{"ZADD", "a", late, vSymfony, "4070908700000", vSymfony2}},
		after: []string{"a  " + vSymfony2 + " 4070908700000"},
	},
	{
		name: "the only job", as: "sidekiq-unique-jobs", key: vDigest + ":LOCKED", token: vJob,
		state: []command{
			{"HSET", vDigest + ":LOCKED", vJob, "1796118050.5"}, {"SET", vDigest, vJob}, {"SET", vDigest + ":INFO", "{}"},
			{"ZADD", "uniquejobs:digests", "1", vDigest, "1", "other"}, {"ZADD", "uniquejobs:expiring_digests", "1", vDigest},
		},
		after:   []string{vDigest + ":QUEUED  1", "uniquejobs:digests  other 1"},
		between: []command{{"HSET", vDigest + ":LOCKED", vJob, "1796118051.5"}},
	},
	{
		name: "one of two jobs", as: "sidekiq-unique-jobs", key: vDigest + ":LOCKED", token: vJob,
		state: []command{
			{"HSET", vDigest + ":LOCKED", vJob, "1796118050.5", strings.Repeat("a", 24), "1796118050"}, {"SET", vDigest, vJob},
			{"ZADD", "uniquejobs:digests", "1", vDigest},
		},
		after: []string{vDigest + " " + vJob, vDigest + ":LOCKED  " + strings.Repeat("a", 24) + " 1796118050", vDigest + ":QUEUED  1", "uniquejobs:digests  " + vDigest + " 1"},
	},
	{
		name: "version 9", as: "sidekiq-unique-jobs", key: vDigest + ":LOCKED", token: vJob,
		state: []command{{"HSET", vDigest + ":LOCKED", vJob, vJob9}, {"ZADD", "uniquejobs:digests", "1", vDigest}},
	},
	{
		name: "place", as: "dv-redis-semaphore", key: "SEMAPHORE:a:GRABBED", token: "1",
		state:   []command{{"HSET", "SEMAPHORE:a:GRABBED", "1", "1796118050.5", "0", "1796118050"}, {"SET", "SEMAPHORE:a:EXISTS", "1"}},
		after:   []string{"SEMAPHORE:a:AVAILABLE  1", "SEMAPHORE:a:EXISTS 1", "SEMAPHORE:a:GRABBED  0 1796118050"},
		between: []command{{"HSET", "SEMAPHORE:a:GRABBED", "1", "1796118051.5"}},
	},
	{
		name: "reader", as: "madelson", key: "a.readers", token: vReader,
		state:   []command{{"SADD", "a.readers", vReader, "b_1_0f8fad5bd9cb469fa16570867728950e"}},
		after:   []string{"a.readers  b_1_0f8fad5bd9cb469fa16570867728950e "},
		between: []command{{"SREM", "a.readers", vReader}},
	},
	{
		name: "semaphore", as: "madelson", key: "a", token: vReader,
		state:   []command{{"ZADD", "a", late, vReader, late, "b_1_0f8fad5bd9cb469fa16570867728950e"}},
		after:   []string{"a  b_1_0f8fad5bd9cb469fa16570867728950e " + late},
		between: []command{{"ZREM", "a", vReader}},
	},
	{
		name: "semaphore", as: "redis-semaphore", key: "semaphore:a", token: vClient,
		state: []command{{"ZADD", "semaphore:a", past, vClient, past, vClient + "_1"}},
		after: []string{"semaphore:a  " + vClient + "_1 " + past},
	},
	{
		name: "mutex", as: "redis-semaphore", key: "mutex:a", token: vClient,
		state:   []command{{"SET", "mutex:a", vClient}},
		between: []command{{"SET", "mutex:a", vClient + "-b"}},
	},
	{
		name: "lock among results", as: "huey", key: "huey.results.app", token: "app.lock.a",
		state:   []command{{"HSET", "huey.results.app", "app.lock.a", hueyValue, "app.lock.b", hueyValue, "task", "result"}},
		after:   []string{"huey.results.app  app.lock.b " + hueyValue + " task result"},
		between: []command{{"HDEL", "huey.results.app", "app.lock.a"}, {"HSET", "huey.results.app", "app.lock.a", "x"}},
	},
	{
		name: "string", as: "python-redis-lock", key: "lock:a", token: vSignal,
		state:   []command{{"SET", "lock:a", vSignal}, {"RPUSH", "lock-signal:a", "1", "1"}},
		after:   []string{"lock-signal:a  1"},
		between: []command{{"SET", "lock:a", "x"}},
	},
	{
		name: "one key", as: "rueidislock", key: "rueidislock:1:a", token: vRaw24,
		state:   []command{{"SET", "rueidislock:0:a", vRaw24}, {"SET", "rueidislock:1:a", vRaw24}},
		after:   []string{"rueidislock:0:a " + vRaw24},
		between: []command{{"SET", "rueidislock:1:a", "x"}},
	},
}

// Each release frees exactly the holder that was seen and says so to those who
// wait; and touches nothing if the holder has changed, is gone, or if the key
// is of another type.
func TestRemovals(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		c := labtest.Client(t, labtest.Start(t, lab.Config{Nodes: 1, Kind: kind}).Nodes()[0])
		heard := c.PSubscribe(t.Context(), "*")
		t.Cleanup(func() { heard.Close() })
		if _, err := heard.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, r := range removals {
			t.Run(r.as+"/"+r.name, func(t *testing.T) {
				release := r.seen(t, c)
				r.run(t, c, release, Deleted)
				if got := everything(t, c); !slices.Equal(got, r.after) {
					t.Errorf("left %q\nwant %q", got, r.after)
				}
				if got := said(t, c, heard); got != r.said {
					t.Errorf("said %q, want %q", got, r.said)
				}
				for _, change := range r.between {
					release := r.seen(t, c)
					do(t, c, change...)
					r.untouched(t, c, release, Other)
				}
				do(t, c, "DEL", r.key)
				r.untouched(t, c, release, Gone)
				do(t, c, "RPUSH", r.key, r.token)
				r.untouched(t, c, release, OtherType)
				if got := said(t, c, heard); got != "" {
					t.Errorf("nothing was released, and yet it said %q", got)
				}
			})
		}
	})
}

// seen makes the lock and the release of the holder as it was found.
func (r removal) seen(t *testing.T, c *redis.Client) Release {
	t.Helper()
	do(t, c, "FLUSHALL")
	for _, words := range r.state {
		do(t, c, words...)
	}
	e := entryOn(t, c, r.key)
	decoded, d := Recognise(e)
	if d.Name() != r.as {
		t.Fatalf("recognised by %s: %+v", d.Name(), decoded)
	}
	at := slices.IndexFunc(decoded.Holders, func(h Holder) bool { return h.Token == r.token })
	if at < 0 {
		t.Fatalf("not held by %q: %+v", r.token, decoded)
	}
	release, err := d.Release(e, decoded.Holders[at])
	if err != nil {
		t.Fatal(err)
	}
	return release
}

func (r removal) run(t *testing.T, c *redis.Client, release Release, want Effect) {
	t.Helper()
	if got, err := release.Run(t.Context(), c); err != nil || got != want {
		t.Fatalf("effect %d, %v; want %d", got, err, want)
	}
}

func (r removal) untouched(t *testing.T, c *redis.Client, release Release, want Effect) {
	t.Helper()
	before := everything(t, c)
	r.run(t, c, release, want)
	if got := everything(t, c); !slices.Equal(got, before) {
		t.Errorf("left %q\nwant %q", got, before)
	}
}

// said collects what was published until now.
func said(t *testing.T, c *redis.Client, heard *redis.PubSub) string {
	t.Helper()
	if err := c.Publish(t.Context(), "end of it", "").Err(); err != nil {
		t.Fatal(err)
	}
	var out []string
	for {
		m, err := heard.ReceiveMessage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if m.Channel == "end of it" {
			return strings.Join(out, ", ")
		}
		out = append(out, m.Channel+" "+m.Payload)
	}
}

// A sharded channel reaches the clients of Redisson on a cluster.
func TestRedissonWakesShardedChannels(t *testing.T) {
	labtest.NeedServer(t)
	c := labtest.Client(t, labtest.Start(t, lab.Config{Nodes: 1, Kind: lab.Process}).Nodes()[0])
	heard := c.SSubscribe(t.Context(), "redisson_lock__channel:{a}")
	t.Cleanup(func() { heard.Close() })
	if _, err := heard.Receive(t.Context()); err != nil {
		t.Skipf("the server knows no sharded channels: %v", err)
	}
	r := removals[0]
	release := r.seen(t, c)
	e := entryOn(t, c, "a")
	decoded, _ := Recognise(e)
	if x := learnOn(t, c, redisson{}, e, &decoded); x.Waiting != 1 || !x.WaitingProcesses {
		t.Errorf("one client listens, and learnt was %+v", x)
	}
	r.run(t, c, release, Deleted)
	m, err := heard.ReceiveMessage(t.Context())
	if err != nil || m.Payload != "0" {
		t.Errorf("heard %v, %v", m, err)
	}
}

// learnOn asks a node the questions of a dialect.
func learnOn(t *testing.T, c *redis.Client, d Curious, e Entry, decoded *Decoded) Extra {
	t.Helper()
	var answers []any
	for _, words := range d.Questions(e, *decoded) {
		args := make([]any, len(words))
		for i, w := range words {
			args[i] = w
		}
		v, err := c.Do(t.Context(), args...).Result()
		if err != nil && err != redis.Nil {
			v = err
		}
		answers = append(answers, v)
	}
	return d.Learn(e, decoded, answers)
}

// Waiters that block on a list are woken by the release.
func TestRemovalsWakeBlockedWaiters(t *testing.T) {
	lists := map[string]string{"python-redis-lock": "lock-signal:a", "dv-redis-semaphore": "SEMAPHORE:a:AVAILABLE", "sidekiq-unique-jobs": vDigest + ":QUEUED"}
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		c := labtest.Client(t, labtest.Start(t, lab.Config{Nodes: 1, Kind: kind}).Nodes()[0])
		woken := map[string]bool{}
		for _, r := range removals {
			list, ok := lists[r.as]
			if !ok || woken[r.as] {
				continue
			}
			woken[r.as] = true
			t.Run(r.as, func(t *testing.T) {
				release := r.seen(t, c)
				do(t, c, "DEL", list)
				got := make(chan error, 1)
				go func() { got <- c.BLPop(context.WithoutCancel(t.Context()), 9*time.Second, list).Err() }()
				r.run(t, c, release, Deleted)
				if err := <-got; err != nil {
					t.Errorf("the waiter was not woken: %v", err)
				}
			})
		}
		if len(woken) != len(lists) {
			t.Errorf("woken were %v", woken)
		}
	})
}

// A forced release of dlock's own lock serves the next waiter, with a larger
// fencing token than whoever was evicted.
func TestDlockReleaseServesTheNext(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		l := labtest.Start(t, lab.Config{Nodes: 1, Kind: kind})
		c := labtest.Client(t, l.Nodes()[0])
		locker := func(owner string) *lockcore.Locker {
			nodes, err := node.OpenAll(l.URLs(), node.Options{Timeout: 5 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			k, err := lockcore.New(nodes, lockcore.WithPrefix("app:lock:"), lockcore.WithOwner(owner), lockcore.WithTTL(time.Minute), lockcore.WithNodeTimeout(5*time.Second), lockcore.WithWatchdog(false))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { k.Close(); node.CloseAll(nodes) })
			return k
		}
		stuck, err := locker("stuck:1").TryAcquire(t.Context(), "job")
		if err != nil {
			t.Fatal(err)
		}
		next := locker("next:2")
		got := make(chan *lockcore.Lock, 1)
		go func() {
			k, err := next.Acquire(context.WithoutCancel(t.Context()), "job", lockcore.WithWait(time.Minute))
			if err != nil {
				t.Error(err)
			}
			got <- k
		}()

		d := Dlocks("app:lock:", 1)
		e := entryOn(t, c, "app:lock:job")
		decoded, ok := d.Recognise(e)
		if !ok {
			t.Fatalf("not recognised: %+v", e)
		}
		var x Extra
		for tick := time.Tick(5 * time.Millisecond); x.Waiting == 0; <-tick {
			x = learnOn(t, c, d.(Curious), e, &decoded)
			if t.Context().Err() != nil {
				t.Fatal("nobody ever waited")
			}
		}
		if x.Fence != stuck.Fence() || decoded.Holders[0].Fence != stuck.Fence() || x.Granted.IsZero() || len(x.Waiters) != 1 || x.Waiters[0].Owner != "next:2" {
			t.Errorf("learnt %+v, the fence is %d", x, stuck.Fence())
		}
		for _, key := range c.Keys(t.Context(), "*").Val() {
			if key == e.Key || key == lockcore.NodeKey("app:lock:") {
				continue
			}
			lock, _, types, ok := d.(Companioned).LockOf(key)
			if kind := c.Type(t.Context(), key).Val(); !ok || lock != e.Key || !slices.Contains(types, kind) {
				t.Errorf("%q, a %s, leads to %q %v", key, kind, lock, types)
			}
		}
		r, err := d.Release(e, decoded.Holders[0])
		if err != nil {
			t.Fatal(err)
		}
		if effect, err := r.Run(t.Context(), c); effect != Deleted || err != nil {
			t.Fatalf("effect %d, %v", effect, err)
		}
		if v := c.Get(t.Context(), e.Key).Val(); !strings.HasSuffix(v, "/next:2") {
			t.Errorf("afterwards the key holds %q", v)
		}
		if effect, err := r.Run(t.Context(), c); effect != Other || err != nil {
			t.Errorf("the second time: effect %d, %v", effect, err)
		}
		if k := <-got; k != nil && k.Fence() <= stuck.Fence()+1 {
			t.Errorf("fence %d after the evicted one's %d", k.Fence(), stuck.Fence())
		}
	})
}

// A reader that has entered more often than a script can name is refused.
func TestRedissonRefusesTooMany(t *testing.T) {
	e := bag("a", "hash", "mode", "read", vThread, fmt.Sprint(redissonMostEntered+1))
	if _, err := (redisson{}).Release(e, Holder{Token: vThread}); err != errRedissonEntered {
		t.Errorf("got %v", err)
	}
}
