package main

import "context"

// scenario is one thing that is measured of all contestants that can take part.
type scenario struct {
	name    string
	title   func(p plan) string
	columns []column
	least   int // nodes that it makes sense on
	may     func(p plan, c contestant) bool
	run     func(ctx context.Context, f *field) error
}

// column is one figure of a scenario.
type column struct {
	name string
	unit unit
}

func scenarios() []scenario {
	return []scenario{parallelScenario(), serialScenario(), handoffScenario(), remoteScenario(), remoteHandoffScenario(),
		hungScenario(), waitersScenario(), crowdScenario(), watchdogScenario()}
}

func unitOf(scenario, name string) unit {
	for _, s := range scenarios() {
		if s.name != scenario {
			continue
		}
		for _, c := range s.columns {
			if c.name == name {
				return c.unit
			}
		}
	}
	return count
}

func everyone(plan, contestant) bool { return true }

func whoWaits(_ plan, c contestant) bool { return c.waits }

// whoBears leaves those out that a hung node holds for seconds, if there is no
// time for that.
func whoBears(p plan, c contestant) bool { return p.slow || !c.slow }
