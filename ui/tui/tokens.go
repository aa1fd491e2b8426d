package tui

import (
	"dlock/inspect"
	"dlock/ui/text"
)

// tinyOf is a token's first characters, as many as tell it from the lock's
// other tokens, and at least four. Of tokens that begin alike for long it is
// the place where they part.
func (k *kit) tinyOf(l *inspect.Lock, token string) text.Safe {
	const most = 8
	whole := token
	token = unique(token)
	others := otherTokens(l, whole)
	for _, o := range others {
		if unique(o) == token {
			token = whole
			break
		}
	}
	n := 4
	for _, o := range others {
		for len(firstRunes(token, n)) < len(token) && firstRunes(token, n) == firstRunes(o, n) {
			n++
		}
	}
	head := firstRunes(token, n)
	if n <= most {
		return text.Clean(head)
	}
	return k.ellipsis() + text.Clean(lastRunes(head, most-2))
}

// shortOf is shortToken, with as much more as tells the token from the lock's
// others.
func (k *kit) shortOf(l *inspect.Lock, token string) text.Safe {
	s := shortToken(k, token)
	for _, o := range otherTokens(l, token) {
		if shortToken(k, o) == s {
			return k.tinyOf(l, token) + k.ellipsis() + text.Clean(lastRunes(unique(token), 4))
		}
	}
	return s
}

func (k *kit) ellipsis() text.Safe { return k.g.fit.Truncate("……", 1) }

// otherTokens are the tokens of a lock besides this one.
func otherTokens(l *inspect.Lock, token string) []string {
	var out []string
	for i := range l.Owners {
		if t := l.Owners[i].Token; t != "" && t != token {
			out = append(out, t)
		}
	}
	for i := range l.Copies {
		if t := l.Copies[i].Token; t != "" && t != token {
			out = append(out, t)
		}
	}
	return out
}
