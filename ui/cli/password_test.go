package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func writeFile(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// The order of the places a password comes from, and what dlock config says.
func TestWhereAPasswordComesFrom(t *testing.T) {
	file := writeFile(t, "of the file\n")
	config := writeConfig(t, "[profile.env]\npassword_env = \"OWN\"\nsentinel_password_env = \"OWN\"\n[profile.file]\npassword_file = \"pw\"\nsentinel_password_file = \"pw\"\n[profile.none]\n")
	if err := os.WriteFile(filepath.Join(filepath.Dir(config), "pw"), []byte("of the profile's file\r\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	all := []string{"DLOCK_PASSWORD=of the variable", "DLOCK_PASSWORD_FILE=" + file, "REDISCLI_AUTH=of redis-cli", "OWN=of the profile's variable", "DLOCK_CONFIG=" + config}
	sentinel := []string{"DLOCK_SENTINEL_PASSWORD=of the variable", "DLOCK_SENTINEL_PASSWORD_FILE=" + file, "OWN=of the profile's variable", "DLOCK_CONFIG=" + config}
	for _, c := range []struct {
		name     string
		args     []string
		env      []string
		data     string
		sentinel string
		from     originKind
		where    string
	}{
		{"the terminal first", []string{"--askpass", "--profile=env"}, all, "typed", "of the profile's variable", fromPrompt, "--askpass"},
		{"the variable", []string{"--profile=env"}, all, "of the variable", "of the profile's variable", fromEnv, "DLOCK_PASSWORD"},
		{"the variable's file", []string{"--profile=env"}, all[1:], "of the file", "of the profile's variable", fromEnv, "DLOCK_PASSWORD_FILE"},
		{"the profile's variable", []string{"--profile=env"}, all[2:], "of the profile's variable", "of the profile's variable", fromProfile, config + ":2"},
		{"the profile's file", []string{"--profile=file"}, all[2:], "of the profile's file", "of the profile's file", fromProfile, config + ":5"},
		{"redis-cli's", []string{"--profile=none"}, all[2:], "of redis-cli", "", fromEnv, "REDISCLI_AUTH"},
		{"none", []string{"--profile=none"}, all[3:], "", "", fromDefault, ""},
		{"the sentinels' variable", []string{"--profile=none"}, sentinel, "", "of the variable", fromDefault, ""},
		{"the sentinels' file", []string{"--profile=none"}, sentinel[1:], "", "of the file", fromDefault, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := invocation{args: append(slices.Clone(c.args), "ls"), env: c.env, secret: "typed", fake: &fakeInspector{snapshot: picture(1, nil)}}.run(t)
			wantCode(t, e, exitOK)
			if e.settings.password != c.data || e.settings.sentinelPassword != c.sentinel {
				t.Errorf("password %q, sentinel's %q", e.settings.password, e.settings.sentinelPassword)
			}
			_, shown := inForce(t, invocation{args: slices.Clone(c.args), env: c.env})
			got := shown["password"]
			if !got.Secret || got.Set != (c.from != fromDefault) || got.From != c.from || len(got.Values) != 0 || c.where != "" && *got.Where != c.where {
				t.Errorf("%+v", got)
			}
			if shown["sentinel-password"].Set != (c.sentinel != "") {
				t.Errorf("%+v", shown["sentinel-password"])
			}
		})
	}
}

func TestAskpass(t *testing.T) {
	fake := func() *fakeInspector { return &fakeInspector{snapshot: picture(1, nil)} }
	e := invocation{args: []string{"ls", "--askpass"}, secret: "p", fake: fake()}.run(t)
	wantCode(t, e, exitOK)
	if !slices.Equal(e.prompts, []string{"Redis password: "}) {
		t.Errorf("asked: %q", e.prompts)
	}
	e = invocation{args: []string{"ls", "--askpass", "--user", "a\x1b[31m"}, secret: "p", fake: fake()}.run(t)
	if len(e.prompts) != 1 || !strings.HasPrefix(e.prompts[0], "Redis password of a") {
		t.Errorf("asked: %q", e.prompts)
	}
	checkPrintable(t, strings.Join(e.prompts, ""))
	e = invocation{args: []string{"ls", "--askpass"}}.run(t)
	wantCode(t, e, exitUsage)
	wantSentence(t, e, "no password was given")
	// Nothing is asked where nothing is logged in to, or the line is wrong.
	for _, args := range [][]string{{"config", "--askpass"}, {"version", "--askpass"}, {"get", "--askpass"}, {"--askpass", "--help"}} {
		if e := (invocation{args: args}).run(t); len(e.prompts) > 0 {
			t.Errorf("%q asks", args)
		}
	}
}

// Without a terminal --askpass says what to do instead.
func TestAskpassWithoutATerminal(t *testing.T) {
	if f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
		f.Close()
		t.Skip("there is a terminal")
	}
	var out, errs bytes.Buffer
	code := Main(context.Background(), []string{"ls", "--askpass"}, nil, strings.NewReader("typed\n"), &out, &errs)
	wantCode(t, ending{code: code, out: out.String(), err: errs.String()}, exitUsage)
	wantSentence(t, ending{err: errs.String()}, "there is no terminal", "DLOCK_PASSWORD_FILE")
}

func TestPasswordFiles(t *testing.T) {
	for content, want := range map[string]string{
		"plain":         "plain",
		"newline\n":     "newline",
		"windows\r\n":   "windows",
		"two\n\n":       "two\n",
		" blanks ":      " blanks ",
		"a\nb":          "a\nb",
		"\xff\x00bytes": "\xff\x00bytes",
	} {
		if got, err := passwordFile(writeFile(t, content), "it"); got != want || err != nil {
			t.Errorf("%q: %q, %v", content, got, err)
		}
	}
	for name, words := range map[string]string{
		writeFile(t, ""):   "it is empty",
		writeFile(t, "\n"): "it is empty",
		writeFile(t, strings.Repeat("x", maxPassword+1)): "larger than 64 KiB",
		t.TempDir():            "directory",
		"/no/such/hunter22/xy": "cannot be read",
	} {
		got, err := passwordFile(name, "it")
		if err == nil || got != "" || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
