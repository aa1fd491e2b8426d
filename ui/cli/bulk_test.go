package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dlock/inspect"
)

// worker has locks of its own, without names in them, beside those of others.
func workerPicture(down ...int) inspect.Snapshot {
	const dead = "1@worker-8a"
	shared := lockOf("pulp:shared", never, dead, dead, dead)
	shared.Shared = true
	shared.Owners[0].Holds = true
	shared.Owners = append(shared.Owners, inspect.Owner{Token: "2@worker-9", Holds: true, Votes: []string{"n1", "n2", "n3"}})
	return picture(3, []inspect.Lock{
		lockOf("task:1", never, dead, dead, dead),
		lockOf("task:2", in(5e9), dead, dead, dead),
		lockOf("task:3", never, "2@worker-9", "2@worker-9", "2@worker-9"),
		lockOf("task:4", in(5e9), tokenA, tokenA, tokenA),
		lockOf("task:5", inspect.Expiry{}, "#", "#", "#"),
		shared,
	}, down...)
}

func TestReleaseOfAnOwner(t *testing.T) {
	for _, c := range []struct {
		name  string
		args  []string
		snap  inspect.Snapshot
		stdin string
		tty   bool
		sent  []string // key and token
		code  int
		out   string
		said  string
	}{
		{"all it has", []string{"--owner", "1@worker-8a", "--yes"}, workerPicture(), "", false,
			[]string{"pulp:shared 1@worker-8a", "task:1 1@worker-8a", "task:2 1@worker-8a"}, exitOK, "in all: 3 released", ""},
		{"by name", []string{"--owner", "web-3:4711", "--yes"}, workerPicture(), "", false, []string{"task:4 " + tokenA}, exitOK, "task:4: released", "task:4"},
		{"and a condition", []string{"--owner", "1@worker-8a", "--if-no-expiry", "--yes"}, workerPicture(), "", false,
			[]string{"pulp:shared 1@worker-8a", "task:1 1@worker-8a"}, exitNotThere, "in all: 2 released; 1 not released", "it has an expiry"},
		{"of given keys", []string{"task:1", "task:3", "task:9", "--owner", "1@worker-8a", "--yes"}, workerPicture(), "", false,
			[]string{"task:1 1@worker-8a"}, exitNotThere, "it is not of this owner, but of another token", "already gone"},
		{"with a token", []string{"--owner", "1@worker-8a", "--token", "2@worker-9", "--yes"}, workerPicture(), "", false, nil, exitNotThere, "", "no lock of 1@worker-8a was found"},
		{"nobody's", []string{"--owner", "3@x", "--yes"}, workerPicture(), "", false, nil, exitNotThere, "", "no lock of 3@x was found"},
		{"nobody's, as far as is seen", []string{"--owner", "3@x", "--yes"}, workerPicture(2), "", false, nil, exitIncomplete, "", "incomplete: n3"},
		{"a node is silent", []string{"--owner", "2@worker-9", "--yes"}, workerPicture(2), "", false,
			[]string{"pulp:shared 2@worker-9", "task:3 2@worker-9"}, exitIncomplete, "in all: 2 released", "incomplete: n3"},
		{"asked", []string{"--owner", "1@worker-8a"}, workerPicture(), "3\n", true,
			[]string{"pulp:shared 1@worker-8a", "task:1 1@worker-8a", "task:2 1@worker-8a"}, exitOK, "released", "to release these 3 locks"},
		{"declined", []string{"--owner", "1@worker-8a"}, workerPicture(), "y\n", true, nil, exitNotThere, "", "nothing was released"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := &fakeInspector{snapshot: c.snap}
			e := invocation{args: append([]string{"release", "--audit", "none", "--color", "never"}, c.args...), fake: fake, stdin: c.stdin, inTTY: c.tty, errTTY: c.tty}.run(t)
			wantCode(t, e, c.code)
			var sent []string
			for _, p := range fake.executed {
				sent = append(sent, p.ID.Key+" "+p.Token)
			}
			slices.Sort(sent)
			if !slices.Equal(sent, c.sent) {
				t.Errorf("sent %q, want %q", sent, c.sent)
			}
			if !strings.Contains(e.out, c.out) || !strings.Contains(e.err, c.said) {
				t.Errorf("stdout: %s\nstderr: %s", e.out, e.err)
			}
			for _, one := range c.sent {
				key, _, _ := strings.Cut(one, " ")
				if !strings.Contains(e.err, key) {
					t.Errorf("%s was not listed first: %s", key, e.err)
				}
			}
		})
	}
}

// With --dry-run everything is listed and nothing is sent, recorded or asked.
func TestDryRunOfAnOwner(t *testing.T) {
	fake := &fakeInspector{snapshot: workerPicture()}
	state := t.TempDir()
	e := invocation{args: []string{"release", "--owner", "1@worker-8a", "--dry-run"}, env: []string{"XDG_STATE_HOME=" + state}, fake: fake}.run(t)
	wantCode(t, e, exitOK)
	if !slices.Equal(fake.dry, []bool{true, true, true}) || !strings.Contains(e.out, "in all: 3 would be released") {
		t.Errorf("%v %s", fake.dry, e.out)
	}
}

// One key that fails does not keep the others, and what a node has said that is
// not the sum is shown.
func TestBulkGoesOnAfterAFailure(t *testing.T) {
	var locks []inspect.Lock
	args := []string{"release", "--token", "t", "--yes", "--audit", "none"}
	for i := range 40 {
		locks = append(locks, lockOf(fmt.Sprintf("lock:%02d", i), never, "t", "t", "t"))
		args = append(args, locks[i].ID.Key)
	}
	fake := &fakeInspector{snapshot: picture(3, locks)}
	fake.execute = func(p inspect.Plan) inspect.Result {
		do := outcomes(inspect.OutReleased, true, inspect.OutReleased, inspect.OutReleased, inspect.OutReleased)
		switch p.ID.Key {
		case "lock:07":
			do = outcomes(inspect.OutRefused, false, inspect.OutRefused, inspect.OutRefused, inspect.OutRefused)
		case "lock:08":
			do = outcomes(inspect.OutReleased, true, inspect.OutReleased, inspect.OutReleased, inspect.OutNotReached)
		}
		return do(p)
	}
	e := invocation{args: args, fake: fake}.run(t)
	wantCode(t, e, exitRefused)
	if len(fake.executed) != 40 || !strings.Contains(e.out, "in all: 39 released; 1 refused\n") {
		t.Errorf("executed %d: %s", len(fake.executed), e.out)
	}
	lines := strings.Split(e.out, "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "lock:08") })
	if at < 0 || !strings.HasPrefix(lines[at+1], "  n3  not reached") || !strings.HasPrefix(lines[at+2], "lock:09: released") {
		t.Errorf("not in order, or with too much: %s", e.out)
	}
}

// Who has the lock after a release is said by name.
func TestReleaseNamesWhoHasItNow(t *testing.T) {
	seen := lockOf("lock:a", in(8e9), tokenA, tokenA, tokenA)
	taken := lockOf("lock:a", in(8e9), tokenB, tokenB, tokenB)
	taken.Owners[0].Holds = true
	half := lockOf("lock:a", in(8e9), "", "", tokenB)
	for _, c := range []struct {
		name string
		do   func(inspect.Plan) inspect.Result
		now  inspect.Lock
		out  string
	}{
		{"taken since", outcomes(inspect.OutReleased, false, inspect.OutReleased, inspect.OutReleased, inspect.OutReleased), taken, "lock:a: released, and now held by api-2:9\n"},
		{"blocked", outcomes(inspect.OutReleased, false, inspect.OutReleased, inspect.OutReleased, inspect.OutChanged), half, "lock:a: released, but copies of api-2:9 keep it from being taken\n"},
		{"changed meanwhile", outcomes(inspect.OutChanged, false, inspect.OutChanged, inspect.OutChanged, inspect.OutChanged), taken, "lock:a: owner changed, not touched: now api-2:9\n"},
		{"gone where nodes answer", outcomes(inspect.OutAlreadyGone, true, inspect.OutAlreadyGone, inspect.OutAlreadyGone, inspect.OutNotReached), half, "lock:a: already gone from the nodes that answer\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			later := picture(3, []inspect.Lock{c.now})
			fake := &fakeInspector{snapshot: picture(3, []inspect.Lock{seen}), later: &later, execute: c.do}
			e := invocation{args: []string{"release", "lock:a", "--token", tokenA, "--audit", "none"}, fake: fake}.run(t)
			if !strings.HasPrefix(e.out, c.out) {
				t.Errorf("%s", e.out)
			}
			if c.name == "gone where nodes answer" {
				wantCode(t, e, exitIncomplete)
			}
		})
	}
}

// A lock that is gone where nodes answer may be there on one that does not.
func TestGoneIsNotGoneWhereANodeIsSilent(t *testing.T) {
	gone := lockOf("lock:a", inspect.Expiry{}, "", "", "!")
	fake := &fakeInspector{snapshot: picture(3, []inspect.Lock{gone}, 2)}
	e := invocation{args: []string{"release", "lock:a", "--token", "t", "--audit", "none"}, fake: fake}.run(t)
	wantCode(t, e, exitIncomplete)
	if e.out != "lock:a: already gone: from the nodes that tell; a copy may be left on n3\n" {
		t.Errorf("%q", e.out)
	}
}
