package inspect

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// leaveIdleTimes asks a server not to count our commands as use of the keys. A
// server that does not know or permit that is as good as it was: the error is
// of no consequence, and a connection that broke shows that with its next
// command.
func leaveIdleTimes(ctx context.Context, c *redis.Conn) error {
	c.Process(ctx, redis.NewStatusCmd(ctx, "client", "no-touch", "on"))
	return nil
}
