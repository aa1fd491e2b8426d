package lockcore

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestCompanionKeys(t *testing.T) {
	for _, c := range []struct{ prefix, key, fence string }{
		{"lock:", "lock:orders:42", "lock:fence:{lock:orders:42}"},
		{"lock:", "lock:order:{42}:x", "lock:fence:lock:order:{42}:x"},
		{"lock:", "lock:{}", "lock:fence:{lock:{}}"},
		{"lock:", "lock:}{", "lock:fence:{lock:}{}"},
		{"lock:", "lock:{", "lock:fence:{lock:{}"},
		{"lock:", "lock:a}b", "lock:fence:{lock:a}b}"},
		{"{locks}:", "{locks}:a", "{locks}:fence:{locks}:a"},
	} {
		got := CompanionKey(c.prefix, FenceCompanion, c.key)
		if got != c.fence {
			t.Errorf("fence companion of %q is %q, want %q", c.key, got, c.fence)
		}
		key, kind, ok := CompanionOf(c.prefix, got)
		if !ok || key != c.key || kind != FenceCompanion {
			t.Errorf("%q is read as companion %q of %q, %v", got, kind, key, ok)
		}
	}
}

func TestLocksAreNotTakenForCompanions(t *testing.T) {
	for _, key := range []string{"lock:orders", "lock:fence", "lock:node", "lock:fence:", "lock:fence:x", "lock:fence:{x}", "lock:fence:{lock:a", "lock:wait:{}", "other:fence:{lock:a}"} {
		if lock, kind, ok := CompanionOf("lock:", key); ok {
			t.Errorf("%q is read as the %s companion of %q", key, kind, lock)
		}
	}
}

// Whatever a resource is called, its companions lead back to it, and no
// resource that is accepted has a key that is read as a companion.
func TestCompanionsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.SampledFrom([]string{"lock:", "{l}:", "app:lock:"}).Draw(t, "prefix")
		resource := rapid.OneOf(rapid.StringMatching(`[a-c{}:]{1,12}`), rapid.StringMatching(`(fence|queue|wait|wake|node):?\{?(lock:)?[a-c{}:]{0,8}\}?`)).Draw(t, "resource")
		if checkResource(resource) != nil {
			return
		}
		key := Key(prefix, resource)
		if lock, kind, ok := CompanionOf(prefix, key); ok {
			t.Fatalf("the lock %q is read as the %s companion of %q", key, kind, lock)
		}
		for _, kind := range []Companion{FenceCompanion, QueueCompanion, WaitCompanion} {
			name := CompanionKey(prefix, kind, key)
			if lock, got, ok := CompanionOf(prefix, name); !ok || lock != key || got != kind {
				t.Fatalf("%q, the %s companion of %q, is read as %s of %q (%v)", name, kind, key, got, lock, ok)
			}
		}
	})
}

func TestReservedNamesAreRefused(t *testing.T) {
	for _, resource := range []string{"", "node", "fence:x", "queue:{a}", "wait:", "wake:c1"} {
		if checkResource(resource) == nil {
			t.Errorf("%q is accepted", resource)
		}
	}
	for _, resource := range []string{"nodes", "fence", "fences:x", "node:1", "waiting:room"} {
		if err := checkResource(resource); err != nil {
			t.Errorf("%q is refused: %v", resource, err)
		}
	}
}

func FuzzParseFence(f *testing.F) {
	for _, s := range []string{"41 1796118050123", "0 0", "9007199254740991 0", "41", "41 ", "-1 0", "+1 0", "1e3 0", "41 0 0", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		fence, since, ok := ParseFence(s)
		if fence < 0 || since < 0 || !ok && (fence != 0 || since != 0) {
			t.Fatalf("%q is read as %d, %d, %v", s, fence, since, ok)
		}
		if again, at, ok2 := ParseFence(fmt.Sprint(fence, " ", since)); ok && (!ok2 || again != fence || at != since) {
			t.Fatalf("%q is read as %d, %d and then as %d, %d, %v", s, fence, since, again, at, ok2)
		}
	})
}
