package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// fact is something about the machine or the programs that figures depend on.
type fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// libraries are the modules whose versions matter.
var libraries = []string{"github.com/redis/go-redis/v9", "github.com/go-redsync/redsync/v4", "github.com/bsm/redislock"}

// facts collects what is known of the machine and the programs.
func facts(p plan) []fact {
	all := []fact{
		{"system", runtime.GOOS + "/" + runtime.GOARCH},
		{"CPUs", fmt.Sprint(runtime.NumCPU())},
		{"Go", runtime.Version()},
	}
	// What else runs shows in the figures, so it should show in their head.
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		if fields := strings.Fields(string(load)); len(fields) >= 3 {
			all = append(all, fact{"load average before", strings.Join(fields[:3], " ")})
		}
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, d := range build.Deps {
			for _, l := range libraries {
				if d.Path == l {
					all = append(all, fact{strings.TrimPrefix(l, "github.com/"), d.Version})
				}
			}
		}
	}
	return append(all, fact{"connections per node and client", fmt.Sprintf("at most %d", p.pool)})
}

// serverFact tells what the servers are.
func (f *field) serverFact(ctx context.Context) (fact, error) {
	info, err := f.asking[0].Info(ctx, "server").Result()
	if err != nil {
		return fact{}, fmt.Errorf("the server does not tell its version: %w", err)
	}
	version, ok := infoField(info, "redis_version")
	if !ok {
		version = "unknown"
	}
	return fact{"redis-server", version + " " + strings.Join(serverArgs, " ")}, nil
}
