package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"dlock/inspect"
	"dlock/ui/text"
)

// silence says which nodes gave no answer and why, and what that makes of the
// exit code.
type silence struct {
	code     int
	sentence string
}

// silent judges the answers of a look that is over.
func silent(s inspect.Snapshot) silence {
	var parts []string
	// A server that is there and says no is another thing than none.
	refused := slices.ContainsFunc(s.Findings, func(f inspect.NodeFinding) bool { return f.ID == "not-serving" })
	for _, n := range s.Target.Nodes {
		switch n.State {
		case inspect.NodeUp, inspect.NodeReplica:
			continue
		case inspect.NodeDenied:
			refused = true
		}
		parts = append(parts, nodeTrouble(n))
	}
	switch {
	case s.Target.Up() == 0 && refused:
		return silence{exitRefused, "no node lets us look: " + strings.Join(parts, "; ")}
	case s.Target.Up() == 0:
		return silence{exitNoNode, "no node answers: " + strings.Join(parts, "; ")}
	case len(parts) > 0:
		return silence{exitIncomplete, "incomplete: " + strings.Join(parts, "; ")}
	case s.Scan.Cut:
		return silence{exitIncomplete, "incomplete: the scan stopped after " + count(int(s.Scan.Keys), "key") + "; give a narrower glob"}
	case !s.Complete:
		return silence{exitIncomplete, "incomplete: some keys could not be read"}
	}
	return silence{}
}

func nodeTrouble(n inspect.NodeStatus) string {
	reason := n.Error
	if reason == "" {
		reason = "no answer"
	}
	return string(text.Clean(n.Name) + " (" + text.Clean(n.Addr) + ") " + text.CleanMax(reason, 300))
}

// err is the silence as the end of a command, nil when all nodes answered.
func (s silence) err() error {
	if s.code == exitOK {
		return nil
	}
	return exitWith(s.code, "%s", s.sentence)
}

// looked turns the error of a look into the end of the command. It is nil when
// there is something to print.
func looked(ctx context.Context, s inspect.Snapshot, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil && s.Target.Up() > 0 {
		return nil
	}
	if err == nil || errors.Is(err, inspect.ErrNoNode) {
		if quiet := silent(s); len(s.Target.Nodes) > 0 && quiet.code != exitOK {
			return quiet.err()
		}
		return exitWith(exitNoNode, "no node answers")
	}
	return exitWith(exitFailure, "%s", text.Clean(err.Error()))
}
