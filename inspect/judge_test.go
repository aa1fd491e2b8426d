package inspect

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// every calls f with every combination of n replies out of the choices.
func every(n int, choices []Observation, f func([]Observation)) {
	answers := make([]Observation, n)
	var fill func(int)
	fill = func(at int) {
		if at == n {
			f(answers)
			return
		}
		for _, c := range choices {
			answers[at] = c
			fill(at + 1)
		}
	}
	fill(0)
}

// possible is a verdict by another road: it makes every world that fits the
// answers, in which each node that does not tell stores one of the things that
// were seen, something new or (if it is silent) nothing, and asks in which of
// these worlds a quorum stores one thing.
func possible(answers []Observation, quorum int) State {
	const foreign, fresh, nothing = "foreign", "fresh", ""
	world := make([]string, len(answers))
	var hidden []int
	seen := map[string]bool{}
	blind := false
	for i, o := range answers {
		switch o.Reply {
		case Stores:
			world[i] = "token " + o.Token
			seen[world[i]] = true
		case Foreign:
			world[i] = foreign
			seen[foreign] = true
		case Blind, Silent:
			blind = blind || o.Reply == Blind
			hidden = append(hidden, i)
		}
	}
	if len(answers) == 1 && (blind || seen[foreign]) {
		return Held
	}
	winner := func() string {
		count := map[string]int{}
		for _, thing := range world {
			if count[thing]++; thing != nothing && count[thing] >= quorum {
				return thing
			}
		}
		return nothing
	}
	all, some := true, false
	var fill func(int)
	fill = func(at int) {
		if at == len(hidden) {
			w := winner()
			all = all && w != nothing && w != foreign && w != fresh
			some = some || w != nothing
			return
		}
		choices := []string{fresh}
		if answers[hidden[at]].Reply == Silent {
			choices = append(choices, nothing)
		}
		for thing := range seen {
			choices = append(choices, thing)
		}
		for _, c := range choices {
			world[hidden[at]] = c
			fill(at + 1)
		}
	}
	fill(0)
	switch {
	case all:
		return Held
	case some:
		return Unknown
	case len(seen) > 1:
		return Split
	case len(seen) == 1 || blind:
		return Partial
	default:
		return Expired
	}
}

func TestJudgeEveryCombination(t *testing.T) {
	choices := []Observation{
		{Reply: Silent}, {Reply: Free}, {Reply: Blind}, {Reply: Foreign},
		{Reply: Stores, Token: "a"}, {Reply: Stores, Token: "b"}, {Reply: Stores, Token: ""},
	}
	for _, n := range []int{1, 2, 3, 5} {
		quorum := n/2 + 1
		seen := map[State]int{}
		every(n, choices, func(answers []Observation) {
			v := Judge(answers, quorum)
			seen[v.State]++
			if want := possible(answers, quorum); v.State != want {
				t.Fatalf("%v: %s, want %s", answers, v.State, want)
			}
			votes := map[string]int{}
			silent := 0
			for _, o := range answers {
				if o.Reply == Stores {
					votes[o.Token]++
				}
				if o.Reply == Silent {
					silent++
				}
			}
			if len(v.Tallies) != len(votes) || v.Silent != silent {
				t.Fatalf("%v: %+v", answers, v)
			}
			for i, tally := range v.Tallies {
				if len(tally.Nodes) != votes[tally.Token] {
					t.Fatalf("%v: %+v", answers, v)
				}
				if i > 0 {
					before := v.Tallies[i-1]
					if len(before.Nodes) < len(tally.Nodes) || len(before.Nodes) == len(tally.Nodes) && before.Token >= tally.Token {
						t.Fatalf("%v: wrong order in %+v", answers, v)
					}
				}
			}
		})
		for _, s := range []State{Held, Unknown, Expired} {
			if seen[s] == 0 {
				t.Errorf("N=%d never gave %s", n, s)
			}
		}
		if n > 1 && (seen[Split] == 0 || seen[Partial] == 0) {
			t.Errorf("N=%d: %v", n, seen)
		}
	}
}

// Judge must never call a lock held or gone when what the silent nodes store
// could make that wrong.
func TestJudgeIsHonest(t *testing.T) {
	choices := []Observation{{Reply: Silent}, {Reply: Free}, {Reply: Stores, Token: "a"}, {Reply: Stores, Token: "b"}}
	spoken := choices[1:]
	for _, n := range []int{1, 2, 3, 5} {
		quorum := n/2 + 1
		every(n, choices, func(answers []Observation) {
			told := Judge(answers, quorum)
			if told.Silent == 0 || told.Silent == n {
				return
			}
			every(told.Silent, spoken, func(fill []Observation) {
				full := slices.Clone(answers)
				next := 0
				for i := range full {
					if full[i].Reply == Silent {
						full[i] = fill[next]
						next++
					}
				}
				truth := Judge(full, quorum)
				if truth.State == Unknown {
					t.Fatalf("%v: unknown though all nodes told", full)
				}
				if told.State == Held && (truth.State != Held || truth.Tallies[0].Token != told.Tallies[0].Token) {
					t.Fatalf("%v said held, with %v it is %s", answers, full, truth.State)
				}
				if (told.State == Expired || told.State == Partial || told.State == Split) && truth.State == Held {
					t.Fatalf("%v said %s, with %v it is held", answers, told.State, full)
				}
			})
		})
	}
}

// What silent nodes can do to several tokens.
func TestJudgeSilenceAmongSeveralTokens(t *testing.T) {
	none := Observation{Reply: Silent}
	free := Observation{Reply: Free}
	blind := Observation{Reply: Blind}
	hash := Observation{Reply: Foreign}
	a, b, c := Observation{Reply: Stores, Token: "a"}, Observation{Reply: Stores, Token: "b"}, Observation{Reply: Stores, Token: "c"}
	for _, tt := range []struct {
		answers []Observation
		want    State
	}{
		{[]Observation{a, a, b, b, none}, Unknown},
		{[]Observation{a, a, b, none, none}, Unknown},
		{[]Observation{a, b, c, none, none}, Unknown},
		{[]Observation{a, a, b, b, blind}, Unknown},
		{[]Observation{a, b, c, free, none}, Split},
		{[]Observation{a, a, b, b, free}, Split},
		{[]Observation{a, b, hash, none, free}, Split},
		{[]Observation{a, hash, hash, none, free}, Unknown},
		{[]Observation{a, b, none}, Unknown},
		{[]Observation{a, a, a, b, none}, Held},
		{[]Observation{a, b, free}, Split},
	} {
		if got := Judge(tt.answers, len(tt.answers)/2+1); got.State != tt.want {
			t.Errorf("%v: %s, want %s", tt.answers, got.State, tt.want)
		}
	}
}

func TestJudgeExpiry(t *testing.T) {
	base := time.Now()
	in := func(s int) Expiry { return Expiry{At: base.Add(time.Duration(s) * time.Second)} }
	never := Expiry{Never: true}
	has := func(token string, e Expiry) Observation { return Observation{Reply: Stores, Token: token, Expiry: e} }
	tests := []struct {
		name    string
		answers []Observation
		want    Expiry
	}{
		{"third largest of five", []Observation{has("a", in(1)), has("a", in(5)), has("a", in(3)), has("a", in(2)), has("a", in(4))}, in(3)},
		{"smallest of just a quorum", []Observation{has("a", in(7)), has("a", in(5)), has("a", in(9)), {Reply: Free}, {Reply: Silent}}, in(5)},
		{"two without expiry do not make it last", []Observation{has("a", never), has("a", never), has("a", in(3)), has("a", in(2)), has("b", never)}, in(3)},
		{"three without expiry do", []Observation{has("a", never), has("a", never), has("a", in(3)), has("a", in(2)), has("a", never)}, never},
		{"below the quorum the last copy", []Observation{has("a", in(3)), has("a", in(9)), {}, {Reply: Free}, {Reply: Free}}, in(9)},
		{"a split goes by the first", []Observation{has("b", in(90)), has("a", in(3)), has("a", in(9)), {Reply: Free}, {Reply: Free}}, in(9)},
		{"nothing", []Observation{{Reply: Free}, {Reply: Free}, {Reply: Free}, {Reply: Free}, {Reply: Free}}, Expiry{}},
		{"unreadable", []Observation{{Reply: Blind, Expiry: in(4)}, {Reply: Blind, Expiry: in(5)}, {Reply: Free}, {Reply: Free}, {Reply: Free}}, in(5)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Judge(tt.answers, 3).Expiry; got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestKthLargest(t *testing.T) {
	base := time.Now()
	rapid.Check(t, func(t *rapid.T) {
		copies := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Expiry {
			if rapid.IntRange(0, 4).Draw(t, "never") == 0 {
				return Expiry{Never: true}
			}
			return Expiry{At: base.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "ms")) * time.Millisecond)}
		}), 1, 9).Draw(t, "copies")
		k := rapid.IntRange(1, len(copies)).Draw(t, "k")
		got := kthLargest(copies, k)
		alive := func(at time.Time) int {
			n := 0
			for _, e := range copies {
				if e.Never || e.At.After(at) {
					n++
				}
			}
			return n
		}
		if got.Never {
			if alive(base.Add(time.Hour)) < k {
				t.Fatalf("never, but %v", copies)
			}
			return
		}
		if alive(got.At) >= k {
			t.Fatalf("%d of %v still live after %v", k, copies, got)
		}
		if alive(got.At.Add(-1)) < k {
			t.Fatalf("fewer than %d of %v live before %v", k, copies, got)
		}
	})
	if got := kthLargest(nil, 1); got.IsKnown() {
		t.Errorf("of nothing: %v", got)
	}
	if got := kthLargest([]Expiry{{}, {Never: true}}, 2); got.IsKnown() {
		t.Errorf("an expiry that is not known is %v", got)
	}
}

func TestValid(t *testing.T) {
	now := time.Now()
	held := func(left, full time.Duration) Lock {
		return Lock{State: Held, FullTTL: full, Expiry: Expiry{At: now.Add(left)}}
	}
	tests := []struct {
		lock Lock
		want time.Duration
		ok   bool
	}{
		{held(8*time.Second, 10*time.Second), 8*time.Second - 102*time.Millisecond, true},
		{held(50*time.Millisecond, 10*time.Second), 0, true},
		{held(-time.Second, 10*time.Second), 0, true},
		{held(10*time.Second, 0), 10*time.Second - 102*time.Millisecond, true},
		{Lock{State: Held, Expiry: Expiry{Never: true}}, 0, false},
		{Lock{State: Held}, 0, false},
		{Lock{State: Partial, Expiry: Expiry{At: now.Add(time.Second)}}, 0, false},
	}
	for _, tt := range tests {
		if got, ok := tt.lock.Valid(now); got != tt.want || ok != tt.ok {
			t.Errorf("%s: %v %v, want %v %v", fmt.Sprintf("%+v", tt.lock.Expiry), got, ok, tt.want, tt.ok)
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	answers := []Observation{
		{Reply: Stores, Token: "a"}, {Reply: Stores, Token: "a"}, {Reply: Stores, Token: "a"}, {Reply: Stores, Token: "b"}, {Reply: Free},
	}
	for b.Loop() {
		Judge(answers, 3)
	}
}
