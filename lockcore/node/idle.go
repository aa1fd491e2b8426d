package node

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// LeaveIdleTimes has each connection that is made from now on ask the server
// not to count its commands as use of the keys, so that reading does not reset
// their idle times. Servers know that from 7.2 on; one that refuses is as good
// as it was, and is not asked again. It is safe for concurrent use.
func (n *Node) LeaveIdleTimes() { n.untouching.Store(true) }

func (n *Node) leaveIdleTimes(ctx context.Context, cn *redis.Conn) error {
	if !n.untouching.Load() {
		return nil
	}
	cmd := redis.NewStatusCmd(ctx, "client", "no-touch", "on")
	err := cn.Process(ctx, cmd)
	var reply redis.Error
	if !errors.As(err, &reply) {
		return err
	}
	switch Classify(err) {
	case Forbidden, Refused:
		n.untouching.Store(false)
	}
	return nil
}
