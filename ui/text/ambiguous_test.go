package text

import (
	"os"
	"os/exec"
	"testing"
)

const eastAsian = "RUNEWIDTH_EASTASIAN"

// skipIfAmbiguousWide skips a test that expects the glyphs of a terminal on
// which characters of ambiguous width take one cell.
func skipIfAmbiguousWide(t *testing.T) {
	t.Helper()
	if AmbiguousWide() {
		t.Skip(eastAsian + " is set, so other glyphs are drawn")
	}
}

// The width library reads the variable when the process starts, so the
// properties are checked once more in a process that has it.
func TestPropertiesWhereAmbiguousIsWide(t *testing.T) {
	if AmbiguousWide() {
		t.Skip("this is that process")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Skipf("the test's own binary cannot be found: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.v", "-test.run=^Test(.*Properties|BarAndSparkAreExact|WidthOfJoined.*|CleanMaxCuts.*|AmbiguousFallsBack.*)$")
	cmd.Env = append(os.Environ(), eastAsian+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestAmbiguousFallsBackToASCII(t *testing.T) {
	if !AmbiguousWide() {
		t.Skip("checked where " + eastAsian + " is set, by TestPropertiesWhereAmbiguousIsWide")
	}
	if got := Fit("abcdef", 4) + Bar(0.5, 4, false) + Spark([]float64{0, 1}, 1, 2, false); got != "abc~==  .|" {
		t.Errorf("got %q", got)
	}
}
