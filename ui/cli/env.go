package cli

import (
	"runtime"
	"slices"
	"strings"
)

// environment is the environment the program was started with.
type environment map[string]string

func newEnvironment(entries []string) environment {
	e := make(environment, len(entries))
	for _, entry := range entries {
		// The first byte is skipped because Windows keeps entries such as
		// "=C:=C:\dir" whose name begins with an equals sign.
		if i := strings.IndexByte(entry[min(1, len(entry)):], '='); i >= 0 {
			e[entry[:i+1]] = entry[i+2:]
		}
	}
	return e
}

// entries is the environment as a process is given it.
func (e environment) entries() []string {
	list := make([]string, 0, len(e))
	for name, value := range e {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// get returns the first of the named variables that is set and not empty, and
// its name.
func (e environment) get(names ...string) (value, name string) {
	for _, n := range names {
		if v := e[n]; v != "" {
			return v, n
		}
	}
	return "", ""
}

// stateDir is where programs keep what should survive a restart, "" when the
// environment does not tell.
func (e environment) stateDir() string {
	if v, _ := e.get("XDG_STATE_HOME"); v != "" {
		return v
	}
	if runtime.GOOS == "windows" {
		v, _ := e.get("LOCALAPPDATA")
		return v
	}
	if v, _ := e.get("HOME"); v != "" {
		return v + "/.local/state"
	}
	return ""
}

// configDir is where programs keep what a person has settled, "" when the
// environment does not tell.
func (e environment) configDir() string {
	if v, _ := e.get("XDG_CONFIG_HOME"); v != "" {
		return v
	}
	if runtime.GOOS == "windows" {
		v, _ := e.get("APPDATA")
		return v
	}
	if v, _ := e.get("HOME"); v != "" {
		return v + "/.config"
	}
	return ""
}

// plainCharset reports that the locale asks for ASCII in so many words. An
// unset locale does not: containers rarely set one and their terminals speak
// UTF-8 all the same.
func (e environment) plainCharset() bool {
	v, _ := e.get("LC_ALL", "LC_CTYPE", "LANG")
	return v == "C" || v == "POSIX"
}
