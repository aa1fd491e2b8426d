package lockcore

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTokenFormIsSettled(t *testing.T) {
	const stored = "6f1c1e1e-0d3c-4c1a-9a57-2f6a2f0c9b11/1796118050123456/web-3:4711"
	token, ok := ParseToken(stored)
	if !ok {
		t.Fatal("the documented form is not read")
	}
	if token.Owner != "web-3:4711" || !token.Asked().Equal(time.UnixMicro(1796118050123456)) || token.String() != stored {
		t.Fatalf("read as %+v, written as %q", token, token)
	}
}

func TestParseTokenRefusesForeignValues(t *testing.T) {
	const id = "6f1c1e1e-0d3c-4c1a-9a57-2f6a2f0c9b11"
	for _, value := range []string{
		"", "x", id, id + "/", id + "/1", id + "/1/", id + "//web", id + "/-1/web", id + "/+1/web", id + "/01/web",
		id + "/99999999999999999999/web", id + ":1:web", id + "/1/a b", id + "/1/a\nb", id + "/1/a\x1b[31m", id + "/1/\xff",
		id + "/1/" + strings.Repeat("a", MaxOwner+1), strings.ToUpper(id) + "/1/web", "{" + id + "}/1/web", id + "/1/a\u202eb",
	} {
		if got, ok := ParseToken(value); ok {
			t.Errorf("%q was read as %+v", value, got)
		}
	}
}

func TestTokenRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		owner := rapid.StringMatching(`[a-zA-Z0-9._:/äß-]{1,40}`).Draw(t, "owner")
		want := newToken(rapid.Int64Range(0, 1<<62).Draw(t, "ticket"), owner)
		got, ok := ParseToken(want.String())
		if !ok || got != want {
			t.Fatalf("%q was read as %+v, %v", want, got, ok)
		}
	})
}

func TestTokensAreNeverReused(t *testing.T) {
	seen := make(map[string]bool)
	for range 1000 {
		s := newToken(1, "web").String()
		if seen[s] {
			t.Fatalf("%q was made twice", s)
		}
		seen[s] = true
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add("6f1c1e1e-0d3c-4c1a-9a57-2f6a2f0c9b11/1796118050123456/web-3:4711")
	f.Add("6f1c1e1e-0d3c-4c1a-9a57-2f6a2f0c9b11/0/\x9b")
	f.Fuzz(func(t *testing.T, value string) {
		if token, ok := ParseToken(value); ok && token.String() != value {
			t.Fatalf("%q was read but is written %q", value, token)
		}
	})
}
