package lockcore

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// A node's marker tells whether the node may have forgotten grants: a node
// without one has lost its data, and one whose server was restarted may have
// lost the last of it. Either stays out until the longest lock it may have
// forgotten is over. See script/birth.lua.

// runID is what is known of the present run of a node's server.
type runID struct{ seen atomic.Value }

func (r *runID) load() string {
	s, _ := r.seen.Load().(string)
	return s
}

// checkIn runs on each new connection to the node, before anything else is
// sent on it. The connections of before a restart die with the server, so
// whoever sends something after a restart has checked in first.
func (r *runID) checkIn(marker string) func(ctx context.Context, cn *redis.Conn) error {
	return func(ctx context.Context, cn *redis.Conn) error {
		info, err := cn.Info(ctx, "server").Result()
		if err != nil {
			return passRefusal(err)
		}
		_, rest, found := strings.Cut(info, "run_id:")
		if !found {
			return nil
		}
		run := strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0])
		r.seen.Store(run)
		return passRefusal(cn.Eval(ctx, birthScript.source, []string{marker}, 0, 0, run, 1).Err())
	}
}

// passRefusal drops the error of a server that does not let us look, which
// must not keep us from connecting, and keeps that of a broken connection.
func passRefusal(err error) error {
	var reply redis.Error
	if errors.As(err, &reply) {
		return nil
	}
	return err
}
