//go:build !unix

package tui

import (
	"context"
	"errors"
)

var errNotStopped = errors.New("this system cannot suspend a program")

// jobs is the job control of systems that have none.
type jobs struct{}

func newJobs() *jobs { return &jobs{} }

func (*jobs) close() {}

func (*jobs) watch(ctx context.Context, _, _ func()) { <-ctx.Done() }

func (*jobs) stop() error { return errNotStopped }
