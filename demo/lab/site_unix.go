//go:build unix

package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// site is what the redis-server nodes of a lab share.
type site struct {
	path  string // of redis-server
	args  []string
	guard *guardian
}

// openSite looks for the server and starts the guardian.
func openSite(path string, args []string) (*site, error) {
	if path == "" {
		found, ok := FindServer()
		if !ok {
			return nil, errors.New("redis-server was not found in PATH; install Redis or use embedded nodes")
		}
		path = found
	}
	path, err := exec.LookPath(path)
	if err != nil {
		return nil, fmt.Errorf("redis-server cannot be run: %w", err)
	}
	// Children run in folders of their own.
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("redis-server cannot be run: %w", err)
	}
	parent, err := filepath.Abs(os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("the folder for temporary files is not known: %w", err)
	}
	guard, err := startGuardian(parent)
	if err != nil {
		return nil, err
	}
	return &site{path: path, args: slices.Clone(args), guard: guard}, nil
}

func (s *site) newServer(name string, port int) server {
	return &process{site: s, port: port, dir: filepath.Join(s.guard.dir, fmt.Sprintf("%s-%d", name, port))}
}

// close removes all files. All servers must be down.
func (s *site) close() error { return s.guard.close() }
