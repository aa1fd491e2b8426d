package lockcore

import (
	"container/heap"
	"sync"
	"time"
)

// schedule wakes held locks when there is something to do for them: to renew,
// or to end. One goroutine serves all locks of a Locker, however many, from the
// first one until the Locker is closed.
//
// Timers and alarms go by the monotonic clock, which stands still while the
// machine is suspended. So that holders learn soon after it wakes, and not
// when the timer would have fired, the schedule compares the two clocks every
// clockCheck while there are alarms, and wakes every lock after a sleep.
type schedule struct {
	background *background
	closing    <-chan struct{}
	now        func() time.Time

	mu      sync.Mutex
	alarms  alarms
	running bool
	wakeAt  time.Time     // when run looks next by itself
	earlier chan struct{} // signals an alarm before that
}

const (
	clockCheck = 250 * time.Millisecond
	// shortestSleep is above what the two clocks differ by through how finely
	// they tick.
	shortestSleep = 20 * time.Millisecond
)

// alarm is when a lock is to be woken. Its fields are guarded by the
// schedule's mutex.
type alarm struct {
	lock  *Lock
	at    time.Time
	index int // in the heap; -1 while not in it
}

// set has a lock woken at the given moment, instead of any earlier set one.
func (s *schedule) set(a *alarm, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.at = at
	if a.index >= 0 {
		heap.Fix(&s.alarms, a.index)
	} else {
		heap.Push(&s.alarms, a)
	}
	if !s.running {
		s.running = true
		s.background.Go(s.run)
	} else if at.Before(s.wakeAt) {
		s.wakeAt = at
		select {
		case s.earlier <- struct{}{}:
		default:
		}
	}
}

// clear removes a lock.
func (s *schedule) clear(a *alarm) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.index >= 0 {
		heap.Remove(&s.alarms, a.index)
	}
}

func (s *schedule) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	last := s.now()
	for {
		now := s.now()
		woken := slept(last, now) > shortestSleep
		last = now
		var due []*Lock
		s.mu.Lock()
		for len(s.alarms) > 0 && (woken || !s.alarms[0].at.After(now)) {
			due = append(due, heap.Pop(&s.alarms).(*alarm).lock)
		}
		wait := time.Hour
		if len(s.alarms) > 0 {
			wait = min(clockCheck, s.alarms[0].at.Sub(now))
		}
		s.wakeAt = now.Add(wait)
		s.mu.Unlock()
		for _, k := range due {
			s.background.Go(k.tend)
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-s.earlier:
		case <-s.closing:
			s.closeAll()
			return
		}
	}
}

// closeAll ends all locks that are held, because their Locker was closed.
func (s *schedule) closeAll() {
	s.mu.Lock()
	all := s.alarms
	s.alarms = nil
	for _, a := range all {
		a.index = -1
	}
	s.running = false
	s.mu.Unlock()
	for _, a := range all {
		a.lock.close()
	}
}

// alarms is a heap, the earliest first.
type alarms []*alarm

func (h alarms) Len() int           { return len(h) }
func (h alarms) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h alarms) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *alarms) Push(x any) {
	a := x.(*alarm)
	a.index = len(*h)
	*h = append(*h, a)
}

func (h *alarms) Pop() any {
	last := len(*h) - 1
	a := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	a.index = -1
	return a
}
