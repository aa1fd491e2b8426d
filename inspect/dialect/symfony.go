package dialect

import _ "embed"

//go:embed symfony.lua
var symfonySource string

var symfonyScript = newScript(compareSource + symfonySource)

// symfony is the lock component of Symfony. From version 5.2 on a lock is a
// sorted set of tokens by expiry; a writer has a mark beside it with the same
// expiry, and a lock that knows no readers is all writers. Older versions
// write a string.
type symfony struct{}

const symfonyMark = "__write__"

func (symfony) Name() string { return "symfony" }

func (symfony) Patterns() []string { return nil }

func (symfony) Recognise(e Entry) (Decoded, bool) {
	if e.Type != "zset" {
		return symfonyString(e)
	}
	mark, marked := e.Item(symfonyMark)
	if len(e.Items) == 0 || marked && len(e.Items) == 1 {
		return Decoded{}, false
	}
	d := Decoded{Confidence: Likely, Kind: ReadWrite}
	if marked {
		d.Confidence = Certain
	}
	for _, i := range e.Items {
		until, ok := scored(i.Value)
		if !ok || i.Name != symfonyMark && !isBase64(i.Name, 32) {
			return Decoded{}, false
		}
		if i.Name == symfonyMark || e.lapsed(until) {
			continue
		}
		h := Holder{Token: i.Name, Until: until, Count: 1}
		switch {
		case marked && i.Value == mark:
			h.Mode = "write"
		case !e.Cut:
			h.Mode = "read"
		}
		d.Holders = append(d.Holders, h)
	}
	sortByToken(d.Holders)
	return d, true
}

func (d symfony) Release(e Entry, h Holder) (Release, error) {
	if e.Type != "zset" {
		return compareAndDelete(e, h)
	}
	if _, err := known(d, e, h); err != nil {
		return Release{}, err
	}
	return Release{script: symfonyScript, keys: []string{e.Key}, args: []string{h.Token}}, nil
}
