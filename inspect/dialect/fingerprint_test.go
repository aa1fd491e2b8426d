package dialect

import (
	"testing"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
)

func TestFingerprints(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Fingerprints() {
		if !isHex(f.SHA1, 40) || seen[f.SHA1] || len(f.Libraries) == 0 {
			t.Errorf("%+v", f)
		}
		seen[f.SHA1] = true
		for _, name := range f.Libraries {
			if d, ok := ByName(name); !ok || d.Name() != name {
				t.Errorf("%s: no dialect is called %q", f.SHA1, name)
			}
		}
	}
}

func TestRan(t *testing.T) {
	known := make([]bool, len(fingerprints))
	for i, f := range fingerprints {
		known[i] = f.SHA1 == "c3f8721cbb97f72bc19e972846bd7aaf91901658"
	}
	ran := Ran(known)
	for name, want := range map[string]bool{"redis-py": true, "django-redis": true, "redsync": false, Unknown: false, "": false} {
		if ran(name) != want {
			t.Errorf("%s ran: %v", name, !want)
		}
	}
	if Ran(nil)("redis-py") {
		t.Error("something ran, though nothing was answered")
	}
}

// One command answers for all of them, and a node that is new knows none.
func TestFingerprintsOnANode(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		c := labtest.Client(t, labtest.Start(t, lab.Config{Kind: kind, Nodes: 1}).Nodes()[0])
		var hashes []string
		for _, f := range Fingerprints() {
			hashes = append(hashes, f.SHA1)
		}
		known, err := c.ScriptExists(t.Context(), hashes...).Result()
		if err != nil || len(known) != len(hashes) {
			t.Fatalf("%d answers to %d questions, %v", len(known), len(hashes), err)
		}
		for _, f := range fingerprints {
			for _, name := range f.Libraries {
				if Ran(known)(name) {
					t.Errorf("%s ran on a node that is new", name)
				}
			}
		}
	})
}
