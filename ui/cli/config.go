package cli

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dlock/inspect"
	"dlock/lockcore/node"
	"dlock/ui/text"
)

func (p *program) configCommand() *cobra.Command {
	var example bool
	c := &cobra.Command{
		Use:        "config [options]",
		SuggestFor: []string{"settings", "env", "profiles"},
		Short:      "Show the settings in force and where each came from",
		Long:       configHelp,
		Example:    configExamples,
		Args:       noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			format, err := p.format("text", "json")
			if err != nil {
				return err
			}
			if example {
				_, err := io.WriteString(p.stdout, exampleConfig)
				return err
			}
			list := p.settings.list(c.Root().PersistentFlags(), p.env)
			if format == "json" {
				return writeJSON(p.stdout, list, true)
			}
			return p.printConfig(list)
		},
	}
	c.Flags().BoolVar(&example, "example", false, "print a config file to start from")
	return c
}

// configJSON is what `config -o json` prints.
type configJSON struct {
	Schema     int           `json:"schema"`
	ConfigFile *string       `json:"config_file"`
	Profile    *string       `json:"profile"`
	Settings   []settingJSON `json:"settings"`
	Unused     []unusedJSON  `json:"unused"`
}

// settingJSON is one setting. A secret has no value here, only Set.
type settingJSON struct {
	Name   string     `json:"name"`
	Values []string   `json:"values"`
	Secret bool       `json:"secret"`
	Set    bool       `json:"set"`
	From   originKind `json:"from"`
	Where  *string    `json:"where"`
}

// unusedJSON is a key of the profile that does not count, and why.
type unusedJSON struct {
	Key   string `json:"key"`
	Where string `json:"where"`
	Why   string `json:"why"`
}

// list describes the settings in force. No secret is part of it.
func (s *settings) list(f *pflag.FlagSet, env environment) configJSON {
	c := configJSON{Schema: jsonSchema, Profile: orNull(textForJSON(s.profile)), Settings: []settingJSON{}, Unused: []unusedJSON{}}
	if s.file != nil {
		c.ConfigFile = orNull(textForJSON(s.file.name))
	}
	add := func(name string, secret bool, values ...string) {
		o, known := s.origins[name]
		if !known {
			o = origin{kind: fromDefault}
		}
		one := settingJSON{Name: name, Secret: secret, From: o.kind, Set: o.kind != fromDefault, Values: []string{}}
		if o.kind != fromDefault {
			one.Where = orNull(textForJSON(o.where))
		}
		for _, v := range values {
			if v != "" {
				one.Values = append(one.Values, textForJSON(v))
			}
		}
		c.Settings = append(c.Settings, one)
	}
	for _, one := range catalogue {
		switch flag := f.Lookup(one.flag); one.flag {
		case "node":
			add("node", false, maskAll(s.nodes)...)
		case "match":
			add("match", false, orDefault(s.match)...)
		case "audit":
			add("audit", false, s.auditFile(env))
		default:
			add(one.flag, false, flag.Value.String())
		}
		switch one.flag {
		case "user":
			add("password", true)
		case "sentinel-user":
			add("sentinel-password", true)
		}
	}
	add(keyTag, false, s.tag)
	add(keyTagColor, false, s.tagColor)
	for _, e := range s.unused {
		c.Unused = append(c.Unused, unusedJSON{
			Key: e.key, Where: textForJSON(s.chosen.where(e)),
			Why: "the nodes come from " + s.nodesFrom + ", and what a profile says about reaching nodes is about its own",
		})
	}
	return c
}

// orDefault is what is scanned for.
func orDefault(match []string) []string {
	if len(match) == 0 {
		return []string{inspect.DefaultMatch}
	}
	return match
}

// maskAll returns the URLs without their passwords. One that cannot be read is
// not repeated at all.
func maskAll(urls []string) []string {
	var out []string
	for _, raw := range urls {
		shown, err := node.Mask(raw)
		if err != nil {
			shown = "(" + err.Error() + ")"
		}
		out = append(out, shown)
	}
	return out
}

func (p *program) printConfig(c configJSON) error {
	l := p.look(p.stdout)
	none := func(s *string, words string) string {
		if s == nil {
			return words
		}
		return *s
	}
	var b strings.Builder
	head := func(name, value string) { b.WriteString(label(name) + string(text.Escaped(value)) + "\n") }
	head("file", none(c.ConfigFile, "none"))
	head("profile", none(c.Profile, "none"))
	b.WriteByte('\n')
	t := &table{columns: []column{{title: "SETTING"}, {title: "VALUE", least: 20, middle: true}, {title: "FROM", least: 12, middle: true}}}
	for _, one := range c.Settings {
		values, st := one.Values, plain
		switch {
		case one.Secret && one.From == fromPrompt:
			values = []string{"asked for (hidden)"}
		case one.Secret && one.Set:
			values = []string{"set (hidden)"}
		case len(values) == 0:
			values, st = []string{"not set"}, faint
		}
		name := one.Name
		for _, v := range values {
			t.rows = append(t.rows, []cell{{text.Clean(name), plain}, {text.Escaped(v), st}, {text.Escaped(none(one.Where, "default")), faint}})
			name = ""
		}
	}
	if err := t.write(&b, l); err != nil {
		return err
	}
	if len(c.Unused) > 0 {
		var keys []string
		for _, u := range c.Unused {
			keys = append(keys, u.Key+" ("+u.Where+")")
		}
		b.WriteByte('\n')
		for _, part := range text.Wrap(text.Escaped("not used: "+strings.Join(keys, ", ")+", since "+c.Unused[0].Why), l.width) {
			b.WriteString(string(part) + "\n")
		}
	}
	_, err := io.WriteString(p.stdout, b.String())
	return err
}

// auditFile is the file that releases are recorded in, none or "" if there is
// no place for one.
func (s *settings) auditFile(env environment) string {
	if s.audit != "" {
		return s.audit
	}
	if dir := env.stateDir(); dir != "" {
		return filepath.Join(dir, "dlock", "audit.jsonl")
	}
	return ""
}

const exampleConfig = `# A config file of dlock; its place is $XDG_CONFIG_HOME/dlock/config.toml.
# What it says counts after the options of the command line and the DLOCK_
# variables. dlock config shows what is in force and where it came from.

# The profile that is used when --profile and DLOCK_PROFILE name none.
# default_profile = "prod"

[profile.prod]
# Independent nodes, one URL each; or one redis+sentinel:// or redis+cluster://.
nodes = ["rediss://10.0.0.1:6379", "rediss://10.0.0.2:6379", "rediss://10.0.0.3:6379"]
# How the environment is called on screen, and in which colour: red, orange,
# green, blue, purple or grey.
tag = "PROD"
tag_color = "red"
# Refuse everything that writes; --read-only=false allows it for once.
read_only = true

# Who we are. Passwords stay out of this file: a file of their own, or a variable.
# user = "ops"
# password_file = "prod.password"
# password_env = "PROD_REDIS_PASSWORD"
# The sentinels have accounts of their own.
# sentinel_user = "ops"
# sentinel_password_file = "prod-sentinel.password"
# sentinel_password_env = "PROD_SENTINEL_PASSWORD"

# TLS for URLs other than rediss:// too, a CA of one's own, a client
# certificate, and the name on the servers' certificates if it is not the host's.
# Names of files are taken from this file's folder; ~/ is the home directory.
# tls = true
# cacert = "ca.pem"
# cert = "client.pem"
# key = "client.key"
# sni = "redis.internal"
# insecure = false

# Which keys, and which database where the URL names none.
# match = ["lock:*", "job:*"]
# all = true   # those of every known lock library too
# db = 0

# How we look.
# timeout = "300ms"
# interval = "1s"
# scan_budget = "2%"
# stuck_after = "10m"
# audit = "~/dlock-audit.jsonl"
# color = "auto"
# ascii = false
# theme = "default"

[profile.test]
nodes = ["redis://127.0.0.1:6379"]
`
