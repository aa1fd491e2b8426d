package inspect

import (
	"cmp"
	"slices"
)

// Reply is what one node's answer about one lock amounts to.
type Reply uint8

// The replies. Silent is every node whose answer is not known: unreachable,
// not asked yet, or not permitted to tell. Free is a node that has nothing, or
// a key of which every part has lapsed. Blind is a node that has the key but
// whose value could not be read, so that it may be any token. Foreign is a node
// that has something under the key that names no holder. Separate is one whose
// token is a different one on each node on purpose, so that copies cannot be
// compared. Torn is a node on which the lock has several keys and no token has
// the majority of them.
const (
	Silent Reply = iota
	Free
	Stores
	Blind
	Foreign
	Separate
	Torn
)

// Hold is one token in one node's copy of a lock, and when its part ends.
type Hold struct {
	Token  string
	Expiry Expiry
}

// Observation is one node's answer about one lock. The first token and its
// expiry stand in Token and Expiry, any others in Others; tokens count only with
// Stores, Separate and Torn, and Expiry also with Blind and Foreign, where it is
// the key's.
type Observation struct {
	Reply  Reply
	Token  string
	Expiry Expiry
	Others []Hold
	// Shared says that the lock may have several holders at once.
	Shared bool
	// Cut says that there are more tokens than were read, so that one that
	// was seen elsewhere may be here too.
	Cut bool
}

// holds calls f with each token.
func (o Observation) holds(f func(Hold)) {
	f(Hold{Token: o.Token, Expiry: o.Expiry})
	for _, h := range o.Others {
		f(h)
	}
}

// same reports whether two nodes say the same, apart from when it ends.
func (o Observation) same(other Observation) bool {
	return o.Reply == other.Reply && o.Token == other.Token && slices.EqualFunc(o.Others, other.Others, func(a, b Hold) bool { return a.Token == b.Token })
}

// Tally is one token with the nodes that store it, as indices into the
// observations; there are none for a token that was only seen on torn nodes.
type Tally struct {
	Token string
	Nodes []int
	// Expiry is when the last of its copies ends.
	Expiry Expiry
	// Loss is when it loses its quorum if nothing renews: the quorum-th
	// largest expiry among its copies. Unknown when it has none.
	Loss Expiry
}

// Verdict is what the answers of all nodes say together.
type Verdict struct {
	State State
	// Tallies has one entry per token, most votes first, then smallest
	// token. It is empty for a lock whose value no node tells.
	Tallies []Tally
	// Holders counts the tallies, from the first on, that have a quorum:
	// more than one only for a lock that may be shared.
	Holders int
	// Agree counts the nodes that store the first token; for a single node
	// whose value cannot be read it is 1, since whoever holds it holds all.
	Agree  int
	Silent int
	// Expiry is when the first token's quorum ends if nothing renews. Below
	// a quorum it is when the last of that token's copies ends.
	Expiry Expiry
}

// Judge turns one answer per configured node into a verdict. The quorum is of
// the configured nodes and at least 1. It is a pure function: unreachable is
// not free, and a minority is not an owner.
func Judge(answers []Observation, quorum int) Verdict {
	var v Verdict
	var untold []Expiry // of copies whose token is not known
	blind, foreign := 0, 0
	exclusive := false // some node has what only one may hold
	for i, o := range answers {
		switch {
		case o.Reply == Silent:
			v.Silent++
		case o.Reply == Stores, o.Reply == Separate && len(answers) == 1:
			o.holds(func(h Hold) { v.count(i, h) })
			exclusive = exclusive || !o.Shared
		case o.Reply == Torn:
			o.holds(func(h Hold) { v.count(-1, h) })
			exclusive = true
		case o.Reply == Blind:
			blind++
			untold = append(untold, o.Expiry)
		case o.Reply == Foreign, o.Reply == Separate:
			foreign++
			untold = append(untold, o.Expiry)
		}
	}
	slices.SortStableFunc(v.Tallies, func(a, b Tally) int {
		return cmp.Or(cmp.Compare(len(b.Nodes), len(a.Nodes)), cmp.Compare(a.Token, b.Token))
	})
	for n := range v.Tallies {
		t := &v.Tallies[n]
		if len(t.Nodes) >= quorum {
			v.Holders++
			t.Loss = v.loss(answers, t, quorum)
		}
	}
	if len(v.Tallies) > 0 {
		v.Agree = len(v.Tallies[0].Nodes)
	}
	different := len(v.Tallies)
	if foreign > 0 {
		different++
	}
	switch {
	case v.Holders > 0:
		v.State = Held
	case quorum == 1 && len(untold) > 0:
		v.State, v.Agree = Held, 1
	case max(v.most(answers), foreign)+blind+v.Silent >= quorum:
		// What was seen most often, with all that could be the same.
		v.State = Unknown
	case different >= 2 && (exclusive || foreign > 0):
		v.State = Split
	case different >= 1 || blind > 0:
		v.State = Partial
	default:
		v.State = Expired
	}
	switch {
	case len(v.Tallies) == 0:
		v.Expiry = kthLargest(untold, 1)
	case v.State == Held && v.Holders > 0:
		v.Expiry = v.Tallies[0].Loss
	default:
		v.Expiry = v.Tallies[0].Expiry
	}
	return v
}

// most is how many nodes may store one of the tokens that were seen, going by
// those that tell.
func (v Verdict) most(answers []Observation) int {
	most := 0
	for _, t := range v.Tallies {
		n := len(t.Nodes)
		for i, o := range answers {
			if o.Reply == Stores && o.Cut && !slices.Contains(t.Nodes, i) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// prefer puts one of several holders first, so that who is shown first does not
// change with each of them that comes or goes.
func (v *Verdict) prefer(token string) {
	at := slices.IndexFunc(v.Tallies[:v.Holders], func(t Tally) bool { return t.Token == token })
	if at <= 0 {
		return
	}
	first := v.Tallies[at]
	copy(v.Tallies[1:at+1], v.Tallies[:at])
	v.Tallies[0] = first
	v.Agree, v.Expiry = len(first.Nodes), first.Loss
}

// count adds one copy of a token; the node is -1 for one that has it but does
// not vote for it.
func (v *Verdict) count(node int, h Hold) {
	at := slices.IndexFunc(v.Tallies, func(t Tally) bool { return t.Token == h.Token })
	if at < 0 {
		at = len(v.Tallies)
		v.Tallies = append(v.Tallies, Tally{Token: h.Token, Expiry: h.Expiry})
	}
	t := &v.Tallies[at]
	t.Expiry = later(t.Expiry, h.Expiry)
	if node >= 0 && !slices.Contains(t.Nodes, node) {
		t.Nodes = append(t.Nodes, node)
	}
}

func (v *Verdict) loss(answers []Observation, t *Tally, quorum int) Expiry {
	copies := make([]Expiry, 0, len(t.Nodes))
	for _, n := range t.Nodes {
		var end Expiry
		answers[n].holds(func(h Hold) {
			if h.Token == t.Token {
				end = later(end, h.Expiry)
			}
		})
		copies = append(copies, end)
	}
	return kthLargest(copies, quorum)
}

// kthLargest returns the k-th largest expiry, k counting from 1: the moment
// from which fewer than k of the copies are left. A copy without expiry is the
// largest, one whose expiry is not known the smallest. It is the zero Expiry
// when there are fewer than k.
func kthLargest(copies []Expiry, k int) Expiry {
	if k < 1 || k > len(copies) {
		return Expiry{}
	}
	sorted := slices.Clone(copies)
	slices.SortFunc(sorted, func(a, b Expiry) int {
		switch {
		case b.Before(a):
			return -1
		case a.Before(b):
			return 1
		default:
			return 0
		}
	})
	return sorted[k-1]
}

func later(a, b Expiry) Expiry {
	if a.Before(b) {
		return b
	}
	return a
}
