package main

import (
	"strings"
	"testing"
	"unicode"
)

const someInfo = "# Commandstats\r\n" +
	"cmdstat_evalsha:calls=40,usec=9,usec_per_call=0.2,rejected_calls=1,failed_calls=2\r\n" +
	"cmdstat_eval:calls=2,usec=9\r\n" +
	"cmdstat_set:calls=100,usec=9\r\n" +
	"cmdstat_client|setinfo:calls=7,usec=9\r\n"

func TestCalls(t *testing.T) {
	for _, c := range []struct {
		info     string
		commands string
		want     int64
	}{
		{someInfo, "evalsha eval", 42},
		{someInfo, "eval", 2},
		{someInfo, "client|setinfo", 7},
		{someInfo, "get", 0},
		{"", "eval", 0},
		{"cmdstat_eval:calls=-4", "eval", 0},
		{"cmdstat_eval:calls=many", "eval", 0},
		{"cmdstat_eval:usec=1,calls=3", "eval", 3},
		{"cmdstat_eval:calls=9223372036854775807\ncmdstat_eval:calls=1", "eval", 9223372036854775807},
	} {
		if got := calls(c.info, strings.Fields(c.commands)); got != c.want {
			t.Errorf("%q has %d calls of %s, want %d", c.info, got, c.commands, c.want)
		}
	}
}

func FuzzCalls(f *testing.F) {
	f.Add(someInfo)
	f.Fuzz(func(t *testing.T, info string) {
		evals, sets := calls(info, []string{"eval"}), calls(info, []string{"set"})
		if evals < 0 || sets < 0 {
			t.Fatalf("%d and %d calls", evals, sets)
		}
		if both := calls(info, []string{"eval", "set"}); both < max(evals, sets) {
			t.Fatalf("%d calls of both are fewer than %d or %d", both, evals, sets)
		}
	})
}

func FuzzInfoField(f *testing.F) {
	f.Add("# Server\r\nredis_version:7.0.15\r\n")
	f.Add("redis_version:\x1b[2J\r\n")
	f.Fuzz(func(t *testing.T, info string) {
		value, _ := infoField(info, "redis_version")
		for _, r := range value {
			if !unicode.IsPrint(r) {
				t.Fatalf("%q can do something to a terminal", value)
			}
		}
	})
}
