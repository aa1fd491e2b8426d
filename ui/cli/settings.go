package cli

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"dlock/inspect"
	"dlock/lockcore/node"
	"dlock/ui/tui"
)

const defaultURL = "redis://127.0.0.1:6379"

// settings is what holds for every command: flags over environment over
// profile over defaults.
type settings struct {
	configFile string // the file that was asked for, "" for the usual place
	profile    string // the name of the profile in force, "" for none

	nodes            []string
	nodesFrom        string // where nodes came from, for errors
	db               int
	user             string
	password         string
	askpass          bool
	sentinelUser     string
	sentinelPassword string
	tls              bool
	cacert           string
	cert             string
	key              string
	sni              string
	insecure         bool
	timeout          time.Duration
	interval         time.Duration
	scanBudget       float64
	match            []string
	all              bool
	readOnly         bool
	readOnlyBy       string // the flag, variable or line that asked for it
	stuckAfter       time.Duration
	audit            string
	color            string
	ascii            bool
	theme            string
	debug            string
	output           string

	tag, tagColor string // of the environment

	file    *configFile       // nil if there is none
	chosen  profile           // of the file
	origins map[string]origin // by the flag's name; passwords as "password" and "sentinel-password"
	unused  []entry           // of the profile, since its nodes are not the ones in force
}

func (s *settings) register(f *pflag.FlagSet) {
	f.StringVar(&s.configFile, "config", "", "config `file`, or none (default $XDG_CONFIG_HOME/dlock/config.toml)")
	f.StringVar(&s.profile, "profile", "", "`name` of the profile in it")
	f.StringArrayVar(&s.nodes, "node", nil, "Redis `URL`; give it once per independent node (default "+defaultURL+")")
	f.Var(newCount(&s.db, 0, 0, 1<<20), "db", "database number, where the URL names none")
	f.StringVar(&s.user, "user", "", "user `name`, where the URL has none")
	f.BoolVar(&s.askpass, "askpass", false, "ask for the password on the terminal")
	f.StringVar(&s.sentinelUser, "sentinel-user", "", "user `name` for the sentinels, which have accounts of their own")
	f.BoolVar(&s.tls, "tls", false, "use TLS with URLs other than rediss:// too")
	f.StringVar(&s.cacert, "cacert", "", "`file` of the CA that signs the servers' certificates")
	f.StringVar(&s.cert, "cert", "", "`file` of our own certificate")
	f.StringVar(&s.key, "key", "", "`file` of its private key")
	f.StringVar(&s.sni, "sni", "", "`name` that the servers' certificates are for, if not the host's")
	f.BoolVar(&s.insecure, "insecure", false, "do not check the servers' certificates")
	f.Var(newDuration(&s.timeout, node.DefaultTimeout, time.Millisecond), "timeout", "limit of one round trip to one node")
	f.Var(newDuration(&s.interval, inspect.DefaultInterval, inspect.MinInterval), "interval", "time between two looks of the live view")
	f.Var(newShare(&s.scanBudget, inspect.DefaultScanBudget), "scan-budget", "share of each node's time that the live view may use for scans and for locks off the screen")
	f.StringArrayVar(&s.match, "match", nil, "`glob` of the keys to scan for; repeatable (default \""+inspect.DefaultMatch+"\")")
	f.BoolVar(&s.all, "all", false, "scan for the keys of every known lock library too")
	f.BoolVar(&s.readOnly, "read-only", false, "refuse everything that writes")
	f.Var(newDuration(&s.stuckAfter, inspect.DefaultStuckAfter, time.Second), "stuck-after", "flag a lock that is held longer")
	f.StringVar(&s.audit, "audit", "", "`file` for the record of releases, or none (default $XDG_STATE_HOME/dlock/audit.jsonl)")
	f.Var(newChoice(&s.color, "auto", "auto", "always", "never"), "color", "colour: auto, always or never")
	f.BoolVar(&s.ascii, "ascii", false, "draw with ASCII only")
	f.Var(newChoice(&s.theme, "default", tui.Themes()...), "theme", "colours of the live view: default, dark, light, mono or high-contrast")
	f.StringVar(&s.debug, "debug", "", "append a trace to this `file`")
	f.StringVarP(&s.output, "output", "o", "", "output `format`, see the command's help")
}

// resolve fills what no flag has set from the environment and the profile.
// With ownNodes the command starts nodes of its own, and only how output looks
// is taken from a profile.
func (s *settings) resolve(f *pflag.FlagSet, env environment, ownNodes bool) error {
	s.origins, s.unused = make(map[string]origin), nil
	if err := s.chooseProfile(f, env); err != nil {
		return err
	}
	if err := s.resolveNodes(env, ownNodes); err != nil {
		return err
	}
	for _, one := range catalogue {
		if one.flag == "node" {
			continue
		}
		if err := s.resolveOne(f, env, one, ownNodes); err != nil {
			return err
		}
	}
	s.readOnlyBy = s.origins["read-only"].where
	if s.origins["read-only"].kind == fromProfile {
		s.readOnlyBy = "read_only in " + s.readOnlyBy
	}
	if ownNodes {
		return nil
	}
	if err := s.resolveTag(); err != nil {
		return err
	}
	return s.resolvePasswords(env)
}

// applies reports whether a profile's entry counts, and remembers it if not.
func (s *settings) applies(e entry, r reach, ownNodes bool) bool {
	switch {
	case ownNodes:
		return r == showing
	case r == reaching && s.foreignNodes():
		s.unused = append(s.unused, e)
		return false
	}
	return true
}

// foreignNodes reports that the profile has nodes of its own and others are in
// force. To name both on one command line says that the profile is meant for
// them.
func (s *settings) foreignNodes() bool {
	nodes := s.origins["node"]
	_, has := s.chosen.entry("nodes")
	return has && nodes.kind != fromProfile && !(nodes.kind == fromFlag && s.origins["profile"].kind == fromFlag)
}

func (s *settings) resolveOne(f *pflag.FlagSet, env environment, one setting, ownNodes bool) error {
	flag := f.Lookup(one.flag)
	if flag.Changed {
		s.origins[one.flag] = origin{fromFlag, "--" + one.flag}
		return nil
	}
	if value, _ := env.get(one.variable); value != "" {
		s.origins[one.flag] = origin{fromEnv, one.variable}
		return s.set(one.variable, flag, environmentWords(flag, value))
	}
	e, ok := s.chosen.entry(one.key)
	if !ok || !s.applies(e, one.reach, ownNodes) {
		return nil
	}
	s.origins[one.flag] = origin{fromProfile, s.chosen.where(e)}
	values := e.values
	if one.file && values[0] != "none" {
		values = []string{s.chosen.path(env, values[0])}
	}
	return s.set(s.chosen.where(e)+": "+e.key, flag, values)
}

// environmentWords is a variable's value, in words where several are taken.
func environmentWords(flag *pflag.Flag, value string) []string {
	if _, list := flag.Value.(pflag.SliceValue); list {
		return strings.Fields(value)
	}
	return []string{value}
}

// set gives a flag's variable a value that did not come from the command line.
func (s *settings) set(name string, flag *pflag.Flag, values []string) error {
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		return list.Replace(values)
	}
	if err := flag.Value.Set(values[0]); err != nil {
		return usage("%s", valueSentence(name, flag, err))
	}
	return nil
}

func (s *settings) resolveNodes(env environment, ownNodes bool) error {
	own, has := s.chosen.entry("nodes")
	has = has && !ownNodes
	from := origin{fromDefault, "the default"}
	switch {
	case len(s.nodes) > 0:
		from = origin{fromFlag, "--node"}
	case len(strings.Fields(env["DLOCK_NODES"])) > 0:
		s.nodes, from = strings.Fields(env["DLOCK_NODES"]), origin{fromEnv, "DLOCK_NODES"}
	case env["REDIS_URL"] != "":
		s.nodes, from = []string{strings.TrimSpace(env["REDIS_URL"])}, origin{fromEnv, "REDIS_URL"}
	case has:
		s.nodes, from = own.values, origin{fromProfile, s.chosen.where(own)}
		if err := s.chosen.private(own); err != nil {
			return err
		}
	default:
		s.nodes = []string{defaultURL}
	}
	s.origins["node"], s.nodesFrom = from, from.where
	if has && from.kind == fromEnv && s.origins["profile"].kind == fromFlag {
		// The variable counts. But somebody who has just typed the
		// profile's name would look at other nodes than they think.
		return usage("the nodes of --profile (%s) do not count while %s is set; unset %s, or give --node", s.chosen.where(own), from.where, from.where)
	}
	return nil
}

// resolveTag settles how the environment is called on screen: the profile's
// name, if its nodes are in force and it says nothing else.
func (s *settings) resolveTag() error {
	for _, one := range []struct {
		key string
		to  *string
	}{{keyTag, &s.tag}, {keyTagColor, &s.tagColor}} {
		if e, ok := s.chosen.entry(one.key); ok && s.applies(e, reaching, false) {
			*one.to, s.origins[one.key] = e.values[0], origin{fromProfile, s.chosen.where(e)}
		}
	}
	if s.tag == "" && s.origins["node"].kind == fromProfile {
		s.tag = s.profile
	}
	if s.tagColor != "" && !slices.Contains(tagColors, s.tagColor) {
		return usage("%s: %s must be %s", s.origins[keyTagColor].where, keyTagColor, orList(tagColors))
	}
	return nil
}

// repeated are the options to give again for another command to reach the same
// nodes as the same user. A password may stand in those of --node, so they are
// left to the person.
func (s *settings) repeated() []string {
	var options []string
	add := func(flag, value string) {
		if s.origins[flag].kind == fromFlag {
			options = append(options, "--"+flag, value)
		}
	}
	add("config", s.configFile)
	add("profile", s.profile)
	add("db", strconv.Itoa(s.db))
	add("user", s.user)
	add("sentinel-user", s.sentinelUser)
	add("cacert", s.cacert)
	add("cert", s.cert)
	add("key", s.key)
	add("sni", s.sni)
	if s.askpass {
		options = append(options, "--askpass")
	}
	if s.tls && s.origins["tls"].kind == fromFlag {
		options = append(options, "--tls")
	}
	if s.insecure && s.origins["insecure"].kind == fromFlag {
		options = append(options, "--insecure")
	}
	return options
}

func (s *settings) config() inspect.Config {
	return inspect.Config{Match: s.match, All: s.all, Interval: s.interval, StuckAfter: s.stuckAfter, ScanBudget: s.scanBudget}
}

// openNodes makes the configured nodes; nothing is sent yet.
func (s *settings) openNodes(readOnly bool) ([]*node.Node, error) {
	tlsConfig, err := s.tlsConfig()
	if err != nil {
		return nil, err
	}
	nodes, err := node.OpenAll(s.nodes, node.Options{
		Timeout:          s.timeout,
		DialTimeout:      s.timeout,
		Username:         s.user,
		Password:         s.password,
		SentinelUsername: s.sentinelUser,
		SentinelPassword: s.sentinelPassword,
		TLS:              s.tls,
		TLSConfig:        tlsConfig,
		DB:               s.db,
		ReadOnly:         readOnly,
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
		if n.Topology() == node.Cluster && len(nodes) > 1 {
			node.CloseAll(nodes)
			return nil, usage("%s: node %d: a cluster cannot vote among other nodes; give it alone", s.nodesFrom, i+1)
		}
	}
	return nodes, nil
}
