package inspect

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"dlock/inspect/dialect"
	"dlock/lockcore"
	"dlock/lockcore/node"
)

// BenchmarkMemory tells how many bytes one node's sample of one lock takes: in
// the session that has it alone, and with all that is remembered of it.
func BenchmarkMemory(b *testing.B) {
	const locks, n = 100_000, 5
	var urls []string
	for i := range n {
		urls = append(urls, fmt.Sprintf("redis://127.0.0.1:%d", i+1))
	}
	nodes, err := node.OpenAll(urls, node.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer node.CloseAll(nodes)
	heap := func() float64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	for b.Loop() {
		before := heap()
		s := newSession(New(nodes, Config{}))
		own := dialect.Dlocks("lock:", n)
		tokens := make([]string, locks)
		for i := range tokens {
			tokens[i] = lockcore.Token{UUID: uuid.New(), Ticket: int64(i + 1), Owner: "web-12:4711"}.String()
		}
		now := time.Now()
		for m := range n {
			r := report{member: m, samples: make(map[string]sample, locks)}
			var at *trip
			for i, token := range tokens {
				if i%chunk == 0 {
					at = when(now)
				}
				key := fmt.Sprintf("lock:tenant-%d:orders:%d", i%100, i)
				one := sample{presence: present, life: time.Minute, asked: at, read: at, idleAsked: true, touched: at}
				one.got = decode(dialect.Text(key, strings.Clone(token)), own)
				one.told = pack(dialect.Extra{Fence: int64(i), FenceKnown: true, Granted: now})
				r.samples[key] = one
			}
			s.absorb(context.Background(), r)
		}
		tokens = nil
		alone := heap() - before
		s.compose(nil, true)
		s.shown = nil
		b.ReportMetric(alone/(locks*n), "B/sample")
		b.ReportMetric((heap()-before)/(locks*n), "B/sample-with-history")
		runtime.KeepAlive(s)
	}
}
