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

// Option sets up a [Locker], or, given to Acquire or TryAcquire, one grant. Of
// two of a kind the later one counts. One that makes no sense is an error of
// New, Acquire or TryAcquire; that error is none of this package's kinds.
type Option func(*config)

// WithTTL sets the lease time: how long the lock lives after its holder
// vanished. It is also what each renewal grants anew. Default 10 s; it must be
// larger than the drift allowance, see [WithDrift], and than the node timeout.
// Nodes count in whole milliseconds. The clients of one set of nodes may use
// different ones, but the longest of them is for how long a node that lost its
// data stays out (see [QuarantineError]), so one that is needed only now and
// then costs all.
func WithTTL(d time.Duration) Option { return func(c *config) { c.ttl = d } }

// WithWait sets how long Acquire waits for a lock that somebody else holds, or
// for nodes that cannot be reached. Default 10 s; 0 means one attempt.
func WithWait(d time.Duration) Option { return func(c *config) { c.wait = d } }

// WithNodeTimeout sets how long one node's answer is waited for before it counts
// as a no. An answer that comes later still counts for an Acquire that goes on
// waiting. Default 50 ms; it must be more than 0 and less than the TTL. The
// limit of the command itself is the node's own, see node.Options.
func WithNodeTimeout(d time.Duration) Option { return func(c *config) { c.nodeTimeout = d } }

// WithPrefix sets what stands before the resource's name in its key. Default
// "lock:"; it must not be empty, and must be the same for all clients of a
// resource. It is for New, not for a single grant.
func WithPrefix(prefix string) Option { return func(c *config) { c.prefix = prefix } }

// WithOwner sets the label that names the holder in the token, by default
// host:pid. It must be printable, without spaces, and at most MaxOwner bytes.
func WithOwner(label string) Option { return func(c *config) { c.owner = label } }

// WithWatchdog turns automatic renewal on or off. Default on.
func WithWatchdog(on bool) Option { return func(c *config) { c.watchdog = on } }

// WithMaxHold bounds how long a lock is kept, with the watchdog or without: d
// after the grant the holder is told that the lock is lost (LossMaxHold) and
// nothing renews it any more. 0, the default, means for as long as the process
// lives.
func WithMaxHold(d time.Duration) Option { return func(c *config) { c.maxHold = d } }

// WithDrift sets the share of the TTL that validity is cut by, beside
// DriftFloor, for clocks that run at different rates. Default 0.01, which is one
// percent; it must be at least 0 and less than 1.
func WithDrift(share float64) Option { return func(c *config) { c.drift = share } }

// WithDurable says that the nodes never forget (appendfsync always, or a demo):
// fencing tokens then count 1, 2, 3, … instead of being seeded from the clock,
// and a node that was restarted votes at once. With nodes that can lose data
// this makes fencing tokens go backwards, and two holders possible. All clients
// of the nodes must agree on it. It is for New, not for a single grant.
func WithDurable() Option { return func(c *config) { c.durable = true } }

func withNow(now func() time.Time) Option { return func(c *config) { c.now = now } }

// with returns the configuration changed by opts.
func (c config) with(opts []Option) config {
	for _, o := range opts {
		if o != nil {
			o(&c)
		}
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
	if !(c.drift >= 0 && c.drift < 1) { // NaN too
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
