package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"
)

func TestRedact(t *testing.T) {
	for _, c := range []struct{ secret, in, want string }{
		{"hunter22", "AUTH hunter22 failed", "AUTH [hidden] failed"},
		{"hunter22", "xhunter22x", "x[hidden]x"},
		{"two words", "I heard 'two words'", "I heard '[hidden]'"},
		{"50%d%s", "got 50%d%s", "got [hidden]"},
		{`q"u'o` + "`te", `got "q"u'o` + "`te" + `"`, `got "[hidden]"`},
		{"li\nne", "got 'li ne'", "got '[hidden]'"},
		{"", "connection refused", "connection refused"},
		{" ", "connection refused", "connection refused"},
		// Short ones: as words only.
		{"e", "connection refused", "connection refused"},
		{"e", "AUTH e failed, e ee 'e'", "AUTH [hidden] failed, [hidden] ee '[hidden]'"},
		// Parts of words that servers use: as words only.
		{"pass", "WRONGPASS invalid username-password pair", "WRONGPASS invalid username-password pair"},
		{"pass", "AUTH pass failed", "AUTH [hidden] failed"},
		{"ADING", "LOADING Redis is loading", "LOADING Redis is loading"},
		// Such words themselves: in quotes only.
		{"password", "WRONGPASS invalid username-password pair", "WRONGPASS invalid username-password pair"},
		{"password", "unknown 'password' or `password`", "unknown '[hidden]' or `[hidden]`"},
		{"LOADING", "LOADING Redis is loading", "LOADING Redis is loading"},
		// What is repeated of arguments goes as a whole.
		{"password", "ERR unknown command 'AUTH', with args beginning with: 'password' ", "ERR unknown command 'AUTH', with arguments [hidden]"},
	} {
		if got := NewSecrets(c.secret).Redact(c.in); got != c.want {
			t.Errorf("%q in %q gives %q, want %q", c.secret, c.in, got, c.want)
		}
	}
	// One that contains another does not leave its rest behind.
	if got := NewSecrets("long", "longer-one").Redact("longer-one and long-"); got != "[hidden] and [hidden]-" {
		t.Errorf("got %q", got)
	}
	if got := Explain(reply("ERR unknown command 'HELLO', with args beginning with: '2' 'AUTH' 'a' 'b'")); strings.Contains(got, "'b'") {
		t.Errorf("without knowing a secret: %s", got)
	}
}

func TestRedactLeavesNoSecret(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[A-Z0-9 '"%!]{3,10}[0-9!%]`).Draw(t, "secret")
		text := rapid.String().Draw(t, "before") + secret + rapid.String().Draw(t, "after")
		if got := NewSecrets("other", secret).Redact(text); strings.Contains(got, secret) {
			t.Fatalf("%q stays in %q", secret, got)
		}
	})
}

// parrot is a server that answers every command with an error that repeats all
// of it, after the given words.
func parrot(t *testing.T, words string) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	serve := func(conn net.Conn) {
		defer conn.Close()
		in := bufio.NewReader(conn)
		number := func() (int, error) {
			line, err := in.ReadString('\n')
			if err != nil {
				return 0, err
			}
			return strconv.Atoi(strings.TrimSpace(line[1:]))
		}
		for {
			n, err := number()
			if err != nil {
				return
			}
			said := words
			for range n {
				size, err := number()
				if err != nil {
					return
				}
				arg := make([]byte, size+2)
				if _, err := io.ReadFull(in, arg); err != nil {
					return
				}
				said += " " + strings.NewReplacer("\r", " ", "\n", " ").Replace(string(arg[:size]))
			}
			if _, err := fmt.Fprintf(conn, "-%s\r\n", said); err != nil {
				return
			}
		}
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	return listener.Addr().String()
}

// Whatever a server repeats, the errors of a node's client hold none of its own
// credentials, and still tell what kind of failure it is.
func TestAServersEchoHoldsNoCredentials(t *testing.T) {
	for _, password := range []string{"hunter22", "two words", "50%d%s", `"quoted'`, "line\nbreak", "p@ss/w:rd"} {
		for words, kind := range map[string]Kind{"ERR I heard": Refused, "LOADING for": NotServing, "WRONGPASS for": Unauthorized, "NOPERM for": Forbidden} {
			n, err := Open("redis://"+parrot(t, words), Options{Username: "ana-the-admin", Password: password, Timeout: commandLimit, DialTimeout: commandLimit})
			if err != nil {
				t.Fatal(err)
			}
			check := func(what string, err error) {
				t.Helper()
				shown := strings.NewReplacer("\n", " ").Replace(password)
				for _, text := range []string{err.Error(), Explain(err), fmt.Sprintf("%+v", err), fmt.Sprint(errors.Unwrap(err))} {
					if strings.Contains(text, shown) || strings.Contains(text, "ana-the-admin") {
						t.Errorf("%s: %s", what, text)
					}
				}
				if Classify(err) != kind || !strings.HasPrefix(strings.TrimPrefix(err.Error(), "AUTH: "), strings.Fields(words)[0]) {
					t.Errorf("%s: %v is of kind %d, want %d", what, err, Classify(err), kind)
				}
				var reply redis.Error
				if !errors.As(err, &reply) {
					t.Errorf("%s: %v is no reply any more", what, err)
				}
			}
			ctx := context.Background()
			check("a command", n.Client().Get(ctx, "k").Err())
			pipe := n.Client().Pipeline()
			get := pipe.Get(ctx, "k")
			pipe.Get(ctx, "l")
			_, err = pipe.Exec(ctx)
			check("a pipeline", err)
			if own := get.Err(); own != nil {
				check("a command of it", own)
			}
			n.Close()
		}
	}
}

// commandLimit is reached only by what hangs.
const commandLimit = 10 * time.Second
