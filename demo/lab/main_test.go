package lab_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// victimMode, as an environment variable, makes the test binary a program that
// dies with an open lab.
const victimMode = "DLOCK_LAB_VICTIM"

// beVictim is set where there are redis-server children to leave behind.
var beVictim func(mode string)

func TestMain(m *testing.M) {
	if mode := os.Getenv(victimMode); mode != "" && beVictim != nil {
		beVictim(mode)
		return
	}
	goleak.VerifyTestMain(m)
}
