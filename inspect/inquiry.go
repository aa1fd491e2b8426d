package inspect

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/redis/go-redis/v9"

	"dlock/inspect/dialect"
)

// inquiry is what a dialect wants to know beyond the key itself.
type inquiry struct {
	about    *reading
	commands []string // for each question
	answers  []*redis.Cmd
}

const (
	// questionsMost bounds what one lock may be asked about.
	questionsMost = 8
)

var errNotPermitted = errors.New("the server does not permit this command")

// inquire adds the questions that the dialect of a lock has about companions
// and channels. They do not touch the lock's own key.
func (p *probe) inquire(ctx context.Context, b *batch, about *reading) inquiry {
	q := inquiry{about: about}
	if about == nil || about.content != known {
		return q
	}
	curious, ok := about.dialect.(dialect.Curious)
	if !ok {
		return q
	}
	questions := curious.Questions(about.entry, about.decoded)
	for _, words := range questions[:min(len(questions), questionsMost)] {
		if len(words) == 0 {
			continue
		}
		command := upper(words[0])
		if command == "PUBSUB" && len(words) > 1 {
			// Servers may know one of its subcommands and not another.
			command += " " + upper(words[1])
		}
		q.commands = append(q.commands, command)
		if !p.allowed(command) {
			q.answers = append(q.answers, nil)
			continue
		}
		args := make([]any, len(words))
		for n, w := range words {
			args[n] = w
		}
		q.answers = append(q.answers, b.ask(ctx, args...))
	}
	return q
}

// askMore asks what the dialects want to know of locks that were just read.
func (p *probe) askMore(ctx context.Context, c *cost, questions []*question) error {
	b := p.batch()
	for _, q := range questions {
		if q.sample.presence == present {
			q.more = p.inquire(ctx, b, q.sample.got)
		}
	}
	if _, _, err := p.send(ctx, c, b); err != nil {
		return err
	}
	for _, q := range questions {
		if q.sample.presence == present {
			p.learnMore(q)
		}
	}
	return nil
}

// learnMore takes in the answers to a lock's questions, if there were any.
func (p *probe) learnMore(q *question) {
	about := q.more.about
	if len(q.more.answers) == 0 || about != q.sample.got {
		return
	}
	replies := make([]any, len(q.more.answers))
	for n, cmd := range q.more.answers {
		if cmd == nil {
			replies[n] = errNotPermitted
			continue
		}
		reply, err := cmd.Result()
		switch {
		case nilReply(err):
		case err != nil:
			p.note(q.more.commands[n], err)
			replies[n] = err
		default:
			replies[n] = plain(reply)
		}
	}
	// The decoding is made afresh, since what companions told before may be
	// over, and others read the one that was made before.
	decoded, ok := about.dialect.Recognise(about.entry)
	if !ok {
		return
	}
	if decoded.Library == "" {
		decoded.Library = about.dialect.Name()
	}
	extra := about.dialect.(dialect.Curious).Learn(about.entry, &decoded, replies)
	if !reflect.DeepEqual(decoded, about.decoded) {
		refined := *about
		refined.decoded = decoded
		q.sample.got = &refined
	}
	q.sample.told = pack(extra)
}

// plain brings a reply into the forms that a dialect is promised.
func plain(reply any) any {
	switch v := reply.(type) {
	case nil, int64, string, error:
		return v
	case []any:
		out := make([]any, len(v))
		for n := range v {
			out[n] = plain(v[n])
		}
		return out
	default:
		return fmt.Sprint(v)
	}
}
