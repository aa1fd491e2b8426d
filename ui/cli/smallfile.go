package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"time"
)

// patience is how long a pipe that was given in place of a file may take.
const patience = 5 * time.Second

// readSmall reads a file that a person has named, up to max bytes. It does not
// hang on what never ends: a device is cut off, and a pipe, as the shell's <(…)
// makes one, has a moment to deliver.
func readSmall(name string, max int64) ([]byte, os.FileInfo, error) {
	flags := os.O_RDONLY
	if runtime.GOOS != "windows" {
		// Opening a pipe that nobody writes to would wait for a writer.
		flags |= syscall.O_NONBLOCK
	}
	f, err := os.OpenFile(name, flags, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		return nil, nil, errors.New("it is a directory")
	}
	// Only what can wait takes a deadline; a regular file needs none.
	_ = f.SetReadDeadline(time.Now().Add(patience))
	data, err := io.ReadAll(io.LimitReader(f, max+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, nil, fmt.Errorf("nothing more came within %s", shortDuration(patience))
	case err != nil:
		return nil, nil, err
	case int64(len(data)) > max:
		return nil, nil, fmt.Errorf("it is larger than %d KiB", max>>10)
	}
	return data, info, nil
}
