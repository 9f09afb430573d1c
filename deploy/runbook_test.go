package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// answers are what the commands of the runbook print while an alert fires, and their exit codes.
var answers = map[string]struct {
	prints string
	code   int
	ended  bool // the server has to be stopped before
}{
	"GsimcDown":             {prints: `connect`, code: 7},
	"GsimcErrorsFast":       {prints: `grpc_code="ResourceExhausted"`},
	"GsimcErrorsSlow":       {prints: `grpc_code="ResourceExhausted"`},
	"GsimcRecommendSlow":    {prints: `gsimc_recommend_stage_seconds_sum{stage="topn"} `},
	"GsimcShedding":         {prints: `reason="limit"} \d{3}`},
	"GsimcEventsLate":       {prints: `gsimc_store_sync_seconds_count [1-9]`},
	"GsimcStoreFailed":      {prints: `input/output error`, code: 22},
	"GsimcStoreStalled":     {prints: `no write has become durable`, code: 22},
	"GsimcStoreRefusing":    {prints: `MiB`},
	"GsimcStoreFillsUp":     {prints: `gsimc_store_room_bytes 0`},
	"GsimcStoreDamaged":     {prints: `damage`, code: 1, ended: true},
	"GsimcRetentionLate":    {prints: `gsimc_retention_due_events [1-9]`},
	"GsimcStoreAway":        {prints: `the store does not answer`},
	"GsimcStoreDegraded":    {prints: `1 of 2 primaries do not answer`},
	"GsimcModelStale":       {prints: `items`},
	"GsimcModelDrift":       {prints: `gsimc_drift_energy_ratio 0\.[0-7]`},
	"GsimcModelLoadFailed":  {prints: `damaged`, code: 1},
	"GsimcRetrainingFailed": {prints: `memory`},
	"GsimcListsNotPersonal": {prints: `reason="unknown_user"} [1-9]`},
	"GsimcStrangers":        {prints: `reason="unauthenticated"} \d{3}`},
	"GsimcCertificateEnds":  {prints: `gsimc_tls_not_after_timestamp_seconds [1-9]`},
	"GsimcPanic":            {prints: `gsimc_panics_total 1`},
}

var command = regexp.MustCompile(`(?m)^    (.+)$`)

// runbook runs the commands of an alert's section, with what stands for addresses and files.
func (s *stage) runbook(alert string) {
	s.Helper()
	want, known := answers[alert]
	if _, err := exec.LookPath("curl"); err != nil {
		s.Log("curl is not here: the commands of the runbook did not run")
		return
	}
	_, section, _ := strings.Cut(read(s.T, "../docs/runbook.md"), "\n## "+alert+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	commands := command.FindAllStringSubmatch(section, -1)
	if !known || len(commands) == 0 {
		s.Errorf("the runbook has no command for %s", alert)
	}
	if want.ended {
		s.served.end(s.T, syscall.SIGTERM)
	}
	var script []string
	for _, c := range commands {
		script = append(script, c[1])
	}
	text := "set -e\n" + strings.NewReplacer("METRICS", "http://"+s.ops, "ADMIN", s.admin, "DIR",
		s.dir, "MODEL", s.model, "PID", strconv.Itoa(s.cmd.Process.Pid)).Replace(
		strings.Join(script, "\n"))
	cmd := exec.CommandContext(s.Context(), "sh", "-c", text)
	cmd.Dir = s.TempDir()
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(s.program.path)+":"+os.Getenv("PATH"))
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != want.code ||
		!regexp.MustCompile(want.prints).Match(out) {
		s.Errorf("runbook of %s: code %d, want %d, and %s:\n%s\n%s", alert, code, want.code,
			want.prints, text, out)
	}
}
