package lockcore

import (
	"fmt"
	"time"
)

// Defaults of the options.
const (
	DefaultTTL         = 10 * time.Second
	DefaultWait        = 10 * time.Second
	DefaultNodeTimeout = 50 * time.Millisecond
	// DefaultDrift is the share of a TTL that is given away for clocks that
	// run at different rates; DriftFloor is added for Redis' millisecond
	// expiry.
	DefaultDrift = 0.01
	DriftFloor   = 2 * time.Millisecond
)

// companionLife is how long the fence companion of a resource nobody uses any
// more stays. Fencing tokens seeded from the clock outlive it safely.
const companionLife = 7 * 24 * time.Hour

type config struct {
	prefix      string
	owner       string
	ttl         time.Duration
	wait        time.Duration
	nodeTimeout time.Duration
	drift       float64
	watchdog    bool
	maxHold     time.Duration
	durable     bool
	observer    Observer
	replicas    int
	replicaWait time.Duration
	now         func() time.Time
	mutant      mutant
}

func defaults() config {
	return config{
		prefix: DefaultPrefix, owner: defaultOwner(),
		ttl: DefaultTTL, wait: DefaultWait, nodeTimeout: DefaultNodeTimeout, drift: DefaultDrift,
		watchdog: true, now: time.Now,
	}
}

// Option sets up a [Locker], or, given to Acquire or TryAcquire, one grant.
type Option func(*config)

// WithTTL sets the lease time: how long the lock lives after its holder
// vanished. It is also what each renewal grants anew. Default 10 s; it must be
// larger than the drift allowance.
func WithTTL(d time.Duration) Option { return func(c *config) { c.ttl = d } }

// WithWait sets how long Acquire waits for a lock that somebody else holds.
// Default 10 s; 0 means one attempt.
func WithWait(d time.Duration) Option { return func(c *config) { c.wait = d } }

// WithNodeTimeout sets how long one node's answer is waited for. A node that
// does not answer in time counts as a no. Default 50 ms; it must be smaller
// than the TTL.
func WithNodeTimeout(d time.Duration) Option { return func(c *config) { c.nodeTimeout = d } }

// WithPrefix sets what stands before the resource's name in its key. Default
// "lock:". It must be the same for all clients of a resource.
func WithPrefix(prefix string) Option { return func(c *config) { c.prefix = prefix } }

// WithOwner sets the label that names the holder in the token, by default
// host:pid. It must be printable, without spaces, and at most MaxOwner bytes.
func WithOwner(label string) Option { return func(c *config) { c.owner = label } }

// WithWatchdog turns automatic renewal on or off. Default on.
func WithWatchdog(on bool) Option { return func(c *config) { c.watchdog = on } }

// WithMaxHold bounds how long the watchdog keeps a lock: after d it stops
// renewing and the holder is told that the lock is lost. 0, the default, means
// for as long as the process lives.
func WithMaxHold(d time.Duration) Option { return func(c *config) { c.maxHold = d } }

// WithDrift sets the share of the TTL (0.01 is one percent) that validity is
// cut by, for clocks that run at different rates.
func WithDrift(share float64) Option { return func(c *config) { c.drift = share } }

// WithDurable says that the nodes never forget (appendfsync always, or a demo):
// fencing tokens then count 1, 2, 3, … instead of being seeded from the clock.
// With nodes that can lose data this makes fencing tokens go backwards.
func WithDurable() Option { return func(c *config) { c.durable = true } }

func withNow(now func() time.Time) Option { return func(c *config) { c.now = now } }

// with returns the configuration changed by opts.
func (c config) with(opts []Option) config {
	for _, o := range opts {
		o(&c)
	}
	return c
}

func (c config) validate() error {
	if c.prefix == "" {
		return fmt.Errorf("lockcore: the key prefix is empty; the usual one is %q", DefaultPrefix)
	}
	if err := checkOwner(c.owner); err != nil {
		return fmt.Errorf("lockcore: %w", err)
	}
	if c.drift < 0 || c.drift >= 1 {
		return fmt.Errorf("lockcore: a drift of %g makes no sense; it is a share of the TTL, for example 0.01", c.drift)
	}
	if c.ttl < time.Millisecond || c.allowance() >= c.ttl {
		return fmt.Errorf("lockcore: a TTL of %v is not longer than the drift allowance of %v, so no lock could ever be valid", c.ttl, c.allowance())
	}
	if c.nodeTimeout <= 0 || c.nodeTimeout >= c.ttl {
		return fmt.Errorf("lockcore: the node timeout is %v; it must be more than 0 and less than the TTL of %v", c.nodeTimeout, c.ttl)
	}
	if c.replicas < 0 || c.replicas > 0 && (c.replicaWait <= 0 || c.replicaWait >= c.ttl) {
		return fmt.Errorf("lockcore: waiting for %d replicas for %v makes no sense; the wait must be more than 0 and less than the TTL of %v", c.replicas, c.replicaWait, c.ttl)
	}
	if c.wait < 0 || c.maxHold < 0 {
		return fmt.Errorf("lockcore: a wait or a maximum hold time is negative")
	}
	return nil
}

// allowance is what validity is shorter than the TTL by.
func (c config) allowance() time.Duration {
	return time.Duration(float64(c.ttl)*c.drift) + DriftFloor
}

// companionLife is ARGV of the scripts: how long the fence companion lives.
func (c config) companionLife() int64 {
	if c.durable {
		return 0
	}
	return companionLife.Milliseconds()
}

// seed is the smallest fencing token worth granting. Counting microseconds
// since 2026 makes a node that lost its counters grant more than it ever did.
func (c config) seed() int64 {
	if c.durable {
		return 1
	}
	return max(1, c.now().Sub(fenceEpoch).Microseconds())
}

var fenceEpoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
