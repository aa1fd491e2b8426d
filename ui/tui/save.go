package tui

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dlock/inspect"
	"dlock/ui/text"
)

// WriteJSON writes what a snapshot shows as one JSON document, in the form of
// dlock ls -o json.
type WriteJSON func(w io.Writer, s inspect.Snapshot) error

// file is a file that is to be written.
type file struct {
	name  string
	write func(io.Writer) error
}

// saveName is the name, without its ending, of a saved view: it tells what and
// when, and no key is in it.
func (a *App) saveName() string {
	return "dlock-" + viewWords[a.view] + "-" + a.sceneNow().Format("20060102-150405")
}

// viewWords are the names of the views.
var viewWords = map[view]string{
	viewLocks: "locks", viewDetail: "lock", viewNodes: "nodes", viewEvents: "events", viewDemo: "demo",
	viewTimeline: "timeline", viewFindings: "findings", viewOwners: "owners",
}

// saveAs writes the view to a file: as JSON where the name ends so, else as
// plain text. Without a name it writes both.
func (a *App) saveAs(arg string) cmd {
	if !a.loaded {
		a.complain("there is nothing to save yet")
		return nil
	}
	plainText := file{arg, a.asText()}
	asJSON := file{arg, a.asJSON()}
	switch {
	case arg == "" && a.conf.JSON == nil:
		plainText.name = a.saveName() + ".txt"
		return a.world.save([]file{plainText})
	case arg == "":
		plainText.name, asJSON.name = a.saveName()+".txt", a.saveName()+".json"
		return a.world.save([]file{plainText, asJSON})
	case strings.HasSuffix(arg, ".json") && a.conf.JSON == nil:
		a.complain("this view cannot be written as JSON")
		return nil
	case strings.HasSuffix(arg, ".json"):
		return a.world.save([]file{asJSON})
	default:
		return a.world.save([]file{plainText})
	}
}

// asJSON writes the locks that are listed: in the detail the one lock, in the
// list those that pass the filter, elsewhere all.
func (a *App) asJSON() func(io.Writer) error {
	s, write := a.shown, a.conf.JSON
	switch a.view {
	case viewDetail:
		s.Locks = []inspect.Lock{a.detail.lock()}
	case viewLocks:
		rows := a.locks.rows
		s.Locks = make([]inspect.Lock, len(rows))
		for i, r := range rows {
			s.Locks[i] = a.shown.Locks[r]
		}
	}
	return func(w io.Writer) error { return write(w, s) }
}

// maxSavedRows bounds the lines of a view that is saved as text.
const maxSavedRows = 10_000

// asText writes the view without colours and without an end at the bottom of
// the screen: every row of a list is there.
func (a *App) asText() func(io.Writer) error {
	rows := 0
	switch a.view {
	case viewLocks:
		rows = len(a.locks.rows)
	case viewEvents:
		rows = len(a.events.list.ids)
	}
	page := *a // views are values: what the page does to its own stays there
	page.kit, page.release, page.bulk, page.help, page.faults, page.input, page.line, page.notice = &kit{g: a.kit.g}, nil, nil, nil, nil, nil, nil, notice{}
	page.w, page.h = max(a.w, minWidth), max(a.h, minHeight)+min(rows, maxSavedRows)
	page.marks.clear()
	return func(w io.Writer) error {
		page.resize()
		lines := page.lines()
		lines = lines[:max(0, len(lines)-2)] // the message and the keys
		var b bytes.Buffer
		for _, l := range lines {
			b.WriteString(strings.TrimRight(l, " ") + "\n")
		}
		_, err := w.Write(b.Bytes())
		return err
	}
}

// writeFiles writes files that must not be there yet, for the owner's eyes
// alone. It returns the names of those that were written.
func writeFiles(files []file) (names []string, err error) {
	for _, f := range files {
		if err := writeFile(f); err != nil {
			return names, err
		}
		path := f.name
		if full, err := filepath.Abs(f.name); err == nil {
			path = full
		}
		names = append(names, path)
	}
	return names, nil
}

// listedPaths is paths for a sentence.
func listedPaths(paths []string) text.Safe {
	return join(" and ", cleaned(paths)...)
}

func writeFile(f file) (err error) {
	out, err := os.OpenFile(f.name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return errors.New(string(text.Clean(f.name)) + " is there already; name another file")
	}
	if err != nil {
		return err
	}
	defer func() {
		if closed := out.Close(); err == nil {
			err = closed
		}
		if err != nil {
			os.Remove(f.name) // half a file is worse than none
		}
	}()
	return f.write(out)
}
