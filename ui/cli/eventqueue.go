package cli

import (
	"sync"

	"dlock/inspect"
)

// queueMost bounds how many events wait for a slow reader.
const queueMost = 10_000

// eventQueue holds events from one goroutine for another, the newest of them
// when there is no room for all. It is safe for concurrent use.
type eventQueue struct {
	most int
	news chan struct{} // has room for one: something was added, or it was closed

	mu     sync.Mutex
	events []inspect.Event
	missed uint64 // dropped and not told yet
	total  uint64 // dropped
	closed bool
}

func newEventQueue(most int) *eventQueue {
	return &eventQueue{most: most, news: make(chan struct{}, 1)}
}

// add puts an event at the end. It never waits.
func (q *eventQueue) add(e inspect.Event) {
	q.mu.Lock()
	if len(q.events) == q.most {
		// Half of them at once, so that a queue that stays full is not
		// moved for each event.
		drop := (q.most + 1) / 2
		q.events = append(q.events[:0], q.events[drop:]...)
		q.missed += uint64(drop)
		q.total += uint64(drop)
	}
	q.events = append(q.events, e)
	q.mu.Unlock()
	q.wake()
}

// close lets take end when all was taken.
func (q *eventQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wake()
}

func (q *eventQueue) wake() {
	select {
	case q.news <- struct{}{}:
	default:
	}
}

// take waits for events and returns all that are there, first one that tells of
// those that were dropped. It returns false when there will be no more. One
// goroutine may call it.
func (q *eventQueue) take() (events []inspect.Event, ok bool) {
	for {
		q.mu.Lock()
		events, missed, closed := q.events, q.missed, q.closed
		q.events, q.missed = nil, 0
		q.mu.Unlock()
		switch {
		case missed > 0:
			return append([]inspect.Event{missedEvent(events[0].At, missed)}, events...), true
		case len(events) > 0:
			return events, true
		case closed:
			return nil, false
		}
		<-q.news
	}
}

// lost counts the events that were dropped.
func (q *eventQueue) lost() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.total
}
