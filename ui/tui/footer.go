package tui

import (
	"slices"

	"dlock/ui/text"
)

// keyLine draws the hints for the keys that work in the view, the least
// important left out until they fit. Help stands first, the way out last.
func (sc *scene) keyLine(m keyMap, v view, works func(action) bool) string {
	var shown []binding
	for _, b := range m {
		if b.hint != "" && b.in&v != 0 && works(b.act) {
			shown = append(shown, b)
		}
	}
	hints := make([]hint, len(shown))
	for i, b := range shown {
		first := b
		first.keys = b.keys[:1]
		hints[i] = hint{first.show(&sc.g), b.hint, b.weight}
	}
	return sc.hints(hints)
}

// hint is a key and the word for what it does.
type hint struct {
	key, word text.Safe
	weight    int
}

func (sc *scene) hints(hints []hint) string {
	const gap = 3
	width := func(hs []hint) int {
		w := 1
		for _, h := range hs {
			w += text.Width(h.key) + 1 + text.Width(h.word) + gap
		}
		return w - gap + 1
	}
	for len(hints) > 0 && width(hints) > sc.lay.w {
		least := 0
		for i := range hints {
			if hints[i].weight < hints[least].weight {
				least = i
			}
		}
		hints = slices.Delete(slices.Clone(hints), least, least+1)
	}
	l := newLine(sc.lay.w).add(sc.plain, " ")
	for i, h := range hints {
		if i > 0 {
			l.add(sc.plain, blanks(gap))
		}
		l.add(sc.key, h.key).add(sc.dim, " "+h.word)
	}
	return l.String()
}

// message draws the line above the keys. A sentence that is too long for it
// is cut at its end, so the first words must carry it.
func (sc *scene) message(st style, s text.Safe) string {
	l := newLine(sc.lay.w)
	if s == "" {
		return l.String()
	}
	l.add(st, " "+sc.g.fit.Truncate(s, max(0, sc.lay.w-3))+" ")
	return l.String()
}
