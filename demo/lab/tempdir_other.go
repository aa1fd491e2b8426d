//go:build !unix

package lab

import "os"

// TempDir makes a folder for temporary files, which remove removes. On Unix it
// also is removed when the program is killed.
func TempDir() (dir string, remove func() error, err error) {
	dir, err = os.MkdirTemp("", "dlock-lab.")
	return dir, func() error { return os.RemoveAll(dir) }, err
}
