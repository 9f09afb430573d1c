package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestNeural runs the tests of bench/neural. Those of the systems skip without torch.
func TestNeural(t *testing.T) {
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	files, err := filepath.Glob("../../neural/*.py")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files { // so that the cache of results knows them
		if _, err := os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), interpreter, "-B", "-m", "unittest", "discover",
		"--start-directory", "../../neural")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
