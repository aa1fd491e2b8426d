package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
	"dlock/inspect"
	"dlock/ui/tui"
)

// runMain runs the program as main does.
func runMain(t *testing.T, env []string, args ...string) ending {
	t.Helper()
	var out, errs bytes.Buffer
	code := Main(t.Context(), args, append([]string{"DLOCK_AUDIT=none", "DLOCK_TIMEOUT=5s"}, env...), strings.NewReader(""), &out, &errs)
	return ending{code: code, out: out.String(), err: errs.String()}
}

// A profile with TLS, a client certificate, and a user reaches the nodes; each
// part that is wrong is told with its stage.
func TestProfileWithTLSAndAUser(t *testing.T) {
	l := labtest.Start(t, lab.Config{Nodes: 1, Kind: lab.Process})
	backend := l.Nodes()[0]
	c := labtest.Client(t, backend)
	for _, args := range [][]any{
		{"SET", "lock:a", "token-of-a", "PX", 60_000},
		{"ACL", "SETUSER", "viewer", "on", ">look only", "~lock:*", "-@all", "+scan", "+pttl"},
	} {
		if err := c.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	ca := labtest.NewAuthority(t)
	dir := t.TempDir()
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, key := ca.Issue(t, "client", time.Hour)
	write("ca.pem", ca.PEM)
	write("other.pem", labtest.NewAuthority(t).PEM)
	write("client.pem", cert)
	write("client.key", key)
	write("password", []byte("look only\n"))
	server, err := tls.X509KeyPair(ca.Issue(t, "redis.internal", time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	addr := labtest.TLSFront(t, &tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool()}, backend.Addr())
	config := "default_profile = \"prod\"\n[profile.prod]\nnodes = [\"redis://" + addr + "\"]\ntls = true\nuser = \"viewer\"\npassword_file = \"password\"\ncacert = \"ca.pem\"\ncert = \"client.pem\"\nkey = \"client.key\"\nsni = \"redis.internal\"\n"
	write("config.toml", []byte(config))
	env := []string{"DLOCK_CONFIG=" + filepath.Join(dir, "config.toml")}

	e := runMain(t, env, "ls", "-o", "keys")
	if e.out != "lock:a\n" {
		t.Errorf("code %d: %q %q", e.code, e.out, e.err)
	}
	for _, one := range []struct {
		env, args []string
		code      int
		words     []string
	}{
		{nil, []string{"--cacert", filepath.Join(dir, "other.pem")}, exitNoNode, []string{"TLS: the server's certificate is not signed"}},
		{nil, []string{"--sni", "elsewhere"}, exitNoNode, []string{"TLS: the server's certificate is not for elsewhere"}},
		{nil, []string{"--key", filepath.Join(dir, "client.pem")}, exitUsage, []string{"--key", "holds no private key"}},
		{nil, []string{"--tls=false"}, exitUsage, []string{"is about TLS and no node uses it"}},
		{[]string{"DLOCK_PASSWORD=no"}, nil, exitRefused, []string{"AUTH: wrong password"}},
		{[]string{"DLOCK_USER=nobody"}, nil, exitRefused, []string{"AUTH: ", "unknown"}},
		{nil, []string{"--db", "1"}, exitRefused, []string{"SELECT: NOPERM"}},
	} {
		e := runMain(t, append(one.env, env...), append([]string{"ls"}, one.args...)...)
		wantCode(t, e, one.code)
		wantSentence(t, e, one.words...)
		if strings.Contains(e.out+e.err, "look only") {
			t.Errorf("the password is printed: %s%s", e.out, e.err)
		}
	}
}

// Unchecked certificates are said, on standard error and in the live view.
func TestInsecureIsSaid(t *testing.T) {
	fake := func() *fakeInspector { return &fakeInspector{snapshot: picture(1, nil)} }
	e := invocation{args: []string{"ls", "--node", "rediss://h", "--insecure"}, fake: fake()}.run(t)
	wantCode(t, e, exitOK)
	wantSentence(t, e, "--insecure", "not checked")
	var tag string
	e = invocation{
		args: []string{"--config", writeConfig(t, "default_profile = \"prod\"\n[profile.prod]\nnodes = [\"rediss://h\"]\ninsecure = true\ntag = \"PROD\"\ntag_color = \"red\"\naudit = \"none\"\n")},
		fake: fake(), inTTY: true, outTTY: true,
		tui: func(_ context.Context, conf tui.Config, _ tui.Source) error {
			tag = conf.Env + " " + conf.EnvColor
			return nil
		},
	}.run(t)
	wantCode(t, e, exitOK)
	if tag != "PROD INSECURE red" {
		t.Errorf("tag %q", tag)
	}
}

// A profile may forbid writing, and only the command line may allow it again.
func TestReadOnlyProfile(t *testing.T) {
	config := writeConfig(t, "default_profile = \"prod\"\n[profile.prod]\nnodes = [\"redis://h\"]\nread_only = true\n")
	e := invocation{args: []string{"release", "lock:a", "--token", tokenA, "--config", config}}.run(t)
	wantCode(t, e, exitRefused)
	wantSentence(t, e, "refused by read_only in "+config+":4", "nothing was sent")
	fake := &fakeInspector{snapshot: picture(3, []inspect.Lock{lockOf("lock:a", in(8*time.Second), tokenA, tokenA, tokenA)})}
	e = invocation{args: []string{"release", "lock:a", "--token", tokenA, "--config", config, "--read-only=false", "--audit", "none"}, fake: fake}.run(t)
	wantCode(t, e, exitOK)
	if len(fake.executed) != 1 || !slices.Equal(e.readOnly, []bool{false}) {
		t.Errorf("%d releases, connections %v", len(fake.executed), e.readOnly)
	}
}

// What get prints as the way to release reaches the same nodes as the same user.
func TestReleaseHintRepeatsTheConnection(t *testing.T) {
	fake := &fakeInspector{snapshot: picture(3, []inspect.Lock{lockOf("lock:a", in(8*time.Second), tokenA, tokenA, tokenA)})}
	config := writeConfig(t, "[profile.p]\nnodes = [\"rediss://h\"]\npassword_env = \"PW\"\nuser = \"ops\"\ndb = 2\n")
	e := invocation{args: []string{"get", "lock:a", "--config", config, "--profile", "p", "--sni", "a b", "--tls", "--askpass"}, env: []string{"PW=hunter22"}, secret: "p", fake: fake}.run(t)
	wantCode(t, e, exitOK)
	for _, want := range []string{"--config " + config, "--profile p", "--sni 'a b'", "--tls", "--askpass"} {
		if !strings.Contains(e.out, want) {
			t.Errorf("the hint lacks %s: %s", want, e.out)
		}
	}
	for _, not := range []string{"--user", "--db", "hunter22"} {
		if strings.Contains(e.out, not) {
			t.Errorf("the hint has %s, which the profile says: %s", not, e.out)
		}
	}
}

// complete is what the shell is offered.
func complete(t *testing.T, inv invocation) []string {
	t.Helper()
	inv.args = append([]string{cobra.ShellCompNoDescRequestCmd}, inv.args...)
	e := inv.run(t)
	wantCode(t, e, exitOK)
	if strings.Contains(e.err, "dlock:") {
		t.Errorf("completion complains: %s", e.err)
	}
	offered, _, _ := strings.Cut(e.out, ":")
	if i := strings.LastIndex(e.out, "\n:"); i >= 0 {
		offered = e.out[:i]
	} else {
		offered = ""
	}
	return strings.Fields(offered)
}

func TestCompletion(t *testing.T) {
	config := writeConfig(t, "[profile.prod]\nnodes = [\"redis://h\"]\n[profile.test]\n[profile.\"odd name\"]\n[profile.\"$(reboot)\"]\n")
	locks := []inspect.Lock{
		lockOf("lock:a", never, "t"), lockOf("lock:b", never, "t"), lockOf("job:c", never, "t"),
		lockOf("lock:with space", never, "t"), lockOf("lock:$(reboot)", never, "t"), lockOf("lock:\x1b[31m", never, "t"), lockOf("-n", never, "t"), lockOf(`"q"`, never, "t"),
	}
	fake := func() *fakeInspector { return &fakeInspector{snapshot: picture(1, locks)} }
	for _, c := range []struct {
		name string
		inv  invocation
		want []string
	}{
		{"profiles", invocation{args: []string{"--profile", ""}, env: []string{"DLOCK_CONFIG=" + config}}, []string{"prod", "test"}},
		{"profiles of a file", invocation{args: []string{"--config", config, "ls", "--profile", ""}}, []string{"prod", "test"}},
		{"no file", invocation{args: []string{"ls", "--profile", ""}, env: []string{"XDG_CONFIG_HOME=/no/such"}}, nil},
		{"a broken file", invocation{args: []string{"ls", "--profile", ""}, env: []string{"DLOCK_CONFIG=" + writeConfig(t, "x")}}, nil},
		{"keys", invocation{args: []string{"get", ""}, fake: fake()}, []string{"lock:a", "lock:b", "job:c"}},
		{"keys that begin so", invocation{args: []string{"release", "lock:"}, fake: fake()}, []string{"lock:a", "lock:b"}},
		{"another key", invocation{args: []string{"get", "lock:a", "lock:"}, fake: fake()}, []string{"lock:b"}},
		{"nobody there", invocation{args: []string{"get", ""}, fake: &fakeInspector{err: inspect.ErrNoNode}}, nil},
		{"wrong settings", invocation{args: []string{"get", ""}, env: []string{"DLOCK_TIMEOUT=1"}}, nil},
		{"a password to ask for", invocation{args: []string{"get", "--askpass", ""}}, nil},
		{"words", invocation{args: []string{"ls", "--theme", ""}}, []string{"default", "dark", "light", "mono", "high-contrast"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := complete(t, c.inv); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// Nodes that hang keep nobody at the tab key.
func TestCompletionWhileANodeHangs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	// It takes connections, as the system does for it, and never answers.
	e := runMain(t, []string{"REDIS_URL=redis://" + l.Addr().String(), "DLOCK_TIMEOUT=1h"}, cobra.ShellCompNoDescRequestCmd, "get", "")
	if e.code != exitOK || e.out != ":4\n" {
		t.Errorf("code %d: %q", e.code, e.out)
	}
}

func TestGlobOf(t *testing.T) {
	for s, want := range map[string]string{"lock:a": "lock:a", "a*b?[c]": `a\*b\?\[c\]`, `\`: `\\`} {
		if got := globOf(s); got != want {
			t.Errorf("%s: %s", s, got)
		}
	}
}
