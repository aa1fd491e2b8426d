package node_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
	"dlock/lockcore/node"
)

// try opens a node and sends one command through it.
func try(t *testing.T, url string, o node.Options) error {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second // only what hangs reaches it
	}
	if o.DialTimeout == 0 {
		o.DialTimeout = 5 * time.Second
	}
	n, err := node.Open(url, o)
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	defer n.Close()
	// As the inspector does: in a pipeline.
	pipe := n.Client().Pipeline()
	cmd := pipe.Do(t.Context(), "pttl", "lock:a")
	if _, err := pipe.Exec(t.Context()); err != nil {
		return err
	}
	return cmd.Err()
}

func want(t *testing.T, err error, stage node.Stage, words ...string) {
	t.Helper()
	if err == nil {
		t.Error("there is no error")
		return
	}
	if got := node.StageOf(err); got != stage {
		t.Errorf("stage %q, want %q: %v", got, stage, err)
	}
	text := node.Explain(err)
	for _, w := range append(words, string(stage)+": ") {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not say %q", text, w)
		}
	}
}

// pair is a certificate of the authority as a server shows it.
func pair(t *testing.T, ca *labtest.Authority, name string, lives time.Duration) []tls.Certificate {
	t.Helper()
	c, err := tls.X509KeyPair(ca.Issue(t, name, lives))
	if err != nil {
		t.Fatal(err)
	}
	return []tls.Certificate{c}
}

func parts(t *testing.T, p node.TLSParts) *tls.Config {
	t.Helper()
	c, err := p.Config()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTLSStage(t *testing.T) {
	backend := labtest.Start(t, lab.Config{Nodes: 1, Kind: lab.Embedded}).Nodes()[0].Addr()
	ca, other := labtest.NewAuthority(t), labtest.NewAuthority(t)
	front := func(c *tls.Config) string { return labtest.TLSFront(t, c, backend) }
	good := pair(t, ca, "127.0.0.1", time.Hour)
	plain := front(&tls.Config{Certificates: good})
	named := front(&tls.Config{Certificates: pair(t, ca, "redis.internal", time.Hour)})
	expired := front(&tls.Config{Certificates: pair(t, ca, "127.0.0.1", -time.Hour)})
	mutual := front(&tls.Config{Certificates: good, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool()})
	cert, key := ca.Issue(t, "client", time.Hour)
	foreign, foreignKey := other.Issue(t, "client", time.Hour)

	for _, c := range []struct {
		name, addr string
		parts      node.TLSParts
		words      []string // nil: it works
	}{
		{"a CA of one's own", plain, node.TLSParts{CA: ca.PEM}, nil},
		{"no CA", plain, node.TLSParts{}, []string{"not signed by an authority", "CA"}},
		{"another CA", plain, node.TLSParts{CA: other.PEM}, []string{"not signed by an authority"}},
		{"unchecked", plain, node.TLSParts{CA: other.PEM, Insecure: true}, nil},
		{"another name", named, node.TLSParts{CA: ca.PEM}, []string{"not for 127.0.0.1", "server name"}},
		{"the name given", named, node.TLSParts{CA: ca.PEM, ServerName: "redis.internal"}, nil},
		{"expired", expired, node.TLSParts{CA: ca.PEM}, []string{"expired"}},
		{"no client certificate", mutual, node.TLSParts{CA: ca.PEM}, []string{"asks for a client certificate"}},
		{"a client certificate", mutual, node.TLSParts{CA: ca.PEM, Cert: cert, Key: key}, nil},
		{"a foreign client certificate", mutual, node.TLSParts{CA: ca.PEM, Cert: foreign, Key: foreignKey}, []string{"refused by the server", "client certificate"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for url, o := range map[string]node.Options{"rediss://": {}, "redis://": {TLS: true}} {
				o.TLSConfig = parts(t, c.parts)
				err := try(t, url+c.addr, o)
				if c.words != nil {
					want(t, err, node.TLS, c.words...)
				} else if err != nil {
					t.Errorf("%s: %v", url, err)
				}
			}
		})
	}
	t.Run("without TLS on a port with TLS", func(t *testing.T) {
		want(t, try(t, "redis://"+plain, node.Options{}), node.Hello, "may want TLS")
	})
	t.Run("without TLS through a socket", func(t *testing.T) {
		err := try(t, "unix:///no/such/socket", node.Options{TLS: true})
		want(t, err, node.Dial, "no such socket")
	})
}

func TestTLSParts(t *testing.T) {
	ca := labtest.NewAuthority(t)
	cert, key := ca.Issue(t, "client", time.Hour)
	_, another := ca.Issue(t, "client", time.Hour)
	locked := []byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n")
	for _, c := range []struct {
		name  string
		parts node.TLSParts
		words string
	}{
		{"no CA in the file", node.TLSParts{CA: key}, "the CA file holds no certificate"},
		{"no PEM at all", node.TLSParts{CA: []byte("hunter22")}, "the CA file holds no certificate"},
		{"no key", node.TLSParts{Cert: cert}, "without its private key"},
		{"no certificate", node.TLSParts{Key: key}, "without its client certificate"},
		{"another key", node.TLSParts{Cert: cert, Key: another}, "does not belong"},
		{"mixed up", node.TLSParts{Cert: key, Key: cert}, "holds no certificate"},
		{"twice the certificate", node.TLSParts{Cert: cert, Key: cert}, "holds no private key"},
		{"a passphrase", node.TLSParts{Cert: cert, Key: locked}, "passphrase"},
		{"broken", node.TLSParts{Cert: cert, Key: []byte(strings.Replace(string(key), "M", "N", 1))}, "cannot be read"},
	} {
		_, err := c.parts.Config()
		if err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// scripted is a server that greets each client and answers each command by
// the word it begins with; what it has no answer to, it hangs up on.
func scripted(t *testing.T, greeting string, answers map[string]string) string {
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
				_, _ = io.WriteString(c, greeting)
				for r := bufio.NewReader(c); ; {
					name, ok := commandName(r)
					answer, known := answers[name]
					if !known && name == "client" { // each connection says its name
						answer, known = "+OK\r\n", true
					}
					if !ok || !known {
						return
					}
					_, _ = io.WriteString(c, answer)
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

// commandName reads one command and returns its first word.
func commandName(r *bufio.Reader) (name string, ok bool) {
	var words, size int
	if _, err := fmt.Fscanf(r, "*%d\r\n", &words); err != nil {
		return "", false
	}
	for n := range words {
		if _, err := fmt.Fscanf(r, "$%d\r\n", &size); err != nil {
			return "", false
		}
		word := make([]byte, size+2)
		if _, err := io.ReadFull(r, word); err != nil {
			return "", false
		}
		if n == 0 {
			name = strings.ToLower(string(word[:size]))
		}
	}
	return name, words > 0
}

func TestStages(t *testing.T) {
	hello := "%0\r\n"
	fails := func(err error) node.Options {
		return node.Options{Dialer: func(context.Context, string, string) (net.Conn, error) { return nil, err }}
	}
	down := "127.0.0.1:1"
	for _, c := range []struct {
		name    string
		url     string
		options node.Options
		stage   node.Stage
		kind    node.Kind
		words   []string
	}{
		{"nobody there", "redis://" + down, node.Options{}, node.Dial, node.Unreachable, []string{"connection refused", "nothing listens"}},
		{"no such name", "redis://h", fails(&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}), node.Dial, node.Unreachable, []string{"host name not found"}},
		{"no route", "redis://h", fails(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}), node.Dial, node.Unreachable, []string{"no route to host"}},
		{"dropped packets", "redis://h", fails(context.DeadlineExceeded), node.Dial, node.TimedOut, []string{"no connection in time"}},
		{"no socket", "unix:///no/such/socket", node.Options{}, node.Dial, node.Unreachable, []string{"no such socket"}},
		{"hangs up", "redis://" + scripted(t, "", nil), node.Options{}, node.Hello, node.Unreachable, []string{"closed by the server", "TLS"}},
		{"another protocol", "redis://" + scripted(t, "HTTP/1.1 400 Bad Request\r\n\r\n", nil), node.Options{}, node.Hello, node.Unreachable, []string{"not one that Redis gives"}},
		{"silent", "redis://" + scripted(t, "", map[string]string{"hello": ""}), node.Options{Timeout: 20 * time.Millisecond}, node.Hello, node.TimedOut, []string{"no answer in time"}},
		{"protected mode", "redis://" + scripted(t, "-DENIED Redis is running in protected mode because …\r\n", nil), node.Options{}, node.Auth, node.Unauthorized, []string{"protected mode"}},
		{"too many clients", "redis://" + scripted(t, "-ERR max number of clients reached\r\n", nil), node.Options{}, node.Hello, node.NotServing, []string{"max number of clients"}},
		{"no such database", "redis://" + scripted(t, "", map[string]string{"hello": hello, "select": "-ERR DB index is out of range\r\n"}) + "/99", node.Options{}, node.Select, node.Refused, []string{"out of range"}},
		{"database forbidden", "redis://" + scripted(t, "", map[string]string{"hello": hello, "select": "-NOPERM this user has no permissions to run the 'select' command\r\n"}) + "/1", node.Options{}, node.Select, node.Forbidden, []string{"NOPERM"}},
		{"no password", "redis://" + scripted(t, "", map[string]string{"hello": "-NOAUTH HELLO must be called with the client already authenticated\r\n", "pttl": "-NOAUTH Authentication required.\r\n"}), node.Options{}, node.Auth, node.Unauthorized, []string{"none was given"}},
		{"an old server", "redis://" + scripted(t, "", map[string]string{"hello": "-ERR unknown command `HELLO`\r\n", "auth": "-ERR invalid password\r\n"}), node.Options{Password: "p"}, node.Auth, node.Unauthorized, []string{"wrong password"}},
		{"a password too many", "redis://" + scripted(t, "", map[string]string{"hello": "-ERR unknown command `HELLO`\r\n", "auth": "-ERR Client sent AUTH, but no password is set: called without any password configured\r\n"}), node.Options{Password: "p"}, node.Auth, node.Unauthorized, []string{"the server has none"}},
		{"a server that repeats what it hears", "redis://" + scripted(t, "", map[string]string{"hello": "-ERR no\r\n", "auth": "-ERR you said p\r\n"}), node.Options{Password: "p"}, node.Auth, node.Refused, []string{"AUTH: refused by the server"}},
		{"no cluster", "redis+cluster://" + scripted(t, "", map[string]string{"hello": hello, "cluster": "-ERR This instance has cluster support disabled\r\n"}), node.Options{}, node.ClusterSlots, node.Refused, []string{"not part of a cluster", "redis://"}},
		{"no cluster node there", "redis+cluster://" + down, node.Options{}, node.Dial, node.Unreachable, []string{"refused"}},
		{"no sentinel there", "redis+sentinel://" + down + "," + "127.0.0.1:2/m", node.Options{}, node.SentinelLookup, node.Unreachable, []string{"sentinel lookup: dial: connection refused"}},
		{"no such master", "redis+sentinel://" + scripted(t, "", map[string]string{"hello": hello, "sentinel": "*-1\r\n"}) + "/m", node.Options{}, node.SentinelLookup, node.Unreachable, []string{"no sentinel knows a master of this name"}},
		{"the sentinel wants a password", "redis+sentinel://" + scripted(t, "", map[string]string{"hello": "-NOAUTH HELLO must\r\n", "sentinel": "-NOAUTH Authentication required.\r\n"}) + "/m", node.Options{}, node.SentinelLookup, node.Unauthorized, []string{"sentinel lookup: AUTH: a password is needed"}},
		{"a sentinel and another one", "redis+sentinel://" + scripted(t, "", map[string]string{"hello": hello, "sentinel": "*-1\r\n"}) + "," + down + "/m", node.Options{}, node.SentinelLookup, node.Unreachable, []string{"dial: connection refused (nothing listens there); no sentinel knows"}},
		{"the master is down", "redis+sentinel://" + scripted(t, "", map[string]string{"hello": hello, "sentinel": "*2\r\n$9\r\n127.0.0.1\r\n$1\r\n1\r\n"}) + "/m", node.Options{}, node.Dial, node.Unreachable, []string{"connection refused"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := try(t, c.url, c.options)
			want(t, err, c.stage, c.words...)
			if got := node.Classify(err); got != c.kind {
				t.Errorf("kind %d, want %d", got, c.kind)
			}
		})
	}
}

// A failure of a command is about no stage.
func TestACommandIsNoStage(t *testing.T) {
	addr := scripted(t, "", map[string]string{"hello": "%0\r\n", "pttl": "-WRONGTYPE no\r\n"})
	if err := try(t, "redis://"+addr, node.Options{}); err == nil || node.StageOf(err) != "" || node.StageOf(nil) != "" {
		t.Errorf("stage %q of %v", node.StageOf(err), err)
	}
	gone := scripted(t, "", map[string]string{"hello": "%0\r\n"})
	if err := try(t, "redis://"+gone, node.Options{}); err == nil || node.StageOf(err) != "" || node.Explain(err) != "connection closed by the server" {
		t.Errorf("%v", err)
	}
}

func TestUsersOnAServer(t *testing.T) {
	l := labtest.Start(t, lab.Config{Nodes: 1, Kind: lab.Process})
	c := labtest.Client(t, l.Nodes()[0])
	for _, user := range [][]any{
		{"ACL", "SETUSER", "viewer", "on", ">look only", "~lock:*", "-@all", "+pttl"},
		{"ACL", "SETUSER", "off", "off", ">p", "~*", "+@all"},
		{"ACL", "SETUSER", "open", "on", "nopass", "~*", "+@all"},
		{"ACL", "SETUSER", "default", "resetpass", ">main"},
	} {
		if err := c.Do(t.Context(), user...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	addr := l.Nodes()[0].Addr()
	for _, one := range []struct {
		name, user, password, path string
		stage                      node.Stage
		words                      string
	}{
		{"default", "", "main", "", "", ""},
		{"by name", "default", "main", "/3", "", ""},
		{"least privilege", "viewer", "look only", "", "", ""},
		{"a user without a password takes any", "open", "any", "", "", ""},
		{"no password", "", "", "", node.Auth, "none was given"},
		{"wrong", "", "no", "", node.Auth, "wrong password"},
		{"wrong for the user", "viewer", "no", "", node.Auth, "wrong password, or the user is unknown or disabled"},
		{"unknown", "nobody", "main", "", node.Auth, "unknown"},
		{"switched off", "off", "p", "", node.Auth, "disabled"},
		{"may not choose a database", "viewer", "look only", "/1", node.Select, "NOPERM"},
		{"no such database", "default", "main", "/99", node.Select, "out of range"},
	} {
		t.Run(one.name, func(t *testing.T) {
			err := try(t, "redis://"+addr+one.path, node.Options{Username: one.user, Password: one.password})
			if one.stage != "" {
				want(t, err, one.stage, one.words)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAUserNeedsAPassword(t *testing.T) {
	for url, o := range map[string]node.Options{
		"redis://hunter22@h":   {},
		"redis://h":            {Username: "hunter22"},
		"redis+sentinel://h/m": {SentinelUsername: "hunter22"},
	} {
		_, err := node.Open(url, o)
		if err == nil || !strings.Contains(err.Error(), "without its password") || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// serverWithTLS starts a redis-server that speaks TLS and asks for client
// certificates, and returns its address.
func serverWithTLS(t *testing.T, ca *labtest.Authority, args ...string) string {
	t.Helper()
	labtest.NeedServer(t)
	dir := t.TempDir()
	cert, key := ca.Issue(t, "127.0.0.1", time.Hour)
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	addr := freeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	l, err := lab.Start(t.Context(), lab.Config{Nodes: 1, Kind: lab.Process, Args: append([]string{
		"--tls-port", port, "--tls-auth-clients", "yes",
		"--tls-cert-file", file("cert", cert), "--tls-key-file", file("key", key), "--tls-ca-cert-file", file("ca", ca.PEM),
	}, args...)})
	if err != nil {
		if os.Getenv(labtest.RequireRedis) != "1" && strings.Contains(err.Error(), "Bad directive") {
			t.Skip("this redis-server was built without TLS")
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return addr
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestTLSOnAServer(t *testing.T) {
	ca := labtest.NewAuthority(t)
	addr := serverWithTLS(t, ca, "--requirepass", "main")
	cert, key := ca.Issue(t, "client", time.Hour)
	stale, staleKey := ca.Issue(t, "client", -time.Hour)
	mutual := parts(t, node.TLSParts{CA: ca.PEM, Cert: cert, Key: key})
	if err := try(t, "rediss://:main@"+addr+"/2", node.Options{TLSConfig: mutual}); err != nil {
		t.Error(err)
	}
	want(t, try(t, "rediss://"+addr, node.Options{TLSConfig: mutual}), node.Auth, "none was given")
	want(t, try(t, "rediss://:no@"+addr, node.Options{TLSConfig: mutual}), node.Auth, "wrong password")
	want(t, try(t, "rediss://:main@"+addr, node.Options{TLSConfig: parts(t, node.TLSParts{CA: ca.PEM})}), node.TLS, "client certificate")
	want(t, try(t, "rediss://:main@"+addr, node.Options{TLSConfig: parts(t, node.TLSParts{CA: ca.PEM, Cert: stale, Key: staleKey})}), node.TLS, "client certificate", "expired")
	want(t, try(t, "rediss://:main@"+addr, node.Options{}), node.TLS, "not signed by an authority")
	want(t, try(t, "redis://:main@"+addr, node.Options{}), node.Hello, "may want TLS")
}

func TestTLSOnAPortWithout(t *testing.T) {
	l := labtest.Start(t, lab.Config{Nodes: 1, Kind: lab.Process})
	// The server takes the handshake for the start of a command.
	err := try(t, "rediss://"+l.Nodes()[0].Addr(), node.Options{DialTimeout: 100 * time.Millisecond})
	want(t, err, node.TLS, "may not speak TLS")
}

// Sentinels have accounts of their own, and are not given those of the master.
func TestSentinelWithAPasswordOfItsOwn(t *testing.T) {
	l := labtest.Start(t, lab.Config{Nodes: 1, Kind: lab.Process, Args: []string{"--requirepass", "data-pw"}})
	host, port, _ := net.SplitHostPort(l.Nodes()[0].Addr())
	addr := freeAddr(t)
	_, own, _ := net.SplitHostPort(addr)
	dir := t.TempDir()
	conf := filepath.Join(dir, "sentinel.conf")
	text := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\nrequirepass sentinel-pw\nuser watcher on >watcher-pw allchannels -@all +hello +auth +sentinel +subscribe +ping\nsentinel monitor mymaster %s %s 1\nsentinel auth-pass mymaster data-pw\n", own, dir, host, port)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	path, _ := lab.FindServer()
	cmd := exec.Command(path, conf, "--sentinel")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s := redis.NewSentinelClient(&redis.Options{Addr: addr, Password: "sentinel-pw", MaxRetries: -1, DialerRetries: 1})
	defer s.Close()
	for {
		if _, err := s.GetMasterAddrByName(t.Context(), "mymaster").Result(); err == nil {
			break
		} else if !errors.Is(err, syscall.ECONNREFUSED) || cmd.ProcessState != nil {
			t.Fatal(err)
		}
	}
	url := "redis+sentinel://:data-pw@" + addr + "/mymaster"
	for _, c := range []struct {
		name  string
		url   string
		o     node.Options
		words string
	}{
		{"its password", url, node.Options{SentinelPassword: "sentinel-pw"}, ""},
		{"its user", url, node.Options{SentinelUsername: "watcher", SentinelPassword: "watcher-pw"}, ""},
		{"none", url, node.Options{}, "sentinel lookup: AUTH: a password is needed, and none was given"},
		{"the master's", url, node.Options{SentinelPassword: "data-pw"}, "sentinel lookup: AUTH: wrong password"},
		{"none for the master", "redis+sentinel://" + addr + "/mymaster", node.Options{SentinelPassword: "sentinel-pw"}, "AUTH: a password is needed, and none was given"},
		{"another name", "redis+sentinel://:data-pw@" + addr + "/other", node.Options{SentinelPassword: "sentinel-pw"}, "no sentinel knows a master of this name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := try(t, c.url, c.o)
			if c.words == "" && err != nil || c.words != "" && (err == nil || !strings.Contains(node.Explain(err), c.words)) {
				t.Errorf("%q: %v", node.Explain(err), err)
			}
		})
	}
}

func TestMask(t *testing.T) {
	for url, want := range map[string]string{
		"redis://h":                        "redis://h:6379",
		"redis://ana:p%23@h:1/3":           "redis://ana:[hidden]@h:1/3",
		"REDISS://:p@h":                    "rediss://:[hidden]@h:6379",
		"redis://p@h":                      "redis://[hidden]@h:6379",
		"unix://:p@/run/r.sock?db=2":       "unix://:[hidden]@/run/r.sock?db=2",
		"redis+sentinel://a:p@x,y:5/m/2":   "redis+sentinel://a:[hidden]@x:26379,y:5/m/2",
		"redis+cluster://:p@x:7000,y:7001": "redis+cluster://:[hidden]@x:7000,y:7001",
	} {
		got, err := node.Mask(url)
		if err != nil || got != want {
			t.Errorf("%s: %q, %v", url, got, err)
		}
	}
	if shown, err := node.Mask("redis://:p#hunter22@h"); err == nil || strings.Contains(shown+err.Error(), "hunter22") {
		t.Errorf("%q, %v", shown, err)
	}
}
