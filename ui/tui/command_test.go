package tui

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dlock/inspect"
)

// typeLine types a command and enter.
func (s *screen) typeLine(line string) {
	s.press(":")
	for _, c := range line {
		s.press(string(c))
	}
	s.press("enter")
}

func TestCommands(t *testing.T) {
	for line, want := range map[string]string{
		"nodes": "Nodes 4/5", "events": "Events 7", "timeline": "imeline", "findings": "Findings", "owners": "OWNER", "filter orders": "filter: orders",
		"filter trouble": "filter: is:trouble", "sort ttl": "by ttl", "sort name reverse": "by name, reversed", "lock lock:search:reindex": "Lock lock:search:reindex",
		"lock search": "no lock is called search", "nonsense": "there is no command nonsense", "interval 5s": "looks every 5s", "interval 1ms": "at least 500ms", "pause": "PAUSED",
		"help": "MOVE", "mark all": "MARKED", "mark what": "mark all, none or owner", "release marked": "no lock is marked", "jump 12:00": "only a recording", "speed 2": "only a recording",
		"pause now": "pause takes nothing after it", "follow": "follow is of no use in this view", "sort sideways": "sort by trouble, name", "copy json": "there is no JSON", "release": "Force-release",
		"theme solarized": "", "quite": "there is no command quite",
	} {
		s := loaded(t, 120, 36, Config{})
		s.typeLine(line)
		if s.app.line != nil {
			t.Errorf("%s: the line is still there", line)
		}
		if !strings.Contains(s.view(), want) {
			t.Errorf("%s: %q is not on the screen:\n%s", line, want, s.view())
		}
	}
	for _, line := range []string{"quit", "q", "quit-now"} {
		s := loaded(t, 120, 36, Config{})
		s.press("2")
		s.typeLine(line)
		if !s.quit {
			t.Errorf("%s does not quit", line)
		}
	}
}

func TestCommandsAreCompleted(t *testing.T) {
	for typed, want := range map[string]string{
		"fin": "findings", "so": "sort ", "sort na": "sort name", "filter st": "filter state:", "filter orders !state:sp": "filter orders !state:split",
		"filter node:n": "filter node:n1", "lock lock:sea": "lock lock:search:reindex", "zzz": "zzz", "theme hi": "theme high-contrast",
	} {
		s := loaded(t, 120, 36, Config{})
		s.press(":")
		s.press(strings.Split(typed, "")...)
		s.press("tab")
		if got := s.app.line.text; got != want {
			t.Errorf("%q becomes %q, want %q", typed, got, want)
		}
	}
	s := loaded(t, 120, 36, Config{})
	s.press(":", "f")
	s.mustShow("filter", "findings", "tab")
	var seen []string
	for range 3 {
		s.press("tab")
		seen = append(seen, s.app.line.text)
	}
	if got := fmt.Sprint(seen); got != "[faster filter findings]" {
		t.Errorf("tab goes through %s", got)
	}
	s.press("esc")
	s.typeLine("nodes")
	s.press(":", "up")
	if s.app.line.text != "nodes" {
		t.Errorf("up brings back %q", s.app.line.text)
	}
	s.press("down")
	if s.app.line.text != "" {
		t.Errorf("and down %q", s.app.line.text)
	}
	s.press("esc")
	if s.app.view != viewNodes || s.app.line != nil {
		t.Error("esc does something")
	}
}

// Whatever tab offers can be carried out.
func TestWhatIsOfferedIsUnderstood(t *testing.T) {
	for _, v := range []string{"1", "2", "3", "5", "6", "7"} {
		s := loaded(t, 120, 36, Config{})
		s.press(v)
		for _, o := range s.app.options("") {
			s := loaded(t, 120, 36, Config{})
			s.press(v)
			s.app.runLine(o)
			if strings.Contains(string(s.app.notice.text), "no command") || strings.Contains(string(s.app.notice.text), "no use") {
				t.Errorf("in view %s %q: %s", v, o, s.app.notice.text)
			}
		}
	}
}

func FuzzCommand(f *testing.F) {
	for _, s := range []string{"filter is:", "lock \"\\x1b\"", "sort ttl reverse", "mark all", "\xff", "theme mono", "speed 1e309", "jump +1h"} {
		f.Add(s)
	}
	s := loaded(f, 120, 36, Config{ReadOnly: "--read-only"})
	f.Fuzz(func(t *testing.T, line string) {
		if strings.HasPrefix(strings.TrimLeft(line, " "), "save") {
			t.Skip("it would write files")
		}
		s.app.line = &commandLine{textField: textField{prompt: commandPrompt, text: line}}
		checkScreen(t, s.view(), 120, 36)
		for _, o := range s.app.options(line) {
			if !strings.HasPrefix(o, strings.TrimLeft(line, " ")) && !strings.Contains(o, " ") {
				t.Fatalf("%q is offered for %q", o, line)
			}
		}
		s.app.line = nil
		s.app.runLine(line)
		checkScreen(t, s.view(), 120, 36)
		if s.app.asking() {
			t.Fatalf("%q opens a dialog in read-only mode", line)
		}
	})
}

func TestSaving(t *testing.T) {
	t.Chdir(t.TempDir())
	s := loaded(t, 80, 24, Config{JSON: func(w io.Writer, s inspect.Snapshot) error {
		_, err := fmt.Fprintf(w, "%d locks", len(s.Locks))
		return err
	}})
	s.load(lots(200))
	s.press("ctrl+s")
	s.mustShow("saved ")
	names, _ := filepath.Glob("dlock-locks-*")
	if len(names) != 2 {
		t.Fatalf("saved %q", names)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		switch filepath.Ext(name) {
		case ".json":
			if string(data) != "200 locks" {
				t.Errorf("the JSON is %q", data)
			}
		default:
			if n := strings.Count(string(data), "lock:tenant:"); n < 200 || strings.Contains(string(data), "\x1b") {
				t.Errorf("%d of 200 rows are saved, or there is an escape sequence", n)
			}
		}
	}
	// Nothing is overwritten.
	s.typeLine("save " + names[0])
	s.mustShow("is there already")
	s.press("enter")
	s.typeLine("save one.json")
	if data, _ := os.ReadFile("one.json"); string(data) != "1 locks" {
		t.Errorf("one lock's JSON is %q", data)
	}
	s.typeLine("save no/such/folder.txt")
	s.mustShow("not saved")
}

func TestCopyingJSON(t *testing.T) {
	var copied []inspect.Lock
	s := loaded(t, 120, 36, Config{JSON: func(_ io.Writer, s inspect.Snapshot) error { copied = s.Locks; return nil }})
	s.press("j", "j", "J")
	if len(copied) != 1 || copied[0].ID.Key != "lock:search:reindex" {
		t.Fatalf("copied %v", copied)
	}
	s.mustShow("copied lock:search:reindex as JSON")
}

func TestThemesAtRunTime(t *testing.T) {
	s := loaded(t, 120, 36, Config{})
	s.app.dress = func(name string, ascii bool) (*kit, error) {
		th, err := newTheme(name, depth256)
		k := &kit{theme: th, g: unicodeGlyphs()}
		if ascii {
			k.g = asciiGlyphs()
		}
		return k, err
	}
	looks := map[string]string{}
	for _, name := range Themes() {
		s.typeLine("theme " + name)
		s.now = s.now.Add(noticeTime)
		s.tick()
		v := s.view()
		for other, look := range looks {
			if look == v {
				t.Errorf("%s looks like %s", name, other)
			}
		}
		looks[name] = v
	}
	s.typeLine("ascii on")
	for i, r := range s.view() {
		if r > 0x7e && !strings.ContainsRune("注文決済🔒", r) {
			t.Fatalf("%q at %d is not ASCII", r, i)
		}
	}
	s.typeLine("theme solarized")
	s.mustShow("there is no theme", "solarized")
}

// With many locks rows are put in order outside the loop; what stands there
// in the end is the same.
func TestManyLocksEndInTheSameOrder(t *testing.T) {
	full := lots(manyLocks + 10)
	rapid.Check(t, func(rt *rapid.T) {
		s := newScreen(t, 120, 36, plain, Config{})
		snap := full
		s.load(snap)
		var waiting []cmd
		for range rapid.IntRange(0, 8).Draw(rt, "steps") {
			switch rapid.IntRange(0, 4).Draw(rt, "what") {
			case 0:
				waiting = append(waiting, s.app.setFilter(rapid.SampledFrom([]string{"", "tenant:00", "!tenant:000", "nothing"}).Draw(rt, "filter")))
			case 1:
				s.app.locks.by = order(rapid.IntRange(0, int(orders)-1).Draw(rt, "by"))
				waiting = append(waiting, s.app.fillLocks(true))
			case 2:
				snap.Seq++
				snap.Locks = snap.Locks[:len(snap.Locks)-1]
				waiting = append(waiting, s.app.onSnapshot(snap))
			case 3:
				s.app.locks.list.navigate(actPageDown)
			default:
				for len(waiting) > 0 {
					c := waiting[0]
					waiting = waiting[1:]
					if c == nil {
						continue
					}
					waiting = append(waiting, s.app.onArranged(c().(arrangedMsg).arranged))
				}
			}
			for i, row := range s.app.locks.rows {
				if s.app.shown.Locks[row].ID != s.app.locks.list.ids[i] {
					rt.Fatal("rows and locks do not belong together")
				}
			}
		}
		s.now = s.now.Add(time.Minute)
		s.app.at(s.now)
		for _, c := range waiting {
			s.run(c)
		}
		s.run(s.app.fillLocks(true))
		want := arrange(s.app.live.Locks, s.app.locks.filter, s.app.locks.by, s.app.locks.reverse)
		if len(want) != len(s.app.locks.rows) {
			rt.Fatalf("%d rows instead of %d", len(s.app.locks.rows), len(want))
		}
		for i, row := range want {
			if s.app.live.Locks[row].ID != s.app.locks.list.ids[i] {
				rt.Fatal("another order")
			}
		}
	})
}
