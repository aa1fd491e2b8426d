package cli

import (
	"net/url"
	"slices"
	"strings"

	"dlock/inspect"
)

// redactor takes passwords out of texts that servers and libraries wrote. We
// never print a password ourselves, but a server that does not know a command
// answers with the command's arguments, and those of AUTH and HELLO are
// credentials.
type redactor struct{ secrets []string }

func newRedactor(urls []string, passwords ...string) redactor {
	var r redactor
	for _, password := range passwords {
		r.add(password)
	}
	for _, raw := range urls {
		user := userinfo(raw)
		if user == nil {
			continue
		}
		if p, ok := user.Password(); ok {
			r.add(p)
			_, escaped, _ := strings.Cut(user.String(), ":")
			r.add(escaped)
		} else {
			// redis://secret@host is a common slip for redis://:secret@host.
			r.add(user.Username())
		}
	}
	// Longest first, so that a password that contains another one does not
	// leave its rest behind.
	slices.SortFunc(r.secrets, func(a, b string) int { return len(b) - len(a) })
	return r
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

func (r *redactor) add(secret string) {
	if secret != "" && !slices.Contains(r.secrets, secret) {
		r.secrets = append(r.secrets, secret)
	}
}

const hidden = "[hidden]"

// shortSecret is the length up to which a secret is only replaced where it
// stands as a word of its own: replacing every "e" of a sentence would hide
// nothing and tell what the password is.
const shortSecret = 3

// redact returns the text without a secret in it.
func (r redactor) redact(s string) string {
	if s == "" {
		return s
	}
	// The words of Redis in front of the arguments it did not understand.
	const echo = "with args beginning with"
	if before, _, found := strings.Cut(s, echo); found {
		s = before + "with arguments " + hidden
	}
	for _, secret := range r.secrets {
		if len(secret) > shortSecret {
			s = strings.ReplaceAll(s, secret, hidden)
		} else {
			s = replaceWord(s, secret)
		}
	}
	return s
}

func replaceWord(s, word string) string {
	var b strings.Builder
	kept := 0
	for from := 0; ; {
		i := strings.Index(s[from:], word)
		if i < 0 {
			break
		}
		start, end := from+i, from+i+len(word)
		if (start == 0 || !wordByte(s[start-1])) && (end == len(s) || !wordByte(s[end])) {
			b.WriteString(s[kept:start])
			b.WriteString(hidden)
			kept, from = end, end
		} else {
			from = start + 1
		}
	}
	b.WriteString(s[kept:])
	return b.String()
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// snapshot returns s with every text that a server or the network wrote
// redacted. Keys and tokens stay: they are identity. The original is not
// changed, since snapshots are shared.
func (r redactor) snapshot(s inspect.Snapshot) inspect.Snapshot {
	s.Target.Nodes = mapChanged(s.Target.Nodes, func(n *inspect.NodeStatus) bool { return r.replace(&n.Error) })
	s.Events = mapChanged(s.Events, func(e *inspect.Event) bool { return r.replace(&e.Text) })
	s.Locks = mapChanged(s.Locks, r.lock)
	return s
}

func (r redactor) lock(l *inspect.Lock) bool {
	changed := false
	copies := mapChanged(l.Copies, func(c *inspect.Copy) bool { return r.replace(&c.Error) })
	findings := mapChanged(l.Findings, func(f *inspect.Finding) bool { return r.replace(&f.Text) })
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
	clean := r.redact(*s)
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
