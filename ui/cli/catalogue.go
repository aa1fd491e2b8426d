package cli

import "slices"

// A setting can be given by a flag, a variable of the environment and a key of
// a profile; the first of these that gives it counts, then its default.
type setting struct {
	flag     string
	variable string // "" for none
	key      string // of a profile, "" for none
	kind     valueKind
	// reach says what the setting is about.
	reach reach
	// file marks the name of a file: in a profile it is taken from the
	// profile's folder.
	file bool
}

// reach is what a setting is about, which decides whether a profile's word on
// it counts.
type reach int

const (
	// looking is how we look; a profile's word on it always counts.
	looking reach = iota
	// reaching is how the nodes are reached and as whom. A profile's word on
	// it is about the profile's own nodes, and credentials go to no others.
	reaching
	// showing is how output looks. It counts in the demo too, which has
	// nothing else to do with profiles.
	showing
)

// catalogue lists all settings but the passwords, which no flag takes: other
// users of the machine can read command lines.
var catalogue = []setting{
	{flag: "node", key: "nodes", kind: listValue, reach: reaching},
	{flag: "db", variable: "DLOCK_DB", key: "db", kind: numberValue, reach: reaching},
	{flag: "user", variable: "DLOCK_USER", key: "user", reach: reaching},
	{flag: "sentinel-user", variable: "DLOCK_SENTINEL_USER", key: "sentinel_user", reach: reaching},
	{flag: "tls", variable: "DLOCK_TLS", key: "tls", kind: boolValue, reach: reaching},
	{flag: "cacert", variable: "DLOCK_CACERT", key: "cacert", reach: reaching, file: true},
	{flag: "cert", variable: "DLOCK_CERT", key: "cert", reach: reaching, file: true},
	{flag: "key", variable: "DLOCK_KEY", key: "key", reach: reaching, file: true},
	{flag: "sni", variable: "DLOCK_SNI", key: "sni", reach: reaching},
	{flag: "insecure", variable: "DLOCK_INSECURE", key: "insecure", kind: boolValue, reach: reaching},
	{flag: "timeout", variable: "DLOCK_TIMEOUT", key: "timeout", kind: unitValue},
	{flag: "interval", variable: "DLOCK_INTERVAL", key: "interval", kind: unitValue},
	{flag: "scan-budget", variable: "DLOCK_SCAN_BUDGET", key: "scan_budget", kind: unitValue},
	{flag: "match", variable: "DLOCK_MATCH", key: "match", kind: listValue},
	{flag: "all", variable: "DLOCK_ALL", key: "all", kind: boolValue},
	{flag: "read-only", variable: "DLOCK_READ_ONLY", key: "read_only", kind: boolValue},
	{flag: "stuck-after", variable: "DLOCK_STUCK_AFTER", key: "stuck_after", kind: unitValue},
	{flag: "audit", variable: "DLOCK_AUDIT", key: "audit", file: true},
	{flag: "color", variable: "DLOCK_COLOR", key: "color", reach: showing},
	{flag: "ascii", variable: "DLOCK_ASCII", key: "ascii", kind: boolValue, reach: showing},
	{flag: "theme", variable: "DLOCK_THEME", key: "theme", reach: showing},
	{flag: "debug", variable: "DLOCK_DEBUG"},
}

// The keys of a profile that no flag stands for.
const (
	keyTag                  = "tag"
	keyTagColor             = "tag_color"
	keyPasswordFile         = "password_file"
	keyPasswordEnv          = "password_env"
	keySentinelPasswordFile = "sentinel_password_file"
	keySentinelPasswordEnv  = "sentinel_password_env"
)

var tagColors = []string{"red", "orange", "green", "blue", "purple", "grey"}

// profileTexts are they; all take texts.
var profileTexts = []string{keyPasswordFile, keyPasswordEnv, keySentinelPasswordFile, keySentinelPasswordEnv, keyTag, keyTagColor}

// profileKeys lists the keys of a profile.
func profileKeys() []string {
	var keys []string
	for _, s := range catalogue {
		if s.key != "" {
			keys = append(keys, s.key)
		}
	}
	return append(keys, profileTexts...)
}

// profileKind is what a profile's key takes, if there is such a key.
func profileKind(key string) (kind valueKind, known bool) {
	for _, s := range catalogue {
		if s.key == key && key != "" {
			return s.kind, true
		}
	}
	return textValue, slices.Contains(profileTexts, key)
}

// valueKind is what a key of the config file takes.
type valueKind int

const (
	textValue   valueKind = iota
	unitValue             // a text that is a number with a unit
	listValue             // of texts
	boolValue             // true or false
	numberValue           // a whole one
)

// takes says what a key of the kind takes.
func (k valueKind) takes() string {
	switch k {
	case unitValue:
		return `takes a text with a unit in it, for example "300ms" (or "2%" for a share)`
	case listValue:
		return `takes a list of texts, for example ["lock:*", "job:*"]`
	case boolValue:
		return "takes true or false, without quotes"
	case numberValue:
		return "takes a whole number, without quotes"
	default:
		return "takes a text in quotes"
	}
}
