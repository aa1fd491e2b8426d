package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dlock/lockcore/node"
)

const (
	// lookupEvery is how often sentinels are asked for the master while
	// watching, and how soon a cluster is asked again after something showed
	// that its slots have moved; slotsAge is how long they are believed
	// otherwise. Where nobody answers the pauses grow.
	lookupEvery = time.Second
	slotsAge    = 10 * time.Second
	// lookupMost is how many of the servers that are well are asked which
	// slots are where: they should all say the same.
	lookupMost = 3
)

// errNotLookedUp is why a deployment has no server yet.
var errNotLookedUp = errors.New("not asked yet")

// layout says which servers are asked, and which of them about a key. It is
// never changed once it was made.
type layout struct {
	probes []*probe
	// owners is the number of the probe that serves each slot, -1 for none;
	// nil if all probes are asked about all keys.
	owners []int16
}

// owner returns the number of the probe that is asked about a key of a
// cluster, -1 if none serves it.
func (l *layout) owner(key string) int { return int(l.owners[node.Slot(key)]) }

// uncovered counts the slots that no server serves.
func (l *layout) uncovered() int {
	n := 0
	for _, o := range l.owners {
		if o < 0 {
			n++
		}
	}
	return n
}

// slots counts the slots that a probe serves.
func (l *layout) slots(probe int) int {
	n := 0
	for _, o := range l.owners {
		if int(o) == probe {
			n++
		}
	}
	return n
}

// deployment follows which servers stand behind the configured nodes: the one
// that a URL names, the master that sentinels name, or the primaries of a
// cluster. It is safe for concurrent use.
type deployment struct {
	nodes   []*node.Node
	make    func(name string, n *node.Node) *probe
	dynamic bool // some node has to be looked up
	now     func() time.Time

	mu      sync.Mutex
	layout  *layout
	stale   bool      // something showed that the layout is not what it was
	busy    bool      // a lookup is under way
	asked   time.Time // when the last lookup began
	failed  int       // lookups in a row in which nobody told anything
	trouble []string  // per node, why its last lookup failed; "" if it did not
}

func newDeployment(nodes []*node.Node, now func() time.Time, make func(name string, n *node.Node) *probe) *deployment {
	d := &deployment{nodes: nodes, make: make, now: now, layout: &layout{}, trouble: slices.Repeat([]string{""}, len(nodes))}
	for _, n := range nodes {
		p := make(n.Name(), n)
		if n.Topology() != node.Single {
			d.dynamic = true
			p.broken = errNotLookedUp
		}
		d.layout.probes = append(d.layout.probes, p)
	}
	return d
}

// cluster returns the configured node if it is a cluster.
func (d *deployment) cluster() (*node.Node, bool) {
	return d.nodes[0], d.nodes[0].Topology() == node.Cluster
}

// present returns the layout as it was last found.
func (d *deployment) present() *layout {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.layout
}

// lookupTrouble lists why the last lookups failed, one entry per node for
// which it did.
func (d *deployment) lookupTrouble() (names, why []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, text := range d.trouble {
		if text != "" {
			names, why = append(names, d.nodes[i].Name()), append(why, text)
		}
	}
	return names, why
}

// doubt makes the next lookup come soon.
func (d *deployment) doubt() {
	d.mu.Lock()
	d.stale = true
	d.mu.Unlock()
}

// hurry makes the next lookup come at once.
func (d *deployment) hurry() {
	d.mu.Lock()
	d.asked, d.failed = time.Time{}, 0
	d.mu.Unlock()
}

// begin reports whether a lookup is due, and reserves it for the caller if so.
func (d *deployment) begin() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.dynamic || d.busy {
		return false
	}
	age := d.now().Sub(d.asked)
	_, cluster := d.cluster()
	pause := lookupEvery
	switch {
	case d.failed > 0:
		pause = backoff(d.failed, 0.5)
	case cluster && !d.stale:
		pause = slotsAge
	}
	if age < pause {
		return false
	}
	d.busy = true
	return true
}

// lookUp asks what stands behind the nodes and reports whether that has
// changed. well are addresses of servers that are known to answer.
func (d *deployment) lookUp(ctx context.Context, well []string) (changed bool) {
	if !d.dynamic {
		return false
	}
	start := d.now()
	found := make([][]node.Primary, len(d.nodes))
	errs := make([]error, len(d.nodes))
	var asked sync.WaitGroup
	for i, n := range d.nodes {
		if n.Topology() != node.Single {
			asked.Go(func() { found[i], errs[i] = n.Primaries(ctx, well...) })
		}
	}
	asked.Wait()

	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy = false
	if ctx.Err() != nil || d.asked.After(start) {
		return false // given up, or somebody has asked later and was faster
	}
	d.asked, d.stale = start, false
	if d.failed++; slices.ContainsFunc(found, func(all []node.Primary) bool { return len(all) > 0 }) {
		d.failed = 0
	}
	before := d.layout
	for i, n := range d.nodes {
		d.trouble[i] = ""
		if errs[i] != nil {
			d.trouble[i] = node.Explain(errs[i])
			d.unfound(i, errs[i])
			continue
		}
		switch n.Topology() {
		case node.Sentinel:
			d.follow(i, found[i][0].Addr)
		case node.Cluster:
			d.spread(n, found[i])
		}
	}
	return d.layout != before
}

// unfound takes in that a node could not be looked up: what was known of it
// before still stands.
func (d *deployment) unfound(i int, err error) {
	if old := d.layout.probes[min(i, len(d.layout.probes)-1)]; old.broken != nil && old.broken.Error() != err.Error() {
		p := d.make(d.nodes[i].Name(), d.nodes[i])
		p.broken = err
		d.replace(i, p)
	}
}

func (d *deployment) replace(i int, p *probe) {
	l := *d.layout
	l.probes = slices.Clone(l.probes)
	l.probes[i] = p
	d.layout = &l
}

// follow takes in which server the sentinels name.
func (d *deployment) follow(i int, addr string) {
	if old := d.layout.probes[i]; old.broken == nil && old.node.Addr() == addr {
		return
	}
	server, err := d.nodes[i].Server(addr)
	if err != nil {
		d.trouble[i] = err.Error()
		d.unfound(i, err)
		return
	}
	d.replace(i, d.make(d.nodes[i].Name(), server))
}

// spread takes in the primaries of a cluster. A server that was known keeps its
// probe, and one that serves what a server served that is gone gets its name.
func (d *deployment) spread(n *node.Node, primaries []node.Primary) {
	old := d.layout
	next := &layout{owners: slices.Repeat([]int16{-1}, clusterSlots)}
	known := make(map[string]*probe)
	for _, p := range old.probes {
		if p.broken == nil {
			known[p.node.Addr()] = p
		}
	}
	gone := make(map[*probe]bool)
	for _, p := range known {
		gone[p] = !slices.ContainsFunc(primaries, func(q node.Primary) bool { return q.Addr == p.node.Addr() })
	}
	primaries = slices.Clone(primaries)
	slices.SortFunc(primaries, func(a, b node.Primary) int { return cmp.Compare(a.Slots[0].From, b.Slots[0].From) })
	serves := make(map[*probe][]node.SlotRange)
	var fresh []*probe
	names := make(map[string]bool)
	for _, p := range known {
		names[p.name] = !gone[p]
	}
	for _, q := range primaries {
		p, ok := known[q.Addr]
		if !ok {
			server, err := n.Server(q.Addr)
			if err != nil {
				d.trouble[0] = err.Error()
				continue
			}
			p = d.make("", server)
			if old.owners != nil {
				if o := old.owners[q.Slots[0].From]; o >= 0 && gone[old.probes[o]] && !names[old.probes[o].name] {
					p.name = old.probes[o].name
					names[p.name] = true
				}
			}
			if p.name == "" {
				fresh = append(fresh, p)
			}
		}
		serves[p] = q.Slots
		next.probes = append(next.probes, p)
	}
	for _, p := range fresh {
		for number := 1; p.name == ""; number++ {
			if name := "n" + strconv.Itoa(number); !names[name] {
				p.name = name
				names[name] = true
			}
		}
	}
	slices.SortStableFunc(next.probes, func(a, b *probe) int {
		return cmp.Or(cmp.Compare(len(a.name), len(b.name)), strings.Compare(a.name, b.name))
	})
	for number, p := range next.probes {
		for _, r := range serves[p] {
			for slot := r.From; slot <= r.To; slot++ {
				next.owners[slot] = int16(number)
			}
		}
	}
	if len(next.probes) == 0 || slices.Equal(next.probes, old.probes) && slices.Equal(next.owners, old.owners) {
		return
	}
	d.layout = next
}

const clusterSlots = 16384

// ahead returns a probe for where a server of the cluster sends us.
func (d *deployment) ahead(r node.Redirect) (*probe, error) {
	n, ok := d.cluster()
	if !ok {
		return nil, fmt.Errorf("it is one shard of a cluster, and %s serves this key; use a redis+cluster:// URL", r.Addr)
	}
	if !r.Once {
		d.doubt()
	}
	server, err := n.Server(r.Addr)
	if err != nil {
		return nil, err
	}
	p := d.make(r.Addr, server)
	p.asking, p.ahead = r.Once, nil
	return p, nil
}

// probeOf finds the server that is called so.
func (d *deployment) probeOf(name string) (*probe, bool) {
	for _, p := range d.present().probes {
		if p.name == name {
			return p, true
		}
	}
	return nil, false
}
