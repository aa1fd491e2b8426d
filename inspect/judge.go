package inspect

import (
	"cmp"
	"slices"
)

// Reply is what one node's answer about one lock amounts to.
type Reply uint8

// The replies. Silent is every node whose answer is not known: unreachable,
// not asked yet, or not permitted to tell. Blind is a node that has the key
// but whose value could not be read, so that it may be any token. Foreign is a
// node that has something under the key that is no token at all.
const (
	Silent Reply = iota
	Free
	Stores
	Blind
	Foreign
)

// Observation is one node's answer about one lock. Token counts only with
// Stores, Expiry only with Stores, Blind and Foreign.
type Observation struct {
	Reply  Reply
	Token  string
	Expiry Expiry
}

// Tally is one token with the nodes that store it, as indices into the
// observations. Expiry is when the last of its copies ends.
type Tally struct {
	Token  string
	Nodes  []int
	Expiry Expiry
}

// Verdict is what the answers of all nodes say together.
type Verdict struct {
	State State
	// Tallies has one entry per token, most votes first, then smallest
	// token. It is empty for a lock whose value no node tells.
	Tallies []Tally
	// Agree counts the nodes that store the first token; for a single node
	// whose value cannot be read it is 1, since whoever holds it holds all.
	Agree  int
	Silent int
	// Expiry is when the quorum ends if nothing renews: the quorum-th
	// largest expiry among the first token's copies. Below a quorum it is
	// when the last of those copies ends.
	Expiry Expiry
}

// Judge turns one answer per configured node into a verdict. The quorum is of
// the configured nodes and at least 1. It is a pure function: unreachable is
// not free, and a minority is not an owner.
func Judge(answers []Observation, quorum int) Verdict {
	var v Verdict
	var untold []Expiry // of copies whose token is not known
	blind, foreign := 0, 0
	for i, o := range answers {
		switch o.Reply {
		case Silent:
			v.Silent++
		case Stores:
			v.count(i, o)
		case Blind:
			blind++
			untold = append(untold, o.Expiry)
		case Foreign:
			foreign++
			untold = append(untold, o.Expiry)
		}
	}
	slices.SortStableFunc(v.Tallies, func(a, b Tally) int {
		return cmp.Or(cmp.Compare(len(b.Nodes), len(a.Nodes)), cmp.Compare(a.Token, b.Token))
	})
	different := len(v.Tallies)
	if foreign > 0 {
		different++
	}
	if len(v.Tallies) > 0 {
		v.Agree = len(v.Tallies[0].Nodes)
	}
	switch {
	case v.Agree >= quorum:
		v.State = Held
	case quorum == 1 && len(untold) > 0:
		v.State, v.Agree = Held, 1
	case max(v.Agree, foreign)+blind+v.Silent >= quorum:
		// What was seen most often, with all that could be the same.
		v.State = Unknown
	case different >= 2:
		v.State = Split
	case different == 1 || blind > 0:
		v.State = Partial
	default:
		v.State = Expired
	}
	v.Expiry = v.expiry(answers, untold, quorum)
	return v
}

func (v *Verdict) count(node int, o Observation) {
	for i := range v.Tallies {
		t := &v.Tallies[i]
		if t.Token == o.Token {
			t.Nodes = append(t.Nodes, node)
			t.Expiry = later(t.Expiry, o.Expiry)
			return
		}
	}
	v.Tallies = append(v.Tallies, Tally{Token: o.Token, Nodes: []int{node}, Expiry: o.Expiry})
}

func (v *Verdict) expiry(answers []Observation, untold []Expiry, quorum int) Expiry {
	if len(v.Tallies) == 0 {
		return kthLargest(untold, 1)
	}
	copies := make([]Expiry, 0, len(v.Tallies[0].Nodes))
	for _, n := range v.Tallies[0].Nodes {
		copies = append(copies, answers[n].Expiry)
	}
	if v.State == Held {
		return kthLargest(copies, quorum)
	}
	return kthLargest(copies, 1)
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
