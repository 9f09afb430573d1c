package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSystemdUnit has systemd check the unit, with a program in the place of gsimc; without systemd
// it looks at the form of the lines. What matters must be there in any case.
func TestSystemdUnit(t *testing.T) {
	unit := read(t, "systemd/gsimc.service")
	section, line := regexp.MustCompile(`^\[\w+\]$`), regexp.MustCompile(`^[A-Z]\w+=.*$`)
	for i, l := range strings.Split(unit, "\n") {
		if l != "" && l[0] != '#' && !section.MatchString(l) && !line.MatchString(l) {
			t.Errorf("line %d: %s", i+1, l)
		}
	}
	for _, want := range []string{
		"\nNoNewPrivileges=yes\n", "\nProtectSystem=strict\n", "\nCapabilityBoundingSet=\n",
		"\nTimeoutStopSec=45s\n", "\nMemoryMax=" + memoryLimit + "G\n", "\nRestart=on-failure\n",
	} {
		if !strings.Contains(unit, want) {
			t.Errorf("the unit lacks %q", want)
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here: the lines have the form of a unit, no more is known")
	}
	installed := filepath.Join(t.TempDir(), "gsimc.service")
	unit = strings.ReplaceAll(unit, "/usr/local/bin/gsimc", "/bin/true")
	must(t, os.WriteFile(installed, []byte(unit), 0o600))
	if out, err := exec.Command(analyze, "verify", "--man=no", installed).CombinedOutput(); err !=
		nil || strings.Contains(string(out), "gsimc.service:") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}
