package tui

import (
	"fmt"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"dlock/inspect"
)

// scenes are the screens that are kept as files.
var scenes = []struct {
	name string
	lab  bool
	keys []string
	snap func() inspect.Snapshot // the incident if there is none
}{
	{name: "locks"},
	{name: "detail", keys: []string{"enter"}},
	{name: "kinds", snap: kinds},
	{name: "detail-shared", snap: kinds, keys: []string{"/", "y", "e", "a", "r", "l", "y", "enter", "enter"}},
	{name: "detail-waited", keys: []string{"/", "u", "s", "-", "e", "a", "s", "t", "enter", "enter"}},
	{name: "cluster", snap: cluster},
	{name: "cluster-nodes", snap: cluster, keys: []string{"2", "j"}},
	{name: "empty", snap: nothing},
	{name: "unreached", snap: unreached},
	{name: "nodes", keys: []string{"2", "j", "j"}},
	{name: "events", keys: []string{"3"}},
	{name: "events-of", keys: []string{"/", "u", "s", "-", "e", "a", "s", "t", "enter", "e"}},
	{name: "timeline", keys: []string{"5"}},
	{name: "findings", keys: []string{"6", "j", "j"}},
	{name: "owners", keys: []string{"7", "j"}},
	{name: "help", keys: []string{"?"}},
	{name: "release", keys: []string{"j", "j", "X", "r", "e"}},
	{name: "choose", keys: []string{"X"}},
	{name: "demo", lab: true, keys: []string{"4"}},
	{name: "faults", lab: true, keys: []string{"4", "F", "k"}},
}

func TestScreens(t *testing.T) {
	for _, size := range []struct {
		w, h  int
		looks map[string]look
	}{
		{120, 36, map[string]look{"colour": coloured, "mono": mono, "ascii": ascii}},
		{100, 30, map[string]look{"plain": plain}},
		{80, 24, map[string]look{"colour": sixteen, "ascii": ascii}},
		{60, 16, map[string]look{"plain": plain}},
		{48, 10, map[string]look{"plain": plain}},
	} {
		for _, sc := range scenes {
			for name, l := range size.looks {
				t.Run(fmt.Sprintf("%s-%dx%d-%s", sc.name, size.w, size.h, name), func(t *testing.T) {
					c := Config{Env: "PROD"}
					if sc.lab {
						c = Config{Title: "demo", Lab: &fakeLab{status: demoStatus()}}
					}
					s := newScreen(t, size.w, size.h, l, c)
					snap := incident
					if sc.snap != nil {
						snap = sc.snap
					}
					s.load(snap())
					s.tick()
					for _, k := range sc.keys {
						s.press(k)
					}
					golden.RequireEqual(t, s.view()+"\n")
				})
			}
		}
	}
}
