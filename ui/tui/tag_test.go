package tui

import "testing"

// Each colour of the environment's tag has a look of its own where there are
// colours, and is a warning otherwise.
func TestColoursOfTheTag(t *testing.T) {
	colours := []string{"red", "orange", "green", "blue", "purple", "grey"}
	for _, d := range []depth{depth256, depth16} {
		th, err := newTheme("default", d)
		if err != nil {
			t.Fatal(err)
		}
		looks := make(map[style]string)
		for _, c := range colours {
			look := th.tag(c)
			if other, taken := looks[look]; taken || look == (style{}) {
				t.Errorf("%s looks like %q", c, other)
			}
			looks[look] = c
		}
		if th.tag("pink") != th.warn || th.tag("") != th.warn {
			t.Error("a colour that is none is no warning")
		}
	}
	mono, err := newTheme("mono", depth256)
	if err != nil {
		t.Fatal(err)
	}
	if mono.tag("red") != mono.warn {
		t.Error("a colour without colours")
	}
}
