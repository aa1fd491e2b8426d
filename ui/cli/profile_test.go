package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"pgregory.net/rapid"
)

// writeConfig writes a config file that only its owner can read.
func writeConfig(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// inForce runs `dlock config -o json` and returns it, and its settings by name.
func inForce(t *testing.T, inv invocation) (configJSON, map[string]settingJSON) {
	t.Helper()
	inv.args = append(inv.args, "config", "-o", "json")
	e := inv.run(t)
	wantCode(t, e, exitOK)
	wantSilentStderr(t, e)
	var c configJSON
	if err := json.Unmarshal([]byte(e.out), &c); err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]settingJSON)
	for _, s := range c.Settings {
		byName[s.Name] = s
	}
	return c, byName
}

// samples are three values of each setting, as a flag and a variable take them
// and as `dlock config` shows them.
func samples(one setting) [3]string {
	switch one.kind {
	case unitValue:
		if one.flag == "scan-budget" {
			return [3]string{"1%", "3%", "5%"}
		}
		return [3]string{"2s", "3s", "5s"}
	case boolValue:
		return [3]string{"true", "true", "true"}
	case numberValue:
		return [3]string{"1", "3", "5"}
	}
	switch one.flag {
	case "node":
		return [3]string{"redis://a:1", "redis://b:1", "redis://c:1"}
	case "color":
		return [3]string{"always", "never", "always"}
	case "theme":
		return [3]string{"mono", "high-contrast", "mono"}
	}
	if one.file {
		return [3]string{"/a", "/b", "/c"}
	}
	return [3]string{"a", "b", "c"}
}

// Each setting comes from the flag, else the variable, else the profile, else it
// has its default, and dlock config says so.
func TestPrecedenceOfEverySetting(t *testing.T) {
	for _, one := range catalogue {
		t.Run(one.flag, func(t *testing.T) {
			values := samples(one)
			variable := one.variable
			if one.flag == "node" {
				variable = "DLOCK_NODES"
			}
			quoted := fmt.Sprintf("%q", values[2])
			switch one.kind {
			case listValue:
				quoted = "[" + quoted + "]"
			case boolValue, numberValue:
				quoted = values[2]
			}
			config := "default_profile = \"p\"\n[profile.p]\n"
			if one.key != "" {
				config += one.key + " = " + quoted + "\n"
			}
			if one.flag != "node" {
				config += "nodes = [\"redis://n:1\"]\n"
			}
			file := writeConfig(t, config)
			flag, env, profile := []string{"--" + one.flag + "=" + values[0]}, variable+"="+values[1], "DLOCK_CONFIG="+file
			if one.flag == "debug" {
				dir := t.TempDir()
				values[0], values[1] = filepath.Join(dir, "a"), filepath.Join(dir, "b")
				flag, env = []string{"--debug", values[0]}, variable+"="+values[1]
			}
			for _, c := range []struct {
				name  string
				args  []string
				env   []string
				value string
				from  originKind
				where string
			}{
				{"flag", flag, []string{env, profile}, values[0], fromFlag, "--" + one.flag},
				{"variable", nil, []string{env, profile}, values[1], fromEnv, variable},
				{"profile", nil, []string{profile}, values[2], fromProfile, file + ":3"},
				{"default", nil, []string{"DLOCK_CONFIG=none"}, "", fromDefault, ""},
			} {
				if c.name == "profile" && one.key == "" {
					continue
				}
				_, all := inForce(t, invocation{args: c.args, env: c.env})
				got := all[one.flag]
				if got.From != c.from || c.where != "" && (got.Where == nil || *got.Where != c.where) || c.where == "" && got.Where != nil {
					t.Errorf("%s: from %s, %v", c.name, got.From, got.Where)
				}
				if c.value != "" && !slices.Equal(got.Values, []string{c.value}) {
					t.Errorf("%s: %q, want %q", c.name, got.Values, c.value)
				}
				if c.value == "" && slices.Equal(got.Values, []string{values[2]}) {
					t.Errorf("the default is the sample %q, which shows nothing", values[2])
				}
			}
		})
	}
}

// A profile's relative files are in its folder.
func TestFilesOfAProfile(t *testing.T) {
	file := writeConfig(t, "[profile.p]\nnodes = [\"rediss://n\"]\ncacert = \"ca.pem\"\ncert = \"~/c.pem\"\naudit = \"none\"\n")
	_, all := inForce(t, invocation{env: []string{"HOME=/home/ana", "DLOCK_PROFILE=p", "DLOCK_CONFIG=" + file}})
	for name, want := range map[string]string{"cacert": filepath.Join(filepath.Dir(file), "ca.pem"), "cert": filepath.Join("/home/ana", "c.pem"), "audit": "none"} {
		if got := all[name].Values; !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestWhichProfile(t *testing.T) {
	file := writeConfig(t, "default_profile = \"one\"\n[profile.one]\nnodes = [\"redis://one\"]\n[profile.two]\nnodes = [\"redis://two\"]\ntag = \"T\"\n")
	home := t.TempDir()
	usual := filepath.Join(home, "dlock")
	if err := os.MkdirAll(usual, 0o700); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(usual, "config.toml"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, env []string
		node, tag string
	}{
		{nil, []string{"XDG_CONFIG_HOME=" + home}, "redis://one:6379", "one"},
		{nil, []string{"XDG_CONFIG_HOME=" + home, "DLOCK_PROFILE=two"}, "redis://two:6379", "T"},
		{[]string{"--profile", "two"}, []string{"XDG_CONFIG_HOME=" + home, "DLOCK_PROFILE=one"}, "redis://two:6379", "T"},
		{[]string{"--config", file}, []string{"XDG_CONFIG_HOME=" + home, "DLOCK_CONFIG=/no/such"}, "redis://one:6379", "one"},
		{[]string{"--config", "none"}, []string{"XDG_CONFIG_HOME=" + home}, defaultURL, ""},
		{nil, []string{"XDG_CONFIG_HOME=" + home, "DLOCK_CONFIG=none"}, defaultURL, ""},
		{nil, []string{"XDG_CONFIG_HOME=/no/such"}, defaultURL, ""},
		{nil, []string{"XDG_CONFIG_HOME=" + home, "REDIS_URL=redis://r"}, "redis://r:6379", ""},
	} {
		_, all := inForce(t, invocation{args: c.args, env: c.env})
		if got := all["node"].Values; !slices.Equal(got, []string{c.node}) || strings.Join(all["tag"].Values, "") != c.tag {
			t.Errorf("%q %q: node %q, tag %q", c.args, c.env, got, all["tag"].Values)
		}
	}
}

func TestFaultsOfAConfigFile(t *testing.T) {
	for _, c := range []struct {
		name, content string
		words         []string
	}{
		{"no TOML", "[profile.p]\nnodes = redis://h\n", []string{":2: this is not TOML"}},
		{"twice", "[profile.p]\ndb = 1\ndb = 2\n", []string{"the key is there twice"}},
		{"unknown at the top", "# a comment\n\nprofiles = 1\n", []string{":3: this key is not known here", "default_profile"}},
		{"a table at the top", "[profiles.p]\ndb = 1\n", []string{":1: this key is not known here"}},
		{"default of another type", "default_profile = 1\n", []string{":1: default_profile takes a text in quotes"}},
		{"profile is no table", "profile = 1\n", []string{":1: profile is a table", "[profile.NAME]"}},
		{"a profile is no table", "[profile]\np = 1\n", []string{":2: a profile is a table"}},
		{"no such profile", "[profile.x]\n[profile.y]\n", []string{"--profile: there is no such profile", "it has x, y"}},
		{"no profile at all", "", []string{"has no profile", "--example"}},
		{"unknown key", "[profile.p]\nnode = [\"redis://h\"]\n", []string{":2: this is not a key of a profile; did you mean nodes?"}},
		{"far from any key", "[profile.p]\nfrobnication = 1\n", []string{":2: this is not a key of a profile; there are nodes, db,"}},
		{"a password", "[profile.p]\npassword = \"hunter22\"\n", []string{":2: password does not belong into this file", "password_file or password_env"}},
		{"a list wanted", "[profile.p]\n\nnodes = \"redis://h\"\n", []string{":3: nodes takes a list"}},
		{"a list of numbers", "[profile.p]\nmatch = [1]\n", []string{":2: match takes a list of texts"}},
		{"an empty list", "[profile.p]\nmatch = []\n", []string{":2: match takes a list of texts"}},
		{"a table", "[profile.p]\nnodes = {a = \"b\"}\n", []string{":2: nodes takes a list"}},
		{"a list of tables", "[[profile.p.nodes]]\na = 1\n", []string{":1: nodes takes a list"}},
		{"true in quotes", "[profile.p]\ntls = \"true\"\n", []string{":2: tls takes true or false, without quotes"}},
		{"a number in quotes", "[profile.p]\ndb = \"1\"\n", []string{":2: db takes a whole number"}},
		{"a fraction", "[profile.p]\ndb = 1.5\n", []string{":2: db takes a whole number"}},
		{"a number out of range", "[profile.p]\ndb = -1\n", []string{":2: db needs a whole number from 0"}},
		{"a bare duration", "[profile.p]\ntimeout = 300\n", []string{":2: timeout takes a text with a unit"}},
		{"no unit", "[profile.p]\ntimeout = \"300\"\n", []string{":2: timeout 300 needs a unit, for example 300ms"}},
		{"no share", "[profile.p]\nscan_budget = \"2\"\n", []string{":2: scan_budget 2 needs a %, for example 2%"}},
		{"too large a share", "[profile.p]\nscan_budget = \"200%\"\n", []string{":2: scan_budget needs a share from 0.1% to 100%"}},
		{"another word", "[profile.p]\ncolor = \"red\"\n", []string{":2: color must be auto, always or never"}},
		{"another colour", "[profile.p]\ntag_color = \"pink\"\n", []string{":2: tag_color must be red, orange"}},
		{"an empty text", "[profile.p]\nuser = \"\"\n", []string{":2: user takes a text"}},
		{"a date", "[profile.p]\nuser = 2020-01-01\n", []string{":2: user takes a text"}},
		{"both passwords", "[profile.p]\npassword_env = \"A\"\npassword_file = \"b\"\n", []string{":3: give password_env or password_file, not both"}},
		{"no such variable", "[profile.p]\npassword_env = \"NOT_SET\"\n", []string{":2: the variable that password_env names is not set"}},
		{"no such file", "[profile.p]\nsentinel_password_file = \"no-such\"\n", []string{":2: the file that sentinel_password_file names cannot be read"}},
		{"a wrong URL", "[profile.p]\nnodes = [\"redis://h:1\", \"http://h\"]\n", []string{":2: node 2: the URL must start with"}},
		{"a user without a password", "[profile.p]\nuser = \"ana\"\n", []string{"without its password"}},
		{"dotted", "profile.p.db = \"x\"\n", []string{":1: db takes a whole number"}},
		{"inline", "[profile]\n\np = {user = \"a\",  db = true}\n", []string{":3: db takes a whole number"}},
		{"the first fault", "[profile.p]\ndb = \"1\"\nascii = 1\n", []string{":2: db takes"}},
		{"a CA and no TLS", "[profile.p]\ncacert = \"config.toml\"\n", []string{":2 is about TLS and no node uses it"}},
		{"a CA that is none", "[profile.p]\ntls = true\ncacert = \"config.toml\"\n", []string{":3: the CA file holds no certificate"}},
		{"a CA that is not there", "[profile.p]\ntls = true\ncacert = \"no-such\"\n", []string{":3: the file cannot be read"}},
		{"a certificate alone", "[profile.p]\ntls = true\ncert = \"config.toml\"\n", []string{":3: a client certificate is of no use without its private key"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := invocation{args: []string{"ls", "--profile", "p", "--config", writeConfig(t, c.content)}}.run(t)
			wantCode(t, e, exitUsage)
			wantSentence(t, e, c.words...)
			if strings.Contains(e.err, "hunter22") {
				t.Errorf("a password is printed: %s", e.err)
			}
		})
	}
}

func TestConfigFileThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args, env []string
		words     []string
	}{
		{[]string{"--config", "/no/such/file"}, nil, []string{"--config", "cannot be read"}},
		{nil, []string{"DLOCK_CONFIG=/no/such/file"}, []string{"DLOCK_CONFIG", "cannot be read"}},
		{[]string{"--config", dir}, nil, []string{"directory"}},
		{[]string{"--profile", "p"}, []string{"XDG_CONFIG_HOME=" + dir}, []string{"--profile", "no config file", "--example"}},
		{nil, []string{"DLOCK_PROFILE=p", "DLOCK_CONFIG=none"}, []string{"DLOCK_PROFILE", "no config file"}},
	} {
		e := invocation{args: append(c.args, "ls"), env: c.env}.run(t)
		wantCode(t, e, exitUsage)
		wantSentence(t, e, c.words...)
		for _, args := range [][]string{{"version"}, {"ls", "--help"}, {"completion", "bash"}} {
			wantCode(t, invocation{args: append(c.args, args...), env: c.env}.run(t), exitOK)
		}
	}
}

// A slip in another profile keeps nobody from this one.
func TestOnlyTheChosenProfileIsChecked(t *testing.T) {
	file := writeConfig(t, "[profile.broken]\nfrobnicate = 1\n[profile.p]\ndb = 3\n")
	_, all := inForce(t, invocation{args: []string{"--config", file, "--profile", "p"}})
	if got := all["db"].Values; !slices.Equal(got, []string{"3"}) {
		t.Errorf("db %q", got)
	}
}

// What a profile says about reaching nodes is about its own. Credentials go
// nowhere else.
func TestCredentialsOfAProfileStayWithItsNodes(t *testing.T) {
	file := writeConfig(t, `default_profile = "prod"
[profile.prod]
nodes = ["rediss://prod"]
user = "ops"
password_env = "PROD_PW"
sentinel_user = "s"
sentinel_password_env = "PROD_PW"
db = 7
insecure = true
tag = "PROD"
read_only = true
stuck_after = "1h"
[profile.creds]
user = "ops"
password_env = "PROD_PW"
`)
	env := []string{"DLOCK_CONFIG=" + file, "PROD_PW=hunter22"}
	foreign := func(s settings) bool {
		return s.user == "" && s.password == "" && s.sentinelUser == "" && s.sentinelPassword == "" && s.db == 0 && !s.insecure && s.tag == ""
	}
	own := func(s settings) bool {
		return s.user == "ops" && s.password == "hunter22" && s.sentinelPassword == "hunter22" && s.db == 7 && s.insecure && s.tag == "PROD"
	}
	for _, c := range []struct {
		name   string
		args   []string
		env    []string
		want   func(settings) bool
		unused int
	}{
		{"its own nodes", nil, nil, own, 0},
		{"chosen by name", []string{"--profile", "prod"}, nil, own, 0},
		{"other nodes by --node", []string{"--node", "redis://other"}, nil, foreign, 7},
		{"other nodes by DLOCK_NODES", nil, []string{"DLOCK_NODES=redis://other"}, foreign, 7},
		{"other nodes by REDIS_URL", nil, []string{"REDIS_URL=redis://other"}, foreign, 7},
		{"DLOCK_PROFILE and --node", []string{"--node", "redis://other"}, []string{"DLOCK_PROFILE=prod"}, foreign, 7},
		{"both on one command line", []string{"--node", "rediss://other", "--profile", "prod"}, nil, own, 0},
		{"a profile without nodes", []string{"--node", "redis://other", "--profile", "creds"}, nil, func(s settings) bool { return s.user == "ops" && s.password == "hunter22" && s.tag == "" }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := invocation{args: append(c.args, "config"), env: append(c.env, env...)}.run(t)
			wantCode(t, e, exitOK)
			if !c.want(e.settings) {
				t.Errorf("%+v", e.settings)
			}
			if c.name != "a profile without nodes" && (!e.settings.readOnly || e.settings.stuckAfter.Hours() != 1) {
				t.Error("what is not about reaching nodes does not count")
			}
			if strings.Contains(e.out, "hunter22") {
				t.Errorf("the password is printed: %s", e.out)
			}
			conf, _ := inForce(t, invocation{args: c.args, env: append(c.env, env...)})
			if strings.Contains(e.out, "not used: ") != (c.unused > 0) || len(conf.Unused) != c.unused {
				t.Errorf("%d entries are told as not used, want %d:\n%s", len(conf.Unused), c.unused, e.out)
			}
		})
	}
	// Somebody who types a profile's name must not look at other nodes.
	for _, variable := range []string{"REDIS_URL", "DLOCK_NODES"} {
		e := invocation{args: []string{"ls", "--profile", "prod"}, env: append([]string{variable + "=redis://other"}, env...)}.run(t)
		wantCode(t, e, exitUsage)
		wantSentence(t, e, "--profile", file+":3", "unset "+variable)
	}
}

func TestAPasswordInASharedFileIsRefused(t *testing.T) {
	const config = "[profile.p]\nnodes = [\"redis://:hunter22@h\"]\n[profile.q]\nnodes = [\"redis://h\"]\n"
	file := writeConfig(t, config)
	for mode, refused := range map[os.FileMode]bool{0o600: false, 0o640: true, 0o644: true, 0o400: false} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		e := invocation{args: []string{"config", "--config", file, "--profile", "p"}}.run(t)
		if os.PathSeparator == '\\' {
			continue // there are no such modes
		}
		if refused {
			wantCode(t, e, exitUsage)
			wantSentence(t, e, file+":2", "chmod 600", "password_file")
		} else {
			wantCode(t, e, exitOK)
		}
		if strings.Contains(e.out+e.err, "hunter22") {
			t.Errorf("the password is printed: %s%s", e.out, e.err)
		}
		wantCode(t, invocation{args: []string{"config", "--config", file, "--profile", "q"}}.run(t), exitOK)
	}
}

// The demo has nothing to do with profiles but for how it looks.
func TestTheDemoTakesOnlyTheLookOfAProfile(t *testing.T) {
	file := writeConfig(t, "default_profile = \"p\"\n[profile.p]\nnodes = [\"rediss://prod\"]\nuser = \"u\"\npassword_file = \"no-such\"\nread_only = true\nascii = true\ndb = 5\n")
	var s settings
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.register(flags)
	if err := s.resolve(flags, newEnvironment([]string{"DLOCK_CONFIG=" + file}), true); err != nil {
		t.Fatal(err)
	}
	if !s.ascii || s.readOnly || s.user != "" || s.db != 0 || s.tag != "" {
		t.Errorf("%+v", s)
	}
}

// The example of the help is understood, also with all that is commented out.
func TestExampleConfig(t *testing.T) {
	e := invocation{args: []string{"config", "--example"}}.run(t)
	wantCode(t, e, exitOK)
	inForce(t, invocation{args: []string{"--config", writeConfig(t, e.out), "--profile", "prod"}})
	inForce(t, invocation{args: []string{"--config", writeConfig(t, e.out)}})

	var all strings.Builder
	for line := range strings.Lines(e.out) {
		if commented, ok := strings.CutPrefix(line, "# "); ok && strings.Contains(commented, " = ") {
			line = commented
		}
		all.WriteString(line)
	}
	root, lines, _, err := parseTOML([]byte(all.String()))
	if err != nil {
		t.Fatal(err)
	}
	p, err := (&configFile{name: "example", root: root, lines: lines}).profile("prod", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range profileKeys() {
		if _, ok := p.entry(key); !ok {
			t.Errorf("the example does not show %s", key)
		}
	}
}

// So is the one of the README.
func TestExampleOfTheReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(readme), "```toml\n")
	example, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("the README shows no config file")
	}
	for profile, env := range map[string]string{"prod": "DLOCK_PASSWORD=p", "test": "A=b"} {
		_, all := inForce(t, invocation{args: []string{"--config", writeConfig(t, example), "--profile", profile}, env: []string{env}})
		if all["node"].From != fromProfile {
			t.Errorf("%s: the nodes come from %s", profile, all["node"].From)
		}
	}
}

// The line of each key is found, however the document is laid out.
func TestLinesOfKeys(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var doc strings.Builder
		want := map[string]int{}
		line := 1
		for n := range rapid.IntRange(1, 6).Draw(rt, "profiles") {
			for range rapid.IntRange(0, 3).Draw(rt, "blank lines") {
				doc.WriteString(rapid.SampledFrom([]string{"\n", "# [profile.p] db = 1\n", "\t\r\n"}).Draw(rt, "blank"))
				line++
			}
			name := fmt.Sprintf("p%d", n)
			switch rapid.IntRange(0, 2).Draw(rt, "form") {
			case 0:
				fmt.Fprintf(&doc, "[profile.%s]\nmatch = [\n  'a',\n]\ndb = 1\n", name)
				want[pathOf("profile", name, "match")], want[pathOf("profile", name, "db")] = line+1, line+4
				line += 5
			case 1:
				fmt.Fprintf(&doc, "[profile]\n%s = {user = 'u', db = 1}\n", name)
				if strings.Count(doc.String(), "[profile]\n") > 1 {
					return // a table is there once
				}
				want[pathOf("profile", name, "user")], want[pathOf("profile", name, "db")] = line+1, line+1
				line += 2
			default:
				fmt.Fprintf(&doc, "[profile.%s]\nuser = '''a\nb\nc'''\n\"db\" = 1\n", name)
				want[pathOf("profile", name, "user")], want[pathOf("profile", name, "db")] = line+1, line+4
				line += 5
			}
		}
		_, lines, at, err := parseTOML([]byte(doc.String()))
		if err != nil {
			rt.Fatalf("line %d: %v\n%s", at, err, doc.String())
		}
		for path, line := range want {
			if lines[path] != line {
				rt.Fatalf("%q is said to be on line %d, not %d:\n%s", path, lines[path], line, doc.String())
			}
		}
	})
}

func FuzzConfigFile(f *testing.F) {
	f.Add([]byte(exampleConfig))
	f.Add([]byte("profile.p = {nodes = ['redis://h'], db = 1}"))
	f.Add([]byte("[[profile.p]]\n[profile.p.q]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		root, lines, line, err := parseTOML(data)
		if err != nil {
			if line < 0 || line > strings.Count(string(data), "\n")+1 {
				t.Errorf("a fault on line %d of %d", line, strings.Count(string(data), "\n")+1)
			}
			return
		}
		file := &configFile{name: "f", root: root, lines: lines}
		for _, name := range file.names() {
			p, err := file.profile(name, "test")
			for _, e := range p.entries {
				if err == nil && (len(e.values) == 0 || e.line < 1) {
					t.Errorf("%+v", e)
				}
			}
		}
	})
}
