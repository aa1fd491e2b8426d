package lab_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
)

// soon is when a test gives up on something that has to happen.
const soon = 20 * time.Second

func startOne(t *testing.T, kind lab.Kind) (*lab.Node, *redis.Client) {
	t.Helper()
	n := labtest.Start(t, lab.Config{Kind: kind, Nodes: 1}).Nodes()[0]
	return n, labtest.Client(t, n)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantState(t *testing.T, n *lab.Node, want lab.State) {
	t.Helper()
	if got := n.State(); got != want {
		t.Fatalf("%s is %q, want %q", n.Name(), got, want)
	}
}

func awaitState(t *testing.T, n *lab.Node, want lab.State) {
	t.Helper()
	labtest.Eventually(t, fmt.Sprintf("%s to be %q", n.Name(), want), func() bool { return n.State() == want })
}

func wantRefused(t *testing.T, addr string) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, soon)
	if err == nil {
		conn.Close()
		t.Fatalf("%s accepts a connection and should not", addr)
	}
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() {
		t.Fatalf("%s does not refuse a connection: %v", addr, err)
	}
}

func TestStart(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		l := labtest.Start(t, lab.Config{Kind: kind})
		nodes, status, urls := l.Nodes(), l.Status(), l.URLs()
		if len(nodes) != lab.DefaultNodes || len(status) != len(nodes) || len(urls) != len(nodes) {
			t.Fatalf("%d nodes, %d in the status, %d URLs; want %d of each", len(nodes), len(status), len(urls), lab.DefaultNodes)
		}
		seen := map[string]bool{}
		for i, n := range nodes {
			name := fmt.Sprintf("n%d", i+1)
			if n.Name() != name || seen[n.Addr()] {
				t.Errorf("node %d is %s at %s", i, n.Name(), n.Addr())
			}
			seen[n.Addr()] = true
			if want := (lab.Status{Name: name, Addr: n.Addr(), State: lab.Up}); status[i] != want {
				t.Errorf("the status of %s is %v, want %v", name, status[i], want)
			}
			if want := "redis://" + n.Addr(); urls[i] != want || n.URL() != want || !strings.HasPrefix(n.Addr(), "127.0.0.1:") {
				t.Errorf("%s has the URLs %s and %s, want %s", name, urls[i], n.URL(), want)
			}
			if got, ok := l.Node(name); !ok || got != n {
				t.Errorf("%s is not found by its name", name)
			}
			if (n.PID() > 0) != (kind == lab.Process) {
				t.Errorf("%s of kind %s has the process number %d", name, kind, n.PID())
			}
			// The nodes have nothing in common.
			c := labtest.Client(t, n)
			must(t, c.Set(t.Context(), "name", name, 0).Err())
		}
		for _, n := range nodes {
			if got := labtest.Client(t, n).Get(t.Context(), "name").Val(); got != n.Name() {
				t.Errorf("%s says it is %q", n.Name(), got)
			}
		}
		if _, ok := l.Node("n6"); ok {
			t.Error("a node was found that does not exist")
		}
		nodes[0] = nil
		if l.Nodes()[0] == nil {
			t.Error("the lab gives away its own slice")
		}
	})
}

func TestStartRefuses(t *testing.T) {
	cases := map[string]struct {
		config lab.Config
		says   string
	}{
		"too few":  {lab.Config{Nodes: -1}, "-1 nodes"},
		"too many": {lab.Config{Nodes: lab.MaxNodes + 1}, "65 nodes"},
		"kind":     {lab.Config{Kind: "toaster"}, `"toaster"`},
		"server":   {lab.Config{Kind: lab.Process, ServerPath: filepath.Join(t.TempDir(), "nope")}, "nope"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if name == "server" {
				labtest.NeedServer(t)
			}
			l, err := lab.Start(t.Context(), c.config)
			if err == nil {
				l.Close()
				t.Fatal("a lab was started")
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error is %q and does not say %q", err, c.says)
			}
		})
	}
}

// Whatever stops a start, nothing of the lab is left.
func TestFailedStartLeavesNothing(t *testing.T) {
	labtest.NeedServer(t)
	over, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("changed my mind"))
	broken := filepath.Join(t.TempDir(), "redis-server")
	must(t, os.WriteFile(broken, []byte("#!/bin/sh\necho first\necho no memory, sorry\nexit 1\n"), 0o700))

	cases := map[string]struct {
		ctx    context.Context
		config lab.Config
		says   string
	}{
		"arguments": {t.Context(), lab.Config{Args: []string{"--no-such-directive", "7"}}, "Bad directive"},
		"ends":      {t.Context(), lab.Config{ServerPath: broken}, "no memory, sorry"},
		"context":   {over, lab.Config{}, "changed my mind"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			c.config.Kind, c.config.Nodes = lab.Process, 3
			l, err := lab.Start(c.ctx, c.config)
			if err == nil {
				l.Close()
				t.Fatal("a lab was started")
			}
			if !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %q; want one line that says %q", err, c.says)
			}
			if left, _ := filepath.Glob(filepath.Join(temp, "*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestNoFolder(t *testing.T) {
	labtest.NeedServer(t)
	missing := filepath.Join(t.TempDir(), "missing")
	t.Setenv("TMPDIR", missing)
	l, err := lab.Start(t.Context(), lab.Config{Kind: lab.Process, Nodes: 1})
	if err == nil {
		l.Close()
		t.Fatal("a lab was started without a folder")
	}
	if !strings.Contains(err.Error(), missing) {
		t.Errorf("the error %q does not name the folder", err)
	}
}

func TestKill(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		n, c := startOne(t, kind)
		must(t, c.Ping(t.Context()).Err())
		sub := c.Subscribe(t.Context(), "news")
		defer sub.Close()
		_, err := sub.Receive(t.Context())
		must(t, err)

		must(t, n.Kill())
		wantState(t, n, lab.Down)
		wantRefused(t, n.Addr())
		if _, err := sub.Receive(t.Context()); err == nil {
			t.Error("a connection survived the kill")
		}
		if n.PID() != 0 {
			t.Errorf("a killed node has the process number %d", n.PID())
		}
		must(t, n.Kill()) // does nothing

		must(t, n.Restart(t.Context(), false))
		if got, err := labtest.Client(t, n).Publish(t.Context(), "news", "x").Result(); err != nil || got != 0 {
			t.Errorf("after the restart a message has %d receivers (%v), want none", got, err)
		}
	})
}

func TestRestart(t *testing.T) {
	befores := map[string]func(*lab.Node) error{
		"up":     func(*lab.Node) error { return nil },
		"down":   (*lab.Node).Kill,
		"paused": (*lab.Node).Pause,
	}
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		n, c := startOne(t, kind)
		for name, before := range befores {
			for _, wipe := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s wipe=%v", name, wipe), func(t *testing.T) {
					ctx := t.Context()
					must(t, c.Set(ctx, "key", "value", time.Hour).Err())
					must(t, c.ZAdd(ctx, "set", redis.Z{Score: 1, Member: "a"}).Err())
					sha, err := c.ScriptLoad(ctx, "return 7").Result()
					must(t, err)
					addr := n.Addr()

					must(t, before(n))
					must(t, n.Restart(ctx, wipe))

					wantState(t, n, lab.Up)
					if n.Addr() != addr {
						t.Errorf("the address went from %s to %s", addr, n.Addr())
					}
					want := int64(2)
					if wipe {
						want = 0
					}
					fresh := labtest.Client(t, n)
					if got, err := fresh.DBSize(ctx).Result(); err != nil || got != want {
						t.Errorf("%d keys (%v), want %d", got, err, want)
					}
					if got, err := fresh.ScriptExists(ctx, sha).Result(); err != nil || got[0] {
						t.Errorf("a script survived the restart (%v)", err)
					}
					// The next case uses this client, whose connections broke.
					_ = c.Ping(ctx)
					must(t, c.Ping(ctx).Err())
				})
			}
		}
	})
}

// Times to live run while a node is down.
func TestTimePassesWhileDown(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		n, c := startOne(t, kind)
		ctx := t.Context()
		must(t, c.Set(ctx, "short", "x", 50*time.Millisecond).Err())
		must(t, c.Set(ctx, "long", "x", time.Hour).Err())
		must(t, c.HSet(ctx, "hash", "field", "x").Err())
		must(t, c.PExpire(ctx, "hash", time.Hour).Err())

		must(t, n.Kill())
		killed := time.Now()
		time.Sleep(100 * time.Millisecond) // what must pass is time itself
		down := time.Since(killed)
		must(t, n.Restart(ctx, false))

		c = labtest.Client(t, n)
		if c.Exists(ctx, "short").Val() != 0 {
			t.Error("a key outlived its time while the node was down")
		}
		for _, key := range []string{"long", "hash"} {
			if got := c.PTTL(ctx, key).Val(); got <= 0 || got > time.Hour-down+2*time.Millisecond {
				t.Errorf("%s lives for another %v after %v down", key, got, down)
			}
		}
	})
}

// What is sent to a paused node is executed after the pause and not before.
func TestPause(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		n, c := startOne(t, kind)
		ctx := t.Context()
		must(t, c.Set(ctx, "short", "x", 50*time.Millisecond).Err())
		must(t, c.Set(ctx, "long", "x", time.Hour).Err())
		must(t, c.Ping(ctx).Err())

		must(t, n.Pause())
		wantState(t, n, lab.Paused)
		must(t, n.Pause()) // does nothing
		paused := time.Now()

		// Sent by hand, to be sure that they are sent during the pause.
		var asked []net.Conn
		for _, question := range []string{wire("TIME"), wire("EVAL", "return redis.call('TIME')", "0")} {
			conn, err := net.Dial("tcp", n.Addr())
			if err != nil {
				t.Fatalf("a paused node does not accept a connection: %v", err)
			}
			defer conn.Close()
			_, err = conn.Write([]byte(question))
			must(t, err)
			asked = append(asked, conn)
		}
		brief, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		if err := c.Set(brief, "late", "x", 0).Err(); !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
			t.Errorf("a command to a paused node ends with %v, want a timeout", err)
		}
		if err := labtest.Client(t, n).Ping(brief).Err(); err == nil {
			t.Error("a paused node answers")
		}

		resumed := time.Now()
		must(t, n.Resume())
		wantState(t, n, lab.Up)
		must(t, n.Resume()) // does nothing
		for _, conn := range asked {
			must(t, conn.SetDeadline(time.Now().Add(soon)))
			lines := bufio.NewScanner(conn)
			var reply []string // *2, $n, seconds, $n, microseconds
			for len(reply) < 5 && lines.Scan() {
				reply = append(reply, lines.Text())
			}
			if len(reply) < 5 {
				t.Fatalf("after the pause: %q, %v", reply, lines.Err())
			}
			seconds, _ := strconv.ParseInt(reply[2], 10, 64)
			micros, _ := strconv.ParseInt(reply[4], 10, 64)
			if at := time.Unix(seconds, micros*1000); at.Before(resumed.Truncate(time.Microsecond)) {
				t.Errorf("a command was executed %v before the end of the pause", resumed.Sub(at))
			}
		}

		c = labtest.Client(t, n)
		if got := c.Exists(ctx, "short").Val(); got != 0 {
			t.Error("a key outlived its time during a pause")
		}
		if got := c.PTTL(ctx, "long").Val(); got <= 0 || got > time.Hour-resumed.Sub(paused)+2*time.Millisecond {
			t.Errorf("a key lives for another %v after a pause of %v", got, resumed.Sub(paused))
		}
		awaitKey(t, c, "late")
	})
}

// wire writes a command as it goes over the wire.
func wire(args ...string) string {
	text := fmt.Sprintf("*%d\r\n", len(args))
	for _, a := range args {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(a), a)
	}
	return text
}

// awaitKey waits until a command that was given up on has been executed.
func awaitKey(t *testing.T, c *redis.Client, key string) {
	t.Helper()
	labtest.Eventually(t, key+" to be there", func() bool {
		got, err := c.Exists(t.Context(), key).Result()
		must(t, err)
		return got == 1
	})
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// A pause and a kill catch a script in the middle, while it has already told
// a subscriber something and still has much to do.
func TestPauseInsideScript(t *testing.T) {
	const script = `redis.call('PUBLISH', 'begun', '1')
		for i = 1, 3000 do redis.call('INCR', 'n') end
		return redis.call('GET', 'n')`
	for _, end := range []string{"resume", "kill", "close"} {
		t.Run(end, func(t *testing.T) {
			l := labtest.Start(t, lab.Config{Nodes: 1})
			n := l.Nodes()[0]
			c := labtest.Client(t, n)
			ctx := t.Context()
			sub := c.Subscribe(ctx, "begun")
			defer sub.Close()
			_, err := sub.Receive(ctx)
			must(t, err)

			result := make(chan error, 1)
			go func() {
				got, err := c.Eval(ctx, script, nil).Text()
				if err == nil && got != "3000" {
					err = fmt.Errorf("the script counted to %s", got)
				}
				result <- err
			}()
			_, err = sub.ReceiveMessage(ctx)
			must(t, err)
			must(t, n.Pause())
			switch end {
			case "resume":
				must(t, n.Resume())
				must(t, <-result)
			case "kill":
				must(t, n.Kill())
				<-result // with or without an error, but it ends
				must(t, n.Restart(ctx, false))
				must(t, labtest.Client(t, n).Ping(ctx).Err())
			case "close":
				must(t, l.Close())
				<-result
			}
		})
	}
}

func TestPauseOfDownNode(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		n, _ := startOne(t, kind)
		must(t, n.Kill())
		for _, err := range []error{n.Pause(), n.Resume()} {
			if err == nil || !strings.Contains(err.Error(), "n1 is down") {
				t.Errorf("a node that is down can be paused or resumed: %v", err)
			}
		}
		wantState(t, n, lab.Down)
	})
}

// A key ends in real time without anybody's doing.
func TestKeysExpire(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		_, c := startOne(t, kind)
		ctx := t.Context()
		must(t, c.Set(ctx, "key", "x", 30*time.Millisecond).Err())
		labtest.Eventually(t, "the end of the key", func() bool { return c.Exists(ctx, "key").Val() == 0 })
	})
}

func TestNodeTellsTheTime(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		_, c := startOne(t, kind)
		before := time.Now().Truncate(time.Microsecond)
		got, err := c.Time(t.Context()).Result()
		must(t, err)
		if got.Before(before) || got.After(time.Now()) {
			t.Errorf("the node's time is %v, ours is %v", got, before)
		}
	})
}

// Commands that wait for data still wait after a restart.
func TestBlockingCommandAfterRestart(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		n, _ := startOne(t, kind)
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		must(t, n.Restart(ctx, false))
		c := labtest.Client(t, n)
		if err := c.Do(ctx, "BLPOP", "list", "0.01").Err(); err != redis.Nil {
			t.Errorf("an unanswered BLPOP ends with %v, want nil", err)
		}
		got := make(chan error, 1)
		go func() { got <- c.BLPop(ctx, 0, "list").Err() }()
		must(t, c.LPush(ctx, "list", "x").Err())
		must(t, <-got)
	})
}

// A node is killed and restarted again and again under clients that count. It
// may have lost no count that was acknowledged.
func TestKillUnderLoad(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		n, _ := startOne(t, kind)
		const clients, kills = 4, 6
		stop := make(chan struct{})
		progress := make(chan struct{}, clients)
		acknowledged := make([]int64, clients)
		var wg sync.WaitGroup
		for i := range clients {
			c := labtest.Client(t, n)
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if v, err := c.Incr(t.Context(), fmt.Sprint("count", i)).Result(); err == nil {
						acknowledged[i] = v
						select {
						case progress <- struct{}{}:
						default:
						}
					}
				}
			})
		}
		for i := range kills {
			for range clients {
				<-progress
			}
			if i%3 == 2 {
				must(t, n.Pause())
			}
			must(t, n.Kill())
			must(t, n.Restart(t.Context(), false))
		}
		close(stop)
		wg.Wait()
		c := labtest.Client(t, n)
		for i, want := range acknowledged {
			if want == 0 {
				continue // it never had its turn
			}
			if got, err := c.Get(t.Context(), fmt.Sprint("count", i)).Int64(); err != nil || got < want {
				t.Errorf("client %d was told %d, the node has %d (%v)", i, want, got, err)
			}
		}
	})
}

func TestClose(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		l := labtest.Start(t, lab.Config{Kind: kind, Nodes: 3})
		up, down, paused := l.Nodes()[0], l.Nodes()[1], l.Nodes()[2]
		waiting := make(chan error, 2)
		for _, n := range []*lab.Node{up, paused} {
			c := labtest.Client(t, n)
			must(t, c.Ping(t.Context()).Err())
			if n == paused {
				must(t, n.Pause())
			}
			go func() { waiting <- c.BLPop(t.Context(), 0, "list").Err() }()
		}
		must(t, down.Kill())

		must(t, l.Close())
		must(t, l.Close())
		for range 2 {
			if err := <-waiting; err == nil {
				t.Error("a command was answered by a closed lab")
			}
		}
		for _, n := range l.Nodes() {
			wantState(t, n, lab.Down)
			wantRefused(t, n.Addr())
			must(t, n.Kill())
			for what, err := range map[string]error{
				"restart": n.Restart(t.Context(), true), "pause": n.Pause(), "resume": n.Resume(),
			} {
				if !errors.Is(err, lab.ErrClosed) {
					t.Errorf("%s of a node of a closed lab: %v, want ErrClosed", what, err)
				}
			}
		}
	})
}

// Everything at once, then a close in the middle of it.
func TestConcurrentUse(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		l := labtest.Start(t, lab.Config{Kind: kind, Nodes: 2})
		var wg sync.WaitGroup
		steps := make(chan struct{}, 1000)
		for i := range 6 {
			wg.Go(func() {
				for k := 0; ; k++ {
					n := l.Nodes()[(i+k)%2]
					var err error
					switch (i + k/2) % 5 {
					case 0:
						err = n.Kill()
					case 1:
						err = n.Restart(context.Background(), k%2 == 0)
					case 2:
						err = n.Pause()
					case 3:
						err = n.Resume()
					case 4:
						_, _ = l.Status(), n.PID()
					}
					if errors.Is(err, lab.ErrClosed) {
						return
					}
					if err != nil && !strings.Contains(err.Error(), "is down") {
						t.Errorf("step %d of %d: %v", k, i, err)
					}
					select {
					case steps <- struct{}{}:
					default:
					}
				}
			})
		}
		for range 60 {
			<-steps
		}
		for _, n := range l.Nodes() {
			must(t, n.Restart(t.Context(), true))
		}
		must(t, l.Close())
		wg.Wait()
		for _, n := range l.Nodes() {
			wantState(t, n, lab.Down)
			wantRefused(t, n.Addr())
		}
	})
}

func TestRestartGivesUp(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		n, _ := startOne(t, kind)
		over, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("changed my mind"))
		if err := n.Restart(over, false); err == nil || !strings.Contains(err.Error(), "changed my mind") {
			t.Errorf("a restart under an ended context: %v", err)
		}
		must(t, n.Restart(t.Context(), false))
		wantState(t, n, lab.Up)
	})
}

// While a node is down, somebody else takes its port.
func TestRestartOnTakenPort(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		n, _ := startOne(t, kind)
		must(t, n.Kill())
		thief, err := net.Listen("tcp", n.Addr())
		must(t, err)
		defer thief.Close()
		go func() { // speaks, but is not our server
			for {
				conn, err := thief.Accept()
				if err != nil {
					return
				}
				fmt.Fprintf(conn, "+PONG\r\n$14\r\nprocess_id:1\r\n\r\n")
				conn.Close()
			}
		}()
		if err := n.Restart(t.Context(), false); err == nil || !strings.Contains(err.Error(), "another program has taken its port") {
			t.Errorf("the restart says %v", err)
		}
		wantState(t, n, lab.Down)
		thief.Close()
		must(t, n.Restart(t.Context(), false))
		wantState(t, n, lab.Up)
	})
}
