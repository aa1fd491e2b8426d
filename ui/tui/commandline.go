package tui

import (
	"strings"

	"dlock/ui/text"
)

// commandLine is the line in which a command is typed. Tab goes on with what
// is there, as far as there is one way to; up and down bring back what was
// typed before.
type commandLine struct {
	textField
	// begun is what stood there when tab began to go round, and turn which
	// of the options is shown; 0 while it does not go round.
	begun string
	turn  int
	// past is what was typed before, newest last, and at where in it we are.
	past []string
	at   int
}

// maxPast bounds what is kept of the lines typed before.
const maxPast = 50

// onKey edits the line. done closes it; its text is to be carried out unless it
// is empty.
func (c *commandLine) onKey(k key, options func(line string) []string) (done bool) {
	switch k.name {
	case "tab":
		c.complete(options)
		return false
	case "up", "down":
		c.recall(k.name == "up")
		return false
	}
	if k.name == "backspace" && c.text == "" {
		return true
	}
	c.turn = 0
	return c.textField.onKey(k)
}

// complete goes on with the text as far as all options agree; where they do
// not, it shows one after the other.
func (c *commandLine) complete(options func(line string) []string) {
	if c.turn == 0 {
		c.begun = c.text
	}
	all := options(c.begun)
	switch {
	case len(all) == 0:
		return
	case len(all) == 1:
		c.text, c.turn = all[0], 0
		if !strings.Contains(c.text, " ") && len(options(c.text+" ")) > 0 {
			c.text += " "
		}
		return
	}
	if common := commonPrefix(all); c.turn == 0 && len(common) > len(c.text) {
		c.text = common
		return
	}
	c.text = all[c.turn%len(all)]
	c.turn++
}

func commonPrefix(all []string) string {
	common := all[0]
	for _, s := range all[1:] {
		for !strings.HasPrefix(s, common) {
			common = common[:len(common)-1]
		}
	}
	return strings.ToValidUTF8(common, "")
}

// recall brings back a line typed before.
func (c *commandLine) recall(back bool) {
	if back {
		c.at = max(0, c.at-1)
	} else {
		c.at = min(len(c.past), c.at+1)
	}
	c.text, c.turn = "", 0
	if c.at < len(c.past) {
		c.text = c.past[c.at]
	}
}

// partly is what the ways to go on are asked for: the text, or, while tab goes
// round, what stood there before.
func (c *commandLine) partly() string {
	if c.turn > 0 {
		return c.begun
	}
	return c.text
}

// remember returns the lines typed before with one more.
func remember(past []string, line string) []string {
	if line == "" || len(past) > 0 && past[len(past)-1] == line {
		return past
	}
	past = append(past[:len(past):len(past)], line)
	return past[max(0, len(past)-maxPast):]
}

// offers draws the ways to go on, in place of the key line.
func (c *commandLine) offers(sc *scene, options []string) string {
	l := newLine(sc.lay.w).add(sc.plain, " ")
	if len(options) == 0 {
		if s := usage(c.text); s != "" {
			return l.add(sc.dim, s).String()
		}
		return sc.hints([]hint{{"enter", "do it", 3}, {"esc", "undo", 4}})
	}
	l.add(sc.key, "tab").add(sc.plain, "  ")
	for _, o := range options {
		// Of a line with arguments only the last is said.
		if i := strings.LastIndexByte(o, ' '); i >= 0 {
			o = o[i+1:]
		}
		s := text.CleanMax(o, 40)
		if l.used+text.Width(s)+4 > l.width {
			return l.add(sc.dim, sc.ellipsis()).String()
		}
		l.add(sc.plain, s).add(sc.plain, "  ")
	}
	return l.String()
}
