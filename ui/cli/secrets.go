package cli

import (
	"net/url"
	"slices"
	"strings"

	"dlock/inspect"
	"dlock/lockcore/node"
)

// redactor takes passwords out of texts that servers and libraries wrote, also
// where they did not come as an error of a node.
type redactor struct{ node.Secrets }

func newRedactor(urls []string, passwords ...string) redactor {
	secrets := slices.Clone(passwords)
	for _, raw := range urls {
		user := userinfo(raw)
		if user == nil {
			continue
		}
		if p, ok := user.Password(); ok {
			_, escaped, _ := strings.Cut(user.String(), ":")
			secrets = append(secrets, p, escaped)
		} else {
			// redis://secret@host is a common slip for redis://:secret@host.
			secrets = append(secrets, user.Username())
		}
	}
	for _, s := range secrets {
		// A reply ends at the first line break, so of what a server repeats
		// only a line may come back.
		if lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\r' || r == '\n' }); len(lines) > 1 {
			secrets = append(secrets, lines...)
		}
	}
	return redactor{node.NewSecrets(secrets...)}
}

// userinfo is what stands before the hosts of a node's URL, nil if nothing
// does or it cannot be read. A URL with several hosts is none that net/url
// reads as a whole.
func userinfo(raw string) *url.Userinfo {
	scheme, rest, found := strings.Cut(raw, "://")
	if !found {
		return nil
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return nil
	}
	u, err := url.Parse(scheme + "://" + rest[:at] + "@h")
	if err != nil {
		return nil
	}
	return u.User
}

// snapshot returns s with every text that a server or the network wrote
// redacted. Keys and tokens stay: they are identity. The original is not
// changed, since snapshots are shared.
func (r redactor) snapshot(s inspect.Snapshot) inspect.Snapshot {
	s.Target.Nodes = mapChanged(s.Target.Nodes, func(n *inspect.NodeStatus) bool { return r.replace(&n.Error) })
	s.Events = mapChanged(s.Events, func(e *inspect.Event) bool { return r.replace(&e.Text) })
	s.Locks = mapChanged(s.Locks, r.lock)
	s.Findings = mapChanged(s.Findings, func(f *inspect.NodeFinding) bool { return r.replace(&f.Text) })
	return s
}

func (r redactor) lock(l *inspect.Lock) bool {
	changed := false
	copies := mapChanged(l.Copies, func(c *inspect.Copy) bool { return r.replace(&c.Error) })
	findings := mapChanged(l.Findings, func(f *inspect.Finding) bool { return r.replace(&f.Text) })
	history := mapChanged(l.History, func(e *inspect.Event) bool { return r.replace(&e.Text) })
	if len(history) > 0 && &history[0] != &l.History[0] {
		l.History, changed = history, true
	}
	if len(copies) > 0 && &copies[0] != &l.Copies[0] {
		l.Copies, changed = copies, true
	}
	if len(findings) > 0 && &findings[0] != &l.Findings[0] {
		l.Findings, changed = findings, true
	}
	return changed
}

func (r redactor) result(res inspect.Result) inspect.Result {
	res.Nodes = mapChanged(res.Nodes, func(n *inspect.NodeOutcome) bool { return r.replace(&n.Detail) })
	res.Plan.Steps = mapChanged(res.Plan.Steps, func(s *inspect.Step) bool { return r.replace(&s.Why) })
	return res
}

func (r redactor) replace(s *string) bool {
	clean := r.Redact(*s)
	if clean == *s {
		return false
	}
	*s = clean
	return true
}

// mapChanged applies change to a copy of each element and returns the list
// itself while nothing has changed, a new list as soon as something has.
func mapChanged[T any](list []T, change func(*T) bool) []T {
	copied := false
	for i := range list {
		element := list[i]
		if !change(&element) {
			continue
		}
		if !copied {
			list, copied = slices.Clone(list), true
		}
		list[i] = element
	}
	return list
}
