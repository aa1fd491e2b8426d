package cli

import "errors"

func sendSignal(int, string) error { return errors.ErrUnsupported }
func processGone(int) bool         { return false }
func makePipe(string) error        { return errors.ErrUnsupported }
