package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"dlock/inspect/dialect"
	"dlock/lockcore/node"
)

// probe asks one node. What it remembers of refusals is shared by all looks
// at the node and guarded; the rest is fixed.
type probe struct {
	name   string // as it is shown
	node   *node.Node
	prefix string
	count  int64
	max    int
	now    func() time.Time
	own    dialect.Dialect // that of dlock's own locks, with their prefix
	fits   names           // companions' names of which the type is known to fit
	// broken is why there is no server to ask, nil if there is one.
	broken error
	// asking is set for a server that a slot is on its way to.
	asking bool
	// ahead returns the probe to go on with where a server sends us to another
	// one; nil means that it is not followed.
	ahead func(node.Redirect) (*probe, error)

	mu      sync.Mutex
	refused map[string]string // command -> the server's word
	sizes   map[string]fitting
	facts   facts
}

// cost is what a look has cost so far.
type cost struct {
	commands int
	trips    int
	wire     time.Duration
	rtt      Maybe[time.Duration] // the shortest
}

func (c *cost) add(commands int, took time.Duration) {
	c.commands += commands
	c.trips++
	c.wire += took
	if !c.rtt.Known || took < c.rtt.Value {
		c.rtt = Known(took)
	}
}

// allowed reports whether a command is worth sending.
func (p *probe) allowed(command string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, no := p.refused[command]
	return !no
}

// refusal returns the server's word for refusing a command, "" if it did not.
func (p *probe) refusal(command string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused[command]
}

// permit takes back that a command was refused.
func (p *probe) permit(command string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.refused, command)
}

// forget makes the next look try everything again: permissions and the server
// itself may have changed.
func (p *probe) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = nil
	// What was known stays, to be compared with; all of it is asked anew.
	p.facts.at, p.facts.setAt = time.Time{}, time.Time{}
}

// denied lists the refused commands.
func (p *probe) denied() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.refused))
}

// note remembers a refusal of a command, as opposed to that of a key or to a
// key of the wrong type.
func (p *probe) note(command string, err error) {
	switch node.Classify(err) {
	case node.Forbidden:
		if !refusesCommand(err) {
			return
		}
	case node.Refused:
	default:
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused == nil {
		p.refused = make(map[string]string)
	}
	p.refused[command] = node.Explain(err)
}

// refusesCommand tells the two kinds of NOPERM apart: servers name the command
// that the user may not run, and speak of a key where only that is off limits.
func refusesCommand(err error) bool {
	text := err.Error()
	return strings.Contains(text, "command") && !strings.Contains(text, "key")
}

// nodeError is a failure that ends a whole look at a node.
type nodeError struct{ err error }

func (e *nodeError) Error() string { return node.Explain(e.err) }
func (e *nodeError) Unwrap() error { return e.err }

// ofNode wraps the error of a command if it says something about the whole
// node, and returns nil if it is about this command or key.
func ofNode(err error) error {
	switch node.Classify(err) {
	case node.Unreachable, node.TimedOut, node.Unauthorized, node.NotServing, node.Canceled:
		return &nodeError{err}
	}
	return nil
}

// batch collects commands for one round trip.
type batch struct {
	pipe   redis.Pipeliner
	size   int
	asking bool
}

// ask adds a command and returns it; its result is there after send.
func (b *batch) ask(ctx context.Context, args ...any) *redis.Cmd {
	b.size++
	if b.asking {
		b.pipe.Do(ctx, "asking")
	}
	return b.pipe.Do(ctx, args...)
}

func (p *probe) batch() *batch {
	return &batch{pipe: p.node.Client().Pipeline(), asking: p.asking}
}

// send carries out the batch in one round trip and returns the moments around
// it. The error is a *nodeError; errors of single commands stay in them.
func (p *probe) send(ctx context.Context, c *cost, b *batch) (sent, received time.Time, err error) {
	if b.size == 0 {
		now := p.now()
		return now, now, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return time.Time{}, time.Time{}, &nodeError{err}
	}
	sent = p.now()
	cmds, failure := b.pipe.Exec(ctx)
	received = p.now()
	c.add(len(cmds), received.Sub(sent))
	told := false
	for _, cmd := range cmds {
		told = told || cmd.Err() != nil
		if err := ofNode(cmd.Err()); err != nil {
			return sent, received, err
		}
	}
	if failure != nil && !told {
		// The connection could not be set up. The client then reports that
		// for the whole pipeline and leaves the commands as if they had
		// been answered.
		return sent, received, &nodeError{failure}
	}
	return sent, received, nil
}

// nilReply reports whether the server answered "nothing".
func nilReply(err error) bool { return errors.Is(err, redis.Nil) }

// word describes a refusal with the command that was refused.
func word(command string, err error) string {
	return fmt.Sprintf("%s: %s", command, node.Explain(err))
}
