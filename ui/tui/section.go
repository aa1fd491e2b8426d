package tui

import (
	"time"

	"dlock/inspect"
	"dlock/ui/text"
)

// section is a view with rows that lead elsewhere. It is given data when it
// comes on the screen and while it is there, not before: some of what they
// gather is not free with many locks.
type section interface {
	setSize(l layout)
	setData(s *inspect.Snapshot, now time.Time)
	navigate(act action) bool
	view(sc *scene) []string
	// link is where the row under the cursor leads; ok is false without one.
	link() (l link, ok bool)
}

// link is what a row is about. One of lock, node and filter is set.
type link struct {
	lock   inspect.ID // the lock in full
	node   string     // the node in the view of nodes
	filter string     // the locks that this filter lets pass
	// locks are those that a release from this row is about, and who the
	// owner of them all.
	locks []inspect.ID
	who   text.Safe
}

// sections are the views that stand beside the list of locks.
type sections struct {
	findings findingsSection
	owners   ownersSection
	timeline timelineSection
}

// of is the section of a view, nil for the other views.
func (s *sections) of(v view) section {
	switch v {
	case viewFindings:
		return &s.findings
	case viewOwners:
		return &s.owners
	case viewTimeline:
		return &s.timeline
	}
	return nil
}

type findingsSection struct{ findingsView }

func (s *findingsSection) setData(snap *inspect.Snapshot, _ time.Time) { s.findingsView.setData(snap) }

func (s *findingsSection) link() (link, bool) {
	r, ok := s.selected()
	if r.aboutLock {
		return link{lock: r.lock}, ok
	}
	return link{node: r.node}, ok && r.node != ""
}

type ownersSection struct{ ownersView }

func (s *ownersSection) setData(snap *inspect.Snapshot, _ time.Time) { s.ownersView.setData(snap) }

func (s *ownersSection) link() (link, bool) {
	g, ok := s.selected()
	return link{filter: g.filter(), locks: g.locks, who: ownerGroupName(&g)}, ok
}

type timelineSection struct{ timelineView }

func (s *timelineSection) link() (link, bool) {
	id, ok := s.selected()
	return link{lock: id}, ok && id.Key != ""
}
