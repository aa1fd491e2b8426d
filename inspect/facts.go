package inspect

import (
	"context"
	"net"
	"strconv"
	"time"
)

const (
	// factsAge is how long what changes with a server's settings is good for,
	// and pulseAge what changes by itself.
	factsAge = 30 * time.Second
	pulseAge = 5 * time.Second
)

// facts are what a server tells about itself. Each is optional: what it does
// not tell, or does not permit us to ask, has its zero value.
type facts struct {
	at    time.Time // of TIME, INFO and ROLE
	setAt time.Time // of CONFIG

	role    string // "master", "replica"
	master  string // host:port that a replica follows
	version string
	clock   clockReading
	jump    time.Duration // how far the clock last jumped
	jumped  time.Time     // when that was seen

	runID     string
	uptime    Maybe[time.Duration]
	restarted time.Time // when it was seen that the server is another one than before
	cluster   bool
	replID    string
	replicas  Maybe[int]
	lag       Maybe[time.Duration] // of the replica that is furthest behind
	good      Maybe[int]           // replicas that count for min-replicas-to-write

	eviction         string
	maxMemory        Maybe[int64]
	usedMemory       Maybe[int64]
	evicted          Maybe[int64]
	aof              Maybe[bool]
	saveFailed       bool
	appendFailed     bool
	save             Maybe[string]
	stopsOnSaveError Maybe[bool]
	minReplicas      Maybe[int]
}

// clockReading is a server's clock beside ours.
type clockReading struct {
	known  bool
	server time.Time
	ours   time.Time     // halfway between question and answer
	slack  time.Duration // half of that time: how wrong the comparison can be
}

// offset is the server's wall clock minus ours.
func (c clockReading) offset() time.Duration { return c.server.Sub(c.ours.Round(0)) }

// jumpLeast is by how much a clock must have been set to be called a jump.
const jumpLeast = 100 * time.Millisecond

// clockJump tells by how much a server's clock was set between two readings. It
// is measured against both of our clocks and the smaller result counts, since
// ours may have been set, or this machine suspended.
func clockJump(before, after clockReading) (time.Duration, bool) {
	if !before.known || !after.known {
		return 0, false
	}
	elapsed := after.ours.Sub(before.ours) // monotonic
	byElapsed := after.server.Sub(before.server) - elapsed
	byWall := after.offset() - before.offset()
	if byElapsed > 0 != (byWall > 0) {
		return 0, false
	}
	jump := byWall
	if byElapsed.Abs() < byWall.Abs() {
		jump = byElapsed
	}
	// Besides what was measured wrongly, NTP slews by half a millisecond per
	// second.
	return jump, jump.Abs() > jumpLeast+before.slack+after.slack+elapsed.Abs()/1000
}

// learn asks the server about itself if that was long ago.
func (p *probe) learn(ctx context.Context, c *cost) error {
	p.mu.Lock()
	f := p.facts
	p.mu.Unlock()
	settings := f.setAt.IsZero() || p.now().Sub(f.setAt) >= factsAge
	if !settings && p.now().Sub(f.at) < pulseAge {
		return nil
	}
	before := f
	b := p.batch()
	var sent, received time.Time
	var answers []func()
	ask := func(command string, use func(reply any), args ...any) {
		if !p.allowed(command) {
			return
		}
		cmd := b.ask(ctx, args...)
		answers = append(answers, func() {
			reply, err := cmd.Result()
			if err != nil {
				p.note(command, err)
				return
			}
			use(reply)
		})
	}
	f.clock, f.role, f.master = clockReading{}, "", ""
	ask("TIME", func(reply any) {
		if t, ok := readTime(reply); ok {
			half := received.Sub(sent) / 2
			f.clock = clockReading{known: true, server: t, ours: sent.Add(half), slack: half}
		}
	}, "time")
	ask("ROLE", func(reply any) { f.role, f.master = readRole(reply) }, "role")
	f.forgetInfo()
	ask("INFO", func(reply any) {
		text, _ := reply.(string)
		f.readInfo(text)
	}, "info")
	if settings {
		f.eviction = ""
		f.save, f.stopsOnSaveError, f.minReplicas = Maybe[string]{}, Maybe[bool]{}, Maybe[int]{}
		for _, name := range []string{"maxmemory-policy", "save", "stop-writes-on-bgsave-error", "min-replicas-to-write"} {
			ask("CONFIG", func(reply any) { f.readSetting(name, reply) }, "config", "get", name)
		}
	}
	sent, received, err := p.send(ctx, c, b)
	if err != nil {
		return err
	}
	for _, answer := range answers {
		answer()
	}
	f.at = received
	if settings {
		f.setAt = received
	}
	if jump, ok := clockJump(before.clock, f.clock); ok {
		f.jump, f.jumped = jump, received
	}
	if before.runID != "" && f.runID != "" && before.runID != f.runID {
		f.restarted = received
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

// readRole reads the answer to ROLE, and what a replica follows.
func readRole(reply any) (role, master string) {
	parts, ok := reply.([]any)
	if !ok || len(parts) == 0 {
		return "", ""
	}
	switch parts[0] {
	case "master":
		return "master", ""
	case "slave", "replica":
		if len(parts) >= 3 {
			host, ok1 := parts[1].(string)
			port, ok2 := readInt(parts[2])
			if ok1 && ok2 {
				master = net.JoinHostPort(host, strconv.FormatInt(port, 10))
			}
		}
		return "replica", master
	default:
		return "", ""
	}
}

// readSetting takes in the answer to CONFIG GET of one name.
func (f *facts) readSetting(name string, reply any) {
	var value string
	ok := false
	switch parts := reply.(type) {
	case []any:
		if len(parts) == 2 {
			value, ok = parts[1].(string)
		}
	case map[any]any:
		value, ok = parts[name].(string)
	}
	if !ok {
		return
	}
	switch name {
	case "maxmemory-policy":
		f.eviction = value
	case "save":
		f.save = Known(value)
	case "stop-writes-on-bgsave-error":
		f.stopsOnSaveError = Known(value == "yes")
	case "min-replicas-to-write":
		if n, err := strconv.Atoi(value); err == nil && n >= 0 {
			f.minReplicas = Known(n)
		}
	}
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
