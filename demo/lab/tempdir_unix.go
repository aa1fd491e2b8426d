//go:build unix

package lab

import (
	"fmt"
	"os"
	"path/filepath"
)

// TempDir makes a folder for temporary files that only this user can enter and
// that is removed when the program ends, however it ends: by remove, or by a
// guardian process as for a lab. Where there are no such processes, on Windows,
// only remove does it. Remove may be called once.
func TempDir() (dir string, remove func() error, err error) {
	parent, err := filepath.Abs(os.TempDir())
	if err != nil {
		return "", nil, fmt.Errorf("the folder for temporary files is not known: %w", err)
	}
	g, err := startGuardian(parent)
	if err != nil {
		return "", nil, err
	}
	return g.dir, g.close, nil
}
