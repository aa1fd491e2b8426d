package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"dlock/lockcore"
	"dlock/lockcore/node"
)

type serverReply string

func (e serverReply) Error() string { return string(e) }
func (serverReply) RedisError()     {}

func TestWhyALockWasNotToBeHad(t *testing.T) {
	nodes, err := node.OpenAll([]string{"redis://h1:1", "redis://h2:2", "redis://h3:3"}, node.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer node.CloseAll(nodes)
	l := &locking{nodes: nodes, redactor: newRedactor(nil, "hunter22")}
	at := func(errs ...error) []lockcore.NodeError {
		var list []lockcore.NodeError
		for i, err := range errs {
			if err != nil {
				list = append(list, lockcore.NodeError{Node: fmt.Sprint("n", i+1), Err: err})
			}
		}
		return list
	}
	few := func(errs ...error) error {
		return &lockcore.NoQuorumError{Need: 2, Reached: 3 - len(at(errs...)), Of: 3, Nodes: at(errs...)}
	}
	down, slow, noperm := syscall.ECONNREFUSED, context.DeadlineExceeded, serverReply("NOPERM no hunter22\x1b[2J")
	resting := &lockcore.QuarantineError{Left: time.Second}
	const token = "6f1c1e1e-0d3c-4c1a-9a57-2f6a2f0c9b11/1796118050123456/web-3:4711"
	for name, c := range map[string]struct {
		err     error
		code    int
		outcome string
		words   string
	}{
		"held":                {&lockcore.NotAcquiredError{Holder: token, Owner: "web-3:4711", Remaining: 8 * time.Second}, 3, "not-acquired", "held by web-3:4711, for at most 8.0s more"},
		"held a little":       {&lockcore.NotAcquiredError{Holder: token, Owner: "web-3:4711", Remaining: time.Millisecond}, 3, "not-acquired", "for at most 0.1s more"},
		"held for ever":       {&lockcore.NotAcquiredError{Holder: "x", Remaining: -1}, 3, "not-acquired", "held by a client of another kind, without an expiry"},
		"split votes":         {&lockcore.NotAcquiredError{Votes: 1}, 3, "not-acquired", "held by several clients at once"},
		"interrupted too":     {errors.Join(&lockcore.NotAcquiredError{Holder: token, Owner: "a:1"}, context.Canceled), 3, "not-acquired", "held by a:1"},
		"two down":            {few(down, slow), 5, "no-quorum", "needs 2 of 3 nodes, and 1 answered: n1 (h1:1) connection refused; n2 (h2:2) no answer in time"},
		"all down":            {few(down, down, slow), 6, "no-node", "no node answers: n1 (h1:1)"},
		"all forbid":          {few(noperm, noperm, noperm), 7, "refused", `n1 (h1:1) NOPERM no [hidden]\x1b[2J`},
		"down or forbid":      {few(down, noperm, noperm), 7, "refused", "no node lets us lock"},
		"quarantine":          {few(resting, resting, resting), 5, "no-quorum", "in quarantine for 1s"},
		"down and resting":    {few(down, down, resting), 5, "no-quorum", "n3 (h3:3) in quarantine"},
		"too late":            {lockcore.ErrExpiredDuringAcquire, 5, "no-quorum", "longer --ttl"},
		"taken":               {&lockcore.LostError{Reason: lockcore.LossTaken, Holder: token}, 4, "lost", "web-3:4711 holds it"},
		"taken by a stranger": {&lockcore.LostError{Reason: lockcore.LossTaken, Holder: "x\x1b"}, 4, "lost", "somebody else holds it"},
		"expired":             {&lockcore.LostError{Reason: lockcore.LossExpired, Nodes: at(down)}, 4, "lost", "could be renewed: n1 (h1:1) connection refused"},
		"kept":                {&lockcore.NotReleasedError{Nodes: at(down, slow)}, 5, "not-released", "could not be released: n1"},
		"kept by all":         {&lockcore.NotReleasedError{Nodes: at(down, slow, down)}, 6, "no-node", "could not be released: n1"},
		"wrong parameter":     {errors.New("lockcore: the owner label is empty"), 2, "", "the owner label is empty"},
		"anything":            {errors.New("hunter22 is out"), 1, "failed", "[hidden] is out"},
	} {
		t.Run(name, func(t *testing.T) {
			f := l.why("job", c.err)
			if f.code != c.code || f.outcome != c.outcome || !strings.Contains(f.sentence, c.words) {
				t.Errorf("got %d %q: %s", f.code, f.outcome, f.sentence)
			}
			checkPrintable(t, f.sentence)
			if strings.Contains(f.sentence, "hunter22") || strings.HasPrefix(f.sentence, "lockcore") {
				t.Errorf("got %s", f.sentence)
			}
		})
	}
}

func TestPasswordsInURLsWithSeveralHostsAreKnown(t *testing.T) {
	for _, raw := range []string{
		"redis+sentinel://u:hunter22@h1:1,h2:2/m/0", "redis+cluster://:hunter22@h1:1,h2:2,h3:3", "redis+cluster://hunter22@h1,h2:2", "redis://:hunter22@h",
	} {
		if got := newRedactor([]string{raw}, "").Redact("ERR auth hunter22"); strings.Contains(got, "hunter22") {
			t.Errorf("%s: %s", raw, got)
		}
	}
}
