package cli

import (
	"io"
	"strings"
)

// aclRole is a role and the lines for redis-cli that a user of it cannot do
// without. docs/acl.md has the same lines and what may be added to them.
type aclRole struct {
	name  string
	lines []string
	// cluster is one line more for a cluster, "" for none.
	cluster string
}

var acls = []aclRole{
	{
		name: "look",
		lines: []string{
			"ACL SETUSER dlock-look reset on >PASSWORD ~lock:* +scan +pttl",
			// Without it nobody sees who holds a lock.
			"ACL SETUSER dlock-look +getrange",
		},
		cluster: "ACL SETUSER dlock-look +cluster|slots",
	},
	{
		name:    "release",
		lines:   []string{"ACL SETUSER dlock-release reset on >PASSWORD ~lock:* +pttl +get +del +eval +evalsha"},
		cluster: "ACL SETUSER dlock-release +cluster|slots",
	},
	{
		name: "lock",
		lines: []string{"ACL SETUSER dlock-lock reset on >PASSWORD ~lock:* &lock:wake:* +eval +evalsha +get +set +del +exists +type +pttl +pexpire " +
			"+hget +hgetall +hset +hdel +zadd +zrange +zrank +zrem +time +publish +subscribe +unsubscribe +ping"},
		cluster: "ACL SETUSER dlock-lock +cluster|slots",
	},
	{
		name:  "sentinel",
		lines: []string{"ACL SETUSER dlock-sentinel reset on >PASSWORD +sentinel|get-master-addr-by-name"},
	},
}

func aclRoles() []string {
	var names []string
	for _, r := range acls {
		names = append(names, r.name)
	}
	return names
}

// printACL prints a role's lines. It connects to nothing.
func (p *program) printACL(name string) error {
	cluster := false
	for _, url := range p.settings.nodes {
		cluster = cluster || strings.HasPrefix(url, "redis+cluster")
	}
	var b strings.Builder
	for _, r := range acls {
		if r.name != name {
			continue
		}
		for _, line := range r.lines {
			b.WriteString(line + "\n")
		}
		if cluster && r.cluster != "" {
			b.WriteString(r.cluster + "\n")
		}
	}
	_, err := io.WriteString(p.stdout, b.String())
	return err
}
