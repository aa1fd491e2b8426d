//go:build !unix

package tui

import "io"

// lastWords is nothing on systems without a shell; see the file for Unix.
type lastWords struct{}

func newLastWords(io.Reader, io.Writer) *lastWords { return nil }

func (*lastWords) end() {}
