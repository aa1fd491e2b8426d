package dialect

import (
	"encoding/binary"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRecogniseStrings(t *testing.T) { runExamples(t, stringExamples) }

// taken decodes one holder of the whole value.
func taken(c Confidence, kind, value string, h Holder, habits Habits) Decoded {
	h.Token, h.Count = value, 1
	return Decoded{Confidence: c, Kind: kind, Holders: []Holder{h}, Habits: habits}
}

// oneOf decodes what several libraries may have written.
func oneOf(c Confidence, library, value string, h Holder, habits Habits, names ...string) Decoded {
	d := taken(c, Mutex, value, h, habits)
	d.Library, d.Candidates = library, names
	return d
}

// opaque is what is said of a token that has no known form.
func opaque(value string) Decoded {
	return Decoded{Library: Unknown, Holders: []Holder{{Token: value, Count: 1}}}
}

// springValue writes what Spring did up to version 4.3.
func springValue(host, key, thread string, at time.Time) string {
	var out []byte
	for _, s := range []string{host, key, thread} {
		out = append(append(out, byte(len(s))), s...)
	}
	return string(binary.BigEndian.AppendUint64(out, uint64(at.UnixMilli())))
}

// Values as the libraries write them.
const (
	vDlock      = vRandomUUID + "/1796118050123456/web-1:4711"
	vRandomUUID = "c6488a7a-4172-4c43-8e7e-795733fe3de7"
	vTimeUUID   = "13977d68ed5711f184b402fc00000001" // with the address 02:fc:00:00:00:01
	vRandomAddr = "13977d68ed5711f184b403fc00000001" // with a random address
	vRandomHex  = "f6c5f2831f96c1ac91a047437663f589"
	vUUID4Hex   = "0f8fad5bd9cb469fa16570867728950e"
	v64Hex      = "9f8fad5bd9cb469fa16570867728950e9f8fad5bd9cb469fa16570867728950e"
	v80Hex      = v64Hex + "0123456789abcdef"
	vAlnum16    = "T3fPqv0cXb9LwZkA"
	vAlnum20    = "T3fPqv0cXb9LwZkA1234"
	vRedlockPy  = "T3fPqv0cXb9LwZkA12345z"
	vRedislock  = "WYrXmw7wRQqmKmhT83gD1A"
	vPHPRedis   = "12345:0.12345600 1796118050:4821"
	vShed       = "ADDED:2026-08-21T02:00:00.013Z@web-1"
	vRaw20      = "\xf0\x9f\x92\x01\xff\xfe\x80abcdefghijklm"
)

var (
	tTimeUUID = time.Unix(1796109367, 182884000)
	tDlock    = time.UnixMicro(1796118050123456)
	tPHP      = time.Unix(1796118050, 123456000)
	tShed     = time.Date(2026, 8, 21, 2, 0, 0, 13_000_000, time.UTC)
	tSpring   = time.UnixMilli(1_440_000_000_123)
	vSpring   = springValue("web-1", "orders:42", "http-nio-8080-exec-7", tSpring)
)

var bullUsual = Habits{
	Renews:      15 * time.Second,
	Consequence: "the queue will take the job for stalled and run it once more, whether or not its worker goes on",
}

var hangfireUsual = Habits{
	Renews:      15 * time.Second,
	Consequence: "the holder will miss its lock when it next renews it and mark its running job as failed",
}

var stringExamples = []example{
	{"token", Text("lock:orders", vDlock), Dlock, taken(Certain, Mutex, vDlock, Holder{Owner: "web-1:4711", Host: "web-1", PID: 4711, Since: tDlock}, Habits{})},
	{"token that goes on", Text("lock:orders", vDlock+"\n"), Unknown, opaque(vDlock + "\n")},

	{"value", Text("orders", "PiLgbdOORAzYKDcpDDtrZw=="), "redsync", taken(Likely, Mutex, "PiLgbdOORAzYKDcpDDtrZw==", Holder{}, Habits{})},
	{"bits that a coder leaves unset", Text("orders", "PiLgbdOORAzYKDcpDDtrZx=="), Unknown, opaque("PiLgbdOORAzYKDcpDDtrZx==")},
	{"not a string", Entry{Key: "orders", Type: "hash", Value: "PiLgbdOORAzYKDcpDDtrZw==", HasValue: true}, Unknown, opaque("PiLgbdOORAzYKDcpDDtrZw==")},
	{"not read", Entry{Key: "orders", Type: "string", Value: "PiLgbdOORAzYKDcpDDtrZw=="}, Unknown, Decoded{Library: Unknown, Anonymous: true}},

	{"token with a dash", Text("orders", "WYrXmw7wRQqm-mhT83gD1A"), "redislock", taken(Likely, Mutex, "WYrXmw7wRQqm-mhT83gD1A", Holder{}, Habits{})},
	{"told in words", Text("orders", vRedislock+"host=web-1 pid=7"), "redislock", taken(Likely, Mutex, vRedislock+"host=web-1 pid=7", Holder{Owner: "host=web-1 pid=7"}, Habits{})},
	{"told as host and process", Text("orders", vRedislock+"web-1:7"), "redislock", taken(Likely, Mutex, vRedislock+"web-1:7", Holder{Owner: "web-1:7", Host: "web-1", PID: 7}, Habits{})},
	{"told as one word", Text("orders", vRedislock+"web-1"), "redislock", taken(Possible, Mutex, vRedislock+"web-1", Holder{Owner: "web-1"}, Habits{})},
	{"either of two", Text("orders", vRedislock), "redislock", oneOf(Possible, "redislock/redlock-py", vRedislock, Holder{}, Habits{}, "redislock", "redlock-py")},
	{"longer token", Text("orders", "WYrXmw7wRQqmKmhT83gD1A7wRQqmKmhT83gD1AXyZ12"), Unknown, opaque("WYrXmw7wRQqmKmhT83gD1A7wRQqmKmhT83gD1AXyZ12")},
	{"told behind a token without digits", Text("orders", "WYrXmwDwRQqmKmhTaZgDbA web-1"), "redislock", taken(Likely, Mutex, "WYrXmwDwRQqmKmhTaZgDbA web-1", Holder{Owner: " web-1"}, Habits{})},
	{"words in one", Text("orders", "OrderProcessingServerA web-1"), Unknown, opaque("OrderProcessingServerA web-1")},
	{"words", Text("orders", "this-is-not-a-token-atw:7"), Unknown, opaque("this-is-not-a-token-atw:7")},
	{"letters and digits", Text("orders", vRedlockPy), "redlock-py", taken(Possible, Mutex, vRedlockPy, Holder{}, Habits{})},
	{"one case only", Text("orders", "t3fpqv0cxb9lwzka12345z"), Unknown, opaque("t3fpqv0cxb9lwzka12345z")},

	{"any key", Text("orders", vTimeUUID), "redis-py", taken(Likely, Mutex, vTimeUUID, Holder{Owner: "02:fc:00:00:00:01", Since: tTimeUUID}, Habits{Endless: true})},
	{"random address", Text("orders", vRandomAddr), "redis-py", taken(Likely, Mutex, vRandomAddr, Holder{Since: tTimeUUID}, Habits{Endless: true})},
	{"key as Django makes it", Text(":1:orders", vTimeUUID), "redis-py", oneOf(Likely, "redis-py/django-redis", vTimeUUID, Holder{Owner: "02:fc:00:00:00:01", Since: tTimeUUID}, Habits{Endless: true}, "redis-py", "django-redis")},
	{"impossible time", Text("orders", "00000000000011f084b402fc00000001"[:13]+"fff84b402fc00000001"), "node-redlock", taken(Possible, Mutex, "00000000000011f084b402fc00000001"[:13]+"fff84b402fc00000001", Holder{}, Habits{})},
	{"task", Text("qo_tasks.add_a-1_b-2", vTimeUUID), "celery-once", taken(Certain, Job, vTimeUUID, Holder{Owner: "02:fc:00:00:00:01", Since: tTimeUUID}, Habits{Enqueued: true, Careless: true})},
	{"other value", Text("qo_tasks.add_a-1", "1"), Unknown, opaque("1")},
	{"beat", Text("redbeat::lock", vTimeUUID), "redbeat", taken(Certain, Mutex, vTimeUUID, Holder{Owner: "02:fc:00:00:00:01", Since: tTimeUUID}, Habits{Renews: 300 * time.Second})},
	{"another beat", Text("redbeat:task:lock", "1"), Unknown, opaque("1")},
	{"task id", Text("SINGLETONLOCK_"+vRandomHex, vRandomUUID), "celery-singleton", taken(Certain, Job, vRandomUUID, Holder{}, Habits{Enqueued: true, Careless: true, Endless: true})},
	{"task id of the application's", Text("SINGLETONLOCK_"+vRandomHex, "my task"), "celery-singleton", taken(Likely, Job, "my task", Holder{}, Habits{Enqueued: true, Careless: true, Endless: true})},
	{"no digest", Text("SINGLETONLOCK_x", "my task"), Unknown, opaque("my task")},

	{"ahead", Entry{Key: "orders", Value: "1796118050.5", HasValue: true, NodeTime: time.Unix(1796118050, 0)}, "redis-mutex",
		oneOf(Possible, "redis-mutex/redis-py", "1796118050.5", Holder{Until: time.Unix(1796118050, 5e8)}, Habits{Endless: true}, "redis-mutex", "redis-py")},
	{"lapsed", Entry{Key: "RedisMutex:orders", Value: "1796118050.5", HasValue: true, NodeTime: time.Unix(1796118051, 0)}, "redis-mutex",
		Decoded{Confidence: Likely, Kind: Mutex, Habits: Habits{Endless: true}}},
	{"by its key", Text("RedisMutex:orders", "1796118050.25"), "redis-mutex", taken(Likely, Mutex, "1796118050.25", Holder{Until: time.Unix(1796118050, 25e7)}, Habits{Endless: true})},
	{"for ever", Entry{Key: "orders", Value: "2147483649.0", HasValue: true, NodeTime: time.Unix(1796118051, 0)}, "redis-mutex",
		oneOf(Possible, "redis-mutex/redis-py", "2147483649.0", Holder{}, Habits{Endless: true}, "redis-mutex", "redis-py")},
	{"a price", Text("orders", "17.50"), Unknown, opaque("17.50")},

	{"scheduler", Text("rq:scheduler-lock:default", vUUID4Hex), "rq", taken(Certain, Mutex, vUUID4Hex, Holder{}, Habits{Careless: true})},
	{"process", Text("rq:scheduler-lock:default", "4711"), "rq", taken(Certain, Mutex, "4711", Holder{Owner: "pid 4711", PID: 4711}, Habits{Careless: true})},
	{"cleaned", Text("rq:clean_registries:default", "1"), "rq", Decoded{Confidence: Certain, Kind: Mutex, Anonymous: true, Habits: Habits{Lingers: true}}},
	{"process without a number", Text("rq:scheduler-lock:default", "0"), Unknown, opaque("0")},
	{"in progress", Text("arq:in-progress:abc", "1"), "arq", Decoded{Confidence: Certain, Kind: Job, Anonymous: true}},
	{"other value", Text("arq:in-progress:abc", "2"), Unknown, opaque("2")},

	{"random digits", Text("orders", vRandomHex), "node-redlock", taken(Possible, Mutex, vRandomHex, Holder{}, Habits{})},
	{"random UUID", Text("orders", vUUID4Hex), Unknown, opaque(vUUID4Hex)},
	{"upper case", Text("orders", "F6C5F2831F96C1AC91A047437663F589"), Unknown, opaque("F6C5F2831F96C1AC91A047437663F589")},

	{"worker", Text("bull:mail:17:lock", vRandomUUID+":0"), "bullmq", taken(Certain, Job, vRandomUUID+":0", Holder{Owner: vRandomUUID}, bullUsual)},
	{"own prefix", Text("{app}:mail:17:lock", vRandomUUID+":12"), "bullmq", taken(Likely, Job, vRandomUUID+":12", Holder{Owner: vRandomUUID}, bullUsual)},
	{"older", Text("bull:mail:17:lock", vRandomUUID), "bull", taken(Likely, Job, vRandomUUID, Holder{Owner: vRandomUUID}, bullUsual)},
	{"no queue", Text("mail:17:lock", vRandomUUID+":0"), Unknown, opaque(vRandomUUID + ":0")},
	{"older with its own prefix", Text("app:mail:17:lock", vRandomUUID), Unknown, oneOf(Possible, Unknown, vRandomUUID, Holder{}, Habits{}, "aioredlock", "redlock-rb", "stackexchange.redis", "spring", "bull", "quartz")},

	{"random UUID", Text("orders", vRandomUUID), Unknown, oneOf(Possible, Unknown, vRandomUUID, Holder{}, Habits{}, "aioredlock", "redlock-rb", "stackexchange.redis")},
	{"random UUID, perhaps in a registry", Text("app:orders", vRandomUUID), Unknown, oneOf(Possible, Unknown, vRandomUUID, Holder{}, Habits{}, "aioredlock", "redlock-rb", "stackexchange.redis", "spring")},
	{"UUID of another version", Text("orders", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"), Unknown, opaque("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")},
	{"16 letters and digits", Text("orders", vAlnum16), Unknown, oneOf(Possible, "go-zero/laravel", vAlnum16, Holder{}, Habits{Recreates: true}, "go-zero", "laravel")},
	{"16 letters and digits under lock:", Text("lock:orders", vAlnum16), Unknown, oneOf(Possible, Unknown, vAlnum16, Holder{}, Habits{}, "go-zero", "laravel", "foundatio")},

	{"either of two", Text("redlock:orders", vRandomUUID), "redlock.net", oneOf(Likely, "redlock.net/pottery", vRandomUUID, Holder{}, Habits{Recreates: true}, "redlock.net", "pottery")},
	{"other value", Text("redlock:orders", "x"), Unknown, opaque("x")},

	{"job", Text("activejob_uniqueness:mail_job:no_arguments", vRandomUUID), "activejob-uniqueness", taken(Certain, Job, vRandomUUID, Holder{}, Habits{Enqueued: true})},
	{"job without a digest", Text("activejob_uniqueness:mail_job:", vUUID4Hex), Unknown, opaque(vUUID4Hex)},
	{"lock of an object", Text("account:42:import_lock", ""), "redis-objects", Decoded{Confidence: Likely, Kind: Mutex, Anonymous: true, Habits: Habits{Careless: true}}},
	{"lock whose type is not known", Entry{Key: "account:42:import_lock", HasValue: true}, "redis-objects", Decoded{Confidence: Likely, Kind: Mutex, Anonymous: true, Habits: Habits{Careless: true}}},
	{"lock that has a value", Text("account:42:import_lock", "x"), Unknown, opaque("x")},
	{"empty", Text("orders", ""), Unknown, opaque("")},
	{"moment", Text("lock.orders", "1796118050123"), "errorception", taken(Likely, Mutex, "1796118050123", Holder{Until: time.UnixMilli(1796118050123)}, Habits{Careless: true})},
	{"other key", Text("lock:orders", "1796118050123"), Unknown, opaque("1796118050123")},

	{"task", Text("asynq:{default}:unique:mail:"+vRandomHex, vRandomUUID), "asynq", taken(Certain, Job, vRandomUUID, Holder{}, Habits{Enqueued: true})},
	{"task without a payload", Text("asynq:{default}:unique:mail:", "my id"), "asynq", taken(Certain, Job, "my id", Holder{}, Habits{Enqueued: true})},
	{"another key", Text("asynq:{default}:processed:2026-12-01", "17"), Unknown, opaque("17")},
	{"owner", Text("lock||shop||orders", "web-1:4711"), "dapr", taken(Likely, Mutex, "web-1:4711", Holder{Owner: "web-1:4711", Host: "web-1", PID: 4711}, Habits{})},
	{"no resource", Text("lock||shop||", "x"), Unknown, opaque("x")},

	{"host", Text("job-lock:default:report", vShed), "shedlock", taken(Certain, Job, vShed, Holder{Owner: "web-1", Host: "web-1", Since: tShed}, Habits{Careless: true, Lingers: true})},
	{"host and UUID", Text("x", vShed+":"+vRandomUUID), "shedlock", taken(Certain, Job, vShed+":"+vRandomUUID, Holder{Owner: "web-1", Host: "web-1", Since: tShed}, Habits{Careless: true, Lingers: true})},
	{"host not known", Text("x", "ADDED:2026-08-21T02:00:00.013Z@unknown"), "shedlock", taken(Certain, Job, "ADDED:2026-08-21T02:00:00.013Z@unknown", Holder{Since: tShed}, Habits{Careless: true, Lingers: true})},
	{"no such day", Text("x", "ADDED:2026-02-31T02:00:00.013Z@web-1"), Unknown, opaque("ADDED:2026-02-31T02:00:00.013Z@web-1")},
	{"no host", Text("x", "ADDED:2026-08-21T02:00:00.013Z@"), Unknown, opaque("ADDED:2026-08-21T02:00:00.013Z@")},

	{"record", Text("locks:orders:42", vSpring), "spring", taken(Certain, Mutex, vSpring, Holder{Owner: "web-1", Host: "web-1", Thread: "http-nio-8080-exec-7", Since: tSpring}, Habits{})},
	{"record of another key", Text("locks:orders:43", vSpring), Unknown, opaque(vSpring)},
	{"record that goes on", Text("locks:orders:42", vSpring+"x"), Unknown, opaque(vSpring + "x")},

	{"executor", Text("lock4j:orders", vUUID4Hex), "lock4j", taken(Certain, Mutex, vUUID4Hex, Holder{}, Habits{})},
	{"UUID with dashes", Text("lock4j:orders", vRandomUUID), Unknown, oneOf(Possible, Unknown, vRandomUUID, Holder{}, Habits{}, "aioredlock", "redlock-rb", "stackexchange.redis", "spring")},
	{"scheduler", Text("app:trigger_lock:group:nightly", "web-1"), "quartz", taken(Possible, Mutex, "web-1", Holder{Owner: "web-1"}, Habits{})},
	{"a sentence", Text("last_job_blocked:user:42", "Ernest, 2026-11-30 12:00"), Unknown, taken(Possible, "", "Ernest, 2026-11-30 12:00", Holder{}, Habits{})},
	{"blocked", Text("job_blocked:group:nightly", "web-1"), "quartz", taken(Possible, Job, "web-1", Holder{Owner: "web-1"}, Habits{Endless: true})},
	{"no name", Text("trigger_lock:group:", "web-1"), Unknown, opaque("web-1")},

	{"process", Text("{hangfire}:queue:default:dequeued:lock", vRandomUUID), "hangfire", taken(Likely, Mutex, vRandomUUID, Holder{Owner: vRandomUUID}, hangfireUsual)},
	{"a counter", Text("{hangfire}:stats:succeeded", "17"), Unknown, opaque("17")},
	{"machine and process", Text("orders", "web_1_4711_"+vUUID4Hex), "madelson", taken(Likely, Mutex, "web_1_4711_"+vUUID4Hex, Holder{Owner: "web_1:4711", Host: "web_1", PID: 4711}, Habits{Renews: 9 * time.Second})},
	{"writer", Text("orders.writer", "web-1_4711_"+vUUID4Hex), "madelson", taken(Certain, ReadWrite, "web-1_4711_"+vUUID4Hex, Holder{Owner: "web-1:4711", Host: "web-1", PID: 4711, Mode: "write"}, Habits{Renews: 9 * time.Second})},
	{"writer that waits", Text("orders.writer", "web-1_4711_"+vUUID4Hex+"_WRITERWAITING"), "madelson",
		Decoded{Confidence: Certain, Kind: ReadWrite, Habits: Habits{Renews: 9 * time.Second}}},
	{"no process", Text("orders", "web-1_x_"+vUUID4Hex), Unknown, opaque("web-1_x_" + vUUID4Hex)},

	{"on one server", Text("app_database_framework/schedule-"+v64Hex[:40]+"0200", vAlnum16), "laravel", taken(Likely, Job, vAlnum16, Holder{}, Habits{Lingers: true})},
	{"scheduled", Text("framework/schedule-"+v64Hex[:40], vAlnum16), "laravel", taken(Likely, Job, vAlnum16, Holder{}, Habits{})},
	{"unique job", Text("laravel-database-laravel-cache-laravel_unique_job:App\\Jobs\\Mail:7", vAlnum16), "laravel", taken(Likely, Job, vAlnum16, Holder{}, Habits{Endless: true, Enqueued: true, Careless: true})},
	{"prefix", Text("shop-database-shop-cache-orders", vAlnum16), "laravel", taken(Likely, Mutex, vAlnum16, Holder{}, Habits{})},
	{"serialized", Text("orders", `s:16:"`+vAlnum16+`";`), "laravel", taken(Likely, Mutex, `s:16:"`+vAlnum16+`";`, Holder{}, Habits{})},
	{"igbinary", Text("orders", "\x00\x00\x00\x02\x11\x10"+vAlnum16), "laravel", taken(Likely, Mutex, "\x00\x00\x00\x02\x11\x10"+vAlnum16, Holder{}, Habits{})},
	{"limiter", Text("laravel_database_funnel3", vAlnum20), "laravel", taken(Possible, Semaphore, vAlnum20, Holder{}, Habits{})},
	{"serialized with another length", Text("orders", `s:15:"`+vAlnum16+`";`), Unknown, opaque(`s:15:"` + vAlnum16 + `";`)},

	{"string of old versions", Text("orders", "PiLgbdOORAzYKDcpDDtrZz4i4G3TjkQM2Cg3KQw7a2c="), "symfony", taken(Likely, Mutex, "PiLgbdOORAzYKDcpDDtrZz4i4G3TjkQM2Cg3KQw7a2c=", Holder{}, Habits{})},
	{"process and moment", Text("orders", vPHPRedis), "php-redis-lock", taken(Certain, Mutex, vPHPRedis, Holder{Owner: "pid 12345", PID: 12345, Since: tPHP}, Habits{})},
	{"number that is too long", Text("orders", "12345:0.12345600 1796118050:48210"), Unknown, opaque("12345:0.12345600 1796118050:48210")},
	{"digits", Text("php-malkusch-lock:orders", v64Hex), "malkusch", taken(Certain, Mutex, v64Hex, Holder{}, Habits{Endless: true})},
	{"serialized", Text("php-malkusch-lock:orders", `s:64:"`+v64Hex+`";`), "malkusch", taken(Certain, Mutex, `s:64:"`+v64Hex+`";`, Holder{}, Habits{Endless: true})},
	{"several servers", Text("php-malkusch-lock:distributed", v64Hex), "malkusch", Decoded{Confidence: Certain, Kind: Mutex, Separate: true, Habits: Habits{Endless: true}, Holders: []Holder{{Token: v64Hex, Count: 1}}}},
	{"64 digits under another key", Text("orders", v64Hex), Unknown, opaque(v64Hex)},
	{"hashed name", Text(v64Hex[:37], "T3fPqv0cXb-LwZkA_234"), "yii2", taken(Likely, Mutex, "T3fPqv0cXb-LwZkA_234", Holder{}, Habits{})},
	{"20 characters under another key", Text("orders", "T3fPqv0cXb-LwZkA_234"), Unknown, opaque("T3fPqv0cXb-LwZkA_234")},
	{"moment", Text("orders", "6b0e3e22f4000"), "redlock-php", taken(Possible, Mutex, "6b0e3e22f4000", Holder{Since: time.Unix(0x6b0e3e22, 0xf4000*1000)}, Habits{})},
	{"too many microseconds", Text("orders", "6b0e3e22fffff"), Unknown, opaque("6b0e3e22fffff")},
	{"80 digits", Text("orders", v80Hex), "elixir-redlock", taken(Likely, Mutex, v80Hex, Holder{}, Habits{})},
	{"79 digits", Text("orders", v80Hex[1:]), Unknown, opaque(v80Hex[1:])},
	{"20 bytes", Text("orders", vRaw20), "rslock", taken(Possible, Mutex, vRaw20, Holder{}, Habits{})},
	{"20 bytes of text", Text("orders", "twenty bytes of text"), Unknown, opaque("twenty bytes of text")},
}

func TestReleaseOfStrings(t *testing.T) {
	for _, x := range stringExamples {
		d, _ := ByName(x.as)
		for _, h := range x.want.Holders {
			refused := strings.HasPrefix(x.entry.Key, "job_blocked:") || x.entry.Type == "hash"
			if _, err := d.Release(x.entry, h); (err != nil) != refused {
				t.Errorf("%s/%s: %v", x.as, x.name, err)
			}
		}
		if x.want.Anonymous {
			if r, err := d.Release(x.entry, Holder{Token: x.entry.Value}); err == nil {
				t.Errorf("%s/%s: nobody is known to hold it, and yet %s", x.as, x.name, r.Command())
			}
		}
	}
}

func TestNarrow(t *testing.T) {
	ran := func(names ...string) func(string) bool {
		return func(name string) bool { return slices.Contains(names, name) }
	}
	raw, _ := Recognise(Text("orders", vRandomUUID))
	pair, _ := Recognise(Text("redlock:orders", vRandomUUID))
	alone, _ := Recognise(Text("orders", vTimeUUID))
	for _, tt := range []struct {
		name   string
		d      Decoded
		ran    func(string) bool
		by     string
		sure   Confidence
		habits Habits
	}{
		{"nothing is known", raw, ran(), Unknown, Possible, Habits{}},
		{"one of them", raw, ran("redlock-rb", "redsync"), "redlock-rb", Likely, Habits{Recreates: true}},
		{"two of them", raw, ran("redlock-rb", "aioredlock"), Unknown, Possible, Habits{}},
		{"only others", raw, ran("redsync"), Unknown, Possible, Habits{}},
		{"one of two", pair, ran("pottery"), "pottery", Likely, Habits{}},
		{"both of two", pair, ran("pottery", "redlock.net"), "redlock.net/pottery", Likely, Habits{Recreates: true}},
		{"one alone", alone, ran("node-redlock"), "redis-py", Likely, Habits{Endless: true}},
	} {
		got := tt.d.Narrow(tt.ran)
		if got.Library != tt.by || got.Confidence != tt.sure || got.Habits != tt.habits || !slices.Equal(got.Candidates, tt.d.Candidates) {
			t.Errorf("%s: %+v", tt.name, got)
		}
		if _, ok := ByName(got.Library); !ok {
			t.Errorf("%s: no dialect is called %q", tt.name, got.Library)
		}
	}
}

func TestSpringIsKnownByItsChannels(t *testing.T) {
	e := Text("app:orders", vRandomUUID)
	d, dialect := Recognise(e)
	asked := dialect.(Curious)
	want := [][]string{{"PUBSUB", "NUMSUB", "app-channel"}}
	if got := asked.Questions(e, d); !reflect.DeepEqual(got, want) {
		t.Errorf("asks %q", got)
	}
	asked.Learn(e, &d, []any{[]any{"app-channel", int64(0)}})
	if d.Library != Unknown {
		t.Errorf("without subscribers: %+v", d)
	}
	asked.Learn(e, &d, []any{[]any{"app-channel", int64(2)}})
	if d.Library != "spring" || d.Confidence != Likely || !d.Habits.Careless {
		t.Errorf("with subscribers: %+v", d)
	}
	// Of the lock itself more is known than of what else runs on the node.
	if d = d.Narrow(func(name string) bool { return name == "redlock-rb" }); d.Library != "spring" {
		t.Errorf("beside redlock-rb: %+v", d)
	}
	if got := asked.Questions(Text("orders", vRandomUUID), Decoded{}); got != nil {
		t.Errorf("without a registry it asks %q", got)
	}
}

func TestBullMQAsksItsJob(t *testing.T) {
	e := Text("bull:mail:17:lock", vRandomUUID+":3")
	d, dialect := Recognise(e)
	asked := dialect.(Curious)
	want := [][]string{{"HMGET", "bull:mail:17", "pb", "processedOn"}}
	if got := asked.Questions(e, d); !reflect.DeepEqual(got, want) {
		t.Errorf("asks %q", got)
	}
	asked.Learn(e, &d, []any{[]any{nil, nil}})
	if h := d.Holders[0]; h.Owner != vRandomUUID || !h.Since.IsZero() {
		t.Errorf("a job that tells nothing: %+v", h)
	}
	asked.Learn(e, &d, []any{[]any{"mailer-3", "1796118050123"}})
	if h := d.Holders[0]; h.Owner != "mailer-3" || !h.Since.Equal(time.UnixMilli(1796118050123)) {
		t.Errorf("a job with a named worker: %+v", h)
	}
}
