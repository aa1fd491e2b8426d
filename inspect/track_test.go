package inspect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"dlock/inspect/dialect"
	"dlock/lockcore"
)

// stage feeds a tracker with what nodes would say, one second per step.
type stage struct {
	t     *testing.T
	track *tracker
	now   time.Time
	nodes []NodeStatus
	last  []Maybe[sample]
}

// says is what one node says in one step; nil is a node that is silent.
type says func(now time.Time) sample

func free(now time.Time) sample { return sample{asked: when(now)} }

func has(value string, life time.Duration) says {
	return func(now time.Time) sample {
		return sample{presence: present, got: text(value), life: life, asked: when(now)}
	}
}

func hasForever(value string) says {
	return func(now time.Time) sample {
		return sample{presence: present, got: text(value), never: true, asked: when(now)}
	}
}

func newStage(t *testing.T, n int, c Config) *stage {
	s := &stage{t: t, track: newTracker(c.withDefaults(), n/2+1), now: time.Now(), last: make([]Maybe[sample], n)}
	for i := range n {
		s.nodes = append(s.nodes, NodeStatus{Name: fmt.Sprintf("n%d", i+1), State: NodeUp})
	}
	return s
}

// step lets a second pass, has the nodes speak, and returns the lock and the
// kinds of events.
func (s *stage) step(answers ...says) (Lock, []EventKind) {
	return s.after(time.Second, answers...)
}

func (s *stage) after(d time.Duration, answers ...says) (Lock, []EventKind) {
	s.t.Helper()
	s.now = s.now.Add(d)
	replies := make([]reply, len(s.nodes))
	for n := range s.nodes {
		r := reply{node: &s.nodes[n], sampled: s.last[n].Known, sample: s.last[n].Value}
		s.nodes[n].State = NodeDown
		if answers[n] != nil {
			s.nodes[n].State = NodeUp
			one := answers[n](s.now)
			if r.sampled {
				one = one.succeeds(r.sample)
			}
			r.answers, r.sampled, r.sample = true, true, one
			s.last[n] = Known(one)
		}
		replies[n] = r
	}
	before, _ := s.track.events()
	s.track.begin(s.now, time.Second)
	l, _, _ := s.track.step(ID{Key: "lock:x"}, replies, s.now, time.Second)
	s.track.end(s.now)
	events, _ := s.track.events()
	var kinds []EventKind
	for _, e := range events[len(before):] {
		kinds = append(kinds, e.Kind)
	}
	return l, kinds
}

func all(n int, a says) []says { return slices.Repeat([]says{a}, n) }

func TestEvents(t *testing.T) {
	const ten = 10 * time.Second
	a, b := has("aaaa", ten), has("bbbb", ten)
	old := has("aaaa", 9*time.Second)
	type step struct {
		after   time.Duration
		answers []says
		events  []EventKind
		state   State
	}
	sec := time.Second
	tests := []struct {
		name  string
		n     int
		steps []step
	}{
		{"what is there at first is no event", 3, []step{
			{sec, all(3, a), nil, Held},
			{sec, all(3, old), nil, Held},
		}},
		{"taken and released", 3, []step{
			{sec, all(3, free), nil, Expired},
			{sec, all(3, a), []EventKind{Taken}, Held},
			{sec, all(3, free), []EventKind{Released}, Expired},
		}},
		{"taken and expired", 3, []step{
			{sec, all(3, free), nil, Expired},
			{sec, all(3, a), []EventKind{Taken}, Held},
			{ten, all(3, free), []EventKind{Gap, Ended}, Expired},
		}},
		{"ended a moment before its time is expired", 1, []step{
			{sec, all(1, a), nil, Held},
			{sec, all(1, has("aaaa", 1030*time.Millisecond)), nil, Held},
			{sec, all(1, free), []EventKind{Ended}, Expired},
		}},
		{"without expiry it can only be released", 1, []step{
			{sec, all(1, hasForever("aaaa")), nil, Held},
			{sec, all(1, free), []EventKind{Released}, Expired},
		}},
		{"one event for a renewal on all nodes", 5, []step{
			{sec, all(5, a), nil, Held},
			{sec, all(5, a), []EventKind{Renewed}, Held},
			{sec, all(5, old), nil, Held},
		}},
		{"one event for a renewal that a sample falls into", 5, []step{
			{sec, all(5, a), nil, Held},
			{sec, []says{a, a, old, old, old}, nil, Held},
			{10 * time.Millisecond, all(5, a), []EventKind{Renewed}, Held},
		}},
		{"a node that comes back is no renewal", 5, []step{
			{sec, []says{has("aaaa", 5*time.Second), a, a, nil, nil}, nil, Held},
			{sec, []says{has("aaaa", 4*time.Second), old, old, old, old}, nil, Held},
		}},
		{"handed over between two samples", 3, []step{
			{sec, all(3, a), nil, Held},
			{sec, all(3, b), []EventKind{HandedOver}, Held},
		}},
		{"lost and gained a node", 5, []step{
			{sec, all(5, a), nil, Held},
			{sec, []says{old, old, old, old, free}, []EventKind{LostNode}, Held},
			{sec, all(5, has("aaaa", 8*time.Second)), []EventKind{GainedNode}, Held},
		}},
		{"lost two nodes is one event", 5, []step{
			{sec, all(5, a), nil, Held},
			{sec, []says{old, old, old, free, b}, []EventKind{LostNode}, Held},
		}},
		{"a silent node has lost nothing", 5, []step{
			{sec, all(5, a), nil, Held},
			{sec, []says{old, old, old, old, nil}, nil, Held},
			{sec, all(5, has("aaaa", 8*time.Second)), nil, Held},
		}},
		{"a node that was silent and forgot", 5, []step{
			{sec, all(5, a), nil, Held},
			{sec, []says{old, old, old, old, nil}, nil, Held},
			{sec, []says{has("aaaa", 8*time.Second), has("aaaa", 8*time.Second), has("aaaa", 8*time.Second), has("aaaa", 8*time.Second), free}, []EventKind{LostNode}, Held},
		}},
		{"below the quorum it has ended", 5, []step{
			{sec, all(5, a), nil, Held},
			{sec, []says{old, old, free, free, free}, []EventKind{Released}, Partial},
			{sec, all(5, free), nil, Expired},
		}},
		{"split", 5, []step{
			{sec, all(5, free), nil, Expired},
			{sec, []says{a, a, b, b, free}, []EventKind{WentSplit}, Split},
			{sec, []says{a, a, b, b, free}, nil, Split},
			{sec, all(5, b), []EventKind{Taken}, Held},
		}},
		{"silence in between changes nothing", 3, []step{
			{sec, all(3, a), nil, Held},
			{sec, all(3, nil), nil, Unknown},
			{sec, all(3, has("aaaa", 8*time.Second)), nil, Held},
		}},
		{"released during silence", 3, []step{
			{sec, all(3, a), nil, Held},
			{sec, all(3, nil), nil, Unknown},
			{sec, all(3, free), []EventKind{Released}, Expired},
		}},
		{"held when the nodes speak for the first time is not taken", 3, []step{
			{sec, all(3, nil), nil, Unknown},
			{sec, all(3, a), nil, Held},
		}},
		{"a failed attempt is no event", 5, []step{
			{sec, all(5, free), nil, Expired},
			{sec, []says{a, a, free, free, free}, nil, Partial},
			{sec, all(5, free), nil, Expired},
		}},
		{"loses its expiry", 1, []step{
			{sec, all(1, a), nil, Held},
			{sec, all(1, hasForever("aaaa")), []EventKind{WentNoTTL}, Held},
			{sec, all(1, hasForever("aaaa")), nil, Held},
		}},
		{"taken without expiry", 1, []step{
			{sec, all(1, free), nil, Expired},
			{sec, all(1, hasForever("aaaa")), []EventKind{Taken, WentNoTTL}, Held},
		}},
		{"a gap", 1, []step{
			{sec, all(1, hasForever("aaaa")), nil, Held},
			{5 * time.Minute, all(1, hasForever("aaaa")), []EventKind{Gap}, Held},
		}},
		{"a tombstone stays one when the nodes fall silent", 1, []step{
			{sec, all(1, a), nil, Held},
			{sec, all(1, free), []EventKind{Released}, Expired},
			{sec, all(1, nil), nil, Expired},
			{sec, all(1, a), []EventKind{Taken}, Held},
		}},
		{"the same token again is taken again", 1, []step{
			{sec, all(1, a), nil, Held},
			{sec, all(1, free), []EventKind{Released}, Expired},
			{sec, all(1, a), []EventKind{Taken}, Held},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t, tt.n, Config{})
			for i, st := range tt.steps {
				l, events := s.after(st.after, st.answers...)
				if !slices.Equal(events, st.events) {
					t.Errorf("step %d: events %v, want %v", i+1, events, st.events)
				}
				if l.State != st.state {
					t.Errorf("step %d: %s, want %s", i+1, l.State, st.state)
				}
			}
		})
	}
}

func TestEventWords(t *testing.T) {
	owner := func(name string) string {
		return lockcore.Token{UUID: uuid.New(), Ticket: 1, Owner: name}.String()
	}
	first, second := owner("web-1:10"), owner("web-2:20")
	s := newStage(t, 5, Config{})
	s.step(all(5, free)...)
	s.step(all(5, has(first, 10*time.Second))...)
	l, _ := s.step(has(first, 9*time.Second), has(first, 9*time.Second), has(first, 9*time.Second), has(first, 9*time.Second), free)
	s.step(all(5, has(second, 10*time.Second))...)
	events, _ := s.track.events()
	want := []Event{
		{Kind: Taken, Token: first, Owner: "web-1:10"},
		{Kind: LostNode, Token: first, Owner: "web-1:10", Node: "n5"},
		{Kind: HandedOver, Token: second, Owner: "web-2:20"},
	}
	if len(events) != len(want) {
		t.Fatalf("%+v", events)
	}
	for i, w := range want {
		e := events[i]
		if e.Kind != w.Kind || e.Key != "lock:x" || e.Token != w.Token || e.Owner != w.Owner || e.Node != w.Node || e.At.IsZero() || e.Text == "" {
			t.Errorf("%+v, want %+v", e, w)
		}
	}
	if !strings.Contains(events[2].Text, "web-1:10") {
		t.Errorf("the hand-over does not say from whom: %q", events[2].Text)
	}
	if c := l.Copies[4]; c.Change != Released || c.ChangedAt.IsZero() || c.Answer != AnswerFree {
		t.Errorf("%+v", c)
	}
	if c := l.Copies[0]; c.Change != Taken {
		t.Errorf("%+v", c)
	}
}

func TestHistory(t *testing.T) {
	const ten = 10 * time.Second
	t.Run("there before us", func(t *testing.T) {
		s := newStage(t, 3, Config{StuckAfter: 3 * time.Second})
		l, _ := s.step(all(3, has("aaaa", ten))...)
		if !l.HeldSince.IsZero() || l.FullTTL != ten {
			t.Errorf("at first sight: %v %v", l.HeldSince, l.FullTTL)
		}
		seen := s.now
		l, _ = s.step(all(3, has("aaaa", 9*time.Second))...)
		if !l.HeldSince.Equal(seen) || !l.HeldIsMinimum || l.FullTTL != ten {
			t.Errorf("%v %v %v", l.HeldSince, l.HeldIsMinimum, l.FullTTL)
		}
		s.step(all(3, has("aaaa", 15*time.Second))...)
		l, _ = s.step(all(3, has("aaaa", 15*time.Second))...)
		if l.Renewals != 2 || !l.LastRenewal.Equal(s.now) || l.FullTTL != 15*time.Second {
			t.Errorf("%d renewals, last %v, full %v", l.Renewals, l.LastRenewal, l.FullTTL)
		}
		if !slices.Equal(l.Flags, []Flag{Stuck}) || !slices.Equal(findingIDs(l), []string{"stuck"}) {
			t.Errorf("%v %v", l.Flags, findingIDs(l))
		}
	})
	t.Run("seen being taken", func(t *testing.T) {
		s := newStage(t, 3, Config{})
		s.step(all(3, free)...)
		l, _ := s.step(all(3, has("aaaa", ten))...)
		if !l.HeldSince.Equal(s.now) || l.HeldIsMinimum {
			t.Errorf("%v %v", l.HeldSince, l.HeldIsMinimum)
		}
		s.step(all(3, has("aaaa", 9*time.Second))...)
		l, _ = s.step(all(3, has("bbbb", ten))...)
		if !l.HeldSince.Equal(s.now) || l.HeldIsMinimum || l.Renewals != 0 {
			t.Errorf("the next owner: %v %v %d", l.HeldSince, l.HeldIsMinimum, l.Renewals)
		}
	})
	t.Run("one node's word is no evidence of a quorum", func(t *testing.T) {
		s := newStage(t, 3, Config{})
		s.step(free, nil, nil)
		l, _ := s.step(all(3, has("aaaa", ten))...)
		if !l.HeldSince.IsZero() {
			t.Errorf("%v", l.HeldSince)
		}
	})
	t.Run("idle time", func(t *testing.T) {
		idle := func(d time.Duration) says {
			return func(now time.Time) sample {
				x := has("aaaa", ten)(now)
				x.never, x.idleAsked, x.touched = true, true, when(now.Add(-d))
				return x
			}
		}
		s := newStage(t, 3, Config{})
		l, _ := s.step(idle(time.Hour), idle(2*time.Hour), idle(time.Minute))
		if want := s.now.Add(-time.Hour + time.Second); !l.HeldSince.Equal(want) || !l.HeldIsMinimum {
			t.Errorf("held since %v, want %v: two nodes had it then", l.HeldSince, want)
		}
		if l.Idle != Known(time.Minute) {
			t.Errorf("idle %v, want that of the node used last", l.Idle)
		}
	})
	t.Run("a companion from the future", func(t *testing.T) {
		s := newStage(t, 1, Config{})
		s.nodes[0].ClockOffset = Known(time.Duration(0))
		l, _ := s.step(func(now time.Time) sample {
			x := has("aaaa", ten)(now)
			x.told = pack(dialect.Extra{Granted: now.Add(time.Hour)})
			return x
		})
		if !l.HeldSince.IsZero() {
			t.Errorf("%v", l.HeldSince)
		}
	})
	t.Run("a node's clock is taken into account", func(t *testing.T) {
		s := newStage(t, 1, Config{})
		s.nodes[0].ClockOffset = Known(time.Hour)
		l, _ := s.step(func(now time.Time) sample {
			x := has("aaaa", ten)(now)
			x.told = pack(dialect.Extra{Granted: now.Add(time.Hour - 5*time.Second)})
			return x
		})
		if d := s.now.Sub(l.HeldSince) - 5*time.Second; l.HeldIsMinimum || d.Abs() > time.Millisecond {
			t.Errorf("off by %v", d)
		}
	})
	t.Run("silence", func(t *testing.T) {
		s := newStage(t, 3, Config{})
		s.step(all(3, has("aaaa", ten))...)
		s.step(all(3, has("aaaa", 9*time.Second))...)
		l, _ := s.step(nil, nil, nil)
		o, ok := l.Holder()
		if l.State != Unknown || !ok || o.Token != "aaaa" || len(o.Votes) != 0 || l.Votes.Agree != 0 || l.Votes.Unreachable != 3 {
			t.Errorf("%s %+v %+v", l.State, l.Owners, l.Votes)
		}
		if left, ok := l.Expiry.Remaining(s.now); !ok || left != 8*time.Second || !l.HeldSince.IsZero() {
			t.Errorf("left %v, held since %v", left, l.HeldSince)
		}
		if c := l.Copies[0]; c.Answer != AnswerUnreachable || c.Token != "aaaa" || !c.SampledAt.Equal(s.now.Add(-time.Second)) {
			t.Errorf("%+v", c)
		}
	})
	t.Run("tombstone", func(t *testing.T) {
		s := newStage(t, 1, Config{Tombstone: 3 * time.Second})
		s.step(has("aaaa", ten))
		l, _ := s.step(free)
		if o, ok := l.Holder(); l.State != Expired || !l.GoneAt.Equal(s.now) || !ok || o.Token != "aaaa" || len(l.Flags)+len(l.Findings) != 0 || l.Expiry.IsKnown() {
			t.Errorf("%+v", l)
		}
		for range 3 {
			s.step(free)
		}
		if len(s.track.tracks) != 0 {
			t.Error("the tombstone is kept for ever")
		}
	})
}

func TestExpiring(t *testing.T) {
	tests := []struct {
		name    string
		full    time.Duration
		left    time.Duration
		samples int
		want    bool
	}{
		{"one look, seconds left", 0, 1500 * time.Millisecond, 1, false},
		{"one look, nearly over", 0, 800 * time.Millisecond, 1, true},
		{"a tenth of a short lock", 5 * time.Second, 700 * time.Millisecond, 2, false},
		{"less than that", 5 * time.Second, 500 * time.Millisecond, 2, true},
		{"a long lock", time.Hour, 45 * time.Second, 2, false},
		{"seconds of it", time.Hour, 37 * time.Second, 2, true}, // the drift allowance is 36 s
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t, 1, Config{})
			var l Lock
			if tt.samples > 1 {
				s.step(has("aaaa", tt.full))
				l, _ = s.after(tt.full-tt.left, has("aaaa", tt.left))
			} else {
				l, _ = s.step(has("aaaa", tt.left))
			}
			if l.Has(Expiring) != tt.want {
				t.Errorf("%v, want %v", l.Flags, tt.want)
			}
		})
	}
}

// Whatever the nodes say, a lock that is shown keeps its promises.
func TestLockInvariants(t *testing.T) {
	second := time.Second
	choices := []says{nil, free, has("aaaa", second), has("bbbb", 2*second), hasForever("aaaa"),
		func(now time.Time) sample {
			return sample{presence: present, got: odd("hash", ""), life: second, asked: when(now)}
		},
		func(now time.Time) sample {
			return sample{presence: present, got: hidden("NOPERM"), life: second, asked: when(now)}
		},
		func(now time.Time) sample {
			return sample{presence: forbidden, got: hidden("NOPERM"), asked: when(now)}
		},
	}
	for _, n := range []int{1, 2, 3} {
		answers := make([]says, n)
		var fill func(int)
		check := func() {
			s := newStage(t, n, Config{})
			s.step(all(n, has("aaaa", 2*second))...)
			l, _ := s.step(answers...)
			if l.Votes.Need != n/2+1 || l.Votes.Of != n || l.Votes.Agree+l.Votes.Unreachable > n {
				t.Fatalf("%+v", l.Votes)
			}
			held, silent := 0, 0
			for _, c := range l.Copies {
				switch c.Answer {
				case AnswerHeld:
					held++
				case AnswerUnreachable, AnswerDenied:
					silent++
				case "":
					t.Fatalf("no answer in %+v", c)
				}
			}
			if held != l.Votes.Agree || silent != l.Votes.Unreachable {
				t.Fatalf("copies %+v, votes %+v", l.Copies, l.Votes)
			}
			if (l.State == Held) != (held >= l.Votes.Need) {
				t.Fatalf("%s with %+v", l.State, l.Votes)
			}
			if l.State != Held && l.State != Expired && len(l.Findings) == 0 {
				t.Fatalf("%s is not explained", l.State)
			}
			for _, f := range l.Findings {
				if f.ID == "" || !strings.HasSuffix(f.Text, ".") || !strings.HasSuffix(f.Advice, ".") || f.Severity == "" {
					t.Fatalf("%+v", f)
				}
			}
			if _, err := PlanRelease(l, "cccc"); err == nil {
				t.Fatal("a plan for a token nobody has")
			}
			for _, o := range l.Owners {
				p, err := PlanRelease(l, o.Token)
				if l.State == Expired {
					continue
				}
				if err != nil || len(p.Steps) != n {
					t.Fatalf("%+v %v", p, err)
				}
				for i, step := range p.Steps {
					if a := l.Copies[i].Answer; step.Send && (a == AnswerFree || a == AnswerUnreachable) || !step.Send && step.Why == "" {
						t.Fatalf("%+v for %+v", step, l.Copies[i])
					}
				}
			}
		}
		fill = func(at int) {
			if at == n {
				check()
				return
			}
			for _, c := range choices {
				answers[at] = c
				fill(at + 1)
			}
		}
		fill(0)
	}
}

func TestFindingTexts(t *testing.T) {
	minute := time.Minute
	hash := func(now time.Time) sample {
		return sample{presence: present, got: odd("hash", ""), life: minute, asked: when(now)}
	}
	a, b := has("aaaa", minute), has("bbbb", minute)
	for _, tt := range []struct {
		name    string
		answers []says
		id      string
		parts   []string
	}{
		{"split", []says{a, a, b, b, free}, "split", []string{"n1 and n2", "n3 and n4", "nobody holds it"}},
		{"split that may be held", []says{a, a, b, b, nil}, "unknown", []string{"one token on n1 and n2, another on n3 and n4", "n5 does not tell", "with it each of these tokens could have the 3 of 5"}},
		{"split of which one may be held", []says{a, a, b, free, nil}, "unknown", []string{"another on n3", "with it the one on n1 and n2 could have"}},
		{"split of three, two silent", []says{a, b, has("cccc", minute), nil, nil}, "unknown", []string{"n4 and n5 do not tell", "with them each"}},
		{"unknown and one copy", []says{a, free, free, nil, nil}, "unknown", []string{"1 of 5 nodes stores it", "with them it may be held by up to 3"}},
		{"partial", []says{a, a, free, free, free}, "partial", []string{"Only 2 of 5 nodes (n1, n2) store it", "3 of 5 are needed"}},
		{"partial of one", []says{a, free, free, free, free}, "partial", []string{"Only 1 of 5 nodes (n1) stores it"}},
		{"unknown", []says{a, a, free, nil, nil}, "unknown", []string{"n4 and n5 do not tell", "up to 4"}},
		{"unknown without a word", []says{nil, nil, nil, free, free}, "unknown", []string{"n1, n2 and n3 do not tell", "3 of 5"}},
		{"leftover", []says{a, a, a, a, b}, "leftover", []string{"n5", "1m more at most"}},
		{"degraded", []says{a, a, a, free, free}, "degraded", []string{"Exactly 3 of 5"}},
		{"hash", []says{hash, free, free, free, free}, "wrong-type", []string{"n1", "a hash"}},
		{"no expiry", all(5, hasForever("aaaa")), "no-expiry", []string{"no expiry"}},
		{"one copy without expiry", []says{a, a, a, a, hasForever("aaaa")}, "no-expiry-copy", []string{"n5"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, _ := newStage(t, 5, Config{}).step(tt.answers...)
			at := slices.IndexFunc(l.Findings, func(f Finding) bool { return f.ID == tt.id })
			if at < 0 {
				t.Fatalf("%v", findingIDs(l))
			}
			for _, part := range tt.parts {
				if !strings.Contains(l.Findings[at].Text, part) {
					t.Errorf("%q is not in %q", part, l.Findings[at].Text)
				}
			}
		})
	}
}

// A key that is no token is told as what it is: no finding speaks of nodes that
// do not tell, and none advises a release that dlock does not do.
func TestFindingsOfWrongTypes(t *testing.T) {
	never := func(kind, err string) says {
		return func(now time.Time) sample {
			return sample{presence: present, got: odd(kind, err), never: true, asked: when(now)}
		}
	}
	hash, long := never("hash", ""), never("string", errLongValue)
	a := has("aaaa", time.Minute)
	for _, answers := range [][]says{
		all(5, hash), all(5, long), all(3, hash), all(1, hash), all(1, long),
		{hash, free, free, free, free}, {hash, hash, hash, free, free}, {a, hash, hash, hash, free}, {a, a, hash, free, free}, {a, a, a, hash, free},
	} {
		l, _ := newStage(t, len(answers), Config{}).step(answers...)
		if !slices.Contains(findingIDs(l), "wrong-type") {
			t.Errorf("%v", findingIDs(l))
		}
		for _, f := range l.Findings {
			words := f.Text + " " + f.Advice
			for _, wrong := range []string{"not tell", "do not answer", "release it if", "held or free", "release that token"} {
				if strings.Contains(words, wrong) {
					t.Errorf("%d answers, %s: %q in %q", len(answers), l.State, wrong, words)
				}
			}
		}
	}
}

func TestContestedRanksAfterSplit(t *testing.T) {
	a, b := has("aaaa", time.Minute), has("bbbb", time.Minute)
	rank := func(answers ...says) int {
		l, _ := newStage(t, 5, Config{}).step(answers...)
		if l.Contested() != (l.State == Unknown && len(l.Owners) > 1) {
			t.Errorf("%s contested: %v", l.State, l.Contested())
		}
		return l.Trouble()
	}
	ranks := []int{rank(a, a, b, b, free), rank(a, a, b, b, nil), rank(all(5, hasForever("aaaa"))...), rank(a, a, free, free, free), rank(a, a, free, free, nil), rank(all(5, a)...)}
	if !slices.IsSorted(ranks) || len(slices.Compact(ranks)) != len(ranks) {
		t.Errorf("%v", ranks)
	}
}

// While all nodes that have it are silent, nothing is known of how long it is
// held, and when its time is over that is said.
func TestOnlySilentNodesHaveIt(t *testing.T) {
	a := has("aaaa", 5*time.Second)
	s := newStage(t, 3, Config{})
	s.step(a, a, free)
	l, _ := s.step(nil, nil, free)
	if text := l.Findings[0].Text; l.State != Unknown || !l.HeldSince.IsZero() || len(l.Owners) != 1 || strings.Contains(text, "run out") {
		t.Errorf("%s, held since %v, %q", l.State, l.HeldSince, text)
	}
	l, _ = s.after(10*time.Second, nil, nil, free)
	if f := l.Findings[0]; l.State != Unknown || !l.HeldSince.IsZero() || !strings.Contains(f.Text, "every copy that was seen has run out by the clock") || strings.Contains(f.Advice, "expired") {
		t.Errorf("%s, %+v", l.State, l.Findings)
	}
}

// A split is told once, also when a node falls silent meanwhile.
func TestSplitIsToldOnce(t *testing.T) {
	a, b := has("aaaa", time.Minute), has("bbbb", time.Minute)
	s := newStage(t, 5, Config{})
	s.step(all(5, free)...)
	s.step(a, a, b, b, free)
	if l, events := s.step(a, a, b, b, nil); l.State != Unknown || len(events) != 0 {
		t.Errorf("%s %v", l.State, events)
	}
	if l, events := s.step(a, a, b, b, free); l.State != Split || len(events) != 0 {
		t.Errorf("%s %v", l.State, events)
	}
}

func BenchmarkStep(b *testing.B) {
	const locks, n = 10_000, 5
	tr := newTracker(Config{}.withDefaults(), n/2+1)
	now := time.Now()
	nodes := make([]NodeStatus, n)
	replies := make([]reply, n)
	value := lockcore.Token{UUID: uuid.New(), Ticket: 1, Owner: "web-1:10"}.String()
	for i := range replies {
		nodes[i] = NodeStatus{Name: fmt.Sprintf("n%d", i+1), State: NodeUp}
		replies[i] = reply{node: &nodes[i], answers: true, sampled: true, sample: has(value, time.Hour)(now)}
	}
	keys := make([]string, locks)
	for i := range keys {
		keys[i] = fmt.Sprintf("lock:%d", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Second)
		tr.begin(now, time.Second)
		for _, key := range keys {
			tr.step(ID{Key: key}, replies, now, time.Second)
		}
		tr.end(now)
	}
}
