package dialect

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"dlock/lockcore"
)

func TestRecogniseCollections(t *testing.T) { runExamples(t, collectionExamples) }

// What libraries write into collections, as they do.
const (
	vClient  = "8743c9c0-0795-4907-87fd-6c719a6b4586"
	vThread  = vClient + ":57"
	vOther   = "11111111-0795-4907-87fd-6c719a6b4586:3"
	vHash    = "WYrXmw7wRQqmKmhT83gD1A"
	vPermit  = "\x00\x01\xff\xfe456789abcdef"
	vJob     = "4c0f9f3b2e1d0a9b8c7d6e5f"
	vJob9    = `{"worker":"ReportJob","queue":"default","limit":1,"time":1796118050.5,"type":"until_executed"}`
	vDigest  = "uniquejobs:0f8fad5bd9cb469fa16570867728950e"
	vSymfony = "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA="
	vReader  = "web_1_4711_0f8fad5bd9cb469fa16570867728950e"
	vSignal  = "w5hm36eNaolNPESBSj3E7rUg"
	vRaw24   = "\xf0\x9f\x92\x01\xff\xfe\x80abcdefghijklmnopq"

	// Moments around the one at which the entries were read.
	past   = "1796118049999"
	future = "1796118080123"
)

var (
	tRead   = time.UnixMilli(1_796_118_050_000)
	tFuture = time.UnixMilli(1_796_118_080_123)
)

// bag is an entry of items: name, value, name, value…
func bag(key, kind string, items ...string) Entry {
	e := Entry{Key: key, Type: kind, NodeTime: tRead}
	for i := 0; i+1 < len(items); i += 2 {
		e.Items = append(e.Items, Item{Name: items[i], Value: items[i+1]})
	}
	return e
}

func cut(e Entry) Entry {
	e.Cut = true
	return e
}

// nothing is what is said of a collection that nobody knows.
var nothing = Decoded{Library: Unknown, Anonymous: true}

func ofRedisson(kind string, holders ...Holder) Decoded {
	return Decoded{Confidence: Certain, Kind: kind, Separate: true, Habits: redissonHabits, Holders: holders}
}

// lessSure is a decoding of a form that others may have.
func lessSure(d Decoded) Decoded {
	d.Confidence = Likely
	return d
}

func ofPermits(holders ...Holder) Decoded {
	return Decoded{Confidence: Likely, Kind: Semaphore, Separate: true, Habits: Habits{Endless: true}, Holders: holders}
}

// entered is a thread in a lock of Redisson.
func entered(owner, mode string, count int) Holder {
	h := Holder{Token: owner, Owner: owner, Thread: owner[37:], Mode: mode, Count: count}
	if mode == "write" {
		h.Token += ":write"
	}
	return h
}

func ofSymfony(c Confidence, holders ...Holder) Decoded {
	return Decoded{Confidence: c, Kind: ReadWrite, Holders: holders}
}

func ofHuey(c Confidence, holders ...Holder) Decoded {
	d, _ := huey{}.Recognise(bag("huey.results.x", "hash", "t", "u"))
	d.Confidence, d.Holders = c, holders
	return d
}

func ofSidekiq(c Confidence, holders ...Holder) Decoded {
	d, _ := sidekiqUniqueJobs{}.Recognise(bag(vDigest+":LOCKED", "hash", vJob, "1796118050.5"))
	d.Confidence, d.Holders = c, holders
	return d
}

func tokens(names ...string) (out []Holder) {
	for _, n := range names {
		out = append(out, Holder{Token: n, Count: 1})
	}
	return out
}

var (
	vFaster    = vHash + ":" + vThread
	vSymfony2  = strings.Repeat("A", 43) + "="
	npmHabits  = Habits{Renews: 8 * time.Second}
	rueidHabit = rueidislock{}.usual()
	reader     = Holder{Token: vReader, Owner: "web_1:4711", Host: "web_1", PID: 4711, Count: 1}
)

func readerAs(mode string, until time.Time) Holder {
	h := reader
	h.Mode, h.Until = mode, until
	return h
}

var collectionExamples = []example{
	{"thread", bag("orders", "hash", vThread, "1"), "redisson", lessSure(ofRedisson(Mutex, entered(vThread, "", 1)))},
	{"entered twice", bag("{orders}:x", "hash", vThread, "2"), "redisson", lessSure(ofRedisson(Mutex, entered(vThread, "", 2)))},
	{"no count", bag("orders", "hash", vThread, "one"), Unknown, nothing},
	{"count of nothing", bag("orders", "hash", vThread, "0"), Unknown, nothing},
	{"too large a count", bag("orders", "hash", vThread, "99999999999999999999"), Unknown, nothing},
	{"two threads", bag("orders", "hash", vThread, "1", vOther, "1"), Unknown, nothing},
	{"something beside it", bag("orders", "hash", vThread, "1", "name", "x"), Unknown, nothing},
	{"no thread", bag("orders", "hash", vClient, "1"), Unknown, nothing},
	{"no client", bag("orders", "hash", "web-1:57", "1"), Unknown, nothing},
	{"zset of threads", bag("orders", "zset", vThread, "1"), Unknown, nothing},
	{"not read", Entry{Key: "orders", Type: "hash"}, Unknown, nothing},
	{"readers", bag("doc", "hash", vThread, "1", "mode", "read", vOther, "3"), "redisson",
		ofRedisson(ReadWrite, entered(vOther, "read", 3), entered(vThread, "read", 1))},
	{"writer", bag("doc", "hash", "mode", "write", vThread+":write", "1"), "redisson", ofRedisson(ReadWrite, entered(vThread, "write", 1))},
	{"writer that reads", bag("doc", "hash", "mode", "write", vThread+":write", "1", vThread, "2"), "redisson",
		ofRedisson(ReadWrite, entered(vThread, "read", 2), entered(vThread, "write", 1))},
	{"writer among readers", bag("doc", "hash", "mode", "read", vThread+":write", "1"), Unknown, nothing},
	{"two writers", bag("doc", "hash", "mode", "write", vThread+":write", "1", vOther+":write", "1"), Unknown, nothing},
	{"no writer", bag("doc", "hash", "mode", "write", vThread, "1"), Unknown, nothing},
	{"mode of its own", bag("doc", "hash", "mode", "idle", vThread, "1"), Unknown, nothing},
	{"mode alone", bag("doc", "hash", "mode", "read"), Unknown, nothing},
	{"many readers, mode not read", cut(bag("doc", "hash", vThread, "1", vOther, "1")), "redisson", func() Decoded {
		d := ofRedisson(ReadWrite, entered(vOther, "read", 1), entered(vThread, "read", 1))
		d.Confidence = Likely
		return d
	}()},
	{"value of a group", bag("group", "hash", vHash, vThread, vFaster+":expire_time", future, vFaster+":lock_count", "2"), "redisson",
		ofRedisson(Mutex, Holder{Token: vHash, Owner: vThread, Thread: "57", Until: tFuture, Count: 2})},
	{"lapsed value of a group", bag("group", "hash", vHash, vThread, vFaster+":expire_time", past, vFaster+":lock_count", "1"), "redisson", ofRedisson(Mutex)},
	{"value without an expiry", bag("group", "hash", vHash, vThread, vFaster+":lock_count", "1"), Unknown, nothing},
	{"value and a stranger", bag("group", "hash", vHash, vThread, vFaster+":expire_time", future, vFaster+":lock_count", "1", "x", "y"), Unknown, nothing},
	{"permits", bag("{pool}:timeout", "zset", vPermit, future, "\xff123456789abcdef", "922337203685477", "\xfe123456789abcdef", past), "redisson",
		ofPermits(Holder{Token: vPermit, Until: tFuture, Count: 1}, Holder{Token: "\xff123456789abcdef", Count: 1})},
	{"a data key's members", bag("shop:{eu}:timeout", "zset", "user-0000000042x", future), Unknown, nothing},
	{"permits under another name", bag("pool:timeout", "zset", vPermit, future), Unknown, nothing},
	{"permits of another length", bag("{pool}:timeout", "zset", vPermit+"g", future), Unknown, nothing},
	{"permits without a time", bag("{pool}:timeout", "zset", vPermit, "7"), Unknown, nothing},

	{"writer", bag("report", "zset", "__write__", future, vSymfony, future), "symfony",
		ofSymfony(Certain, Holder{Token: vSymfony, Mode: "write", Until: tFuture, Count: 1})},
	{"readers", bag("report", "zset", vSymfony, future, vSymfony2, future), "symfony",
		ofSymfony(Likely, Holder{Token: vSymfony2, Mode: "read", Until: tFuture, Count: 1}, Holder{Token: vSymfony, Mode: "read", Until: tFuture, Count: 1})},
	{"all lapsed", bag("report", "zset", "__write__", past, vSymfony, past), "symfony", ofSymfony(Certain)},
	{"exponent in the score", bag("report", "zset", vSymfony, "1.796118080123e+12"), "symfony",
		ofSymfony(Likely, Holder{Token: vSymfony, Mode: "read", Until: tFuture, Count: 1})},
	{"mark alone", bag("report", "zset", "__write__", future), Unknown, nothing},
	{"set of tokens", bag("report", "set", vSymfony, ""), Unknown, nothing},
	{"rank as the score", bag("report", "zset", vSymfony, "3"), Unknown, nothing},
	{"no number as the score", bag("report", "zset", vSymfony, "nan"), Unknown, nothing},
	{"infinite score", bag("report", "zset", vSymfony, "inf"), Unknown, nothing},

	{"up to version 8", bag(vDigest+":LOCKED", "hash", vJob, "1796118050.5"), "sidekiq-unique-jobs",
		ofSidekiq(Certain, Holder{Token: vJob, Since: time.UnixMilli(1_796_118_050_500), Count: 1})},
	{"from version 9", bag(vDigest+":RUN:LOCKED", "hash", vJob, vJob9), "sidekiq-unique-jobs",
		ofSidekiq(Certain, Holder{Token: vJob, Owner: "ReportJob", Since: time.UnixMilli(1_796_118_050_500), Count: 1})},
	{"another prefix", bag("app:0f8fad5bd9cb469fa16570867728950e:LOCKED", "hash", vJob, "1796118050"), "sidekiq-unique-jobs",
		ofSidekiq(Likely, Holder{Token: vJob, Since: time.Unix(1_796_118_050, 0), Count: 1})},
	{"no digest", bag("uniquejobs:x:LOCKED", "hash", vJob, "1796118050"), Unknown, nothing},
	{"no job", bag(vDigest+":LOCKED", "hash", "job", "1796118050"), Unknown, nothing},
	{"description that is none", bag(vDigest+":LOCKED", "hash", vJob, `{"time":[]}`), Unknown, nothing},

	{"taken places", bag("SEMAPHORE:mail:GRABBED", "hash", "1", "1796118050.5", "0", "1796118050"), "dv-redis-semaphore",
		Decoded{Confidence: Certain, Kind: Semaphore, Habits: Habits{Endless: true}, Holders: []Holder{
			{Token: "0", Since: time.Unix(1_796_118_050, 0), Count: 1}, {Token: "1", Since: time.UnixMilli(1_796_118_050_500), Count: 1}}}},
	{"no name", bag("SEMAPHORE:GRABBED", "hash", "1", "1796118050"), Unknown, nothing},
	{"no time", bag("SEMAPHORE:mail:GRABBED", "hash", "1", "yes"), Unknown, nothing},

	{"readers", bag("doc.readers", "set", vReader, ""), "madelson",
		Decoded{Confidence: Certain, Kind: ReadWrite, Habits: madelsonHabits, Holders: []Holder{readerAs("read", time.Time{})}}},
	{"semaphore", bag("pool", "zset", vReader, future, "a_1_0f8fad5bd9cb469fa16570867728950e", past), "madelson",
		Decoded{Confidence: Certain, Kind: Semaphore, Habits: madelsonHabits, Holders: []Holder{readerAs("", tFuture)}}},
	{"set of another name", bag("doc", "set", vReader, ""), Unknown, nothing},
	{"a stranger among the readers", bag("doc.readers", "set", vReader, "", "x", ""), Unknown, nothing},

	{"mutex", Text("mutex:mail", vClient), "redis-semaphore", taken(Likely, Mutex, vClient, Holder{}, npmHabits)},
	{"mutex with a suffix", Text("mutex:mail", vClient+"-web"), "redis-semaphore", taken(Likely, Mutex, vClient+"-web", Holder{}, npmHabits)},
	{"semaphore", bag("semaphore:mail", "zset", vClient+"_1", past, vClient+"_0", past), "redis-semaphore",
		Decoded{Confidence: Likely, Kind: Semaphore, Habits: npmHabits, Holders: tokens(vClient+"_0", vClient+"_1")}},
	{"mutex of another", Text("mutex:mail", "busy"), Unknown, opaque("busy")},
	{"semaphore of others", bag("semaphore:mail", "zset", "job 7", past), Unknown, nothing},

	{"field among results", bag("huey.results.myapp", "hash", "0f8fad5b", "result", "my-app.lock.nightly", hueyValue), "huey", ofHuey(Certain, tokens("my-app.lock.nightly")...)},
	{"two locks", bag("huey.results.myapp", "hash", "my-app.lock.b", hueyValue, "my-app.lock.a", "packed"), "huey", ofHuey(Likely, tokens("my-app.lock.a", "my-app.lock.b")...)},
	{"results alone", bag("huey.results.myapp", "hash", "0f8fad5b", "result", "other.lock.x", hueyValue), "huey", ofHuey(Certain)},
	{"results that do not fit", cut(bag("huey.results.myapp", "hash", "0f8fad5b", "result")), "huey", func() Decoded {
		d := ofHuey(Certain)
		d.Anonymous = true
		return d
	}()},
	{"string", Text("huey.r.myapp.my-app.lock.nightly", hueyValue), "huey", ofHuey(Certain, tokens(hueyValue)...)},
	{"result that expires", Text("huey.r.myapp.0f8fad5b", hueyValue), Unknown, opaque(hueyValue)},

	{"token", Text("lock:mail", vSignal), "python-redis-lock", taken(Likely, Mutex, vSignal, Holder{}, Habits{Endless: true})},
	{"hexadecimal", Text("lock:mail", vJob), Unknown, opaque(vJob)},
	{"another prefix", Text("mail", vSignal), Unknown, opaque(vSignal)},

	{"first key", Text("rueidislock:0:mail", vRaw24), "rueidislock", taken(Certain, Mutex, vRaw24, Holder{}, rueidHabit)},
	{"third key", Text("valkeylock:2:a:b", vRaw24), "valkeylock", taken(Certain, Mutex, vRaw24, Holder{}, rueidHabit)},
	{"prefix of the application", Text("app:0:mail", vRaw24), "rueidislock",
		oneOf(Possible, "rueidislock/valkeylock", vRaw24, Holder{}, rueidHabit, "rueidislock", "valkeylock")},
	{"no number", Text("rueidislock:mail", vRaw24), Unknown, opaque(vRaw24)},
	{"text", Text("rueidislock:0:mail", "abcdefghijklmnopqrstuvw!"), Unknown, opaque("abcdefghijklmnopqrstuvw!")},
}

func TestLockOf(t *testing.T) {
	tests := []struct {
		key, lock string
		role      Role
		types     string
	}{
		{"lock:fence:{lock:a}", "lock:a", RoleFence, "string"},
		{"lock:queue:lock:{a}:b", "lock:{a}:b", RoleQueue, "zset"},
		{"lock:wait:{lock:a}", "lock:a", RoleWait, "hash"},
		{"lock:fence:a", "", "", ""},
		{"lock:node", "", "", ""},

		{"redisson_lock_queue:{orders}", "orders", RoleQueue, "list"},
		{"redisson_lock_timeout:{a}:b", "{a}:b", RoleQueue, "zset"},
		{"redisson_lock_token:lock:{a}", "lock:{a}", RoleFence, "string"},
		{"redisson_lock_token:orders", "", "", ""},
		{"redisson_lock_token:{}", "{}", RoleFence, "string"},
		{"redisson_unlock_latch:{orders}:" + vUUID4Hex, "orders", RoleInfo, "string"},
		{"redisson_unlock_latch:{orders}", "", "", ""},
		{"{doc}:" + vThread + ":rwlock_timeout:1", "doc", RoleInfo, "string"},
		{"a:{doc}:" + vThread + ":rwlock_timeout:12", "a:{doc}", RoleInfo, "string"},
		{"{doc}:x:57:rwlock_timeout:1", "", "", ""},
		{vThread + ":rwlock_timeout:1", "", "", ""},
		{"{doc}:" + vThread + ":rwlock_timeout:", "", "", ""},

		{"lock-signal:mail", "lock:mail", RoleSignal, "list"},
		{"lock-signal:", "", "", ""},
		{"rueidislock:1:mail", "rueidislock:0:mail", RolePart, "string"},
		{"valkeylock:2:a:b", "valkeylock:0:a:b", RolePart, "string"},
		{"rueidislock:0:mail", "", "", ""},
		{"rueidislock:01:mail", "", "", ""},
		{"app:1:mail", "", "", ""},
		{vDigest, vDigest + ":LOCKED", RoleInfo, "string"},
		{vDigest + ":RUN:QUEUED", vDigest + ":RUN:LOCKED", RoleSignal, "list"},
		{vDigest + ":PRIMED", vDigest + ":LOCKED", RoleQueue, "list"},
		{vDigest + ":INFO", vDigest + ":LOCKED", RoleInfo, "string"},
		{vDigest + ":LOCKED", "", "", ""},
		{"uniquejobs:digests", "", "", ""},
		{"app:0f8fad5bd9cb469fa16570867728950e", "", "", ""},
		{"SEMAPHORE:mail:AVAILABLE", "SEMAPHORE:mail:GRABBED", RoleSignal, "list"},
		{"SEMAPHORE:mail:VERSION", "SEMAPHORE:mail:GRABBED", RoleInfo, "string"},
		{"SEMAPHORE::AVAILABLE", "", "", ""},
		{"orders", "", "", ""},
		{"", "", "", ""},
	}
	for _, tt := range tests {
		lock, role, types, ok := LockOf(tt.key)
		if lock != tt.lock || role != tt.role || strings.Join(types, " ") != tt.types || ok != (tt.lock != "") {
			t.Errorf("%q: %q %q %q %v, want %q %q %q", tt.key, lock, role, types, ok, tt.lock, tt.role, tt.types)
		}
	}
}

// A lock's companions lead back to it.
func TestLockOfItsOwnCompanions(t *testing.T) {
	for _, x := range examples() {
		d, ok := ByName(x.as)
		if c, has := d.(Companioned); ok && has {
			decoded, _ := d.Recognise(x.entry)
			for _, h := range decoded.Holders {
				r, err := d.Release(x.entry, h)
				if err != nil {
					continue
				}
				for _, key := range r.keys[1:] {
					if lock, _, _, ok := c.LockOf(key); ok && lock != x.entry.Key {
						t.Errorf("%s/%s: %q leads to %q", x.as, x.name, key, lock)
					}
				}
			}
		}
	}
}

func TestDlocksUnderAPrefix(t *testing.T) {
	d := Dlocks("app[1]:", 5)
	if got, want := d.Patterns(), []string{`app\[1]:*`}; !slices.Equal(got, want) {
		t.Errorf("patterns %q, want %q", got, want)
	}
	token := lockcore.Token{UUID: uuid.New(), Ticket: 1, Owner: "a:1"}.String()
	keys := func(d Dialect, key string) []string {
		r, err := d.Release(Text(key, token), Holder{Token: token})
		if err != nil {
			t.Fatal(err)
		}
		return r.keys
	}
	companions := []string{"app[1]:x", "app[1]:fence:{app[1]:x}", "app[1]:queue:{app[1]:x}", "app[1]:wait:{app[1]:x}"}
	if got := keys(d, "app[1]:x"); !slices.Equal(got, append(companions[:4:4], "app[1]:node")) {
		t.Errorf("on several nodes: %q", got)
	}
	if got := keys(Dlocks("app[1]:", 1), "app[1]:x"); !slices.Equal(got, companions) {
		t.Errorf("on one node: %q", got)
	}
	if got := keys(d, "lock:x"); !slices.Equal(got, []string{"lock:x"}) {
		t.Errorf("under another prefix: %q", got)
	}
	if q := d.(Curious).Questions(Text("lock:x", token), Decoded{}); q != nil {
		t.Errorf("under another prefix it asks %q", q)
	}
	if _, err := d.Release(Text("app[1]:node", token), Holder{Token: token}); err == nil {
		t.Error("the marker of a node is released")
	}
}

func TestLearn(t *testing.T) {
	waiter := lockcore.Token{UUID: uuid.New(), Ticket: 1_796_118_050_123_456, Owner: "web-2:7"}.String()
	asked := time.UnixMicro(1_796_118_050_123_456)
	refused := error(errNameless)
	thread := bag("orders", "hash", vThread, "1")
	tests := []struct {
		name    string
		d       Curious
		entry   Entry
		answers []any
		want    Extra
		kind    string
		fence   int64
	}{
		{"dlock", dlock{prefix: "lock:"}, Text("lock:a", waiter),
			[]any{"41 1796118050000", int64(2), []any{waiter, "1.796118050123456e+15", "foreign", "1796118050123456"}},
			Extra{Fence: 41, FenceKnown: true, Granted: tRead, Waiting: 2, WaitingKnown: true,
				Waiters: []Waiter{{Token: waiter, Owner: "web-2:7", Since: asked}, {Token: "foreign", Since: asked}}}, Mutex, 41},
		{"dlock, never granted", dlock{prefix: "lock:"}, Text("lock:a", waiter), []any{"7 0", int64(0), []any{}}, Extra{Fence: 7, FenceKnown: true, WaitingKnown: true}, Mutex, 7},
		{"dlock, no such counter", dlock{prefix: "lock:"}, Text("lock:a", waiter), []any{"7", int64(0), []any{}}, Extra{WaitingKnown: true}, Mutex, 0},
		{"dlock, no counter", dlock{prefix: "lock:"}, Text("lock:a", waiter), []any{nil, refused, refused}, Extra{}, Mutex, 0},
		{"redisson, nobody listens", redisson{}, thread,
			[]any{[]any{"c", int64(0)}, refused, nil, int64(0), []any{}, []any{}}, Extra{}, Mutex, 0},
		{"redisson, two clients listen", redisson{}, thread,
			[]any{[]any{"c", int64(2)}, []any{"c", int64(1)}, nil, int64(0), []any{}, []any{}},
			Extra{Waiting: 3, WaitingKnown: true, WaitingProcesses: true}, Mutex, 0},
		{"redisson, fenced", redisson{}, thread,
			[]any{[]any{"c", int64(0)}, refused, "12", int64(0), []any{}, []any{}},
			Extra{Fence: 12, FenceKnown: true, WaitingKnown: true, WaitingProcesses: true}, Mutex, 12},
		{"redisson, fair", redisson{}, thread,
			[]any{[]any{"c", int64(0)}, refused, nil, int64(2), []any{vOther, "x"}, []any{[]any{vOther, future}}},
			Extra{Waiting: 2, WaitingKnown: true, Waiters: []Waiter{{Token: vOther, Owner: vOther, Until: tFuture}, {Token: "x"}}}, Fair, 0},
		{"redisson, read-write", redisson{}, bag("doc", "hash", "mode", "read", vThread, "1"),
			[]any{[]any{"c", int64(0)}, refused}, Extra{WaitingKnown: true, WaitingProcesses: true}, ReadWrite, 0},
		{"redisson, refused", redisson{}, bag("doc", "hash", "mode", "read", vThread, "1"), []any{refused, refused}, Extra{}, ReadWrite, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			decoded, ok := tt.d.(Dialect).Recognise(tt.entry)
			if n := len(tt.d.Questions(tt.entry, decoded)); !ok || n != len(tt.answers) {
				t.Fatalf("recognised %v, %d questions", ok, n)
			}
			if got := tt.d.Learn(tt.entry, &decoded, tt.answers); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
			if decoded.Kind != tt.kind || decoded.Holders[0].Fence != tt.fence {
				t.Errorf("it became %+v", decoded)
			}
		})
	}
}
