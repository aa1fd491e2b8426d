package lab_test

import (
	"context"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dlock/demo/lab"
	"dlock/demo/lab/labtest"
)

// TestModel drives one node through random sequences of everything that can
// be done to it, next to a model that is a state and a number.
func TestModel(t *testing.T) {
	labtest.EachKind(t, func(t *testing.T, kind lab.Kind) {
		n, _ := startOne(t, kind)
		sequences := 0
		rapid.Check(t, func(rt *rapid.T) {
			// A process takes far longer to restart.
			if sequences++; kind == lab.Process && sequences > 3 {
				return
			}
			ctx := t.Context()
			ok := func(err error) {
				if err != nil {
					rt.Fatal(err)
				}
			}
			ok(n.Restart(ctx, true))
			c := labtest.Client(t, n)
			defer c.Close()
			state, count := lab.Up, int64(0)

			toggle := func(to lab.State, do func() error) {
				err := do()
				if (err == nil) != (state != lab.Down) {
					rt.Fatalf("a node that was %s was to be %s: %v", state, to, err)
				}
				if err == nil {
					state = to
				}
			}
			restart := func(wipe bool) {
				ok(n.Restart(ctx, wipe))
				state = lab.Up
				if wipe {
					count = 0
				}
			}
			rt.Repeat(map[string]func(*rapid.T){
				"kill":    func(*rapid.T) { ok(n.Kill()); state = lab.Down },
				"restart": func(*rapid.T) { restart(false) },
				"wipe":    func(*rapid.T) { restart(true) },
				"pause":   func(*rapid.T) { toggle(lab.Paused, n.Pause) },
				"resume":  func(*rapid.T) { toggle(lab.Up, n.Resume) },
				"count": func(rt *rapid.T) {
					fresh := labtest.Client(t, n)
					defer fresh.Close()
					if state == lab.Paused {
						brief, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
						defer cancel()
						// Not INCR: it would be executed later.
						if err := fresh.Ping(brief).Err(); err == nil {
							rt.Fatal("a paused node answers")
						}
						return
					}
					got, err := fresh.Incr(ctx, "count").Result()
					if state == lab.Down {
						if err == nil {
							rt.Fatal("a node that is down answers")
						}
						return
					}
					ok(err)
					if count++; got != count {
						rt.Fatalf("the node counts to %d, the model to %d", got, count)
					}
				},
				"": func(rt *rapid.T) {
					if got := n.State(); got != state {
						rt.Fatalf("the node is %s, the model %s", got, state)
					}
				},
			})
		})
	})
}
