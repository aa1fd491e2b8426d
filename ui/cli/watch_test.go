package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"
	"pgregory.net/rapid"

	"dlock/inspect"
)

// happenings has an event of each kind, and hostile bytes.
func happenings() []inspect.Event {
	at := func(ms int) time.Time { return fixedNow.Add(time.Duration(ms) * time.Millisecond) }
	return []inspect.Event{
		{At: at(0), Kind: inspect.Taken, Key: "lock:orders:42", Token: tokenA, Owner: "web-3:4711", Text: "3 of 3 nodes"},
		{At: at(1), Kind: inspect.Renewed, Key: "lock:orders:42", Token: tokenA, Owner: "web-3:4711", Text: "9.9s left"},
		{At: at(2), Kind: inspect.LostNode, Key: "lock:orders:42", Node: "n3", Token: tokenA, Owner: "web-3:4711", Text: "2 of 3 nodes left, without n3"},
		{At: at(3), Kind: inspect.GainedNode, Key: "lock:orders:42", Node: "n3", Token: tokenA, Owner: "web-3:4711", Text: "3 of 3 nodes now, with n3"},
		{At: at(4), Kind: inspect.HandedOver, Key: "lock:orders:42", Token: tokenB, Owner: "api-2:9", Text: "from web-3:4711"},
		{At: at(5), Kind: inspect.Released, Key: "lock:orders:42", Token: tokenB, Owner: "api-2:9"},
		{At: at(6), Kind: inspect.Ended, Key: hostileKey, Token: "t\x1b]0;owned\a"},
		{At: at(7), Kind: inspect.WentSplit, Key: "lock:\xff", Token: "\x80tok", Text: "two\nlines\x1b[2J"},
		{At: at(8), Kind: inspect.WentNoTTL, Key: "-n", Token: "t", Owner: "o\u202e"},
		{At: at(9), Kind: inspect.NodeFell, Node: "n2", Text: "connection refused"},
		{At: at(10), Kind: inspect.NodeWentUp, Node: "n2", Text: "answers again"},
		{At: at(11), Kind: inspect.Operator, Key: "lock:orders:42", Token: tokenA, Owner: "web-3:4711", Text: "force-release: released; deleted on 3 of 3 nodes"},
		{At: at(12), Kind: inspect.Gap, Text: "no samples for 4s; what happened meanwhile was not seen"},
	}
}

// watched emits snapshots whose events grow as given, and then waits for the
// end.
func watched(steps ...inspect.Snapshot) *fakeInspector {
	return &fakeInspector{watch: func(ctx context.Context, emit func(inspect.Snapshot)) error {
		for _, s := range steps {
			emit(s)
		}
		<-ctx.Done()
		return ctx.Err()
	}}
}

func withEvents(s inspect.Snapshot, dropped uint64, events ...inspect.Event) inspect.Snapshot {
	s.Events, s.EventsDropped = events, dropped
	return s
}

func TestWatchScreens(t *testing.T) {
	all := happenings()
	for _, c := range []struct {
		name string
		args []string
		tty  bool
	}{
		{"text", nil, false},
		{"text-colour", []string{"--color", "always"}, false},
		{"text-ascii", []string{"--ascii"}, false},
		{"jsonl", []string{"-o", "jsonl"}, false},
		{"some", []string{"--event", "taken,node-down", "--event", "split"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := watched(withEvents(picture(3, nil), 0), withEvents(picture(3, nil), 0, all[:5]...), withEvents(picture(3, nil), 0, all...))
			e := invocation{args: append([]string{"watch", "--for", "50ms"}, c.args...), fake: fake}.run(t)
			wantCode(t, e, exitIncomplete) // there was a gap
			wantSentence(t, e, "some events are missing", "gap")
			golden.RequireEqual(t, []byte(e.out))
			checkPrintable(t, e.out)
			if len(e.readOnly) != 1 || !e.readOnly[0] {
				t.Error("watch did not open its nodes read-only")
			}
			if c.name == "jsonl" {
				for line := range strings.Lines(e.out) {
					wantJSON(t, "watch", line)
				}
			}
		})
	}
}

// However the events are spread over snapshots, each comes once and in order,
// and those that were pushed out are counted.
func TestEachEventOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		room := rapid.IntRange(1, 8).Draw(rt, "room")
		var all []inspect.Event
		var seen uint64
		next, missedAll := 0, uint64(0)
		for range rapid.IntRange(1, 10).Draw(rt, "snapshots") {
			for range rapid.IntRange(0, 12).Draw(rt, "events") {
				all = append(all, inspect.Event{Text: fmt.Sprint(len(all))})
			}
			kept := all[max(0, len(all)-room):]
			s := inspect.Snapshot{Events: kept, EventsDropped: uint64(len(all) - len(kept))}
			events, missed := newEvents(s, seen)
			seen = uint64(len(all))
			next += int(missed)
			missedAll += missed
			for _, e := range events {
				if e.Text != fmt.Sprint(next) {
					rt.Fatalf("event %s, want %d", e.Text, next)
				}
				next++
			}
		}
		if next != len(all) {
			rt.Fatalf("%d of %d events, %d of them missed", next, len(all), missedAll)
		}
	})
}

func TestWatchSaysWhatWasPushedOut(t *testing.T) {
	many := make([]inspect.Event, 5)
	for i := range many {
		many[i] = inspect.Event{At: fixedNow, Kind: inspect.Taken, Key: fmt.Sprintf("lock:%d", i)}
	}
	fake := watched(withEvents(picture(1, nil), 0), withEvents(picture(1, nil), 7, many...))
	e := invocation{args: []string{"watch", "--for", "50ms", "--event", "released"}, fake: fake}.run(t)
	wantCode(t, e, exitIncomplete)
	if !strings.Contains(e.out, "gap") || !strings.Contains(e.out, "7 events left out") || strings.Contains(e.out, "taken") {
		t.Errorf("%s", e.out)
	}
}

func TestWatchEnds(t *testing.T) {
	up, down := picture(3, nil), picture(3, nil, 1)
	none := picture(3, nil, 0, 1, 2)
	denied := picture(1, nil)
	denied.Target.Nodes[0].State, denied.Target.Nodes[0].Error = inspect.NodeDenied, "NOAUTH Authentication required."
	for _, c := range []struct {
		name  string
		steps []inspect.Snapshot // the end comes after them
		code  int
		words []string
	}{
		{"all well", []inspect.Snapshot{up, up}, exitOK, nil},
		{"nothing was seen", nil, exitIncomplete, []string{"no node answered within --for"}},
		{"no node at the start", []inspect.Snapshot{none}, exitNoNode, []string{"no node answers", "n1", "n3"}},
		{"not permitted", []inspect.Snapshot{denied}, exitRefused, []string{"NOAUTH"}},
		{"no node later on", []inspect.Snapshot{up, none, up}, exitIncomplete, []string{"some events may be missing", "n3"}},
		{"a node down at the end", []inspect.Snapshot{up, down}, exitIncomplete, []string{"some events may be missing", "n2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			duration := "50ms"
			if c.code == exitNoNode || c.code == exitRefused {
				duration = "1h" // it ends by itself
			}
			e := invocation{args: []string{"watch", "--for", duration}, fake: watched(c.steps...)}.run(t)
			wantCode(t, e, c.code)
			if c.code == exitOK {
				wantSilentStderr(t, e)
				return
			}
			wantSentence(t, e, c.words...)
		})
	}
}

// A person who ends a watch has done nothing wrong.
func TestInterruptedWatchEndsWell(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	fake := &fakeInspector{watch: func(ctx context.Context, emit func(inspect.Snapshot)) error {
		emit(withEvents(picture(1, nil), 0, happenings()[0]))
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}}
	e := invocation{args: []string{"watch"}, fake: fake, ctx: ctx}.run(t)
	wantCode(t, e, exitOK)
	wantSilentStderr(t, e)
	if !strings.Contains(e.out, "lock:orders:42") {
		t.Errorf("what was seen before was not printed: %q", e.out)
	}
}

func TestWatchWithoutAReader(t *testing.T) {
	steps := func() *fakeInspector {
		return watched(withEvents(picture(1, nil), 0), withEvents(picture(1, nil), 0, happenings()...))
	}
	e := invocation{args: []string{"watch"}, fake: steps(), stdout: &brokenWriter{fmt.Errorf("write: %w", syscall.EPIPE)}}.run(t)
	wantCode(t, e, exitBrokenPipe)
	wantSilentStderr(t, e)
	e = invocation{args: []string{"watch"}, fake: steps(), stdout: &brokenWriter{syscall.ENOSPC}}.run(t)
	wantCode(t, e, exitFailure)
	wantSentence(t, e, "no space left")
}

// A reader that stands still does not stop the looking, nor the end.
func TestWatchWithAReaderThatStandsStill(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	looks := 0
	fake := &fakeInspector{watch: func(ctx context.Context, emit func(inspect.Snapshot)) error {
		var all []inspect.Event
		for range 100 {
			all = append(all, happenings()[0])
			emit(withEvents(picture(1, nil), 0, all...))
			looks++
		}
		cancel()
		return ctx.Err()
	}}
	e := invocation{args: []string{"watch"}, fake: fake, ctx: ctx, stdout: w}.run(t)
	wantCode(t, e, exitOK)
	if looks != 100 {
		t.Errorf("%d looks", looks)
	}
	if err := errors.Join(r.Close(), w.Close()); err != nil {
		t.Error(err)
	}
}

// What does not fit goes, oldest first, and is counted where it is missing.
func TestEventQueueIsBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		q := newEventQueue(rapid.IntRange(1, 9).Draw(rt, "most"))
		added, got := 0, 0
		check := func(events []inspect.Event) {
			for _, e := range events {
				if e.Kind == inspect.Gap {
					var n int
					if _, err := fmt.Sscan(e.Text, &n); err != nil || n < 1 {
						rt.Fatalf("%q: %v", e.Text, err)
					}
					got += n
					continue
				}
				if e.Text != fmt.Sprint(got) {
					rt.Fatalf("event %s, want %d", e.Text, got)
				}
				got++
			}
			if len(events) > q.most+1 {
				rt.Fatalf("%d events were kept of %d", len(events), q.most)
			}
		}
		for range rapid.IntRange(0, 8).Draw(rt, "rounds") {
			n := rapid.IntRange(1, 30).Draw(rt, "events")
			for range n {
				q.add(inspect.Event{Kind: inspect.Taken, Text: fmt.Sprint(added)})
				added++
			}
			if events, ok := q.take(); ok {
				check(events)
			}
		}
		q.close()
		for {
			events, ok := q.take()
			if !ok {
				break
			}
			check(events)
		}
		if got != added {
			rt.Fatalf("%d of %d events were told", got, added)
		}
	})
}

// Whatever an event carries is one line that acts on nothing, and one object as
// the schema has it.
func TestAnyEventIsOneLine(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := inspect.Event{
			At: fixedNow, Kind: inspect.EventKind(rapid.SampledFrom(eventKinds).Draw(rt, "kind")), Key: hostile().Draw(rt, "key"), Node: hostile().Draw(rt, "node"),
			Token: hostile().Draw(rt, "token"), Owner: hostile().Draw(rt, "owner"), Text: hostile().Draw(rt, "text"),
		}
		l := look{colour: rapid.Bool().Draw(rt, "colour"), ascii: rapid.Bool().Draw(rt, "ascii")}
		line := l.eventLine(e)
		if r, ok := inert(line); !ok || strings.Contains(line, "\n") {
			rt.Fatalf("%U in %q", r, line)
		}
		var b strings.Builder
		if err := writeJSON(&b, newJSONEvent(e), false); err != nil {
			rt.Fatal(err)
		}
		if r, ok := inert(b.String()); !ok || strings.Count(b.String(), "\n") != 1 {
			rt.Fatalf("%U in %q", r, b.String())
		}
		wantJSON(t, "watch", b.String())
	})
}

func TestWatchLooksOftenUnlessTold(t *testing.T) {
	for _, c := range []struct {
		args, env []string
		want      time.Duration
	}{
		{nil, nil, watchInterval},
		{[]string{"--interval", "2s"}, nil, 2 * time.Second},
		{nil, []string{"DLOCK_INTERVAL=3s"}, 3 * time.Second},
	} {
		e := invocation{args: append([]string{"watch", "a*", "--for", "1ms"}, c.args...), env: c.env, fake: watched(picture(1, nil))}.run(t)
		if e.settings.interval != c.want || fmt.Sprint(e.settings.match) != "[a*]" {
			t.Errorf("%q %q: every %v, %q", c.args, c.env, e.settings.interval, e.settings.match)
		}
	}
}
