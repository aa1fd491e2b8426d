package inspect

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// factsAge is how long what is known about a server itself is good for.
const factsAge = 30 * time.Second

// facts are what a server tells about itself. Each is optional.
type facts struct {
	role, version, eviction string
	offset                  Maybe[time.Duration]
	at                      time.Time
}

// learn asks the server about itself if that was long ago.
func (p *probe) learn(ctx context.Context, c *cost) error {
	p.mu.Lock()
	known := p.facts
	p.mu.Unlock()
	if !known.at.IsZero() && p.now().Sub(known.at) < factsAge {
		return nil
	}
	b := p.batch()
	type question struct {
		command string
		args    []any
		use     func(*facts, any, time.Time)
	}
	var sent, received time.Time
	questions := []question{
		{"TIME", []any{"time"}, func(f *facts, reply any, mid time.Time) {
			if t, ok := readTime(reply); ok {
				f.offset = Known(t.Sub(mid.Round(0)))
			}
		}},
		{"ROLE", []any{"role"}, func(f *facts, reply any, _ time.Time) { f.role = readRole(reply) }},
		{"INFO", []any{"info", "server"}, func(f *facts, reply any, _ time.Time) { f.version = readVersion(reply) }},
		{"CONFIG", []any{"config", "get", "maxmemory-policy"}, func(f *facts, reply any, _ time.Time) { f.eviction = readEviction(reply) }},
	}
	answers := make([]func(*facts), 0, len(questions))
	for _, q := range questions {
		if !p.allowed(q.command) {
			continue
		}
		cmd := b.ask(ctx, q.args...)
		answers = append(answers, func(f *facts) {
			reply, err := cmd.Result()
			if err != nil {
				p.note(q.command, err)
				return
			}
			q.use(f, reply, sent.Add(received.Sub(sent)/2))
		})
	}
	sent, received, err := p.send(ctx, c, b)
	if err != nil {
		return err
	}
	f := facts{at: received}
	for _, answer := range answers {
		answer(&f)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.facts = f
	return nil
}

func (p *probe) known() facts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.facts
}

func readTime(reply any) (time.Time, bool) {
	parts, ok := reply.([]any)
	if !ok || len(parts) != 2 {
		return time.Time{}, false
	}
	seconds, ok1 := readInt(parts[0])
	micros, ok2 := readInt(parts[1])
	// Anything beyond this is no clock but nonsense, and would overflow.
	const year2262 = 9_200_000_000
	if !ok1 || !ok2 || seconds < 0 || seconds > year2262 || micros < 0 || micros > 999_999 {
		return time.Time{}, false
	}
	return time.Unix(seconds, micros*1000), true
}

func readRole(reply any) string {
	parts, ok := reply.([]any)
	if !ok || len(parts) == 0 {
		return ""
	}
	switch parts[0] {
	case "master":
		return "master"
	case "slave", "replica":
		return "replica"
	default:
		return ""
	}
}

func readVersion(reply any) string {
	text, _ := reply.(string)
	version := ""
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case name == "valkey_version":
			return value
		case name == "redis_version":
			version = value
		}
	}
	return version
}

func readEviction(reply any) string {
	switch parts := reply.(type) {
	case []any:
		if len(parts) == 2 {
			policy, _ := parts[1].(string)
			return policy
		}
	case map[any]any:
		policy, _ := parts["maxmemory-policy"].(string)
		return policy
	}
	return ""
}

// readInt reads an integer reply, or a string reply that holds one.
func readInt(reply any) (int64, bool) {
	switch v := reply.(type) {
	case int64:
		return v, true
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	default:
		return 0, false
	}
}
