package fence_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"dlock/lockcore/fence"
)

// ask is an operation on the fenced register: a write under a token, or a read
// (token 0).
type ask struct {
	resource string
	token    int64
	once     bool
	value    int64
}

// reply is what came of it: for a write whether it was accepted and, if not,
// the newest token; for a read what the register held.
type reply struct {
	accepted      bool
	newest, value int64
}

// register is the state of one resource.
type register struct{ newest, value int64 }

// fencedRegister accepts a write exactly if its token is not below (once:
// above) the newest accepted one.
var fencedRegister = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := map[string][]porcupine.Operation{}
		for _, op := range history {
			r := op.Input.(ask).resource
			parts[r] = append(parts[r], op)
		}
		var all [][]porcupine.Operation
		for _, part := range parts {
			all = append(all, part)
		}
		return all
	},
	Init: func() any { return register{} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(register), input.(ask), output.(reply)
		if in.token == 0 {
			return out.newest == s.newest && out.value == s.value, s
		}
		if in.token > s.newest || in.token == s.newest && !in.once {
			return out.accepted, register{in.token, in.value}
		}
		return !out.accepted && out.newest == s.newest, s
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

// TestModelCatches makes sure that the model would see a guard that fails.
func TestModelCatches(t *testing.T) {
	op := func(call, ret int64, in ask, out reply) porcupine.Operation {
		return porcupine.Operation{ClientId: int(call), Input: in, Call: call, Output: out, Return: ret}
	}
	six := op(0, 10, ask{"r", 6, false, 600}, reply{accepted: true})
	for _, c := range []struct {
		what string
		then porcupine.Operation
		ok   bool
	}{
		{"5 refused after 6", op(20, 30, ask{"r", 5, false, 500}, reply{newest: 6}), true},
		{"5 accepted beside 6", op(5, 30, ask{"r", 5, false, 500}, reply{accepted: true}), true},
		{"5 accepted after 6", op(20, 30, ask{"r", 5, false, 500}, reply{accepted: true}), false},
		{"6 refused after 6", op(20, 30, ask{"r", 6, false, 601}, reply{newest: 6}), false},
		{"6 accepted twice", op(20, 30, ask{"r", 6, false, 601}, reply{accepted: true}), true},
		{"6 accepted twice, once each", op(20, 30, ask{"r", 6, true, 601}, reply{accepted: true}), false},
		{"refused for a token never written", op(20, 30, ask{"r", 5, false, 500}, reply{newest: 7}), false},
		{"the refused write is read", op(20, 30, ask{resource: "r"}, reply{newest: 6, value: 500}), false},
	} {
		if got := porcupine.CheckOperations(fencedRegister, []porcupine.Operation{six, c.then}); got != c.ok {
			t.Errorf("%s: the model says %v, want %v", c.what, got, c.ok)
		}
	}
}

// holders are many clients that get tokens of two resources in order and use
// them out of order.
type holders struct {
	t       *testing.T
	s       *store
	level   sql.IsolationLevel
	started time.Time
	granted [2]atomic.Int64
	values  atomic.Int64
	refused atomic.Int64

	mu      sync.Mutex
	history []porcupine.Operation
}

func (h *holders) record(client int, in ask, call, ret time.Duration, out reply) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.history = append(h.history, porcupine.Operation{ClientId: client, Input: in, Call: int64(call), Output: out, Return: int64(ret)})
}

// write sends one transaction, with pauses at every point where a holder could
// be paused. It reports whether the server gave it up.
func (h *holders) write(client int, pause func(), n int, token int64, once bool) (aborted bool) {
	in := ask{fmt.Sprint("r", n), token, once, h.values.Add(1)}
	rule := "Admit"
	if once {
		rule = "AdmitOnce"
	}
	call := time.Since(h.started)
	out, err := h.transact(pause, rule, in, n+1)
	if err != nil {
		// Neither admitted nor refused, and it left no trace.
		if aborted = h.s.aborted(err); !aborted {
			h.t.Errorf("token %d: %v", token, err)
		}
		return aborted
	}
	if !out.accepted {
		h.refused.Add(1)
	}
	h.record(client, in, call, time.Since(h.started), out)
	return false
}

func (h *holders) transact(pause func(), rule string, in ask, id int) (reply, error) {
	tx, err := h.s.db.BeginTx(h.t.Context(), &sql.TxOptions{Isolation: h.level})
	if err != nil {
		return reply{}, err
	}
	defer tx.Rollback()
	pause()
	err = h.s.ask(tx, rule, in.resource, in.token)
	var stale *fence.StaleError
	if errors.As(err, &stale) {
		return reply{newest: stale.Newest}, nil
	}
	if err != nil {
		return reply{}, err
	}
	pause()
	if err := h.s.put(tx, id, in.value); err != nil {
		return reply{}, err
	}
	pause()
	return reply{accepted: true}, tx.Commit()
}

// read looks at the register from outside, in one statement.
func (h *holders) read(client, n int) {
	in := ask{resource: fmt.Sprint("r", n)}
	call := time.Since(h.started)
	var out reply
	err := h.s.db.QueryRow(h.s.bind("SELECT amount, COALESCE((SELECT token FROM "+h.s.prefix+"fence WHERE resource = ?), 0) FROM "+h.s.stock+" WHERE id = ?"),
		[]byte(in.resource), n+1).Scan(&out.value, &out.newest)
	if err != nil {
		h.t.Errorf("read: %v", err)
		return
	}
	h.record(client, in, call, time.Since(h.started), out)
}

// work is one client's life.
func (h *holders) work(client, rounds int, rng *rand.Rand) {
	pause := func() {
		if rng.IntN(2) == 0 {
			time.Sleep(time.Duration(rng.IntN(500)) * time.Microsecond)
		}
	}
	for range rounds {
		n := rng.IntN(len(h.granted))
		token := h.granted[n].Add(1)
		switch rng.IntN(4) {
		case 0: // its lease ends, and the next holder writes first
			for h.write(client, pause, n, h.granted[n].Add(1), true) {
			}
		case 1:
			pause()
		}
		for range 1 + rng.IntN(2) {
			h.write(client, pause, n, token, rng.IntN(2) == 0)
		}
		h.read(client, n)
	}
}

// TestHistory: whatever concurrent holders with pauses do, the storage behaves
// like one fenced register.
func TestHistory(t *testing.T) {
	onEachLevel(t, func(t *testing.T, s *store, level sql.IsolationLevel) {
		h := &holders{t: t, s: s, level: level, started: time.Now()}
		seed := rand.Uint64()
		var group sync.WaitGroup
		for client := range 6 {
			group.Go(func() { h.work(client, 12, rand.New(rand.NewPCG(seed, uint64(client)))) })
		}
		group.Wait()
		if h.refused.Load() == 0 {
			t.Error("no stale write was refused; the test has shown nothing")
		}
		result, info := porcupine.CheckOperationsVerbose(fencedRegister, h.history, patience)
		if result != porcupine.Ok {
			t.Errorf("seed %d: the history of %d operations is %v; partial orders: %v",
				seed, len(h.history), result, info.PartialLinearizations())
		}
		t.Logf("%d operations, %d refused", len(h.history), h.refused.Load())
	})
}
