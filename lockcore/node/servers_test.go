package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"
)

// The slots are those that CLUSTER KEYSLOT gives.
func TestSlotIsThatOfTheHashTag(t *testing.T) {
	for key, want := range map[string]int{
		"": 0, "foo": 12182, "123456789": 12739, "lock:orders:42": Slot("lock:fence:{lock:orders:42}"),
		"{user1000}.following": Slot("user1000"), "foo{}{bar}": 8363, "foo{{bar}}zap": Slot("{bar"), "foo{bar}{zap}": Slot("bar"), "a{b": Slot("a{b"),
	} {
		if got := Slot(key); got != want {
			t.Errorf("%q: %d, want %d", key, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if n := Slot(string(rapid.SliceOf(rapid.Byte()).Draw(t, "key"))); n < 0 || n >= slotCount {
			t.Fatal(n)
		}
	})
}

func TestReadSlots(t *testing.T) {
	server := func(host any, port int64) []any { return []any{host, port, "id"} }
	got, err := readSlots([]any{
		[]any{int64(0), int64(99), server("10.0.0.1", 1), server("10.0.0.9", 9)},
		[]any{int64(200), int64(300), server("", 2)},
		[]any{int64(100), int64(199), server("10.0.0.1", 1)},
	}, "asked:7")
	want := "[{10.0.0.1:1 [{0 99} {100 199}]} {asked:2 [{200 300}]}]"
	if err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v, %v; want %s", got, err, want)
	}
	for _, bad := range []any{nil, "x", []any{}, []any{"x"}, []any{[]any{int64(5), int64(1), server("h", 1)}}, []any{[]any{int64(0), int64(slotCount), server("h", 1)}}, []any{[]any{int64(0), int64(1), []any{"h"}}}, []any{[]any{int64(0), int64(1), server("h", 70000)}}} {
		if got, err := readSlots(bad, "h:1"); err == nil {
			t.Errorf("%v is read as %v", bad, got)
		}
	}
}

// anything draws a reply of any shape.
func anything(depth int) *rapid.Generator[any] {
	leaves := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Map(rapid.Int64Range(-2, 20000), func(n int64) any { return n }), rapid.Map(rapid.String(), func(s string) any { return s }),
	}
	if depth > 0 {
		leaves = append(leaves, rapid.Map(rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return anything(depth - 1) }), 0, 4), func(s []any) any { return s }))
	}
	return rapid.OneOf(leaves...)
}

func TestAnyAnswerIsReadOrRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reply := anything(4).Draw(t, "reply")
		if all, err := readSlots(reply, "h:1"); err == nil {
			for _, p := range all {
				if len(p.Slots) == 0 || slices.ContainsFunc(p.Slots, func(r SlotRange) bool { return r.From < 0 || r.To >= slotCount || r.From > r.To }) {
					t.Fatalf("%v", p)
				}
			}
		}
		if addr, err := readMaster(reply, nil); err == nil && addr == "" {
			t.Fatal("an address that is none")
		}
	})
	if _, err := readMaster(nil, redis.Nil); !errors.Is(err, errNoMaster) {
		t.Error(err)
	}
}

func TestRedirected(t *testing.T) {
	for text, want := range map[string]Redirect{
		"MOVED 3999 127.0.0.1:6381":                  {"127.0.0.1:6381", false},
		"ASK 3999 h:1":                               {"h:1", true},
		"ERR user_script:MOVED 1 h:2":                {"h:2", false},
		"MOVED 1":                                    {},
		"ERR MOVED is no code here":                  {},
		"CLUSTERDOWN Hash slot not served":           {},
		"MOVED 1 h:2 and something a cluster's not ": {},
	} {
		got, ok := Redirected(reply(text))
		if got != want || ok != (want.Addr != "") {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
	if _, ok := Redirected(nil); ok {
		t.Error("no error redirects")
	}
}

func TestServersOfADeployment(t *testing.T) {
	n, err := Open("redis+cluster://ana:pw@h1,h2", Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	a, err := n.Server("10.0.0.1:7")
	if err != nil {
		t.Fatal(err)
	}
	o := a.Client().(*redis.Client).Options()
	if o.Username != "ana" || o.Password != "pw" || o.Addr != "10.0.0.1:7" || a.Name() != "10.0.0.1:7" || a.Topology() != Single || a.Timeout() != n.Timeout() {
		t.Errorf("%+v", a)
	}
	if err := a.Client().Set(t.Context(), "k", "v", 0).Err(); !errors.Is(err, ErrReadOnly) {
		t.Errorf("it is not read-only: %v", err)
	}
	if b, _ := n.Server("10.0.0.1:7"); b != a {
		t.Error("the same server has two pools")
	}
	a.Close()
	if b, err := n.Server("10.0.0.1:7"); b == a || err != nil {
		t.Errorf("a closed one is given out: %v", err)
	}
	for _, bad := range []string{"", "h", "h:", ":1", "h:0", "h:70000", "h:x"} {
		if _, err := n.Server(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	for i := range maxServers + 1 {
		_, err = n.Server(fmt.Sprintf("h%d:1", i))
	}
	if err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("connections without end: %v", err)
	}
	n.Close()
	if _, err := n.Server("h:1"); !errors.Is(err, redis.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestNoHostAnswers(t *testing.T) {
	for _, url := range []string{"redis+cluster://127.0.0.1:1,127.0.0.1:2", "redis+sentinel://127.0.0.1:1/m"} {
		n, err := Open(url, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		if all, err := n.Primaries(t.Context(), "127.0.0.1:3"); Classify(err) != Unreachable || all != nil {
			t.Errorf("%s: %v, %v", url, all, err)
		}
	}
}
