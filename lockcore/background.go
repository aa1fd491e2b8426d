package lockcore

import "sync"

// background counts goroutines. Unlike a sync.WaitGroup it allows new ones to
// be started while somebody waits, as when a lock is released while its Locker
// is being closed.
type background struct {
	mu   sync.Mutex
	idle sync.Cond
	n    int
}

// Go runs f in a goroutine of its own.
func (b *background) Go(f func()) {
	b.mu.Lock()
	b.n++
	b.mu.Unlock()
	go func() {
		defer b.done()
		f()
	}()
}

func (b *background) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n--; b.n == 0 {
		b.idle.Broadcast()
	}
}

// Wait returns when no goroutine is left.
func (b *background) Wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.n > 0 {
		b.idle.Wait()
	}
}
