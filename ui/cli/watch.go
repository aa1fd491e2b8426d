package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dlock/inspect"
	"dlock/ui/text"
)

const (
	// watchInterval is how often watch looks unless it was told: an event is
	// seen by the second look after it at the latest, and a look takes time.
	watchInterval = 400 * time.Millisecond
	// watchPatience is how long the reader of the output may take for the
	// last of it.
	watchPatience = time.Second
)

// watchOptions are the flags of `dlock watch`.
type watchOptions struct {
	duration time.Duration
	kinds    []string
}

func (p *program) watchCommand() *cobra.Command {
	var o watchOptions
	c := &cobra.Command{
		Use:        "watch [GLOB…] [options]",
		SuggestFor: []string{"events", "follow", "tail", "monitor", "log"},
		Short:      "Print what happens to the locks, as it happens",
		Long:       watchHelp,
		Example:    watchExamples,
		RunE: func(c *cobra.Command, args []string) error {
			format, err := p.format("text", "jsonl")
			if err != nil {
				return err
			}
			globs, err := keyArgs(c, args)
			if err != nil {
				return err
			}
			if len(globs) > 0 {
				p.settings.match = globs
			}
			if _, told := p.settings.origins["interval"]; !told {
				p.settings.interval = watchInterval
			}
			return p.watch(c.Context(), o, format)
		},
	}
	f := c.Flags()
	f.Var(newDuration(&o.duration, 0, time.Millisecond), "for", "end after this long (default: when interrupted)")
	f.Var(newWords(&o.kinds, eventKinds), "event", "print events of these kinds only, and gaps")
	completeWords(c, "event", eventKinds)
	return c
}

// watch prints events until ctx ends or the time is over. Looking and writing
// are apart: whoever reads slowly holds up no look, and misses the oldest of
// what does not fit rather than all that happens meanwhile.
func (p *program) watch(ctx context.Context, o watchOptions, format string) error {
	in, _, done, err := p.open(true)
	if err != nil {
		return err
	}
	defer done()
	looking, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if o.duration > 0 {
		over := time.AfterFunc(o.duration, func() { stop(errWatchOver) })
		defer over.Stop()
	}

	queue := newEventQueue(queueMost)
	written := make(chan error, 1)
	go func() {
		err := p.writeEvents(queue, p.eventPrinter(format))
		if err != nil {
			stop(err) // nobody reads any more
		}
		written <- err
	}()
	w := watcher{program: p, options: o, queue: queue, stop: stop}
	err = in.Watch(looking, w.saw)
	queue.close()
	late := time.NewTimer(watchPatience)
	defer late.Stop()
	select {
	case failed := <-written:
		if failed != nil {
			return failed
		}
	case <-late.C:
		// The last event is stuck in the pipe. The goroutine goes with the
		// program.
		w.unread = true
	}
	switch cause := context.Cause(looking); {
	case cause == nil:
		return err // it ended by itself
	case errors.Is(cause, errWatchOver):
		return w.ending()
	case ctx.Err() != nil:
		return nil // to be interrupted is how a watch ends
	default:
		return cause
	}
}

var errWatchOver = errors.New("the time of --for is over")

// watcher takes events out of snapshots.
type watcher struct {
	*program
	options watchOptions
	queue   *eventQueue
	stop    context.CancelCauseFunc

	looks int
	total uint64 // events up to the last snapshot
	gaps  bool   // something may have been missed
	down  string // nodes that did not answer at some time
	// unread says that the reader of the output did not take it all.
	unread bool
}

// saw queues what has happened since the snapshot before.
func (w *watcher) saw(s inspect.Snapshot) {
	w.looks++
	quiet := silent(s)
	if s.Target.Up() < len(s.Target.Nodes) {
		w.down = quiet.sentence
	}
	if w.looks == 1 {
		if s.Target.Up() == 0 {
			w.stop(quiet.err())
			return
		}
		w.sayWatching(s, quiet)
	}
	events, missed := newEvents(s, w.total)
	w.total = s.EventsDropped + uint64(len(s.Events))
	if missed > 0 {
		w.queue.add(missedEvent(s.At, missed))
		w.gaps = true
	}
	for _, e := range events {
		w.gaps = w.gaps || e.Kind == inspect.Gap
		if wantedKind(w.options.kinds, e.Kind) {
			w.queue.add(e)
		}
	}
}

// newEvents are those behind the first seen ones, and how many of them are not
// kept any more.
func newEvents(s inspect.Snapshot, seen uint64) (events []inspect.Event, missed uint64) {
	total := s.EventsDropped + uint64(len(s.Events))
	if total <= seen {
		return nil, 0
	}
	fresh := total - seen
	kept := min(fresh, uint64(len(s.Events)))
	return s.Events[uint64(len(s.Events))-kept:], fresh - kept
}

// missedEvent stands for events that nobody is told.
func missedEvent(at time.Time, n uint64) inspect.Event {
	return inspect.Event{At: at, Kind: inspect.Gap, Text: count(int(n), "event") + " left out: more happened than could be passed on"}
}

// wantedKind reports whether an event is to be printed. That something is
// missing is said whatever was asked for.
func wantedKind(kinds []string, k inspect.EventKind) bool {
	return len(kinds) == 0 || k == inspect.Gap || slices.Contains(kinds, string(k))
}

// sayWatching tells a person that nothing on the screen means that nothing
// happens, and anybody which nodes are not seen.
func (w *watcher) sayWatching(s inspect.Snapshot, quiet silence) {
	if s.Target.Up() < len(s.Target.Nodes) {
		w.say("%s", quiet.sentence)
	}
	if _, isTerminal := w.terminal(w.stdout); isTerminal {
		w.say("watching %s, %s at present; press Ctrl-C to end", count(len(s.Target.Nodes), "node"), count(len(s.Locks), "lock"))
	}
}

// ending is the end of a watch whose time is over.
func (w *watcher) ending() error {
	switch {
	case w.looks == 0:
		return exitWith(exitIncomplete, "incomplete: no node answered within --for")
	case w.unread:
		return exitWith(exitIncomplete, "incomplete: the last events were not read")
	case w.down != "" && w.looks > 1:
		return exitWith(exitIncomplete, "some events may be missing: %s", strings.TrimPrefix(w.down, "incomplete: "))
	case w.down != "":
		return quiet(exitIncomplete)
	case w.gaps || w.queue.lost() > 0:
		return exitWith(exitIncomplete, "some events are missing; the lines of kind gap say when")
	}
	return nil
}

// writeEvents prints what is queued until the queue is closed and empty.
func (p *program) writeEvents(q *eventQueue, printed func(inspect.Event) (string, error)) error {
	for {
		events, more := q.take()
		if !more {
			return nil
		}
		var b strings.Builder
		for _, e := range events {
			line, err := printed(e)
			if err != nil {
				return err
			}
			b.WriteString(line)
		}
		if _, err := io.WriteString(p.stdout, b.String()); err != nil {
			return err
		}
	}
}

// eventPrinter returns what makes one line of an event.
func (p *program) eventPrinter(format string) func(inspect.Event) (string, error) {
	if format == "jsonl" {
		return func(e inspect.Event) (string, error) {
			var b strings.Builder
			err := writeJSON(&b, newJSONEvent(e), false)
			return b.String(), err
		}
	}
	l := p.look(p.stdout)
	return func(e inspect.Event) (string, error) { return l.eventLine(e) + "\n", nil }
}

// eventLine tells an event in one line: when, what, which lock or node, who, and
// more.
func (l look) eventLine(e inspect.Event) string {
	subject := quoted(e.Key)
	if e.Key == "" {
		subject = text.Clean(e.Node)
	}
	if subject != "" {
		subject = "  " + subject
	}
	kind := l.paint(eventStyle(e.Kind), string(text.Clean(string(e.Kind))))
	if subject+l.eventTail(e) != "" {
		kind += strings.Repeat(" ", max(0, kindCells-len(e.Kind)))
	}
	return fmt.Sprintf("%s  %s%s%s", e.At.Format(eventClock), kind, subject, l.eventTail(e))
}

// jsonEvent is one line of `watch -o jsonl`. A pointer is a value that is not
// known or does not apply, printed as null.
type jsonEvent struct {
	Schema   int      `json:"schema"`
	At       jsonTime `json:"at"`
	Event    string   `json:"event"`
	Key      *string  `json:"key"`
	KeyB64   *string  `json:"key_b64"`
	Node     *string  `json:"node"`
	Token    *string  `json:"token"`
	TokenB64 *string  `json:"token_b64"`
	Owner    *string  `json:"owner"`
	Text     *string  `json:"text"`
}

func newJSONEvent(e inspect.Event) jsonEvent {
	out := jsonEvent{
		Schema: jsonSchema, At: jsonTime(e.At), Event: string(e.Kind),
		Node: orNull(textForJSON(e.Node)), Owner: orNull(textForJSON(e.Owner)), Text: orNull(textForJSON(e.Text)),
	}
	if e.Key != "" {
		key, b64 := bytesForJSON(e.Key)
		out.Key, out.KeyB64 = &key, b64
	}
	if e.Token != "" {
		token, b64 := bytesForJSON(e.Token)
		out.Token, out.TokenB64 = &token, b64
	}
	return out
}
