package demo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"dlock/demo/store"
)

// Scenario is something that workers do with shared things.
type Scenario struct {
	Name string
	// Does says in a sentence what happens, Right what must be true at the
	// end whatever the mode.
	Does, Right string
	// Modes are those that it can run in.
	Modes []Mode
	// Workers, Resources and Rate are its defaults. Rate is the number of
	// buyers a second that arrive, 0 where workers come back by themselves.
	Workers, Resources, Rate int

	// item names the item that stands for a resource at the start, and first
	// is its amount.
	item func(i int) string
	// lock names the lock of a resource; nil if it is the item's name.
	lock  func(i int) string
	first int64
	// idle is how long a worker rests between two jobs, at most.
	idle [2]time.Duration
	// job makes up what a worker does next.
	job func(w *worker) job
}

// job is one visit: which locks, in which order, how long inside, and what
// becomes of the item.
type job struct {
	// locks are the resources to lock, and items what stands for them in
	// the store, in the same order.
	locks, items []string
	// between is how long the worker waits between two locks.
	between time.Duration
	// inside is how long it works between reading and writing.
	inside time.Duration
	// change decides, from what was read of an item, what to do; false
	// means that there is nothing to do.
	change func(read store.Item) (store.Entry, bool)
	// done, if not nil, is called after the visit with whether something
	// was done.
	done func(did bool)
}

var (
	allModes = []Mode{None, Naive, Single, Replica, Redlock, Fenced, Optimistic, Pessimistic}
	// lockModes are those for scenarios in which one worker holds several
	// things at once: a transaction that waits inside another one would wait
	// for its own worker.
	lockModes = []Mode{None, Naive, Single, Replica, Redlock, Fenced}
)

// phones is how many there are in each sale.
const phones = 100

// balance is what is in the account at the start.
const balance = 10_000

// Scenarios are all scenarios. The first is the default.
var Scenarios = []Scenario{
	{
		Name: "contention", Does: "workers contend for a few resources at a pace that people can follow; some work outlives the TTL",
		Right: "every update is kept", Modes: allModes, Workers: DefaultWorkers, Resources: DefaultResources,
		idle: [2]time.Duration{200 * time.Millisecond, 1500 * time.Millisecond}, item: resourceName, job: contend,
	},
	{
		Name: "flash-sale", Does: "100 phones go on sale, and buyers come by the thousand; when they are gone the next 100 come",
		Right: "100 phones are sold 100 times", Modes: allModes, Workers: 12, Resources: 1, Rate: 2000, first: phones,
		item: func(i int) string { return saleItem(i, 0) }, lock: numbered("sale:phone"), job: buy,
	},
	{
		Name: "cron", Does: "every node of a fleet wakes at each tick, and one of them must do the job",
		Right: "the job is done once a tick", Modes: allModes, Workers: 8, Resources: 1,
		idle: [2]time.Duration{0, tickLength / 4}, item: numbered("cron:job"), job: tick,
	},
	{
		Name: "wallet", Does: "withdrawals and deposits with a pause between the look at the balance and the booking",
		Right: "the balance is what the ledger says, and never below zero", Modes: allModes, Workers: 10, Resources: 2, first: balance,
		idle: [2]time.Duration{0, 20 * time.Millisecond}, item: numbered("wallet"), job: book,
	},
	{
		Name: "philosophers", Does: "each worker needs two forks at once, and takes the lower one first",
		Right: "all eat, and no fork is used by two", Modes: lockModes, Workers: 5, Resources: 5,
		idle: [2]time.Duration{0, 50 * time.Millisecond}, item: numbered("fork"), job: dine(true),
	},
	{
		Name: "deadlock", Does: "the same table, and each takes the left fork first: all hold one and wait for the other until they give up",
		Right: "nothing: order your locks", Modes: lockModes, Workers: 5, Resources: 5,
		idle: [2]time.Duration{0, 50 * time.Millisecond}, item: numbered("fork"), job: dine(false),
	},
}

// FindScenario returns a scenario by its name.
func FindScenario(name string) (Scenario, error) {
	i := slices.IndexFunc(Scenarios, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		return Scenario{}, fmt.Errorf("there is no scenario of that name; use %s", listed(Scenarios, func(s Scenario) string { return s.Name }))
	}
	return Scenarios[i], nil
}

// resourceNames are what the workers contend for. A larger demo numbers
// further ones.
var resourceNames = []string{
	"orders:settle:eu-west", "inventory:sku:55-0192", "billing:invoice:run",
	"search:reindex", "mail:digest:tue", "cart:checkout:88120", "report:daily:finance", "cache:warm:home",
}

func resourceName(i int) string {
	if i < len(resourceNames) {
		return resourceNames[i]
	}
	return fmt.Sprintf("tenant:migrate:%04d", i)
}

// numbered names resources prefix:1, prefix:2, …
func numbered(prefix string) func(i int) string {
	return func(i int) string { return fmt.Sprintf("%s:%d", prefix, i+1) }
}

// one is a job with one lock, on the item of the same name.
func one(resource string, inside time.Duration, change func(store.Item) (store.Entry, bool)) job {
	return job{locks: []string{resource}, items: []string{resource}, inside: inside, change: change}
}

func contend(w *worker) job {
	// Most work is short; some of it outlives the TTL, so that renewals are
	// seen.
	inside := w.between(400*time.Millisecond, 2500*time.Millisecond)
	if w.rand.IntN(5) == 0 {
		inside = w.between(w.demo.config.TTL/2, w.demo.config.TTL*3/2)
	}
	return one(resourceName(w.rand.IntN(w.demo.config.Resources)), inside, func(store.Item) (store.Entry, bool) {
		return store.Entry{Amount: 1}, true
	})
}

func buy(w *worker) job {
	shelf := w.rand.IntN(w.demo.config.Resources)
	resource := numbered("sale:phone")(shelf)
	sale := w.round.sale(shelf)
	gone := false
	j := one(resource, time.Duration(w.rand.Int64N(int64(500*time.Microsecond))), func(read store.Item) (store.Entry, bool) {
		gone = read.Amount <= 0
		return store.Entry{Amount: -1}, !gone
	})
	j.items = []string{saleItem(shelf, sale)}
	j.done = func(did bool) {
		if !did && gone {
			w.round.nextSale(shelf, sale)
		}
	}
	return j
}

func saleItem(shelf int, sale int64) string { return fmt.Sprintf("phone-%d-%d", shelf, sale) }

// tickLength is how long a tick of the cron scenario is.
const tickLength = 100 * time.Millisecond

func tick(w *worker) job {
	// The item keeps the newest tick that was done; the entry brings it to
	// this one, and names it, so that a second time is found.
	return one(numbered("cron:job")(w.rand.IntN(w.demo.config.Resources)), w.between(time.Millisecond, tickLength/4), func(read store.Item) (store.Entry, bool) {
		now := int64(time.Since(w.round.started)/tickLength) + 1
		return store.Entry{Amount: now - read.Amount, Ref: now}, now > read.Amount
	})
}

func book(w *worker) job {
	resource := numbered("wallet")(w.rand.IntN(w.demo.config.Resources))
	amount := int64(w.rand.IntN(200) - 100)
	return one(resource, w.between(0, 5*time.Millisecond), func(read store.Item) (store.Entry, bool) {
		return store.Entry{Amount: amount}, read.Amount+amount >= 0
	})
}

func dine(ordered bool) func(*worker) job {
	return func(w *worker) job {
		n := w.demo.config.Resources
		left, right := w.index%n, (w.index+1)%n
		if ordered && left > right {
			left, right = right, left
		}
		j := job{
			between: w.between(0, 10*time.Millisecond), inside: w.between(5*time.Millisecond, 30*time.Millisecond),
			change: func(store.Item) (store.Entry, bool) { return store.Entry{Amount: 1}, true },
		}
		for _, fork := range []int{left, right} {
			name := numbered("fork")(fork)
			j.locks, j.items = append(j.locks, name), append(j.items, name)
		}
		if left == right { // a table for one has one fork
			j.locks, j.items = j.locks[:1], j.items[:1]
		}
		if !ordered {
			// Long enough that all have the first fork before one has both.
			j.between = 20 * time.Millisecond
		}
		return j
	}
}

// locks are the names of all locks.
func (s Scenario) locks(resources int) []string {
	name := s.lock
	if name == nil {
		name = s.item
	}
	all := make([]string, resources)
	for i := range all {
		all[i] = name(i)
	}
	return all
}

// rest is how long a worker rests after a job.
func (s Scenario) rest(r *rand.Rand) time.Duration {
	if s.idle[1] == 0 {
		return 0
	}
	return s.idle[0] + time.Duration(r.Int64N(int64(s.idle[1]-s.idle[0])+1))
}
