package inspect

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
	"dlock/lockcore/node"
)

// What inspecting costs, on redis-server processes:
//
//	go test ./inspect -run - -bench 'Stream|Live' -benchtime 1x -inspect.locks 1000000
var benchLocks = flag.Int("inspect.locks", 100_000, "how many locks the benchmarks of what looking costs make on each node")

func fill(b *testing.B, l *lab.Lab, locks int) {
	b.Helper()
	var wg sync.WaitGroup
	for _, n := range l.Nodes() {
		c := labtest.Client(b, n)
		wg.Go(func() {
			for k := 0; k < locks; {
				pipe := c.Pipeline()
				for range min(10_000, locks-k) {
					pipe.Set(context.Background(), "lock:order:"+strconv.Itoa(k), fmt.Sprintf("0f8fad5b-d9cb-469f-a165-%012x/1796118050%06d/web-3:4711", k, k%1_000_000), 10*time.Hour)
					k++
				}
				if _, err := pipe.Exec(context.Background()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkStream measures one look at all locks of one and of five nodes,
// against redis-cli listing their names alone, and the memory it takes.
func BenchmarkStream(b *testing.B) {
	for _, nodes := range []int{1, 5} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			l := labtest.Start(b, lab.Config{Nodes: nodes, Kind: lab.Process})
			fill(b, l, *benchLocks)
			opened, err := node.OpenAll(l.URLs(), node.Options{Timeout: 5 * time.Second})
			if err != nil {
				b.Fatal(err)
			}
			defer node.CloseAll(opened)
			i := New(opened, Config{ScanBudget: 1, ScanCount: 1000})
			var names time.Duration
			if path, err := exec.LookPath("redis-cli"); err == nil {
				_, port, _ := strings.Cut(l.Nodes()[0].Addr(), ":")
				start := time.Now()
				if err := exec.Command(path, "-p", port, "--scan", "--pattern", "lock:*").Run(); err != nil {
					b.Fatal(err)
				}
				names = time.Since(start)
			}
			runtime.GC()
			var before, now runtime.MemStats
			runtime.ReadMemStats(&before)
			var peak uint64
			b.ResetTimer()
			for b.Loop() {
				count := 0
				if _, err := i.Stream(context.Background(), func(_ time.Time, some []Lock) error {
					if count%100_000 < len(some) {
						runtime.ReadMemStats(&now)
						peak = max(peak, now.HeapInuse-min(now.HeapInuse, before.HeapInuse))
					}
					count += len(some)
					return nil
				}); err != nil || count != *benchLocks {
					b.Fatal(count, err)
				}
			}
			took := b.Elapsed() / time.Duration(b.N)
			b.ReportMetric(float64(peak)/float64(*benchLocks), "B/lock")
			if names > 0 {
				b.ReportMetric(took.Seconds()/names.Seconds(), "x-redis-cli-scan")
			}
		})
	}
}

// BenchmarkLive measures what watching costs five servers by their own account,
// and this process, and how long a change of a visible lock takes to be seen.
func BenchmarkLive(b *testing.B) {
	const watched, changes = 30 * time.Second, 10
	l := labtest.Start(b, lab.Config{Nodes: 5, Kind: lab.Process})
	fill(b, l, *benchLocks)
	opened, err := node.OpenAll(l.URLs(), node.Options{Timeout: 5 * time.Second})
	if err != nil {
		b.Fatal(err)
	}
	defer node.CloseAll(opened)
	used := func() (sum float64) {
		for _, n := range opened {
			info, err := n.Client().Info(context.Background(), "cpu").Result()
			if err != nil {
				b.Fatal(err)
			}
			for line := range strings.Lines(info) {
				if name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); name == "used_cpu_sys" || name == "used_cpu_user" {
					seconds, _ := strconv.ParseFloat(value, 64)
					sum += seconds
				}
			}
		}
		return sum / float64(len(opened))
	}
	for b.Loop() {
		i := New(opened, Config{})
		const shown = "lock:order:77"
		i.SetVisible([]string{shown})
		ctx, cancel := context.WithCancel(context.Background())
		settled, seen := make(chan struct{}), make(chan string, 1)
		var once sync.Once
		done := make(chan error, 1)
		var snaps atomic.Int64
		var age time.Duration
		go func() {
			last := ""
			done <- i.Watch(ctx, func(s Snapshot) {
				snaps.Add(1)
				if !s.Scan.Oldest.IsZero() {
					age = max(age, s.At.Sub(s.Scan.Oldest))
				}
				if len(s.Locks) != *benchLocks {
					return
				}
				once.Do(func() { close(settled); age = 0 })
				at := slices.IndexFunc(s.Locks, func(l Lock) bool { return l.ID.Key == shown })
				if o, ok := s.Locks[at].Holder(); ok && o.Holds && o.Token != last {
					last = o.Token
					select {
					case seen <- last:
					default:
					}
				}
			})
		}()
		<-settled
		cpu, own, start, first := used(), processTime(), time.Now(), snaps.Load()
		time.Sleep(watched)
		took := time.Since(start).Seconds()
		b.ReportMetric(100*(used()-cpu)/took, "%core/server")
		b.ReportMetric(100*(processTime()-own).Seconds()/took, "%core")
		b.ReportMetric(float64(snaps.Load()-first)/took, "looks/s")
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapInuse)/float64(*benchLocks), "B/lock")
		var delay, longest time.Duration
		for n := range changes {
			select {
			case <-seen:
			default:
			}
			token := fmt.Sprintf("0f8fad5b-d9cb-469f-a165-%012x/1796118050%06d/web-3:4711", n, *benchLocks+n)
			start := time.Now()
			for _, one := range opened {
				if err := one.Client().Set(context.Background(), shown, token, 10*time.Hour).Err(); err != nil {
					b.Fatal(err)
				}
			}
			for got := ""; got != token; got = <-seen {
			}
			delay += time.Since(start)
			longest = max(longest, time.Since(start))
		}
		b.ReportMetric(delay.Seconds()/changes, "s-to-see")
		b.ReportMetric(longest.Seconds(), "s-to-see-max")
		cancel()
		<-done
		b.ReportMetric(age.Seconds(), "s-oldest")
	}
}

// processTime is what this process has used of the processor so far, 0 where
// that is not known.
func processTime() time.Duration {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * time.Second / 100
}
