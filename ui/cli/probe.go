package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"dlock/inspect"
	"dlock/lockcore"
	"dlock/ui/text"
)

const (
	// probeResource is what a probe locks. It is one name, since beside each
	// lock a counter of its fences stays for days.
	probeResource = "dlock-doctor"
	// probeTTL is how long the probe's lock stays if we are killed, and
	// probeWait how long a probe waits for another one.
	probeTTL  = 10 * time.Second
	probeWait = 3 * time.Second
)

// probeReport is what became of taking, renewing and releasing a lock.
type probeReport struct {
	resource string
	steps    []probeStep
}

type probeStep struct {
	name string
	took time.Duration
	err  error
	why  string // the error in one sentence
}

// probe takes a lock on a name that nobody uses, renews and releases it. The
// error is about the command line or that ctx has ended; what the nodes say is
// in the report.
func (p *program) probe(ctx context.Context) (*probeReport, error) {
	locker, err := p.openLocker(lease{ttl: probeTTL, wait: probeWait})
	if err != nil {
		return nil, err
	}
	defer locker.close()
	r := &probeReport{resource: probeResource}
	var lock *lockcore.Lock
	r.step(locker, "acquire", func() (err error) {
		lock, err = locker.Acquire(ctx, r.resource, lockcore.WithWatchdog(false))
		return err
	})
	if lock != nil {
		r.step(locker, "renew", func() error { return lock.Extend(ctx) })
		r.release(locker, lock)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return r, nil
}

// release gives the lock back even if it could not be renewed, and also when
// the command was interrupted.
func (r *probeReport) release(locker *locking, lock *lockcore.Lock) {
	r.step(locker, "release", func() error { return lock.Release(context.Background()) })
}

func (r *probeReport) step(locker *locking, name string, do func() error) {
	began := time.Now()
	err := do()
	s := probeStep{name: name, took: time.Since(began), err: err}
	if err != nil {
		s.why = locker.why(r.resource, err).sentence
	}
	r.steps = append(r.steps, s)
}

func (r *probeReport) ok() bool {
	for _, s := range r.steps {
		if s.err != nil {
			return false
		}
	}
	return true
}

// finding is what the probe found, for one that is not ok.
func (r *probeReport) finding() inspect.Finding {
	for _, s := range r.steps {
		if s.err != nil {
			return inspect.Finding{
				ID: "probe", Severity: inspect.High, Text: "The step " + s.name + " of a lock failed: " + s.why + ".",
				Advice: "Programs that lock as this user meet the same; dlock doctor --acl lock prints what it must be permitted.",
			}
		}
	}
	return inspect.Finding{}
}

func (r *probeReport) write(b *strings.Builder) {
	for _, s := range r.steps {
		outcome := "done"
		if s.err != nil {
			outcome = "failed"
		}
		fmt.Fprintf(b, "probe  %-7s  %-6s  %s\n", s.name, outcome, text.Latency(s.took))
	}
}

// jsonProbe is the probe in `doctor -o json`.
type jsonProbe struct {
	Resource string          `json:"resource"`
	OK       bool            `json:"ok"`
	Steps    []jsonProbeStep `json:"steps"`
}

type jsonProbeStep struct {
	Step   string  `json:"step"`
	OK     bool    `json:"ok"`
	TookUS int64   `json:"took_us"`
	Error  *string `json:"error"`
}

func (r *probeReport) json() *jsonProbe {
	out := &jsonProbe{Resource: r.resource, OK: r.ok(), Steps: []jsonProbeStep{}}
	for _, s := range r.steps {
		out.Steps = append(out.Steps, jsonProbeStep{Step: s.name, OK: s.err == nil, TookUS: s.took.Microseconds(), Error: orNull(textForJSON(s.why))})
	}
	return out
}
