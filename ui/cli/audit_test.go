package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dlock/inspect"
)

// The line before a release is in the file by the time something is sent, and
// without it nothing is.
func TestIntentIsRecordedFirst(t *testing.T) {
	state := t.TempDir()
	fake := &fakeInspector{snapshot: picture(1, []inspect.Lock{lockOf("lock:a", never, "t")})}
	var before string
	fake.execute = func(inspect.Plan) inspect.Result {
		raw, err := os.ReadFile(filepath.Join(state, "dlock", "audit.jsonl"))
		if err != nil {
			t.Error(err)
		}
		before = string(raw)
		return inspect.Result{Outcome: inspect.OutReleased, Freed: true}
	}
	invocation{args: []string{"release", "lock:a", "--token", "t"}, env: []string{"XDG_STATE_HOME=" + state}, fake: fake}.run(t)
	var rec struct{ Outcome, Attempt, Key string }
	if err := json.Unmarshal([]byte(before), &rec); err != nil || rec.Outcome != outcomeSending || rec.Attempt == "" || rec.Key != "lock:a" {
		t.Errorf("%v: %s", err, before)
	}
}

func TestNoIntentNothingSent(t *testing.T) {
	a := &auditor{now: newProgram(nil, nil, nil, nil).now, attempts: make(map[attemptKey]string)} // its file is nil: every write fails
	fake := &fakeInspector{}
	plan, err := inspect.PlanRelease(lockOf("lock:a", never, "t", "t", "t"), "t")
	if err != nil {
		t.Fatal(err)
	}
	r := (&recorded{fake, a}).Execute(context.Background(), plan, false)
	if len(fake.executed) != 0 || r.Outcome != inspect.OutRefused || len(r.Nodes) != 3 || !strings.Contains(r.Nodes[0].Detail, "nothing was sent: the audit line could not be written") {
		t.Errorf("executed %d: %+v", len(fake.executed), r)
	}
	if (&recorded{fake, nil}).Execute(context.Background(), plan, false); len(fake.executed) != 1 {
		t.Error("--audit none keeps from releasing")
	}
}

func TestModeOfTheAuditFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes")
	}
	for _, c := range []struct {
		name  string
		named bool // by --audit
		mode  os.FileMode
		want  os.FileMode
		said  string
	}{
		{"the usual one", false, 0o644, 0o600, ""},
		{"the usual one, as it should be", false, 0o600, 0o600, ""},
		{"named, read by all", true, 0o644, 0o644, "others can read or write the audit file; chmod 600"},
		{"named, read by a group", true, 0o640, 0o640, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			state := t.TempDir()
			file := filepath.Join(state, "dlock", "audit.jsonl")
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("{}\n"), c.mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(file, c.mode); err != nil { // whatever the umask is
				t.Fatal(err)
			}
			args := []string{"release", "lock:a", "--token", "t"}
			if c.named {
				args = append(args, "--audit", file)
			}
			e := invocation{args: args, env: []string{"XDG_STATE_HOME=" + state}, fake: &fakeInspector{snapshot: picture(1, []inspect.Lock{lockOf("lock:a", never, "t")})}}.run(t)
			wantCode(t, e, exitOK)
			info, err := os.Stat(file)
			if err != nil || info.Mode().Perm() != c.want || !strings.Contains(e.err, c.said) || (e.err == "") != (c.said == "") {
				t.Errorf("%v %v, stderr %q", info.Mode(), err, e.err)
			}
			if raw, _ := os.ReadFile(file); strings.Count(string(raw), "\n") != 3 {
				t.Errorf("the file was not appended to: %s", raw)
			}
		})
	}
}

// What is no file is refused at once: no release waits for a reader.
func TestAuditFileThatIsNone(t *testing.T) {
	dir := t.TempDir()
	names := []string{dir}
	if fifo := filepath.Join(dir, "fifo"); makePipe(fifo) == nil {
		names = append(names, fifo)
		// Also if somebody reads it.
		read := filepath.Join(dir, "read")
		if err := makePipe(read); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(read, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		names = append(names, read)
	}
	for _, name := range names {
		fake := &fakeInspector{}
		e := invocation{args: []string{"release", "lock:a", "--token", "t", "--audit", name}, fake: fake}.run(t)
		wantCode(t, e, exitFailure)
		wantSentence(t, e, "nothing was released", "not a file", "--audit none")
		if len(fake.executed) != 0 || len(e.readOnly) != 0 {
			t.Errorf("%s: it went to the nodes", name)
		}
	}
}
