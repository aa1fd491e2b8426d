package text

import (
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestQuoteTable(t *testing.T) {
	for in, want := range map[string]string{
		"":                 `""`,
		"lock:orders:42":   "lock:orders:42",
		"lock:{a}:*?[b]$&": "lock:{a}:*?[b]$&",
		"lock:注文:42":       "lock:注文:42",
		"e\u0301":          "e\u0301",
		"🔒":                "🔒",
		"a b":              `"a b"`,
		"it's":             `"it's"`,
		`say "hi"`:         `"say \"hi\""`,
		`a\b`:              `"a\\b"`,
		"a\nb\r\t\a\b":     `"a\nb\r\t\a\b"`,
		"\x00\x1b\x7f\xff": `"\x00\x1b\x7f\xff"`,
		"a\u202eb":         `"a\xe2\x80\xaeb"`,
		"\u0301":           `"\xcc\x81"`,
		"注 文\xe6":          `"注 文\xe6"`,
	} {
		if got := Quote(in); got != want {
			t.Errorf("Quote(%+q) = %s, want %s", in, got, want)
		}
	}
}

func TestUnquoteTable(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"lock:a":                  "lock:a",
		`a\nb`:                    `a\nb`, // not quoted, so literal
		`"`:                       `"`,
		`"abc`:                    `"abc`,
		`abc"`:                    `abc"`,
		`""`:                      "",
		`"a\u202e\U0001F512\xFf"`: "a\u202e🔒\xff",
		"\"a\xffb\"":              "a\xffb",
	} {
		got, err := Unquote(in)
		if err != nil || got != want {
			t.Errorf("Unquote(%s) = %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestUnquoteErrors(t *testing.T) {
	for in, want := range map[string]string{
		`"a"b"`:           "has a quote inside, at byte 2",
		`"abc\"`:          "at byte 4: it ends within an escape",
		`"\q"`:            "there is no such escape",
		`"a\x1"`:          `at byte 2: \x needs 2 hexadecimal digits`,
		`"\xg0"`:          `\x needs 2 hexadecimal digits`,
		`"\u20"`:          `\u needs 4 hexadecimal digits`,
		`"\ud800"`:        `\u does not name a character`,
		`"\U00110000"`:    `\U does not name a character`,
		`"\Uffffffff"`:    `\U does not name a character`,
		`"s3cret-token\q`: "",
	} {
		_, err := Unquote(in)
		if want == "" {
			if err != nil {
				t.Errorf("Unquote(%s): %v", in, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Unquote(%s): error %v, want %q in it", in, err, want)
		}
	}
	if _, err := Unquote(`"s3cret\q"`); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("the error repeats the argument: %v", err)
	}
}

func checkQuote(t interface{ Fatalf(string, ...any) }, key string) {
	q := Quote(key)
	back, err := Unquote(q)
	if err != nil || back != key {
		t.Fatalf("Quote(%q) = %s, which reads %q, %v", key, q, back, err)
	}
	requireSafe(t, Safe(q))
	if string(Escaped(q)) != q {
		t.Fatalf("Escaped changes %s into %s", q, Escaped(q))
	}
	if args := parseLikeRedisCLI(RedisCLI("ECHO", key)); len(args) != 2 || args[1] != key {
		t.Fatalf("redis-cli would read %s as %q", RedisCLI("ECHO", key), args)
	}
	requireSafe(t, Safe(Shell(key)))
	if back := throughShell(t, Shell("dlock", key)); len(back) != 2 || back[1] != key {
		t.Fatalf("a shell would read %s as %q", Shell("dlock", key), back)
	}
}

// parseLikeRedisCLI splits a line by redis-cli's rules for unquoted and
// double-quoted arguments.
func parseLikeRedisCLI(line string) []string {
	var args []string
	for i := 0; i < len(line); {
		if line[i] == ' ' {
			i++
			continue
		}
		var arg []byte
		if line[i] == '"' {
			for i++; line[i] != '"'; i++ {
				if line[i] != '\\' {
					arg = append(arg, line[i])
					continue
				}
				i++
				switch c := line[i]; c {
				case 'n':
					arg = append(arg, '\n')
				case 'r':
					arg = append(arg, '\r')
				case 't':
					arg = append(arg, '\t')
				case 'a':
					arg = append(arg, '\a')
				case 'b':
					arg = append(arg, '\b')
				case 'x':
					v, _ := parseHex(line[i+1:], 2)
					arg = append(arg, byte(v))
					i += 2
				default:
					arg = append(arg, c)
				}
			}
			i++
		} else {
			for i < len(line) && line[i] != ' ' {
				arg = append(arg, line[i])
				i++
			}
		}
		args = append(args, string(arg))
	}
	return args
}

// throughShell splits a line as a shell does that knows single quotes and
// backslashes, then reads each word as dlock reads a key.
func throughShell(t interface{ Fatalf(string, ...any) }, line string) []string {
	var words []string
	var word []byte
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ':
			words = append(words, string(word))
			word = nil
		case '\\':
			i++
			word = append(word, line[i])
		case '\'':
			for i++; line[i] != '\''; i++ {
				word = append(word, line[i])
			}
		default:
			if needsShellQuotes(rune(c)) {
				t.Fatalf("%q stands outside quotes in %s", c, line)
			}
			word = append(word, c)
		}
	}
	words = append(words, string(word))
	for i, w := range words {
		u, err := Unquote(w)
		if err != nil {
			t.Fatalf("dlock cannot read %s: %v", w, err)
		}
		words[i] = u
	}
	return words
}

func TestQuoteProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkQuote(t, hostileText().Draw(t, "key")) })
}

func FuzzQuote(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Add(strings.Join(hostile, ""))
	f.Fuzz(func(t *testing.T, key string) { checkQuote(t, key) })
}

func FuzzUnquote(f *testing.F) {
	for _, s := range hostile {
		f.Add(`"` + s + `"`)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		key, err := Unquote(arg)
		if err != nil {
			return
		}
		checkQuote(t, key)
	})
}

func TestShellTable(t *testing.T) {
	for in, want := range map[string]string{
		"lock:orders:42": "lock:orders:42",
		"--":             "--",
		"":               "''",
		"a b":            "'a b'",
		"it's":           `'it'\''s'`,
		"$(reboot)":      "'$(reboot)'",
		"~":              "'~'",
		"A=b":            "'A=b'",
		"lock:注文":        "'lock:注文'",
		`a\b`:            `'a\b'`,
		"a\nb":           `'"a\nb"'`,
		"a'\x1b":         `'"a'\''\x1b"'`,
		`"a"`:            `'"\"a\""'`,
		"\xff":           `'"\xff"'`,
	} {
		if got := Shell(in); got != want {
			t.Errorf("Shell(%+q) = %s, want %s", in, got, want)
		}
	}
	if got := Shell("dlock", "release", "lock:a b", "--yes"); got != "dlock release 'lock:a b' --yes" {
		t.Errorf("got %s", got)
	}
}

func TestShellByARealShell(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh in PATH")
	}
	out, err := exec.Command(sh, "-c", "printf '%s\\0' "+Shell(hostile...)).Output()
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(words) != len(hostile) {
		t.Fatalf("%d arguments became %d", len(hostile), len(words))
	}
	for i, w := range words {
		if got, err := Unquote(w); err != nil || got != hostile[i] {
			t.Errorf("%q came back as %q, %v", hostile[i], got, err)
		}
	}
}
