package cli

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// What --acl prints stands in the page of permissions, whose lines are tested on
// a server: the first line of a role is the page's, whole, and the others are
// among those that it says may be added.
func TestACLIsThatOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/acl.md")
	if err != nil {
		t.Fatal(err)
	}
	written := make(map[string][]string) // by user
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		if words := strings.Fields(line); len(words) > 3 && words[0] == "ACL" && words[1] == "SETUSER" {
			written[words[2]] = append(written[words[2]], line)
		}
	}
	if len(written) != len(acls) {
		t.Errorf("the page has %d users, --acl %d", len(written), len(acls))
	}
	for _, role := range aclRoles() {
		for _, url := range []string{"redis://127.0.0.1:1", "redis+cluster://127.0.0.1:1"} {
			e := invocation{args: []string{"doctor", "--acl", role, "--node", url}}.run(t)
			wantCode(t, e, exitOK)
			wantSilentStderr(t, e)
			lines := strings.Split(strings.TrimSuffix(e.out, "\n"), "\n")
			known := written["dlock-"+role]
			if len(known) == 0 || lines[0] != known[0] {
				t.Errorf("%s: %q is not in the page", role, lines[0])
				continue
			}
			for _, line := range lines[1:] {
				if !slices.Contains(known[1:], line) {
					t.Errorf("%s: %q is not in the page", role, line)
				}
			}
			if slots := strings.Contains(e.out, "+cluster|slots"); slots != (strings.Contains(url, "cluster") && role != "sentinel") {
				t.Errorf("%s, %s: cluster|slots is %v", role, url, slots)
			}
			if len(e.readOnly) != 0 {
				t.Errorf("%s: it connected", role)
			}
		}
	}
}
