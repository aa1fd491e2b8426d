package inspect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"dlock/inspect/dialect"
)

func TestLockFindings(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	in := func(d time.Duration) Expiry { return Expiry{At: now.Add(d)} }
	base := func(change func(*Lock)) Lock {
		l := Lock{
			ID: ID{Key: "lock:x"}, State: Held, Library: "redisson", FullTTL: 30 * time.Second, Expiry: in(25 * time.Second),
			Owners: []Owner{{Token: "t", Holds: true}}, Votes: Votes{Need: 1, Agree: 1, Of: 1},
			Copies: []Copy{{Node: "n1", Answer: AnswerHeld, Token: "t", HasToken: true, Expiry: in(25 * time.Second)}},
		}
		change(&l)
		return l
	}
	habits := dialect.Habits{Renews: 10 * time.Second}
	usual := Stats{Holds: 5, Total: 10 * time.Second, Longest: 3 * time.Second}
	tests := []struct {
		name string
		lock Lock
		e    evidence
		want string // "" for none; else id and severity
		part string
	}{
		{"nothing", base(func(*Lock) {}), evidence{}, "", ""},
		{"longer than ever", base(func(l *Lock) { l.HeldSince, l.Stats = ago(7*time.Second), usual }), evidence{}, "held-long medium", "2s on average and 3s at most"},
		{"as long as before", base(func(l *Lock) { l.HeldSince, l.Stats = ago(6*time.Second), usual }), evidence{}, "", ""},
		{"too little history", base(func(l *Lock) { l.HeldSince, l.Stats = ago(time.Hour), Stats{Holds: 2, Total: 2, Longest: 1} }), evidence{}, "", ""},
		{"longer, but it hardly matters", base(func(l *Lock) {
			l.HeldSince, l.Stats = ago(900*time.Millisecond), Stats{Holds: 9, Total: 9e6, Longest: 2e6}
		}), evidence{}, "", ""},
		{"renewed for ever", base(func(l *Lock) {
			l.HeldSince, l.HeldIsMinimum, l.Renewals, l.LastRenewal, l.RenewalPeriod = ago(10*time.Minute), true, 60, ago(time.Second), 10*time.Second
		}), evidence{samples: 600}, "renewed-forever low", "60 times while we looked, about every 10s, and is held for at least 10m"},
		{"renewed for a while", base(func(l *Lock) {
			l.HeldSince, l.Renewals, l.LastRenewal, l.RenewalPeriod = ago(4*time.Minute), 24, ago(time.Second), 10*time.Second
		}), evidence{samples: 240}, "", ""},
		{"renewals stopped", base(func(l *Lock) {
			l.Renewals, l.LastRenewal, l.RenewalPeriod, l.Expiry = 5, ago(20*time.Second), 10*time.Second, in(10*time.Second)
		}), evidence{samples: 70}, "renewal-stopped medium", "Not renewed for 20s, though it was renewed every 10s before"},
		{"a renewal is not due yet", base(func(l *Lock) {
			l.Renewals, l.LastRenewal, l.RenewalPeriod, l.Expiry = 5, ago(14*time.Second), 10*time.Second, in(16*time.Second)
		}), evidence{samples: 70}, "", ""},
		{"its library renews, and this one was not used", base(func(l *Lock) { l.Habits, l.Idle, l.Expiry = habits, Known(22*time.Second), in(8*time.Second) }),
			evidence{samples: 1}, "renewal-stopped low", "redisson renews a lock every 10s"},
		{"its library renews, and this one was used", base(func(l *Lock) { l.Habits, l.Idle, l.Expiry = habits, Known(8*time.Second), in(22*time.Second) }), evidence{samples: 1}, "", ""},
		{"its library renews, and we watched it run down", base(func(l *Lock) { l.Habits, l.Expiry = habits, in(8*time.Second) }),
			evidence{samples: 22, watched: 22 * time.Second}, "renewal-stopped low", "Not renewed for 22s"},
		{"ends far apart", base(func(l *Lock) {
			l.Copies = append(l.Copies, Copy{Node: "n2", Answer: AnswerHeld, Expiry: in(20 * time.Second)}, Copy{Node: "n3", Answer: AnswerOther, Expiry: in(time.Hour)})
		}), evidence{apart: 2}, "ttl-apart low", "up to 5s apart"},
		{"ends far apart in one sample", base(func(*Lock) {}), evidence{apart: 1}, "", ""},
		{"a wrong unit", base(func(l *Lock) { l.Expiry = in(30_000 * time.Second * 10) }), evidence{}, "wrong-unit medium", "expires only in 83h20m"},
		{"a library that locks for long", base(func(l *Lock) { l.Expiry, l.Habits.Lingers, l.Habits.Enqueued = in(48*time.Hour), true, true }), evidence{}, "lingers low", "keeps the key on purpose"},
		{"a crowd", base(func(l *Lock) { l.Waiters = Known(11) }), evidence{}, "waiters medium", "11 waiters wait"},
		{"some wait", base(func(l *Lock) { l.Waiters = Known(10) }), evidence{}, "", ""},
		{"more and more", base(func(l *Lock) { l.Waiters, l.WaitersAreProcesses = Known(3), true }), evidence{gathering: 3}, "waiters medium", "3 processes wait for it, and their number keeps growing"},
		{"no names", base(func(l *Lock) { l.Anonymous, l.Owners = true, nil }), evidence{}, "anonymous low", "records no holders"},
		{"more than was read", base(func(l *Lock) { l.Copies[0].Entry = &dialect.Entry{Cut: true} }), evidence{}, "cut low", "n1"},
		{"a stuck lock that comes back", base(func(l *Lock) { l.Flags, l.Habits.Recreates = []Flag{Stuck}, true }), evidence{}, "recreates low", "again at the next renewal"},
		{"a stuck lock of a queued job", base(func(l *Lock) { l.Flags, l.Habits.Enqueued = []Flag{Stuck}, true }), evidence{}, "enqueued low", "may not be running"},
		{"a stuck lock that others delete", base(func(l *Lock) { l.Flags, l.Habits.Careless = []Flag{NoExpiry}, true }), evidence{}, "careless low", "does not check whose"},
		{"a healthy lock of such", base(func(l *Lock) { l.Habits = dialect.Habits{Recreates: true, Careless: true, Enqueued: true} }), evidence{}, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := lockFindings(tt.lock, nil, tt.e, now)
			if tt.want == "" {
				if len(got) != 0 {
					t.Fatalf("%+v", got)
				}
				return
			}
			if len(got) != 1 || fmt.Sprint(got[0].ID, " ", got[0].Severity) != tt.want || !strings.Contains(got[0].Text, tt.part) {
				t.Fatalf("%+v", got)
			}
			if !strings.HasSuffix(got[0].Text, ".") || !strings.HasSuffix(got[0].Advice, ".") {
				t.Errorf("%+v", got[0])
			}
		})
	}
}

// A library that locks without expiry as a matter of course makes that a lesser
// finding, with its name.
func TestNoExpiryOfAnEndlessLibrary(t *testing.T) {
	for value, want := range map[string]Severity{"token": High, strings.ReplaceAll(uuid.Must(uuid.NewUUID()).String(), "-", ""): Medium} {
		l, _ := newStage(t, 1, Config{}).step(hasForever(value))
		at := slices.IndexFunc(l.Findings, func(f Finding) bool { return f.ID == "no-expiry" })
		if at < 0 || l.Findings[at].Severity != want || want == Medium && !strings.Contains(l.Findings[at].Advice, l.Library) {
			t.Errorf("%s: %+v", l.Library, l.Findings)
		}
	}
}

// The evidence from several samples: waiters that gather, ends that stay apart.
func TestGather(t *testing.T) {
	waiting := func(n int) says {
		return func(now time.Time) sample {
			x := has("aaaa", time.Minute)(now)
			x.told = pack(dialect.Extra{Waiting: n, WaitingKnown: true})
			return x
		}
	}
	s := newStage(t, 1, Config{})
	var l Lock
	for n := range 5 {
		l, _ = s.step(waiting(n))
	}
	if !slices.Contains(findingIDs(l), "waiters") || l.Waiters != Known(4) {
		t.Errorf("%v %v", l.Waiters, findingIDs(l))
	}
	if l, _ = s.step(waiting(3)); slices.Contains(findingIDs(l), "waiters") {
		t.Error("they are becoming fewer")
	}

	s = newStage(t, 3, Config{})
	long, short := has("aaaa", time.Minute), has("aaaa", 50*time.Second)
	if l, _ = s.step(long, short, long); slices.Contains(findingIDs(l), "ttl-apart") {
		t.Error("one sample may fall into a renewal")
	}
	if l, _ = s.step(long, short, long); !slices.Contains(findingIDs(l), "ttl-apart") {
		t.Errorf("%v", findingIDs(l))
	}
	if l, _ = s.step(long, long, long); slices.Contains(findingIDs(l), "ttl-apart") {
		t.Error("they are together again")
	}
}

// holding is a lock that may have several holders at once and is not renewed.
func holding(tokens ...string) says {
	end := time.Now().Add(time.Hour)
	return func(now time.Time) sample {
		r := &reading{content: known, entry: dialect.Entry{Key: "lock:x", Type: "zset"}, decoded: dialect.Decoded{Library: "some", Kind: dialect.Semaphore}}
		for _, token := range tokens {
			r.decoded.Holders = append(r.decoded.Holders, dialect.Holder{Token: token, Owner: "of " + token, Count: 1})
		}
		return sample{presence: present, got: r, life: end.Sub(now), asked: when(now)}
	}
}

// Holders of a shared lock come and go one by one, and the one that was shown
// first stays first as long as it holds.
func TestSharedEvents(t *testing.T) {
	s := newStage(t, 3, Config{})
	s.step(all(3, free)...)
	for _, tt := range []struct {
		says   []says
		events []EventKind
		owners string
		state  State
	}{
		{all(3, holding("b")), []EventKind{Taken}, "b", Held},
		{all(3, holding("a", "b")), []EventKind{Taken}, "b a", Held},
		{all(3, holding("a", "b", "c")), []EventKind{Taken}, "b a c", Held},
		{all(3, holding("a", "c")), []EventKind{Released}, "a c", Held},
		{[]says{holding("a", "c"), holding("a"), holding("a", "x")}, []EventKind{Released}, "a", Held},
		{[]says{holding("c"), holding("a"), free}, []EventKind{Released}, "", Partial},
		{all(3, holding()), nil, "", Expired},
	} {
		l, events := s.step(tt.says...)
		var owners []string
		for _, o := range l.Holders() {
			owners = append(owners, o.Token)
		}
		if got := strings.Join(owners, " "); got != tt.owners || l.State != tt.state || !slices.Equal(events, tt.events) {
			t.Errorf("want %q %s %v: %q %s %v", tt.owners, tt.state, tt.events, got, l.State, events)
		}
		if l.State == Partial && slices.Contains(findingIDs(l), "split") {
			t.Errorf("%v", findingIDs(l))
		}
	}
}

// A part that lapses before its key does no longer counts, by the node's clock.
func TestLapsedParts(t *testing.T) {
	now := time.Now()
	r := &reading{content: known, entry: dialect.Entry{Type: "zset"}, decoded: dialect.Decoded{Kind: dialect.Semaphore, Holders: []dialect.Holder{
		{Token: "a", Until: now.Add(-time.Second)}, {Token: "b", Until: now.Add(10 * time.Second)}, {Token: "c"},
	}}}
	tell := func(offset Maybe[time.Duration]) Observation {
		s := sample{presence: present, got: r, life: time.Minute, asked: when(now)}
		return reply{node: &NodeStatus{ClockOffset: offset}, answers: true, sampled: true, sample: s}.observe()
	}
	if o := tell(Known(time.Duration(0))); o.Token != "b" || !o.Expiry.At.Equal(now.Add(10*time.Second)) || len(o.Others) != 1 || !o.Others[0].Expiry.At.Equal(now.Add(time.Minute)) {
		t.Errorf("%+v", o)
	}
	if o := tell(Known(11 * time.Second)); o.Token != "c" || len(o.Others) != 0 {
		t.Errorf("%+v by a clock that is ahead", o)
	}
	if o := tell(Maybe[time.Duration]{}); o.Token != "a" || len(o.Others) != 2 {
		t.Errorf("%+v by a clock that is not known", o)
	}
	r.decoded.Holders = r.decoded.Holders[:1]
	if o := tell(Known(time.Duration(0))); o.Reply != Free {
		t.Errorf("%+v", o)
	}
}
