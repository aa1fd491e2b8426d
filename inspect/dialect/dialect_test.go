package dialect

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"dlock/lockcore"
)

func TestRecognise(t *testing.T) {
	asked := time.UnixMicro(1_796_118_050_123_456)
	tok := func(owner string) string {
		return lockcore.Token{UUID: uuid.New(), Ticket: asked.UnixMicro(), Owner: owner}.String()
	}
	value := func(v string) Entry { return Entry{Key: "lock:a", Type: "string", Value: v, HasValue: true} }
	held := func(owner, host string, pid int) Decoded {
		return Decoded{Library: Dlock, Confidence: Certain, Kind: Mutex, Holders: []Holder{{Owner: owner, Host: host, PID: pid, Since: asked, Count: 1}}}
	}
	unread := Decoded{Library: Unknown, Anonymous: true}
	opaque := Decoded{Library: Unknown, Holders: []Holder{{Count: 1}}}
	tests := []struct {
		name  string
		entry Entry
		want  Decoded
	}{
		{"host and pid", value(tok("web-3:4711")), held("web-3:4711", "web-3", 4711)},
		{"label", value(tok("nightly")), held("nightly", "", 0)},
		{"any key", Entry{Key: "x", Type: "string", Value: tok("a:1"), HasValue: true}, held("a:1", "a", 1)},
		{"opaque", value("f81d4fae-7dec-11d0-a765-00a0c91e6bf6"), opaque},
		{"empty", value(""), opaque},
		{"not read", Entry{Key: "lock:a", Type: "string"}, unread},
		{"hash", Entry{Key: "lock:a", Type: "hash"}, unread},
		{"nearly", value(tok("web-3:4711") + "\n"), opaque},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, d := Recognise(tt.entry)
			for n := range tt.want.Holders {
				tt.want.Holders[n].Token = tt.entry.Value
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			if again, ok := ByName(d.Name()); !ok || again != d {
				t.Errorf("%q is not found by its name", d.Name())
			}
		})
	}
	if _, ok := ByName("nobody's"); ok {
		t.Error("a library that does not exist was found")
	}
}

func TestSplitOwner(t *testing.T) {
	for owner, want := range map[string]struct {
		host string
		pid  int
	}{
		"web-3:4711":        {"web-3", 4711},
		"::1:4711":          {"::1", 4711},
		"a:b:7":             {"a:b", 7},
		"nightly":           {},
		"nightly:job":       {},
		":4711":             {},
		"web:":              {},
		"web:0":             {},
		"web:-1":            {},
		"web:+1":            {},
		"web:1e3":           {},
		"web:9999999999999": {},
		"":                  {},
	} {
		if host, pid := splitOwner(owner); host != want.host || pid != want.pid {
			t.Errorf("%q: %q %d, want %q %d", owner, host, pid, want.host, want.pid)
		}
	}
}

func TestRelease(t *testing.T) {
	r, err := unknown{}.Release(Text("lock:a\nb", `tok"en`), Holder{Token: `tok"en`})
	if err != nil {
		t.Fatal(err)
	}
	words, ok := splitLikeRedisCLI(r.Command())
	if want := []string{"EVAL", r.script.text, "1", "lock:a\nb", `tok"en`}; !ok || !slices.Equal(words, want) {
		t.Errorf("%q reads as %q", r.Command(), words)
	}
	if strings.Contains(r.script.text, "\n") || strings.Contains(r.script.text, "--") {
		t.Errorf("the script has comments or lines left: %s", r.script.text)
	}
	for _, d := range dialects {
		for _, e := range []Entry{{Key: "k", Type: "hash"}, {Key: "k", Type: "zset", HasValue: true}, {Key: "k", Type: "string"}, {Key: "k"}} {
			if _, err := d.Release(e, Holder{Token: e.Value}); err == nil {
				t.Errorf("%s releases %+v", d.Name(), e)
			}
		}
	}
}

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"lock:orders:42": "lock:orders:42",
		"":               `""`,
		"a b":            `"a b"`,
		"a'b":            `"a'b"`,
		`a"b\c`:          `"a\"b\\c"`,
		"\x00\x1b\xff":   `"\x00\x1b\xff"`,
		"é":              `"\xc3\xa9"`,
		"a\nb\r\t":       `"a\nb\r\t"`,
	} {
		if got := Quote(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return string(rapid.SliceOf(rapid.Byte()).Draw(t, "word"))
		}), 1, 4).Draw(t, "words")
		var line []string
		for _, w := range words {
			line = append(line, Quote(w))
		}
		got, ok := splitLikeRedisCLI(strings.Join(line, " "))
		if !ok || len(got) != len(words) {
			t.Fatalf("%q reads as %q", line, got)
		}
		for i := range words {
			if got[i] != words[i] {
				t.Fatalf("%q reads as %q", line[i], got[i])
			}
		}
	})
}

// splitLikeRedisCLI splits a line into words by the rules that redis-cli's
// documentation gives: words end at white space; in double quotes \n \r \t \b
// \a \xHH and \anything are escapes; in single quotes only \' is; a closing
// quote must be followed by white space or the end.
func splitLikeRedisCLI(line string) (words []string, ok bool) {
	space := func(c byte) bool { return strings.IndexByte(" \n\r\t\v\f\x00", c) >= 0 }
	hex := func(c byte) int { return strings.IndexByte("0123456789abcdef", c|0x20) }
	for i := 0; ; {
		for i < len(line) && space(line[i]) {
			i++
		}
		if i == len(line) {
			return words, true
		}
		var word []byte
		quote := byte(0)
		for ; ; i++ {
			if i == len(line) {
				if quote != 0 {
					return nil, false
				}
				break
			}
			c := line[i]
			if quote == 0 {
				if space(c) {
					break
				}
				if c == '"' || c == '\'' {
					quote = c
					continue
				}
				word = append(word, c)
				continue
			}
			switch {
			case c == quote:
				if i+1 < len(line) && !space(line[i+1]) {
					return nil, false
				}
				quote = 0
			case quote == '"' && c == '\\' && i+3 < len(line) && line[i+1] == 'x' && hex(line[i+2]) >= 0 && hex(line[i+3]) >= 0:
				word = append(word, byte(hex(line[i+2])<<4|hex(line[i+3])))
				i += 3
			case quote == '"' && c == '\\' && i+1 < len(line):
				i++
				if at := strings.IndexByte("nrtba", line[i]); at >= 0 {
					word = append(word, "\n\r\t\b\a"[at])
				} else {
					word = append(word, line[i])
				}
			case quote == '\'' && c == '\\' && i+1 < len(line) && line[i+1] == '\'':
				word = append(word, '\'')
				i++
			default:
				word = append(word, c)
			}
		}
		words = append(words, string(word))
	}
}
