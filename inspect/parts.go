package inspect

import (
	"cmp"
	"slices"
)

// parts is what a node has of a lock that consists of several keys.
type parts struct {
	seen   []Part
	torn   bool     // no token is in most of the keys that are there
	others []string // the tokens beside the first, where it is torn
}

// sumParts makes one sample of those of several keys: the one that speaks for
// all. It is held on the node as long as most of the keys that are there hold
// one token, so what counts is the copy that ends when that majority does.
func sumParts(keys []string, samples []sample) (sample, *parts) {
	p := &parts{}
	var there []sample
	count := make(map[string]int)
	first, untold := "", -1
	for n, s := range samples {
		one := Part{Key: keys[n]}
		switch {
		case s.presence == absent:
			p.seen = append(p.seen, one)
			continue
		case s.presence == present && s.content() == known && len(s.got.decoded.Holders) > 0:
			token := s.got.decoded.Holders[0].Token
			count[token]++
			if c := count[token]; c > count[first] || c == count[first] && token < first {
				first = token
			}
			one.Entry, one.Expiry, one.read = &s.got.entry, s.expiry(), s.got
		default:
			one.Expiry = s.expiry()
			untold = n
		}
		there = append(there, s)
		p.seen = append(p.seen, one)
	}
	need := len(there)/2 + 1
	var mine []sample
	for _, s := range there {
		if _, ok := s.got.holder(first); ok && s.content() == known {
			mine = append(mine, s)
		}
	}
	slices.SortStableFunc(mine, func(a, b sample) int {
		if b.expiry().Before(a.expiry()) {
			return -1
		}
		return cmp.Compare(0, 0)
	})
	switch {
	case len(there) == 0:
		return samples[0], p
	case len(mine) >= need:
		return mine[need-1], p
	case untold >= 0:
		// Whether it is held hangs on a key that does not tell.
		return samples[untold], p
	}
	p.torn = true
	for token := range count {
		if token != first {
			p.others = append(p.others, token)
		}
	}
	slices.Sort(p.others)
	return mine[0], p
}
