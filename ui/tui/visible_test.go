package tui

import (
	"testing"

	"dlock/inspect"
)

// The source is told which rows can be seen, and the one that is chosen.
func TestOnScreen(t *testing.T) {
	a := &App{}
	ids := []inspect.ID{{Key: "a"}, {Key: "b"}, {Key: "c"}, {Key: "d"}}
	a.locks.list.setHeight(2)
	a.locks.list.set(ids)
	a.locks.list.selectID(ids[2])
	got := make(map[string]bool)
	for _, key := range a.onScreen() {
		got[key] = true
	}
	if len(got) != 2 || !got["b"] || !got["c"] {
		t.Errorf("%v", got)
	}
	a.detail.id = ids[3]
	if keys := a.onScreen(); keys[len(keys)-1] != "d" {
		t.Errorf("%q: without the lock of the detail view", keys)
	}
}
