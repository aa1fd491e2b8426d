package node

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestOpenReadsURLs(t *testing.T) {
	for _, c := range []struct {
		url, addr, user, password string
		db                        int
		tls                       bool
	}{
		{"redis://127.0.0.1:7001", "127.0.0.1:7001", "", "", 0, false},
		{"redis://localhost", "localhost:6379", "", "", 0, false},
		{"redis://", "127.0.0.1:6379", "", "", 0, false},
		{"redis://h:1/3", "h:1", "", "", 3, false},
		{"redis://h:1?db=4", "h:1", "", "", 4, false},
		{"redis://:secret@h:1/", "h:1", "", "secret", 0, false},
		{"redis://ana:p%23s%2Fs%40@h:1", "h:1", "ana", "p#s/s@", 0, false},
		{"redis://[::1]:6380", "[::1]:6380", "", "", 0, false},
		{"rediss://h", "h:6379", "", "", 0, true},
		{"unix:///run/redis.sock?db=2", "/run/redis.sock", "", "", 2, false},
		{"redis+sentinel://:s%40@a,b:5,[::1]/mymaster/2", "mymaster@a:26379,b:5,[::1]:26379", "", "s@", 2, false},
	} {
		n, err := Open(c.url, Options{})
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		o := n.Client().(*redis.Client).Options()
		if n.Addr() != c.addr || n.Name() != c.addr || o.Username != c.user || o.Password != c.password || n.DB() != c.db || o.DB != c.db || (o.TLSConfig != nil) != c.tls {
			t.Errorf("%s: addr %q, user %q, password %q, db %d, tls %v", c.url, n.Addr(), o.Username, o.Password, n.DB(), o.TLSConfig != nil)
		}
		if !o.ContextTimeoutEnabled || o.MaxRetries != 0 {
			t.Errorf("%s: a hanging server could hold its caller, or a lost reply be retried: %v, %d", c.url, o.ContextTimeoutEnabled, o.MaxRetries)
		}
		n.Close()
	}
}

func TestClusterURL(t *testing.T) {
	n, err := Open("redis+cluster://ana:pw@a,b:7001", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	o := n.Client().(*redis.ClusterClient).Options()
	if n.Topology() != Cluster || n.Addr() != "a:6379,b:7001" || o.Username != "ana" || o.Password != "pw" || !o.ContextTimeoutEnabled {
		t.Errorf("%s %s %q %q", n.Topology(), n.Addr(), o.Username, o.Password)
	}
}

func TestURLsOverrideOptions(t *testing.T) {
	given := Options{Username: "u", Password: "p", DB: 7}
	n, err := Open("redis://h", given)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if o := n.Client().(*redis.Client).Options(); o.Username != "u" || o.Password != "p" || o.DB != 7 {
		t.Errorf("got %q %q %d", o.Username, o.Password, o.DB)
	}
	n, err = Open("redis://ana:own@h/0", given)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if o := n.Client().(*redis.Client).Options(); o.Username != "ana" || o.Password != "own" || o.DB != 0 {
		t.Errorf("got %q %q %d", o.Username, o.Password, o.DB)
	}
}

// Every part of a mistyped URL may be a piece of a password.
func TestOpenNeverRepeatsAURL(t *testing.T) {
	const secret = "s3cr3t"
	for _, url := range []string{
		"redis://:%zz" + secret + "@h:1", "redis://:p#" + secret + "@h:1/0", "redis://:p?" + secret + "@h:1", "redis://:p/" + secret + "@h:1",
		"redis://h:" + secret, "redis://h:1/" + secret, "redis://h:1?" + secret + "=1", "redis://h:1?db=" + secret, secret + "://h", "redis://a b" + secret,
		"redis://:" + secret + "\x7f@h", "unix://" + secret, "http://" + secret + "@h", secret, "redis://h:99999/" + secret, "redis+cluster://:" + secret + "@h/3", "redis+cluster://:" + secret + "@h,:x", "redis+sentinel://:" + secret + "@h", "redis://:" + secret + "@a,b", "redis+cluster://a,:" + secret + "@b",
		"redis://:a:" + secret + ":c@h:x", "redis://h:1/0/" + secret, "unix:///" + secret + "?db=x", "redis://:" + secret + "%@h",
	} {
		n, err := Open(url, Options{})
		if err == nil {
			n.Close()
			if !strings.Contains(n.Addr(), secret) {
				continue
			}
			t.Errorf("%q was accepted and its address shows the secret: %q", url, n.Addr())
			continue
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%q: the error repeats a part of it: %v", url, err)
		}
		_, err = OpenAll([]string{"redis://ok", url}, Options{})
		if err == nil || strings.Contains(err.Error(), secret) || !strings.HasPrefix(err.Error(), "node 2: ") {
			t.Errorf("%q among others: %v", url, err)
		}
	}
}

func TestOneServerIsNotTwoVoters(t *testing.T) {
	_, err := OpenAll([]string{"redis://a:1", "redis://b:1", "redis://u:p@a:1/3"}, Options{})
	if err == nil || !strings.Contains(err.Error(), "node 3") || !strings.Contains(err.Error(), "n1") {
		t.Errorf("got %v", err)
	}
}

func TestReadOnlyLetsThroughOnlyWhatReads(t *testing.T) {
	ctx := context.Background()
	cmd := func(args ...any) redis.Cmder { return redis.NewCmd(ctx, args...) }
	for _, c := range []redis.Cmder{
		cmd("scan", 0), cmd("PTTL", "k"), cmd("get", "k"), cmd("object", "IDLETIME", "k"), cmd("config", "get", "maxmemory-policy"),
		cmd("hello", 2), cmd("auth", "p"), cmd("script", "exists", "x"),
	} {
		if err := onlyReads(c); err != nil {
			t.Errorf("%v: %v", c.Args(), err)
		}
	}
	for _, c := range []redis.Cmder{
		cmd("set", "k", "v"), cmd("DEL", "k"), cmd("evalsha", "x", 0), cmd("eval", "x", 0), cmd("config", "set", "a", "b"), cmd("config"),
		cmd("client", "kill", "x"), cmd("client", "pause", 1), cmd("script", "flush"), cmd("flushall"), cmd("keys", "*"), cmd("monitor"), cmd("object"),
		cmd("expire", "k", 1), cmd("getdel", "k"), cmd("getex", "k"), cmd("publish", "c", "m"), cmd("a new command"), cmd("debug", "sleep", 1), cmd("fcall", "f", 0),
	} {
		if err := onlyReads(c); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%v is let through: %v", c.Args(), err)
		}
	}

	n, err := Open("redis://127.0.0.1:1", Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if err := n.Client().Set(ctx, "k", "v", 0).Err(); Classify(err) != ReadOnlyMode {
		t.Errorf("SET: %v", err)
	}
	pipe := n.Client().Pipeline()
	get, del := pipe.Get(ctx, "k"), pipe.Del(ctx, "k")
	if _, err := pipe.Exec(ctx); Classify(err) != ReadOnlyMode || get.Err() == nil || del.Err() == nil {
		t.Errorf("a pipeline with a DEL: %v", err)
	}
}

type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

func TestClassifyGoesByTheErrorCode(t *testing.T) {
	for text, want := range map[string]Kind{
		"LOADING Redis is loading the dataset in memory":          NotServing,
		"BUSY Redis is busy running a script":                     NotServing,
		"OOM command not allowed when used memory > 'maxmemory'.": NotServing,
		"NOREPLICAS Not enough good replicas to write.":           NotServing,
		"MISCONF Redis is configured to save RDB snapshots":       NotServing,
		"CLUSTERDOWN The cluster is down":                         NotServing,
		"ERR max number of clients reached":                       NotServing,
		"NOAUTH Authentication required.":                         Unauthorized,
		"WRONGPASS invalid username-password pair":                Unauthorized,
		"ERR invalid password":                                    Unauthorized,
		"NOPERM this user has no permissions":                     Forbidden,
		"READONLY You can't write against a read only replica.":   Replica,
		"WRONGTYPE Operation against a key":                       WrongType,
		"ERR unknown command":                                     Refused,
	} {
		if got := Classify(reply(text)); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
		if Explain(reply(text)) == "" {
			t.Errorf("%q is explained with nothing", text)
		}
	}
	if Classify(redis.Nil) != OK || Classify(nil) != OK || Classify(context.Canceled) != Canceled || Classify(context.DeadlineExceeded) != TimedOut {
		t.Error("a plain Go error is put into the wrong kind")
	}
}

func FuzzOpen(f *testing.F) {
	f.Add("redis://:p%23@h:1/0?db=1")
	f.Add("unix:///a")
	f.Fuzz(func(t *testing.T, url string) {
		n, err := Open(url, Options{})
		if err == nil {
			n.Close()
		}
	})
}
