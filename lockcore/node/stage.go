package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Stage is a step of setting up a connection. Its value is the word that a
// person is told.
type Stage string

// The stages, in their order.
const (
	// SentinelLookup asks the sentinels for the master. Stages of the
	// connection to a sentinel are wrapped in it.
	SentinelLookup Stage = "sentinel lookup"
	// Dial finds the host and connects to it.
	Dial Stage = "dial"
	// TLS agrees on encryption and checks certificates.
	TLS Stage = "TLS"
	// Hello is the first command.
	Hello Stage = "HELLO"
	// Auth is logging in.
	Auth Stage = "AUTH"
	// Select chooses the database.
	Select Stage = "SELECT"
	// ClusterSlots asks a cluster which shard has what.
	ClusterSlots Stage = "cluster slots"
)

// StageError is a failure to set up a connection. [Classify] and [Explain]
// understand it.
type StageError struct {
	Stage Stage
	Err   error
}

func (e *StageError) Error() string { return string(e.Stage) + ": " + e.Err.Error() }

// Unwrap returns what went wrong.
func (e *StageError) Unwrap() error { return e.Err }

// StageOf tells at which stage of setting up a connection err arose, "" if it
// is nil or about a command that was sent afterwards.
func StageOf(err error) Stage {
	var s *StageError
	switch {
	case errors.As(err, &s):
		return s.Stage
	case err != nil && Classify(err) == Unauthorized:
		// Without a password nothing is said at the stage itself: the
		// first command is refused.
		return Auth
	}
	return ""
}

// watchStages makes the client say at which stage a connection failed.
func watchStages(client redis.UniversalClient, t Topology) {
	client.AddHook(stageHook{t})
	if cluster, ok := client.(*redis.ClusterClient); ok {
		// The cluster's own hooks do not see what goes to a single node.
		cluster.OnNewNode(func(c *redis.Client) { c.AddHook(stageHook{Single}) })
	}
}

// stageHook sees the commands with which go-redis sets a connection up, which
// nothing else sends.
type stageHook struct{ topology Topology }

func (h stageHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if _, ours := err.(*StageError); err != nil && !ours && h.topology == Sentinel {
			// Our own dialer was not reached: no address was found for it.
			err = &StageError{SentinelLookup, lookupFailure(err)}
		}
		return conn, err
	}
}

func (h stageHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if staged := stageFailure(cmd, err); staged != err {
			err = staged
			cmd.SetErr(err)
		}
		return err
	}
}

func (h stageHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			was := cmd.Err()
			staged := stageFailure(cmd, was)
			if staged == was {
				continue
			}
			cmd.SetErr(staged)
			if err == was {
				err = staged
			}
		}
		return err
	}
}

// stageFailure returns err with the stage that cmd belongs to, or err itself.
func stageFailure(cmd redis.Cmder, err error) error {
	var s *StageError
	if err == nil || errors.As(err, &s) {
		return err
	}
	args := cmd.Args()
	switch strings.ToLower(cmd.Name()) {
	case "hello":
		return helloFailure(err)
	case "auth":
		return &StageError{Auth, err}
	case "select":
		return &StageError{Select, err}
	case "cluster":
		if len(args) > 1 && strings.EqualFold(fmt.Sprint(args[1]), "slots") {
			return &StageError{ClusterSlots, err}
		}
	}
	return err
}

// helloFailure returns err with its stage. A refusal of HELLO itself stays as
// it is: go-redis then does without. There is one layer more than it seems to
// need, since go-redis takes the outermost away.
func helloFailure(err error) error {
	var remote *net.OpError
	if errors.As(err, &remote) && remote.Op == "remote error" {
		// The server's objection to our certificate comes after our side
		// of the handshake is over.
		return fmt.Errorf("%w", &StageError{TLS, err})
	}
	var reply redis.Error
	if !errors.As(err, &reply) {
		return fmt.Errorf("%w", &StageError{Hello, err})
	}
	switch text := reply.Error(); {
	case strings.HasPrefix(text, "DENIED"):
		return fmt.Errorf("%w", &StageError{Auth, farewell(text)})
	case strings.HasPrefix(text, "ERR max number of clients"):
		return fmt.Errorf("%w", &StageError{Hello, farewell(text)})
	}
	return err
}

// farewell is a reply after which a server hangs up. It is no redis.Error,
// since go-redis goes on after one of these and only finds the connection
// closed.
type farewell string

func (f farewell) Error() string { return string(f) }

// lookupFailure takes the failures of single sentinels out of what go-redis
// makes of them, each once, and puts an error in place of the empty answer,
// which is none elsewhere.
func lookupFailure(err error) error {
	var out []error
	seen := make(map[string]bool)
	var walk func(error)
	walk = func(err error) {
		var many interface{ Unwrap() []error }
		if errors.As(err, &many) {
			for _, e := range many.Unwrap() {
				walk(e)
			}
			return
		}
		if errors.Is(err, redis.Nil) {
			err = errNoMaster
		}
		if text := Explain(err); !seen[text] {
			seen[text] = true
			out = append(out, err)
		}
	}
	walk(err)
	// Sentinels answer in any order.
	slices.SortFunc(out, func(a, b error) int { return strings.Compare(Explain(a), Explain(b)) })
	return errors.Join(out...)
}
