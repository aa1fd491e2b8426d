package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"dlock/ui/text"
)

// tattler is a server that answers each command with an error that repeats the
// command, as some proxies and old servers do.
func tattler(t *testing.T, reply func(args []string) string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for {
					args, err := readCommand(r)
					if err != nil {
						return
					}
					if _, err := io.WriteString(c, reply(args)+"\r\n"); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	return l.Addr().String()
}

func readCommand(r *bufio.Reader) ([]string, error) {
	length := func(kind byte) (int, error) {
		line, err := r.ReadString('\n')
		if err != nil || len(line) < 2 || line[0] != kind {
			return 0, io.ErrUnexpectedEOF
		}
		return strconv.Atoi(strings.TrimSpace(line[1:]))
	}
	n, err := length('*')
	if err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		size, err := length('$')
		if err != nil {
			return nil, err
		}
		b := make([]byte, size+2)
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, err
		}
		args[i] = string(b[:size])
	}
	return args, nil
}

// passwords are awkward in URLs, in shells and in messages. None of them
// occurs in any text of ours.
var passwords = []string{
	"hunter22", "zwei#77", "drei%33", "p%zz99", "vier@44", "fünf:55", "sechs/66", "sieben?77", "acht hundert", "neun\"99", "zehn\\10", "[elf11", "zwölf]12", "dreizehn&13=x", "+14plus", "'15'quote", "$16{HOME}", "p17\tTAB", "neun\nzehn20", "@:/?#[]21", "密码→22", "tiger", "#24", "%25",
}

// tomlProfiles is a config file with the profiles; a value of "" leaves its key
// out.
func tomlProfiles(t *testing.T, profiles map[string]map[string]any) string {
	t.Helper()
	for _, p := range profiles {
		maps.DeleteFunc(p, func(_ string, v any) bool { return v == "" })
	}
	b, err := toml.Marshal(map[string]any{"profile": profiles})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestNoPasswordIsPrinted(t *testing.T) {
	echo := tattler(t, func(args []string) string {
		return "-ERR unknown command '" + args[0] + "', with args beginning with: '" + strings.Join(args[1:], "' '") + "'"
	})
	blurt := tattler(t, func(args []string) string { return "-ERR you said " + strings.Join(args, " ") + " and no" })
	wrong := tattler(t, func(args []string) string { return "-WRONGPASS invalid password " + strings.Join(args, ",") })
	state := t.TempDir()
	audit := filepath.Join(state, "audit")
	for i, password := range passwords {
		escaped := url.QueryEscape(password)
		userinfo := url.UserPassword("", password).String()
		raws := map[string][]string{}
		for name, addr := range map[string]string{"echo": echo, "blurt": blurt, "wrong": wrong, "nobody": "127.0.0.1:1"} {
			raws[name] = []string{
				"redis://:" + password + "@" + addr,
				"redis://:" + escaped + "@" + addr,
				"redis://" + userinfo + "@" + addr,
				"redis://" + escaped + "@" + addr, // as a user name, by mistake
				"redis://u:" + escaped + "@" + addr + "/x",
				"rediss://:" + escaped + "@" + addr,
				"unix://:" + escaped + "@/no/such/socket",
				"redis+sentinel://:" + escaped + "@" + addr + "/m/0",
				"redis+sentinel://:" + escaped + "@" + addr + "," + addr + "/m/0",
				"redis+cluster://:" + escaped + "@" + addr + "," + addr,
				"http://:" + password + "@" + addr,
				":" + password + "@" + addr,
			}
		}
		debug := filepath.Join(state, fmt.Sprintf("debug%d", i))
		var lines [][]string
		var env [][]string
		try := func(e []string, args ...string) {
			lines, env = append(lines, args), append(env, e)
		}
		for _, urls := range raws {
			for _, raw := range urls {
				try(nil, "ls", "--node", raw)
				try([]string{"REDIS_URL=" + raw}, "get", "k")
				try([]string{"DLOCK_NODES=" + raw}, "release", "k", "--token", "t")
				try([]string{"DLOCK_NODES=" + raw}, "acquire", "k")
			}
		}
		raw := raws["blurt"][0]
		for _, addr := range []string{echo, blurt, wrong} {
			for _, name := range []string{"DLOCK_PASSWORD", "REDISCLI_AUTH"} {
				try([]string{name + "=" + password, "REDIS_URL=redis://" + addr}, "ls")
				try([]string{name + "=" + password, "REDIS_URL=redis://" + addr}, "ls", "-o", "json")
			}
		}
		// A URL in the wrong place, or in pieces.
		for _, args := range [][]string{
			{raw}, {"ls", raw}, {"get", raw}, {"release", raw, "--token", "t"}, {"help", raw}, {"completion", raw}, {"top", raw}, {"version", raw}, {"demo", raw},
			{"--nodes", raw}, {"--nodes=" + raw, "ls"}, {"ls", "--node" + raw}, {"--timeout", raw, "ls"}, {"--timeout=" + raw, "ls"}, {"--db", raw, "ls"}, {"--color", raw, "ls"},
			{"-o", raw, "ls"}, {"-o" + raw, "ls"}, {"-" + raw, "ls"}, {"ls", "-x" + raw}, {"--=" + raw}, {"--read-only=" + raw, "ls"}, {"--theme", raw}, {"--debug", raw, "ls"},
			{"acquire", raw}, {"unlock", raw}, {"unlock", "k", "--token", raw}, {"extend", "k", "--token", raw, "--fence", raw}, {"run", raw}, {"run", raw, "--", "true"}, {"run", "k", "--ttl", raw, "--", "true"}, {"acquire", "k", "--owner", raw},
			{"--audit", raw, "release", "k", "--token", "t"}, {"demo", "--seed", raw}, {"demo", "--kind", raw}, {"demo", "--node", raw},
			{"demo", "--scenario", raw}, {"demo", "--mode", raw}, {"demo", "--faults", raw}, {"demo", "--faults", raw + " kill n1"}, {"demo", "--headless", "--kind", "embedded", "--nodes", "1", "--store", raw}, {"release", "k", "--if-held-for", raw},
		} {
			try([]string{"XDG_STATE_HOME=" + state}, args...)
		}
		try(nil, append([]string{"--node"}, strings.Fields(raw)...)...)
		try(nil, append([]string{"ls", "--node"}, strings.Fields(raw)...)...)
		for _, one := range catalogue {
			if one.variable != "" {
				try([]string{one.variable + "=" + raw}, "ls")
			}
		}
		try([]string{"DLOCK_PASSWORD_FILE=/no/such/" + password}, "ls")

		// From a file and from a profile, in every way, to servers that
		// repeat what they are told.
		secret := writeFile(t, password+"\n")
		for _, addr := range []string{echo, blurt, wrong} {
			config := writeConfig(t, tomlProfiles(t, map[string]map[string]any{
				"file": {"nodes": []string{"redis://" + addr}, "password_file": secret, "sentinel_password_file": secret},
				"env":  {"nodes": []string{"redis://" + addr}, "user": "ana", "password_env": "PW", "sentinel_password_env": "PW"},
				"url":  {"nodes": []string{"redis://ana:" + url.PathEscape(password) + "@" + addr}},
				"raw":  {"nodes": []string{"redis://:" + password + "@" + addr}},
				"name": {"nodes": []string{"redis://" + addr}, "password_file": password, "password_env": ""},
				"odd":  {"nodes": []string{"redis://" + addr}, "password": password},
				"keys": {"nodes": []string{"redis://" + addr}, password: password},
				"tls":  {"nodes": []string{"rediss://" + addr}, "cacert": secret, "password_file": secret},
			}))
			profiles := []string{"file", "url"}
			if addr == blurt {
				profiles = []string{"file", "env", "url", "raw", "name", "odd", "keys", "tls", password}
			}
			for _, profile := range profiles {
				e := []string{"DLOCK_CONFIG=" + config, "PW=" + password, "XDG_STATE_HOME=" + state, "DLOCK_AUDIT=" + audit, "DLOCK_PROFILE=" + profile}
				if profile == "tls" {
					e = append(e, "DLOCK_TIMEOUT=20ms") // a handshake that nobody answers
				}
				try(e, "config")
				try(e, "config", "-o", "json")
				try(e, "ls", "-o", "json")
				try(e, "release", "k", "--token", "t")
			}
			try([]string{"DLOCK_SENTINEL_PASSWORD=" + password, "DLOCK_PASSWORD_FILE=" + secret, "REDIS_URL=redis+sentinel://" + addr + "/m"}, "config")
			try([]string{"DLOCK_SENTINEL_PASSWORD=" + password, "DLOCK_PASSWORD_FILE=" + secret, "REDIS_URL=redis+sentinel://" + addr + "/m"}, "ls")
		}
		for _, flag := range []string{"--config", "--profile", "--cacert", "--key", "--sni", "--user", "--sentinel-user", "--scan-budget", "--tls"} {
			try(nil, "ls", flag+"="+raw)
		}
		try([]string{"DLOCK_CONFIG=" + writeFile(t, password)}, "ls")
		try([]string{"DLOCK_CONFIG=" + writeFile(t, "[profile.p]\npassword_file = "+password)}, "ls")

		for i, args := range lines {
			var out, errs bytes.Buffer
			e := append([]string{"DLOCK_AUDIT=none"}, env[i]...)
			withDebug := append([]string{"--debug", debug}, args...)
			if len(args) > 0 && (strings.HasPrefix(args[0], "--debug") || len(args) > 1 && args[0] == "--debug") {
				withDebug = args
			}
			Main(context.Background(), withDebug, e, strings.NewReader(""), &out, &errs)
			trace, _ := os.ReadFile(debug)
			record, _ := os.ReadFile(audit)
			all := out.String() + errs.String() + string(trace) + string(record)
			os.Remove(debug)
			os.Remove(audit)
			inJSON, err := json.Marshal(password)
			if err != nil {
				t.Fatal(err)
			}
			forms := []string{password, escaped, strings.TrimPrefix(userinfo, ":"), url.PathEscape(password), strings.Trim(string(inJSON), `"`), string(text.Clean(password)), string(text.Escaped(password))}
			for _, form := range append(forms, strings.Fields(password)...) {
				if len(form) > 1 && strings.Contains(all, form) {
					t.Errorf("%q with %q prints %q:\n%s", args, e, form, all)
				}
			}
			if n := strings.Count(errs.String(), "\n"); n > 1 {
				t.Errorf("%q: %d lines on stderr: %s", args, n, errs.String())
			}
			checkPrintable(t, out.String()+errs.String())
		}
	}
	if left, _ := filepath.Glob("redis:*"); len(left) > 0 {
		t.Errorf("files named like a URL: %q", left)
	}
}
