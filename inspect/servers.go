package inspect

import (
	"context"
	"fmt"
	"math/rand/v2"

	"dlock/inspect/dialect"
	"dlock/lockcore/node"
)

// followServers takes over what is known of the servers behind the nodes, and
// has that looked up again where it is time. Only before the first answer does
// it wait for that.
func (s *session) followServers(ctx context.Context) {
	i := s.inspector
	d := i.deployment
	if !d.begin() {
		s.adopt(d.present())
		return
	}
	first, well := true, []string(nil)
	for _, m := range s.members {
		first = first && m.status.State == NodePending
		if m.answers() {
			well = append(well, m.probe.node.Addr())
		}
	}
	rand.Shuffle(len(well), func(a, b int) { well[a], well[b] = well[b], well[a] })
	well = well[:min(len(well), lookupMost)]
	if first {
		d.lookUp(ctx, nil)
	} else {
		go func() {
			if d.lookUp(ctx, well) {
				select {
				case i.nudge <- struct{}{}:
				default:
				}
			}
		}()
	}
	s.adopt(d.present())
}

// adopt makes the members those of a layout. What was known of a key moves with
// it to the server that has it now.
func (s *session) adopt(l *layout) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.layout == l {
		return
	}
	now := s.inspector.now()
	oldLayout, old := s.layout, s.members
	s.layout, s.members = l, nil
	find := func(matches func(*member) bool) *member {
		for _, m := range old {
			if matches(m) {
				return m
			}
		}
		return nil
	}
	for _, p := range l.probes {
		m := find(func(m *member) bool { return m.probe == p })
		if m == nil {
			m = &member{
				id:      s.launched,
				probe:   p,
				samples: make(map[string]sample),
				scan:    scanState{patterns: s.inspector.config.Match, budget: s.inspector.config.ScanBudget},
				status:  NodeStatus{Name: p.name, Addr: p.node.Addr(), State: NodePending, Since: now, Error: errNotLookedUp.Error()},
			}
			s.launched++
			if before := find(func(m *member) bool { return m.probe.name == p.name }); before != nil {
				m.succeed(before)
			}
		}
		s.members = append(s.members, m)
	}
	if l.owners != nil && oldLayout != nil && oldLayout.owners != nil {
		s.carryOver(oldLayout, old)
	}
}

// succeed takes the place of another server. The keys go with it; in a cluster
// they are handed out by slot.
func (m *member) succeed(before *member) {
	if before.probe.broken != nil {
		// That was no server, only the lack of one.
		m.status.State, m.status.Since, m.status.Error = before.status.State, before.status.Since, before.status.Error
		return
	}
	m.moved = fmt.Sprintf("is %s now, and was %s", m.status.Addr, before.status.Addr)
	m.was = before.status.State
	for key, one := range before.samples {
		m.samples[key] = one
	}
}

// carryOver hands each known key's sample to the member that serves it now.
func (s *session) carryOver(oldLayout *layout, old []*member) {
	for key := range s.known {
		from, to := oldLayout.owner(key), s.layout.owner(key)
		if from < 0 || to < 0 || old[from] == s.members[to] {
			continue
		}
		before, m := old[from], s.members[to]
		one, ok := before.samples[key]
		if !ok {
			continue
		}
		if m.inbox == nil {
			m.inbox = make(map[string]sample)
		}
		m.inbox[key] = one
		if before.busy {
			before.dropped = append(before.dropped, key)
		} else {
			delete(before.samples, key)
		}
	}
	for _, m := range s.members {
		if !m.busy {
			s.correct(m)
		}
	}
}

// admit makes a key known unless there are too many, and reports whether it is.
func (s *session) admit(key string) bool {
	if _, ok := s.known[key]; ok {
		return true
	}
	if len(s.known) >= s.inspector.config.MaxKeys {
		s.overrun = true
		return false
	}
	s.known[key] = struct{}{}
	return true
}

// at finds the member of a probe, nil if there is none.
func (s *session) at(p *probe) *member {
	for _, m := range s.members {
		if m.probe == p {
			return m
		}
	}
	return nil
}

// voters returns the members that are asked about a key: all, or in a cluster
// the one that serves it. base is the number of the first, -1 if none serves it.
func (s *session) voters(key string) (base int, voters []*member) {
	if s.layout.owners == nil {
		return 0, s.members
	}
	o := s.layout.owner(key)
	if o < 0 {
		return -1, s.nobody
	}
	return o, s.members[o : o+1]
}

// shares tells which of the keys each member is asked about.
func (s *session) shares(keys []string) [][]string {
	out := make([][]string, len(s.members))
	for n := range out {
		if s.layout.owners == nil {
			out[n] = keys
		}
	}
	if s.layout.owners != nil {
		for _, key := range keys {
			if o := s.layout.owner(key); o >= 0 {
				out[o] = append(out[o], key)
			}
		}
	}
	return out
}

// minds tells which names a member is asked about, nil for all.
func (s *session) minds(m *member) func(key string) bool {
	l := s.layout
	if l.owners == nil {
		return nil
	}
	return func(key string) bool {
		o := l.owner(key)
		return o < 0 || l.probes[o] == m.probe
	}
}

// goAhead asks about keys where a server of a cluster says that they are. A key
// whose server cannot be asked stays as refused, with the reason.
func (p *probe) goAhead(ctx context.Context, c *cost, questions []*question, k knowledge, out map[string]sample) {
	there := make(map[node.Redirect][]string)
	for _, q := range questions {
		if r, ok := node.Redirected(q.moved); ok {
			there[r] = append(there[r], q.key)
		}
	}
	if p.ahead == nil {
		return
	}
	for r, keys := range there {
		var samples map[string]sample
		next, err := p.ahead(r)
		if err == nil {
			samples, err = next.sample(ctx, c, keys, k)
		}
		for _, key := range keys {
			if err != nil {
				one := out[key]
				one.got = &reading{entry: dialect.Entry{Key: key}, err: err.Error()}
				out[key] = one
				continue
			}
			out[key] = samples[key]
		}
	}
}
