package lockcore_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
	"dlock/lockcore"
)

// nodeModel is what one node must do, in plain Go. Nothing expires in it by
// itself: that a key's time is over is an action.
type nodeModel struct {
	marked      bool // whether the node has a marker
	quarantined bool
	longest     int64

	holder  string
	fence   int64
	waiters map[string]waiter
	gone    map[string]bool // tokens released before their acquire arrived
	heard   []string        // what was published to those who listen
}

// waiter is a token in the queue.
type waiter struct {
	ticket int64
	until  bool // whether it has asked lately
	ttl    int64
	least  int64
	listen bool // whether somebody listens on its channel
}

// contender is a token and what its client always says of it.
type contender struct {
	token  string
	ticket int64
	listen bool
}

const modelTTL = int64(3_600_000)

// contenders have tickets as large as they are in life, which must keep all
// their digits, and two asked at the same microsecond.
var contenders = func() []contender {
	var cs []contender
	for i, ticket := range []int64{1796118050123456, 1796118050123457, 1796118050123457, 1796118050123460, 7, 1796118050123461} {
		cs = append(cs, contender{token: fmt.Sprintf("%08d-0000-4000-8000-000000000000/%d/o", i, ticket), ticket: ticket, listen: i != 3})
	}
	return cs
}()

func (m *nodeModel) head() (string, bool) {
	tokens := slices.SortedFunc(maps.Keys(m.waiters), m.order)
	if len(tokens) == 0 {
		return "", false
	}
	return tokens[0], true
}

func (m *nodeModel) order(a, b string) int {
	return cmp.Or(cmp.Compare(m.waiters[a].ticket, m.waiters[b].ticket), strings.Compare(a, b))
}

func (m *nodeModel) votes() bool { return m.marked && !m.quarantined }

// serve hands a free lock to the first waiter with a ticket below the given
// one. It reports whether it did, and whether nobody waits.
func (m *nodeModel) serve(below int64) (served, empty bool) {
	for range 16 {
		token, any := m.head()
		if !any {
			return false, true
		}
		w := m.waiters[token]
		if w.ticket >= below || !m.votes() {
			return false, false
		}
		delete(m.waiters, token)
		if w.until && w.listen {
			m.fence = max(m.fence+1, w.least)
			m.holder = token
			m.heard = append(m.heard, fmt.Sprintf("granted %d %s lock:m", m.fence, token))
			return true, false
		}
	}
	return false, false
}

// ahead is the error for a fencing token of a clock that is far ahead.
const ahead = "ERR the client's clock is more than an hour ahead of this node's, so no fencing token was granted; set both clocks right"

// acquire returns what the script must answer; -1 stands for some time.
func (m *nodeModel) acquire(c contender, least, ttl int64, queue bool) string {
	if !m.marked {
		return "2 0 0 0 0 "
	}
	if m.holder != c.token && least > m.fence+1 && least > seedNow()+time.Hour.Microseconds() {
		return ahead
	}
	m.longest = max(m.longest, ttl)
	if m.holder == c.token {
		return fmt.Sprintf("1 %d -1 0 %d ", m.fence, m.longest)
	}
	if m.quarantined {
		return fmt.Sprintf("3 %d -1 0 %d %s", m.fence, m.longest, m.holder)
	}
	if m.gone[c.token] {
		return fmt.Sprintf("4 %d 0 0 %d %s", m.fence, m.longest, m.holder)
	}
	if m.holder == "" {
		served, empty := m.serve(c.ticket)
		if !served {
			if !empty {
				delete(m.waiters, c.token)
			}
			m.fence = max(m.fence+1, least)
			m.holder = c.token
			return fmt.Sprintf("1 %d -1 0 %d ", m.fence, m.longest)
		}
		if m.holder == c.token {
			panic("served itself, who is not below its own ticket")
		}
	}
	before := 0
	if queue {
		m.waiters[c.token] = waiter{ticket: c.ticket, until: true, ttl: ttl, least: least, listen: c.listen}
		before = slices.Index(slices.SortedFunc(maps.Keys(m.waiters), m.order), c.token)
	}
	return fmt.Sprintf("0 %d -1 %d %d %s", m.fence, before, m.longest, m.holder)
}

func (m *nodeModel) extend(c contender, fence int64, back bool) string {
	switch {
	case m.holder == c.token:
		return "1 0 "
	case m.holder != "":
		return fmt.Sprintf("-1 %d %s", m.fence, m.holder)
	case back && m.fence <= fence && m.votes() && !m.gone[c.token]:
		m.holder = c.token
		delete(m.waiters, c.token)
		m.fence = max(m.fence, fence)
		return fmt.Sprintf("2 %d ", fence)
	}
	return fmt.Sprintf("0 %d ", m.fence)
}

func (m *nodeModel) raise(c contender, fence int64) string {
	if m.holder != c.token {
		return "0"
	}
	m.fence = max(m.fence, fence)
	return "1"
}

func (m *nodeModel) release(c contender, fence int64, late bool) string {
	m.fence = max(m.fence, fence)
	if late {
		// Waiters whose time is over are swept along.
		maps.DeleteFunc(m.waiters, func(_ string, w waiter) bool { return !w.until })
		delete(m.waiters, c.token)
		m.gone[c.token] = true
	}
	if m.holder == c.token {
		m.holder = ""
		m.serve(1 << 62)
		return "1 0 "
	}
	delete(m.waiters, c.token)
	if m.holder == "" {
		m.serve(1 << 62)
		return "0 0 "
	}
	return "-1 -1 " + m.holder
}

// scriptNode is a node the scripts run on.
type scriptNode struct {
	client *redis.Client
	heard  <-chan *redis.Message
}

func (n *scriptNode) keys() []string {
	return []string{"lock:m", "lock:fence:{lock:m}", "lock:queue:{lock:m}", "lock:wait:{lock:m}", "lock:node"}
}

// seedNow is the fencing token of a client whose clock is right.
func seedNow() int64 {
	return time.Since(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).Microseconds()
}

// noTime is for run where the answer holds no time.
const noTime = -1

// run runs a script and writes its answer as the model does. at is the part of
// the answer that is a time, which must be positive.
func (n *scriptNode) run(t *rapid.T, name string, at int, args ...any) string {
	reply, err := n.client.Eval(background, lockcore.ScriptSource(name), n.keys(), args...).Text()
	var said redis.Error
	if errors.As(err, &said) {
		return said.Error()
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	parts := strings.Split(reply, " ")
	if at >= 0 && at < len(parts) {
		if ms, err := strconv.ParseInt(parts[at], 10, 64); err == nil && ms > 0 && ms <= 2*modelTTL {
			parts[at] = "-1"
		}
	}
	return strings.Join(parts, " ")
}

// state is what is stored, as the model has it.
func (n *scriptNode) state(t *rapid.T) string {
	pipe := n.client.Pipeline()
	holder, fence := pipe.Get(background, "lock:m"), pipe.Get(background, "lock:fence:{lock:m}")
	queue, wait := pipe.ZRangeWithScores(background, "lock:queue:{lock:m}", 0, -1), pipe.HGetAll(background, "lock:wait:{lock:m}")
	if _, err := pipe.Exec(background); err != nil && err != redis.Nil {
		t.Fatal(err)
	}
	count, _, ok := lockcore.ParseFence(cmp.Or(fence.Val(), "0 0"))
	if !ok {
		t.Fatalf("the fence companion holds %q", fence.Val())
	}
	var lines []string
	for _, z := range queue.Val() {
		lines = append(lines, fmt.Sprintf("%s at %.0f", z.Member, z.Score))
	}
	for _, token := range slices.Sorted(maps.Keys(wait.Val())) {
		if strings.HasPrefix(wait.Val()[token], "gone ") {
			lines = append(lines, "gone "+token)
		} else {
			lines = append(lines, "waits "+token)
		}
	}
	return fmt.Sprintf("holder %q fence %d\n%s", holder.Val(), count, strings.Join(lines, "\n"))
}

func (m *nodeModel) state() string {
	var lines []string
	for _, token := range slices.SortedFunc(maps.Keys(m.waiters), m.order) {
		lines = append(lines, fmt.Sprintf("%s at %d", token, m.waiters[token].ticket))
	}
	records := make(map[string]string)
	for token := range m.waiters {
		records[token] = "waits "
	}
	for token := range m.gone {
		records[token] = "gone "
	}
	for _, token := range slices.Sorted(maps.Keys(records)) {
		lines = append(lines, records[token]+token)
	}
	return fmt.Sprintf("holder %q fence %d\n%s", m.holder, m.fence, strings.Join(lines, "\n"))
}

// Each script does on a real and on an embedded node what the model does, for
// any sequence of calls, lost keys, dead waiters and restarts.
func TestScriptsFollowTheModel(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		n := &scriptNode{client: labtest.Client(t, labtest.Start(t, lab.Config{Nodes: 1, Kind: kind}).Nodes()[0])}
		sub := n.client.Subscribe(background, "lock:wake:live")
		t.Cleanup(func() { sub.Close() })
		if _, err := sub.Receive(background); err != nil {
			t.Fatal(err)
		}
		n.heard = sub.Channel(redis.WithChannelSize(1000))
		rapid.Check(t, n.check)
	})
}

func (n *scriptNode) check(t *rapid.T) {
	if err := n.client.FlushAll(background).Err(); err != nil {
		t.Fatal(err)
	}
	m := &nodeModel{waiters: make(map[string]waiter), gone: make(map[string]bool)}
	who := rapid.SampledFrom(contenders)
	number := rapid.SampledFrom([]int64{1, 2, 3, 10, 99_999_999_999_999, 100_000_000_000_001, 30_000_000_000_000_001 / 10, 1<<53 - 1000})
	seed := rapid.OneOf(rapid.SampledFrom([]int64{1, 2, 3, 10, 20_000_000_000_000, seedNow()}), number) // least of an acquire
	life := rapid.SampledFrom([]int64{0, 604_800_000})
	ttl := rapid.SampledFrom([]int64{modelTTL / 2, modelTTL})
	flag := rapid.Bool()
	compare := func(t *rapid.T, what, got, want string) {
		t.Helper()
		if got != want {
			t.Fatalf("%s answered %q, the model %q", what, got, want)
		}
	}
	channel := func(c contender) string {
		if c.listen {
			return "lock:wake:live"
		}
		return "lock:wake:nobody"
	}
	bit := map[bool]int{true: 1}
	t.Repeat(map[string]func(*rapid.T){
		"acquire": func(t *rapid.T) {
			c, least, ttl, queue := who.Draw(t, "who"), seed.Draw(t, "least"), ttl.Draw(t, "ttl"), flag.Draw(t, "queue")
			window := "0"
			if queue {
				window = fmt.Sprint(modelTTL, " ", channel(c))
			}
			got := n.run(t, "acquire", 2, c.token, c.ticket, ttl, least, life.Draw(t, "life"), window)
			want := m.acquire(c, least, ttl, queue)
			compare(t, "acquire", got, want)
		},
		"extend": func(t *rapid.T) {
			c, fence, back := who.Draw(t, "who"), number.Draw(t, "fence"), flag.Draw(t, "back")
			compare(t, "extend", n.run(t, "extend", noTime, c.token, ttl.Draw(t, "ttl"), fence, life.Draw(t, "life"), bit[back]), m.extend(c, fence, back))
		},
		"raise": func(t *rapid.T) {
			c, fence := who.Draw(t, "who"), number.Draw(t, "fence")
			compare(t, "raise", n.run(t, "raise", noTime, c.token, fence, life.Draw(t, "life")), m.raise(c, fence))
		},
		"release": func(t *rapid.T) {
			c, fence, late := who.Draw(t, "who"), rapid.SampledFrom([]int64{0, 5}).Draw(t, "fence"), rapid.IntRange(0, 3).Draw(t, "late") == 0
			got := n.run(t, "release", 1, c.token, fence, life.Draw(t, "life"), int64(bit[late])*modelTTL)
			compare(t, "release", got, m.release(c, fence, late))
		},
		"the counter jumps": func(t *rapid.T) {
			m.fence = max(m.fence, number.Draw(t, "to"))
			n.client.Set(background, "lock:fence:{lock:m}", fmt.Sprint(m.fence, " 0"), 0)
		},
		"expire": func(t *rapid.T) {
			n.client.Del(background, "lock:m")
			m.holder = ""
		},
		"a waiter dies": func(t *rapid.T) {
			tokens := slices.Sorted(maps.Keys(m.waiters))
			if len(tokens) == 0 {
				t.Skip()
			}
			token := rapid.SampledFrom(tokens).Draw(t, "which")
			record := strings.Fields(n.client.HGet(background, "lock:wait:{lock:m}", token).Val())
			record[0] = strconv.FormatInt(time.Now().Add(-time.Minute).UnixMilli(), 10)
			n.client.HSet(background, "lock:wait:{lock:m}", token, strings.Join(record, " "))
			w := m.waiters[token]
			w.until = false
			m.waiters[token] = w
		},
		"birth": func(t *rapid.T) {
			first := flag.Draw(t, "nothing forgotten")
			want := "0"
			if !m.marked {
				want = "1"
				m.marked, m.quarantined, m.longest = true, !first, modelTTL/4
			}
			got, err := n.client.Eval(background, lockcore.ScriptSource("birth"), []string{"lock:node"}, bit[first], modelTTL/4, "", 0).Result()
			if err != nil {
				t.Fatal(err)
			}
			compare(t, "birth", fmt.Sprint(got), want)
		},
		"restart": func(t *rapid.T) {
			run := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "run")
			marker := n.client.Get(background, "lock:node").Val()
			got, err := n.client.Eval(background, lockcore.ScriptSource("birth"), []string{"lock:node"}, 0, 0, run, 1).Result()
			if err != nil {
				t.Fatal(err)
			}
			fields := strings.SplitN(marker, " ", 3)
			want := "1"
			switch {
			case marker == "" || fields[2] == run:
				want = "0"
			case fields[2] != "":
				m.quarantined = true
			}
			compare(t, "birth after a restart", fmt.Sprint(got), want)
		},
		"quarantine ends": func(t *rapid.T) {
			if !m.marked {
				t.Skip()
			}
			fields := strings.SplitN(n.client.Get(background, "lock:node").Val(), " ", 3)
			n.client.Set(background, "lock:node", "1 "+fields[1]+" "+fields[2], 0)
			m.quarantined = false
		},
		"": func(t *rapid.T) {
			if got, want := n.state(t), m.state(); got != want {
				t.Fatalf("stored:\n%s\nthe model:\n%s", got, want)
			}
			for _, want := range m.heard {
				ctx, cancel := context.WithTimeout(background, 20*time.Second)
				select {
				case got := <-n.heard:
					if got.Payload != want {
						t.Fatalf("heard %q, want %q", got.Payload, want)
					}
				case <-ctx.Done():
					t.Fatalf("never heard %q", want)
				}
				cancel()
			}
			m.heard = nil
		},
	})
}
