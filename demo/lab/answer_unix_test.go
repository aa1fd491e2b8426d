//go:build unix

package lab

import (
	"bufio"
	"errors"
	"strings"
	"testing"
)

func TestReadAnswer(t *testing.T) {
	const info = "# Server\r\nredis_version:7.0.15\r\nprocess_id:4711\r\nrun_id:abc\r\n"
	bulk := "$61\r\n" + info + "\r\n"
	cases := []struct {
		name, text string
		want       answer
		taken      bool
	}{
		{"ours", "+PONG\r\n" + bulk, ours, false},
		{"another's", "+PONG\r\n" + strings.Replace(bulk, "4711", "4712", 1), silence, true},
		{"loading", "-LOADING Redis is loading the dataset in memory\r\n" + bulk, silence, false},
		{"wants a password", "-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n", unsigned, false},
		{"does not know INFO", "+PONG\r\n-ERR unknown command\r\n", unsigned, false},
		{"does not tell its number", "+PONG\r\n$2\r\nhi\r\n", unsigned, false},
		{"nothing", "", silence, false},
		{"cut after PONG", "+PONG\r\n", silence, false},
		{"cut inside", "+PONG\r\n" + bulk[:20], silence, false},
		{"huge", "+PONG\r\n$9999999999\r\n", silence, false},
		{"negative", "+PONG\r\n$-7\r\n", silence, false},
	}
	if len(info) != 61 {
		t.Fatalf("the sample is %d bytes long", len(info))
	}
	for _, c := range cases {
		got, err := readAnswer(bufio.NewReader(strings.NewReader(c.text)), 4711)
		if got != c.want || errors.Is(err, errPortTaken) != c.taken {
			t.Errorf("%s: %v, %v; want %v, port taken %v", c.name, got, err, c.want, c.taken)
		}
	}
}

func FuzzReadAnswer(f *testing.F) {
	f.Add("+PONG\r\n$17\r\nprocess_id:4711\r\n\r\n", 4711)
	f.Add("-LOADING\r\n$-1\r\n", 1)
	f.Add("+PONG\r\n$1048576\r\n", 1)
	f.Fuzz(func(t *testing.T, text string, pid int) {
		got, err := readAnswer(bufio.NewReader(strings.NewReader(text)), pid)
		if got != silence && err != nil {
			t.Fatal("an answer is good and bad at once")
		}
		if got != silence && strings.Count(text, "\n") < 2 {
			t.Fatalf("%q passes for two answers", text)
		}
		if (got == ours || err != nil) && !strings.Contains(text, "process_id:") {
			t.Fatalf("%q passes for one that tells its number", text)
		}
	})
}
