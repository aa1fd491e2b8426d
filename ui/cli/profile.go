package cli

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/spf13/pflag"
)

const maxConfigFile = 1 << 20

// configFile is a config file as it was read. What its keys mean is checked
// when a profile is taken out of it, so that a slip in one profile does not
// keep anybody from another.
type configFile struct {
	name   string
	shared bool // others can read it
	root   map[string]any
	lines  map[string]int // by the path of a key, see pathOf
}

// profile is one profile of a config file; the zero value is none.
type profile struct {
	file    *configFile
	entries map[string]entry
}

// entry is one key of a profile with its value in words; only lists can have
// another number of words than one.
type entry struct {
	key    string
	values []string
	line   int
}

func (p profile) entry(key string) (entry, bool) {
	e, ok := p.entries[key]
	return e, ok
}

func (p profile) text(key string) string {
	if e, ok := p.entries[key]; ok {
		return e.values[0]
	}
	return ""
}

// where is the entry's file and line.
func (p profile) where(e entry) string { return p.file.at(e.line) }

func (f *configFile) at(line int) string {
	if line == 0 {
		return f.name
	}
	return f.name + ":" + strconv.Itoa(line)
}

// path completes the name of a file: from the config file's folder, with the
// home directory in place of ~.
func (p profile) path(env environment, name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		if home, _ := env.get("HOME", "USERPROFILE"); home != "" {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(p.file.name), name)
}

// private refuses a list of nodes with a password among them in a file that
// others can read. A warning would be one more line that nobody reads.
func (p profile) private(e entry) error {
	if p.file.shared && slices.ContainsFunc(e.values, hasCredentials) {
		return usage("%s: a URL has a password and others can read the file; make it yours alone (chmod 600), or use %s", p.where(e), keyPasswordFile)
	}
	return nil
}

// chooseProfile reads the config file and takes the profile out of it that is
// named, or the file's default.
func (s *settings) chooseProfile(f *pflag.FlagSet, env environment) error {
	s.file, s.chosen = nil, profile{}
	from := origin{}
	switch {
	case f.Changed("profile"):
		from = origin{fromFlag, "--profile"}
	case env["DLOCK_PROFILE"] != "":
		s.profile, from = env["DLOCK_PROFILE"], origin{fromEnv, "DLOCK_PROFILE"}
	default:
		s.profile = ""
	}
	file, err := s.readConfig(f, env)
	if err != nil {
		return err
	}
	s.file = file
	if file == nil {
		if from.kind != "" {
			return usage("%s names a profile and there is no config file; see dlock config --example", from.where)
		}
		return nil
	}
	if from.kind == "" {
		name, line, err := file.defaultProfile()
		if err != nil || name == "" {
			return err
		}
		s.profile, from = name, origin{fromProfile, file.at(line)}
	}
	s.chosen, err = file.profile(s.profile, from.where)
	s.origins["profile"] = from
	return err
}

// readConfig returns nil if there is no file at the usual place or none is
// wanted.
func (s *settings) readConfig(f *pflag.FlagSet, env environment) (*configFile, error) {
	by := ""
	switch {
	case f.Changed("config"):
		by, s.origins["config"] = "--config", origin{fromFlag, "--config"}
	case env["DLOCK_CONFIG"] != "":
		s.configFile, by = env["DLOCK_CONFIG"], "DLOCK_CONFIG"
		s.origins["config"] = origin{fromEnv, by}
	default:
		s.configFile = ""
	}
	name := s.configFile
	if name == "none" {
		return nil, nil
	}
	if by == "" {
		dir := env.configDir()
		if dir == "" {
			return nil, nil
		}
		name = filepath.Join(dir, "dlock", "config.toml")
	}
	data, info, err := readSmall(name, maxConfigFile)
	switch {
	case by == "" && errors.Is(err, os.ErrNotExist):
		return nil, nil
	case by == "" && err != nil:
		return nil, usage("the config file %s cannot be read: %s", name, osReason(err))
	case err != nil:
		return nil, usage("the file that %s names cannot be read: %s", by, osReason(err))
	}
	file := &configFile{name: name, shared: runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0}
	line := 0
	if file.root, file.lines, line, err = parseTOML(data); err != nil {
		return nil, usage("%s: %s", file.at(line), err)
	}
	return file, nil
}

var errTOML = errors.New(`this is not TOML, or the key is there twice; a value is a "text" in quotes, a number, true or false, or a ["list"]`)

// parseTOML reads a document and tells the line of each key and table in it.
// With an error the line is that of the fault. No error repeats what is in the
// document, which may hold a password.
func parseTOML(data []byte) (root map[string]any, lines map[string]int, line int, err error) {
	root = make(map[string]any)
	if err := toml.Unmarshal(data, &root); err != nil {
		var fault *toml.DecodeError
		if errors.As(err, &fault) {
			line, _ = fault.Position()
		}
		return nil, nil, line, errTOML
	}
	lines = make(map[string]int)
	var p unstable.Parser
	p.Reset(data)
	var table []string
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = noteKey(&p, lines, nil, e)
		case unstable.KeyValue:
			noteValue(&p, lines, table, e)
		}
	}
	if p.Error() != nil {
		return nil, nil, 0, errTOML
	}
	return root, lines, 0, nil
}

// noteKey notes the line of each part of a dotted key and returns its path.
func noteKey(p *unstable.Parser, lines map[string]int, under []string, n *unstable.Node) []string {
	path := slices.Clone(under)
	for it := n.Key(); it.Next(); {
		path = append(path, string(it.Node().Data))
		if at := pathOf(path...); lines[at] == 0 {
			lines[at] = p.Shape(it.Node().Raw).Start.Line
		}
	}
	return path
}

func noteValue(p *unstable.Parser, lines map[string]int, under []string, n *unstable.Node) {
	path := noteKey(p, lines, under, n)
	if v := n.Value(); v.Kind == unstable.InlineTable {
		for it := v.Children(); it.Next(); {
			noteValue(p, lines, path, it.Node())
		}
	}
}

// pathOf makes one word of a key's path; no key has a NUL byte.
func pathOf(path ...string) string { return strings.Join(path, "\x00") }

const keyDefaultProfile = "default_profile"

// defaultProfile is the profile that the file itself names, "" for none. It
// also refuses what does not belong into the file.
func (f *configFile) defaultProfile() (name string, line int, err error) {
	if err := f.check(); err != nil {
		return "", 0, err
	}
	name, _ = f.root[keyDefaultProfile].(string)
	return name, f.lines[keyDefaultProfile], nil
}

func (f *configFile) check() error {
	for _, key := range f.inOrder(nil, f.root) {
		at := f.at(f.lines[pathOf(key)])
		value := f.root[key]
		switch key {
		case keyDefaultProfile:
			if _, ok := value.(string); !ok {
				return usage("%s: %s %s", at, key, textValue.takes())
			}
		case "profile":
			if _, ok := value.(map[string]any); !ok {
				return usage("%s: profile is a table for each profile, written [profile.NAME]", at)
			}
		default:
			return usage("%s: this key is not known here; outside of [profile.NAME] there is only %s", at, keyDefaultProfile)
		}
	}
	return nil
}

// inOrder lists a table's keys in the order of their lines, so that the first
// fault is told first.
func (f *configFile) inOrder(under []string, table map[string]any) []string {
	line := func(key string) int { return f.lines[pathOf(append(slices.Clone(under), key)...)] }
	var keys []string
	for key := range table {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if d := line(a) - line(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return keys
}

// names lists the profiles.
func (f *configFile) names() []string {
	all, _ := f.root["profile"].(map[string]any)
	return f.inOrder([]string{"profile"}, all)
}

// profile takes a profile out of the file. by says who asks for it.
func (f *configFile) profile(name, by string) (profile, error) {
	if err := f.check(); err != nil {
		return profile{}, err
	}
	all, _ := f.root["profile"].(map[string]any)
	value, ok := all[name]
	if !ok {
		if len(all) == 0 {
			return profile{}, usage("%s: %s has no profile; see dlock config --example", by, f.name)
		}
		return profile{}, usage("%s: there is no such profile in %s; it has %s", by, f.name, strings.Join(f.names(), ", "))
	}
	table, ok := value.(map[string]any)
	if !ok {
		return profile{}, usage("%s: a profile is a table, written [profile.NAME]", f.at(f.lines[pathOf("profile", name)]))
	}
	p := profile{file: f, entries: make(map[string]entry)}
	for _, key := range f.inOrder([]string{"profile", name}, table) {
		line := f.lines[pathOf("profile", name, key)]
		kind, known := profileKind(key)
		if !known {
			return profile{}, usage("%s: %s", f.at(line), unknownKey(key))
		}
		values, ok := words(kind, table[key])
		if !ok {
			return profile{}, usage("%s: %s %s", f.at(line), key, kind.takes())
		}
		p.entries[key] = entry{key: key, values: values, line: line}
	}
	return p, nil
}

// unknownKey says what is wrong with a key without repeating it, since it may be
// what should have been its value.
func unknownKey(key string) string {
	if key == "password" || key == "sentinel_password" {
		return key + " does not belong into this file; use " + key + "_file or " + key + "_env"
	}
	keys := profileKeys()
	if near := nearest(key, keys); near != "" {
		return "this is not a key of a profile; did you mean " + near + "?"
	}
	return "this is not a key of a profile; there are " + strings.Join(keys, ", ")
}

// words puts a value into words, or reports that it is of another kind. An
// empty text or list would be a setting that is none, so it is refused.
func words(kind valueKind, value any) ([]string, bool) {
	switch v := value.(type) {
	case string:
		return []string{v}, (kind == textValue || kind == unitValue) && v != ""
	case bool:
		return []string{strconv.FormatBool(v)}, kind == boolValue
	case int64:
		return []string{strconv.FormatInt(v, 10)}, kind == numberValue
	case []any:
		var list []string
		for _, item := range v {
			text, ok := item.(string)
			if !ok || text == "" {
				return nil, false
			}
			list = append(list, text)
		}
		return list, kind == listValue && len(list) > 0
	}
	return nil, false
}
