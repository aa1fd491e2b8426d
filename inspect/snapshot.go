package inspect

import "time"

// Topology says what the configured nodes are to one another.
type Topology string

// The topologies. Single is one server; Redlock is several independent ones
// that vote; Cluster and Sentinel are deployments behind one URL.
const (
	Single   Topology = "single"
	Redlock  Topology = "redlock"
	Cluster  Topology = "cluster"
	Sentinel Topology = "sentinel"
)

// Snapshot is one consistent picture of everything that is known at a moment.
// It is immutable: whoever receives one may keep it and read it from any
// goroutine, and must not change it or what it points to.
type Snapshot struct {
	// Seq grows by one with each snapshot of one Inspector.
	Seq uint64
	// At is when the picture was put together, by this process's clock.
	At time.Time
	// Complete is false when a node did not answer or its scan was cut
	// short, so that locks may exist that are not listed, and when a node does
	// not let us ask about a key that is.
	Complete bool
	Target   Target
	// Findings are about the nodes, worst first.
	Findings []NodeFinding
	// Locks is sorted by trouble, then key.
	Locks []Lock
	// Events holds the newest events, oldest first. EventsDropped counts
	// those that were pushed out of the ring since the start.
	Events        []Event
	EventsDropped uint64
	Scan          Progress
	// Interval is the time between two looks at present.
	Interval time.Duration
}

// Blind reports whether locks that are held may be missing from the Snapshot or
// may not be known to be held: fewer than a quorum of nodes answers, or the scan
// is not over yet or was cut short. A minority that is down makes a Snapshot
// incomplete and not blind.
func (s Snapshot) Blind() bool {
	scanned := len(s.Scan.Match) == 0 || s.Scan.Passes > 0 && !s.Scan.Cut && s.Scan.Pending == 0
	need := s.Target.Quorum
	if s.Target.Topology == Cluster {
		// Its nodes do not stand in for one another.
		need = len(s.Target.Nodes)
	}
	return s.Target.Up() < need || !scanned
}

// NodeFinding is something about one or more nodes that is worth a person's
// attention: what makes locks on them weaker than they look, or what keeps them
// from being taken. Nodes are the names of those it is about, in the order of
// Target.Nodes; it is empty if it is about the deployment as a whole.
type NodeFinding struct {
	Finding
	Nodes []string
}

// Target is the deployment that was looked at.
type Target struct {
	Topology Topology
	// Quorum is floor(N/2)+1 of the configured nodes, whether or not they
	// answer.
	Quorum int
	// Nodes has one entry per configured node, in the configured order; for a
	// cluster one per primary that serves slots. The entry of a sentinel URL is
	// the master that the sentinels name.
	Nodes []NodeStatus
}

// Up counts the nodes that answered the last look.
func (t Target) Up() int {
	up := 0
	for _, n := range t.Nodes {
		if n.State == NodeUp || n.State == NodeReplica {
			up++
		}
	}
	return up
}

// NodeState is what a node is to us.
type NodeState string

// The node states, in the words of the JSON output. A replica answers, but
// should not vote; a denied node is reachable and refuses to let us look.
const (
	NodeUp      NodeState = "up"
	NodeDown    NodeState = "down"
	NodeDenied  NodeState = "denied"
	NodeReplica NodeState = "replica"
	// NodePending has not been asked yet. It only occurs before the first
	// answer of a live inspection.
	NodePending NodeState = "pending"
)

// NodeStatus is what is known about one node.
type NodeStatus struct {
	// Name is short and ours (n1, n2, …); Addr is host:port or a socket
	// path and never carries a user name or a password. Both stay with what
	// they stand for: after a fail-over the same name has another address.
	Name, Addr string
	State      NodeState
	// Since is when State began, as far as we saw.
	Since time.Time
	// Error is why the node is down or denied; bytes of the server may be
	// in it. Empty when all is well.
	Error string
	// Role is "master", "replica" or "" (not known); Version likewise.
	Role, Version string
	// RTT is the shortest round trip of the last look.
	RTT Maybe[time.Duration]
	// ClockOffset is the node's wall clock minus ours, half a round trip
	// taken off.
	ClockOffset Maybe[time.Duration]
	// Eviction is the maxmemory-policy, "" when not known or not permitted.
	Eviction string
	// Replicas counts the replicas that are connected to the node, and
	// ReplicaLag is since when the one that is furthest behind has not
	// confirmed anything, in seconds.
	Replicas   Maybe[int]
	ReplicaLag Maybe[time.Duration]
	// Locks counts the lock keys seen on the node.
	Locks Maybe[int]
	// SampledAt is when the node last answered.
	SampledAt time.Time
	// NextTry is when a node that is down will be asked again.
	NextTry time.Time
	// Denied lists commands the node has refused us, upper case.
	Denied []string
	// Commands counts what this process sent to the node in the last look,
	// and LookTime how long that look took on the wire: the probe's cost.
	Commands int
	LookTime time.Duration
}

// Progress tells how far discovery has come.
type Progress struct {
	// Match are the glob patterns that are scanned for.
	Match []string
	// Keys counts the distinct names that matched in the last (or, before
	// the first pass is over, present) pass, on the node that has most. The
	// companions of dlock's own locks are not counted, nor are names that
	// did not match.
	Keys int64
	// Pending counts the locks that were found and left out of the Snapshot
	// because a node that answers was not asked about them yet.
	Pending int
	// Passes counts the complete passes over all nodes that answer.
	Passes int
	// Cut is true when a pass ended early at its limit.
	Cut bool
	// Oldest is when the lock that waits longest for its turn was last asked
	// about, of so many that a Watch does not ask about all of them in each
	// look; else it is zero.
	Oldest time.Time
}
