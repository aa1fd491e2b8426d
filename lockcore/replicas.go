package lockcore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// WithReplicas has each node asked, after a grant, to wait until n of its
// replicas have the lock too (WAIT), for at most timeout and no longer than
// three quarters of the node's own command timeout. It makes it less
// likely, not impossible, that a failover forgets the lock. A grant does not
// fail for want of replicas; [Lock.Replicas] tells the outcome. It costs a
// round trip, and as much of the lock's validity as it takes.
func WithReplicas(n int, timeout time.Duration) Option {
	return func(c *config) { c.replicas, c.replicaWait = n, timeout }
}

// Replicas is how many replicas each node has, on which the lock stands, that
// had confirmed the grant: of the quorum of nodes with the most, the fewest.
// False means that this was not asked for, see [WithReplicas]. Nodes without
// replicas count 0.
func (k *Lock) Replicas() (confirmed int, asked bool) {
	return k.replicas, k.cfg.replicas > 0
}

// awaitReplicas asks the nodes that granted how many replicas have it. WAIT
// concerns what was written before on the same connection, so it follows an
// extend in one pipeline.
func (l *Locker) awaitReplicas(ctx context.Context, c *candidate, nodes []int) int {
	type answer struct{ confirmed int }
	answers := make(chan answer, len(nodes))
	for _, i := range nodes {
		v := l.voters[i]
		l.background.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, c.cfg.replicaWait+v.Timeout())
			defer cancel()
			e := c.entry
			server := v.Client()
			if cluster, ok := server.(*redis.ClusterClient); ok {
				master, err := cluster.MasterForKey(ctx, e.keys[0])
				if err != nil {
					answers <- answer{}
					return
				}
				server = master
			}
			pipe := server.Pipeline()
			extend := call{script: extendScript, args: e.extendOf(c.fence, false)}
			pipe.Do(ctx, extend.whole()...)
			// Less than the connection waits for an answer.
			limit := min(c.cfg.replicaWait, v.Timeout()*3/4)
			wait := pipe.Do(ctx, "WAIT", c.cfg.replicas, limit.Milliseconds())
			if _, err := pipe.Exec(ctx); err != nil {
				answers <- answer{}
				return
			}
			confirmed, _ := wait.Int()
			answers <- answer{confirmed}
		})
	}
	// Most first; the quorum's least is what the lock can count on.
	counts := make([]int, 0, len(nodes))
	for range nodes {
		a := <-answers
		at := 0
		for at < len(counts) && counts[at] >= a.confirmed {
			at++
		}
		counts = append(counts[:at], append([]int{a.confirmed}, counts[at:]...)...)
	}
	return counts[l.quorum-1]
}
