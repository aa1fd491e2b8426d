// Package labtest gives tests a lab of Redis nodes that ends with the test.
package labtest

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"dlock/demo/lab"
)

// RequireRedis is the environment variable that, set to 1, turns a test that
// would be skipped for want of redis-server into one that fails. Machines
// whose verdict counts set it.
const RequireRedis = "DLOCK_REQUIRE_REDIS"

// commandTimeout bounds a command of [Client]. It is far longer than any
// answer takes, so that only a node that does not answer reaches it.
const commandTimeout = 10 * time.Second

// Start starts a lab and closes it when the test is over. A test that wants
// redis-server processes on a machine without redis-server is skipped, or
// fails where [RequireRedis] is set.
func Start(t testing.TB, c lab.Config) *lab.Lab {
	t.Helper()
	if c.Kind == lab.Process && c.ServerPath == "" {
		NeedServer(t)
	}
	l, err := lab.Start(t.Context(), c)
	if err != nil {
		t.Fatalf("the lab does not start: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("the lab does not close: %v", err)
		}
	})
	return l
}

// NeedServer skips the test, or fails it where [RequireRedis] is set, when
// redis-server cannot be run here.
func NeedServer(t testing.TB) {
	t.Helper()
	_, ok := lab.FindServer()
	if ok && runtime.GOOS != "windows" {
		return
	}
	if os.Getenv(RequireRedis) == "1" {
		t.Fatalf("redis-server is not installed, and %s=1 says that it must be", RequireRedis)
	}
	t.Skip("needs redis-server, which is not installed")
}

// Client connects to a node, with neither retries nor a handshake beyond the
// necessary, and disconnects when the test is over. A command ends with its
// context, at the latest after ten seconds.
func Client(t testing.TB, n *lab.Node) *redis.Client {
	t.Helper()
	logging.Disable() // broken connections are what these tests are about
	c := redis.NewClient(&redis.Options{
		Addr:                     n.Addr(),
		Protocol:                 2,
		MaxRetries:               -1,
		DialerRetries:            1,
		DialTimeout:              commandTimeout,
		ReadTimeout:              commandTimeout,
		WriteTimeout:             commandTimeout,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { c.Close() })
	return c
}

// patience is when a test gives up on something that has to happen. Only what
// hangs reaches it.
const patience = 30 * time.Second

// Eventually asks ok again and again, at once and then every few milliseconds,
// until it reports true, and fails the test if it never does. It is for what
// happens outside of the test's process and tells nobody; where there is an
// event, wait for that. ok is called by the test's own goroutine.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatalf("never happened: %s", what)
		case <-tick.C:
		}
	}
}

// EachKind runs the test once per kind of node, as a subtest. The one for
// redis-server processes is skipped where [NeedServer] says so.
func EachKind(t *testing.T, test func(t *testing.T, kind lab.Kind)) {
	t.Helper()
	for _, kind := range []lab.Kind{lab.Embedded, lab.Process} {
		t.Run(string(kind), func(t *testing.T) {
			if kind == lab.Process {
				NeedServer(t)
			}
			test(t, kind)
		})
	}
}
