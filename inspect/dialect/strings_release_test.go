package dialect

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
)

// release says what a dialect's release of a string does on a node.
func release(t *testing.T, c *redis.Client, d Dialect, e Entry) Effect {
	t.Helper()
	r, err := d.Release(e, Holder{Token: e.Value})
	if err != nil {
		t.Fatal(err)
	}
	effect, err := r.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return effect
}

// Both scripts for strings delete exactly what was seen.
func TestReleaseOfStringsOnANode(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		ctx := t.Context()
		c := labtest.Client(t, labtest.Start(t, lab.Config{Kind: kind, Nodes: 1}).Nodes()[0])
		for _, d := range []Dialect{redsync{}, spring{}} {
			e := Text("app:orders", vRandomUUID)
			for _, tt := range []struct {
				name    string
				prepare func() error
				want    Effect
				left    int64
			}{
				{"the one that was seen", func() error { return c.Set(ctx, e.Key, e.Value, time.Minute).Err() }, Deleted, 0},
				{"none", func() error { return nil }, Gone, 0},
				{"another", func() error { return c.Set(ctx, e.Key, e.Value+"x", time.Minute).Err() }, Other, 1},
				{"a hash", func() error { return c.HSet(ctx, e.Key, e.Value, "1").Err() }, OtherType, 1},
			} {
				if err := c.Del(ctx, e.Key).Err(); err != nil {
					t.Fatal(err)
				}
				if err := tt.prepare(); err != nil {
					t.Fatal(err)
				}
				if got := release(t, c, d, e); got != tt.want {
					t.Errorf("%s, %s: %v", d.Name(), tt.name, got)
				}
				if left := c.Exists(ctx, e.Key).Val(); left != tt.left {
					t.Errorf("%s, %s: %d keys are left", d.Name(), tt.name, left)
				}
			}
		}
	})
}

func TestReleaseOfAnyBytesOnANode(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		ctx := t.Context()
		c := labtest.Client(t, labtest.Start(t, lab.Config{Kind: kind, Nodes: 1}).Nodes()[0])
		for _, x := range stringExamples {
			d, _ := ByName(x.as)
			for _, h := range x.want.Holders {
				if _, err := d.Release(x.entry, h); err != nil {
					continue
				}
				if err := c.Set(ctx, x.entry.Key, x.entry.Value, time.Minute).Err(); err != nil {
					t.Fatal(err)
				}
				if got := release(t, c, d, x.entry); got != Deleted {
					t.Errorf("%s/%s: %v", x.as, x.name, got)
				}
			}
		}
		if n := c.DBSize(ctx).Val(); n != 0 {
			t.Errorf("%d keys are left", n)
		}
	})
}

// Waiters of all versions of Spring listen, on a channel or on a pattern, and
// look for the key in the message.
func TestReleaseWakesSpring(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		node := labtest.Start(t, lab.Config{Kind: kind, Nodes: 1}).Nodes()[0]
		c, waiter := labtest.Client(t, node), labtest.Client(t, node)
		older, newer := waiter.Subscribe(ctx, "app:locks-channel"), waiter.PSubscribe(ctx, "app:locks-channel:*")
		for _, s := range []*redis.PubSub{older, newer} {
			defer s.Close()
			if _, err := s.Receive(ctx); err != nil {
				t.Fatal(err)
			}
		}
		e := Text("app:locks:orders", vRandomUUID)
		if err := c.Set(ctx, e.Key, "another", 0).Err(); err != nil {
			t.Fatal(err)
		}
		if got := release(t, c, spring{}, e); got != Other {
			t.Errorf("another's lock: %v", got)
		}
		if err := c.Set(ctx, e.Key, e.Value, 0).Err(); err != nil {
			t.Fatal(err)
		}
		if got := release(t, c, spring{}, e); got != Deleted {
			t.Errorf("the lock: %v", got)
		}
		// That nothing was told about another's lock shows in that the
		// message behind it comes from the release.
		if err := c.Publish(ctx, "app:locks-channel", "end").Err(); err != nil {
			t.Fatal(err)
		}
		if err := c.Publish(ctx, "app:locks-channel:end", "end").Err(); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*redis.PubSub{older, newer} {
			for _, want := range []string{e.Key, "end"} {
				m, err := s.ReceiveMessage(ctx)
				if err != nil || m.Payload != want {
					t.Fatalf("%v, %v, want %q", m, err, want)
				}
			}
		}
	})
}

// Who may not publish frees the lock all the same.
func TestReleaseWithoutThePermissionToPublish(t *testing.T) {
	labtest.NeedServer(t)
	ctx := t.Context()
	node := labtest.Start(t, lab.Config{Kind: lab.Process, Nodes: 1}).Nodes()[0]
	c := labtest.Client(t, node)
	if err := c.Do(ctx, "ACL", "SETUSER", "op", "on", ">pw", "~*", "resetchannels", "+eval", "+evalsha", "+get", "+del", "+publish").Err(); err != nil {
		t.Fatal(err)
	}
	e := Text("app:orders", vRandomUUID)
	if err := c.Set(ctx, e.Key, e.Value, 0).Err(); err != nil {
		t.Fatal(err)
	}
	conn := c.Conn()
	defer conn.Close()
	if err := conn.AuthACL(ctx, "op", "pw").Err(); err != nil {
		t.Fatal(err)
	}
	r, err := spring{}.Release(e, Holder{Token: e.Value})
	if err != nil {
		t.Fatal(err)
	}
	if effect, err := r.Run(ctx, conn); effect != Deleted || err != nil {
		t.Fatalf("%v, %v", effect, err)
	}
	if n := c.Exists(ctx, e.Key).Val(); n != 0 {
		t.Error("the lock is still there")
	}
}
