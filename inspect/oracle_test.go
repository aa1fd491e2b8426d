package inspect

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// answer is one node's word in the terms of the documents, from which the
// oracle works; it knows nothing of how Judge counts.
type answer struct {
	name    string
	silent  bool // unreachable, a replica that is not asked, or not permitted: may have anything
	holds   []string
	shared  bool // what it has may be shared
	alien   bool // something that cannot be compared
	opaque  bool // something whose token is not known
	partial bool // has tokens of which none is the node's own vote
	more    bool // has further tokens that were not read
}

func (a answer) observe() Observation {
	o := Observation{Reply: Free, Shared: a.shared, Cut: a.more}
	switch {
	case a.silent:
		return Observation{}
	case a.alien:
		return Observation{Reply: Foreign}
	case a.opaque:
		return Observation{Reply: Blind}
	case a.partial:
		o.Reply = Torn
	case len(a.holds) > 0:
		o.Reply = Stores
	default:
		return o
	}
	o.Token = a.holds[0]
	for _, h := range a.holds[1:] {
		o.Others = append(o.Others, Hold{Token: h})
	}
	return o
}

// worlds are all ways in which a node may be in truth, given its word: the sets
// of tokens that it stores. "?" is a token that nobody has seen, "!" something
// that is no token. A silent node of an exclusive lock has at most one.
func (a answer) worlds(seen []string, alien bool) [][]string {
	var out [][]string
	switch {
	case a.silent, a.opaque:
		if a.silent {
			out = append(out, nil)
		}
		for _, s := range append(slices.Clone(seen), "?") {
			out = append(out, []string{s})
		}
		if alien {
			out = append(out, []string{"!"})
		}
		return out
	case a.alien:
		return [][]string{{"!"}}
	case a.partial:
		return [][]string{nil}
	case !a.more:
		return [][]string{a.holds}
	}
	// It has one more than was read, any that was seen elsewhere or a new one.
	out = append(out, a.holds)
	for _, s := range append(slices.Clone(seen), "?") {
		if !slices.Contains(a.holds, s) {
			out = append(out, append(slices.Clone(a.holds), s))
		}
	}
	return out
}

// oracle says what state the documents give to these answers: held if in every
// world a quorum has one of the tokens that were seen, unknown if in some world
// a quorum has one thing; otherwise split if what was seen differs and at most
// one may hold it, partial if something was seen, and expired.
func oracle(answers []answer, quorum int) (state State, holders []string) {
	var seen []string
	alien, exclusive, opaque := false, false, false
	for _, a := range answers {
		for _, h := range a.holds {
			if !slices.Contains(seen, h) {
				seen = append(seen, h)
			}
		}
		alien, opaque = alien || a.alien, opaque || a.opaque
		exclusive = exclusive || a.alien || a.partial || len(a.holds) > 0 && !a.shared
	}
	if len(answers) == 1 && (alien || opaque) {
		return Held, nil // whoever it is, on one server he has it
	}
	always := slices.Clone(seen)
	sometimes := false
	world := make([][]string, len(answers))
	var fill func(int)
	fill = func(at int) {
		if at < len(answers) {
			for _, w := range answers[at].worlds(seen, alien) {
				world[at] = w
				fill(at + 1)
			}
			return
		}
		votes := map[string]int{}
		for _, w := range world {
			for _, thing := range w {
				votes[thing]++
			}
		}
		for _, n := range votes {
			sometimes = sometimes || n >= quorum
		}
		always = slices.DeleteFunc(always, func(s string) bool { return votes[s] < quorum })
	}
	fill(0)
	things := len(seen)
	if alien {
		things++
	}
	switch {
	case len(always) > 0:
		slices.Sort(always)
		return Held, always
	case sometimes:
		return Unknown, nil
	case things > 1 && exclusive:
		return Split, nil
	case things > 0 || opaque:
		return Partial, nil
	default:
		return Expired, nil
	}
}

func TestJudgeAgainstOracle(t *testing.T) {
	mutex := []answer{
		{name: "free"}, {name: "silent", silent: true}, {name: "A", holds: []string{"a"}}, {name: "B", holds: []string{"b"}},
		{name: "wrong type", alien: true}, {name: "unreadable", opaque: true},
	}
	shared := []answer{
		{name: "free"}, {name: "silent", silent: true}, {name: "A", holds: []string{"a"}, shared: true}, {name: "B", holds: []string{"b"}, shared: true},
		{name: "A and B", holds: []string{"a", "b"}, shared: true}, {name: "writer", holds: []string{"w"}}, {name: "A and more", holds: []string{"a"}, shared: true, more: true},
	}
	torn := []answer{
		{name: "free"}, {name: "silent", silent: true}, {name: "A", holds: []string{"a"}}, {name: "A against B", holds: []string{"a", "b"}, partial: true},
		{name: "wrong type", alien: true},
	}
	for name, choices := range map[string][]answer{"mutex": mutex, "shared": shared, "several keys": torn} {
		for _, n := range []int{1, 2, 3, 5} {
			quorum := n/2 + 1
			states := map[State]int{}
			answers := make([]answer, n)
			var fill func(int)
			fill = func(at int) {
				if at < n {
					for _, c := range choices {
						answers[at] = c
						fill(at + 1)
					}
					return
				}
				observed := make([]Observation, n)
				var names []string
				for i, a := range answers {
					observed[i] = a.observe()
					names = append(names, a.name)
				}
				v := Judge(observed, quorum)
				want, holders := oracle(answers, quorum)
				if v.State != want {
					t.Fatalf("%s, %q: %s, want %s", name, names, v.State, want)
				}
				var got []string
				for _, tally := range v.Tallies[:v.Holders] {
					got = append(got, tally.Token)
				}
				slices.Sort(got)
				if !slices.Equal(got, holders) {
					t.Fatalf("%s, %q: held by %q, want %q", name, names, got, holders)
				}
				states[v.State]++
			}
			fill(0)
			if n > 2 && (states[Held] == 0 || states[Split] == 0 || states[Partial] == 0 || states[Unknown] == 0 || states[Expired] == 0) {
				t.Errorf("%s, N=%d: %v", name, n, states)
			}
		}
	}
}

// Copies of which each node has another token on purpose are what they are only
// where there is one node.
func TestJudgeSeparate(t *testing.T) {
	a, b := Observation{Reply: Separate, Token: "a"}, Observation{Reply: Separate, Token: "b"}
	if v := Judge([]Observation{a}, 1); v.State != Held || v.Holders != 1 || v.Tallies[0].Token != "a" {
		t.Errorf("%+v", v)
	}
	if v := Judge([]Observation{a, b, {Reply: Free}}, 2); v.State != Unknown || v.Holders != 0 || len(v.Tallies) != 0 {
		t.Errorf("%+v", v)
	}
	if v := Judge([]Observation{a, {Reply: Free}, {Reply: Free}}, 2); v.State != Partial {
		t.Errorf("%+v", v)
	}
}

// Each token's quorum ends exactly when fewer than a quorum of its copies are
// left, and its last copy when none is, whatever else is there.
func TestJudgeTimeToLoss(t *testing.T) {
	base := time.Now()
	tokens := []string{"a", "b", "c"}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "n")
		quorum := n/2 + 1
		expiry := rapid.Custom(func(t *rapid.T) Expiry {
			if rapid.IntRange(0, 5).Draw(t, "never") == 0 {
				return Expiry{Never: true}
			}
			return Expiry{At: base.Add(time.Duration(rapid.IntRange(1, 30).Draw(t, "s")) * time.Second)}
		})
		answers := make([]Observation, n)
		copies := map[string][]Expiry{}
		for i := range answers {
			has := rapid.SliceOfNDistinct(rapid.SampledFrom(tokens), 0, 3, rapid.ID).Draw(t, "has")
			if len(has) == 0 {
				answers[i] = Observation{Reply: Free}
				continue
			}
			o := Observation{Reply: Stores, Shared: true}
			for k, token := range has {
				e := expiry.Draw(t, "end")
				copies[token] = append(copies[token], e)
				if k == 0 {
					o.Token, o.Expiry = token, e
				} else {
					o.Others = append(o.Others, Hold{Token: token, Expiry: e})
				}
			}
			answers[i] = o
		}
		alive := func(token string, at time.Time) int {
			left := 0
			for _, e := range copies[token] {
				if e.Never || e.At.After(at) {
					left++
				}
			}
			return left
		}
		exactly := func(what string, e Expiry, token string, least int) {
			if e.Never {
				if alive(token, base.Add(time.Hour)) < least {
					t.Fatalf("%s of %s never ends, but %v", what, token, copies[token])
				}
				return
			}
			if alive(token, e.At) >= least || alive(token, e.At.Add(-1)) < least {
				t.Fatalf("%s of %s ends at %v, but %v", what, token, e.At.Sub(base), copies[token])
			}
		}
		v := Judge(answers, quorum)
		for i, tally := range v.Tallies {
			exactly("the last copy", tally.Expiry, tally.Token, 1)
			if i < v.Holders {
				exactly("the quorum", tally.Loss, tally.Token, quorum)
			} else if tally.Loss.IsKnown() {
				t.Fatalf("%s has no quorum to lose: %+v", tally.Token, tally)
			}
		}
		if v.Holders > 1 {
			last := v.Tallies[v.Holders-1]
			w := v
			w.Tallies = slices.Clone(v.Tallies)
			w.prefer(last.Token)
			if w.Tallies[0].Token != last.Token || w.Agree != len(last.Nodes) || w.Expiry != last.Loss || len(w.Tallies) != len(v.Tallies) {
				t.Fatalf("%+v", w)
			}
		}
	})
}
