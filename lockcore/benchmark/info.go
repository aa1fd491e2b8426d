package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/redis/go-redis/v9"
)

// calls adds up how often clients and scripts have called the given commands,
// by the text of INFO commandstats. What it cannot read counts as nothing.
func calls(info string, commands []string) int64 {
	var sum int64
	for line := range strings.Lines(info) {
		name, stats, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		for _, c := range commands {
			if name == "cmdstat_"+c {
				sum += callsOf(stats, math.MaxInt64-sum)
			}
		}
	}
	return sum
}

// callsOf reads calls=N of one command, if it is between 0 and most.
func callsOf(stats string, most int64) int64 {
	for pair := range strings.SplitSeq(stats, ",") {
		text, ok := strings.CutPrefix(pair, "calls=")
		if !ok {
			continue
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 && n <= most {
			return n
		}
	}
	return 0
}

// infoField reads one line of INFO, made printable.
func infoField(info, name string) (string, bool) {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return strings.Map(func(r rune) rune {
				if !unicode.IsPrint(r) {
					return '?'
				}
				return r
			}, value), true
		}
	}
	return "", false
}

// commandCalls asks every node and adds up.
func commandCalls(ctx context.Context, asking []*redis.Client, commands []string) (int64, error) {
	var sum int64
	for _, c := range asking {
		info, err := c.Info(ctx, "commandstats").Result()
		if err != nil {
			return 0, fmt.Errorf("a node does not tell its command statistics: %w", err)
		}
		sum += calls(info, commands)
	}
	return sum, nil
}
