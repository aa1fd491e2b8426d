package tui

import (
	"unicode/utf8"

	"dlock/ui/text"
)

// textField is a line of text that is typed, such as a filter. What is typed takes
// effect at once; esc takes it back.
type textField struct {
	// prompt stands before the text: / for a filter.
	prompt text.Safe
	text   string
	before string
}

const maxField = 256

// The prompts of the filter and of the command line.
const (
	filterPrompt  text.Safe = "/"
	commandPrompt text.Safe = ":"
)

// onKey edits the text. done says that the field is to be closed; the text is
// then what counts.
func (f *textField) onKey(k key) (done bool) {
	switch {
	case k.name == "enter":
		return true
	case k.name == "esc":
		f.text = f.before
		return true
	case k.name == "backspace", k.name == "ctrl+h":
		_, n := utf8.DecodeLastRuneInString(f.text)
		f.text = f.text[:len(f.text)-n]
	case k.name == "ctrl+u":
		f.text = ""
	case k.name == "ctrl+w":
		f.text = withoutLastWord(f.text)
	case k.typed != "" && len(f.text)+len(k.typed) <= maxField:
		f.text += k.typed
	}
	return false
}

func withoutLastWord(s string) string {
	end := len(s)
	for end > 0 && s[end-1] == ' ' {
		end--
	}
	for end > 0 && s[end-1] != ' ' {
		end--
	}
	return s[:end]
}

func (f *textField) view(sc *scene) string {
	l := newLine(sc.lay.w).add(sc.key, " "+f.prompt+" ")
	shown := text.Clean(f.text)
	// Of a text longer than the line the end is shown, where typing goes on.
	for text.Width(shown) > max(1, sc.lay.w-6) && len(shown) > 0 {
		_, n := utf8.DecodeRuneInString(string(shown))
		shown = shown[n:]
	}
	l.add(sc.strong, shown).add(sc.button, sc.g.caret)
	if sc.loaded && f.prompt == filterPrompt {
		if s := parseFilter(f.text).unknown(target(sc).Nodes); s != "" && l.used+3+text.Width(s) <= l.width {
			l.add(sc.plain, "   ").add(sc.weak, s)
		}
	}
	return l.String()
}
