package cli

import (
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"dlock/inspect"
	"dlock/lockcore/node"
)

const defaultURL = "redis://127.0.0.1:6379"

// settings is what holds for every command: flags over environment over
// defaults.
type settings struct {
	nodes      []string
	nodesFrom  string // where nodes came from, for errors
	db         int
	user       string
	password   string
	timeout    time.Duration
	interval   time.Duration
	match      []string
	readOnly   bool
	readOnlyBy string // the flag or variable that asked for it
	stuckAfter time.Duration
	audit      string
	color      string
	ascii      bool
	theme      string
	debug      string
	output     string
}

// variables names the environment variable that stands for a flag.
var variables = map[string]string{
	"db":          "DLOCK_DB",
	"user":        "DLOCK_USER",
	"timeout":     "DLOCK_TIMEOUT",
	"interval":    "DLOCK_INTERVAL",
	"read-only":   "DLOCK_READ_ONLY",
	"stuck-after": "DLOCK_STUCK_AFTER",
	"audit":       "DLOCK_AUDIT",
	"color":       "DLOCK_COLOR",
	"ascii":       "DLOCK_ASCII",
	"theme":       "DLOCK_THEME",
	"debug":       "DLOCK_DEBUG",
}

func (s *settings) register(f *pflag.FlagSet) {
	f.StringArrayVar(&s.nodes, "node", nil, "Redis `URL`; give it once per independent node (default "+defaultURL+")")
	f.Var(newCount(&s.db, 0, 0, 1<<20), "db", "database number, where the URL names none")
	f.StringVar(&s.user, "user", "", "user `name`, where the URL has none")
	f.Var(newDuration(&s.timeout, node.DefaultTimeout, time.Millisecond), "timeout", "limit of one command on one node")
	f.Var(newDuration(&s.interval, inspect.DefaultInterval, inspect.MinInterval), "interval", "time between two looks of the live view")
	f.StringArrayVar(&s.match, "match", nil, "`glob` of the keys to scan for; repeatable (default \""+inspect.DefaultMatch+"\")")
	f.BoolVar(&s.readOnly, "read-only", false, "refuse everything that writes")
	f.Var(newDuration(&s.stuckAfter, inspect.DefaultStuckAfter, time.Second), "stuck-after", "flag a lock that is held longer")
	f.StringVar(&s.audit, "audit", "", "`file` for the record of releases, or none (default $XDG_STATE_HOME/dlock/audit.jsonl)")
	f.Var(newChoice(&s.color, "auto", "auto", "always", "never"), "color", "colour: auto, always or never")
	f.BoolVar(&s.ascii, "ascii", false, "draw with ASCII only")
	f.Var(newChoice(&s.theme, "default", "default", "mono", "high-contrast"), "theme", "colours of the live view: default, mono or high-contrast")
	f.StringVar(&s.debug, "debug", "", "append a trace to this `file`")
	f.StringVarP(&s.output, "output", "o", "", "output `format`, see the command's help")
}

// resolve fills what no flag has set from the environment.
func (s *settings) resolve(f *pflag.FlagSet, env environment) error {
	if f.Changed("read-only") {
		s.readOnlyBy = "--read-only"
	}
	for name, variable := range variables {
		value, _ := env.get(variable)
		flag := f.Lookup(name)
		if value == "" || flag == nil || flag.Changed {
			continue
		}
		if err := flag.Value.Set(value); err != nil {
			return usage("%s", valueSentence(variable, flag, err))
		}
		if name == "read-only" {
			s.readOnlyBy = variable
		}
	}
	if len(s.match) == 0 {
		value, _ := env.get("DLOCK_MATCH")
		s.match = strings.Fields(value)
	}
	s.resolveNodes(env)
	return s.resolvePassword(env)
}

func (s *settings) resolveNodes(env environment) {
	if len(s.nodes) > 0 {
		s.nodesFrom = "--node"
		return
	}
	if value, name := env.get("DLOCK_NODES"); len(strings.Fields(value)) > 0 {
		s.nodes, s.nodesFrom = strings.Fields(value), name
		return
	}
	if value, name := env.get("REDIS_URL"); value != "" {
		s.nodes, s.nodesFrom = []string{strings.TrimSpace(value)}, name
		return
	}
	s.nodes, s.nodesFrom = []string{defaultURL}, "the default"
}

func (s *settings) resolvePassword(env environment) error {
	if s.password, _ = env.get("DLOCK_PASSWORD"); s.password != "" {
		return nil
	}
	if file, name := env.get("DLOCK_PASSWORD_FILE"); file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return usage("the file that %s names cannot be read: %s", name, osReason(err))
		}
		line := strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
		if line == "" {
			return usage("the file that %s names is empty; it must hold the password", name)
		}
		s.password = line
		return nil
	}
	s.password, _ = env.get("REDISCLI_AUTH")
	return nil
}

func (s *settings) config() inspect.Config {
	return inspect.Config{Match: s.match, Interval: s.interval, StuckAfter: s.stuckAfter}
}

// openNodes makes the configured nodes; nothing is sent yet.
func (s *settings) openNodes(readOnly bool) ([]*node.Node, error) {
	nodes, err := node.OpenAll(s.nodes, node.Options{
		Timeout:     s.timeout,
		DialTimeout: s.timeout,
		Username:    s.user,
		Password:    s.password,
		DB:          s.db,
		ReadOnly:    readOnly,
	})
	if err != nil {
		return nil, usage("%s: %s", s.nodesFrom, err)
	}
	return nodes, nil
}

// open makes the configured nodes for inspection; nothing is sent yet.
func (s *settings) open(readOnly bool) ([]*node.Node, error) {
	nodes, err := s.openNodes(readOnly)
	if err != nil {
		return nil, err
	}
	for i, n := range nodes {
		if n.Topology() != node.Single {
			// The lock core speaks them; looking at them is not built yet.
			node.CloseAll(nodes)
			return nil, usage("%s: node %d: redis+%s:// cannot be inspected by this version of dlock; use redis://, rediss:// or unix://", s.nodesFrom, i+1, n.Topology())
		}
	}
	return nodes, nil
}
