package inspect

// ring keeps the newest events. What it hands out stays valid and unchanged:
// it only ever appends behind it, or moves to a new array.
type ring struct {
	size    int
	events  []Event
	dropped uint64
}

func (r *ring) add(e Event) {
	if len(r.events) >= 2*r.size {
		kept := make([]Event, r.size, 2*r.size+1)
		copy(kept, r.events[len(r.events)-r.size:])
		r.events = kept
	}
	r.events = append(r.events, e)
	if len(r.events) > r.size {
		r.dropped++
	}
}

func (r *ring) view() ([]Event, uint64) {
	from := max(0, len(r.events)-r.size)
	return r.events[from:len(r.events):len(r.events)], r.dropped
}
