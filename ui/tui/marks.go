package tui

import (
	"cmp"
	"maps"
	"slices"

	"dlock/inspect"
	"dlock/ui/text"
)

// marks are the locks a person has picked for what is done to several at once.
// A mark is an identity with the token that stood on the screen when it was
// made, so that it follows its lock through every shuffle and never moves on
// to the next owner. The zero value is usable.
type marks struct{ token map[inspect.ID]string }

func (m *marks) len() int { return len(m.token) }

func (m *marks) has(id inspect.ID) bool {
	_, ok := m.token[id]
	return ok
}

// add marks a lock; one that is marked already keeps its token.
func (m *marks) add(l *inspect.Lock) {
	if m.token == nil {
		m.token = make(map[inspect.ID]string)
	}
	if !m.has(l.ID) {
		m.token[l.ID] = settledToken(l)
	}
}

func (m *marks) remove(id inspect.ID) { delete(m.token, id) }

func (m *marks) clear() { m.token = nil }

// toggle marks a lock, or takes its mark away.
func (m *marks) toggle(l *inspect.Lock) {
	if m.has(l.ID) {
		m.remove(l.ID)
		return
	}
	m.add(l)
}

// prune drops the marks of locks that are gone. A lock that is not listed is
// gone only if everything could be seen.
func (m *marks) prune(s *inspect.Snapshot) {
	if m.len() == 0 {
		return
	}
	listed := make(map[inspect.ID]bool, m.len())
	for i := range s.Locks {
		l := &s.Locks[i]
		switch {
		case !m.has(l.ID):
		case l.State == inspect.Expired:
			m.remove(l.ID)
		default:
			listed[l.ID] = true
		}
	}
	if s.Complete {
		maps.DeleteFunc(m.token, func(id inspect.ID, _ string) bool { return !listed[id] })
	}
}

// of returns the marked locks as the snapshot has them, in its order, and
// after them those it does not list.
func (m *marks) of(s *inspect.Snapshot) []inspect.Lock {
	out := make([]inspect.Lock, 0, m.len())
	missing := maps.Clone(m.token)
	for i := range s.Locks {
		if id := s.Locks[i].ID; m.has(id) {
			out = append(out, s.Locks[i])
			delete(missing, id)
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(missing), compareID) {
		out = append(out, inspect.Lock{ID: id})
	}
	return out
}

func compareID(a, b inspect.ID) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.DB, b.DB))
}

// settledToken is the token of the one owner a lock has, "" where several may
// be it or none is known.
func settledToken(l *inspect.Lock) string {
	if o, ok := l.Holder(); ok && !contested(l) {
		return o.Token
	}
	return ""
}

// mark is the cell after the cursor in a row of the table.
func (sc *scene) mark(id inspect.ID) text.Safe {
	if sc.marks.has(id) {
		return "*"
	}
	return " "
}
