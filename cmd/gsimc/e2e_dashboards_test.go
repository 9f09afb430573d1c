package main

import (
	"regexp"
	"strings"
	"testing"
)

// TestDashboardsShowWhatIsExported looks for every metric of the alerts and of the dashboard on the
// page of a running server.
func TestDashboardsShowWhatIsExported(t *testing.T) {
	t.Parallel()
	_, model := smallModel(t)
	server := startServe(t, model, t.TempDir(), "--quality-sample", "1")
	for _, item := range []string{"i1", "i2", "i3"} {
		execute(t, "observe", "--server", server.GRPC, "--user", "u", "--item", item)
	}
	// A rank is measured some time after its event.
	var page string
	await(t, "a rank is measured", func() bool {
		page = server.metricsPage(t)
		return strings.Contains(page, "\ngsimc_online_rank_count{")
	})
	for _, file := range []string{"../../deploy/alerts.yaml", "../../deploy/grafana/gsimc.json"} {
		text := mustRead(t, file)
		names := regexp.MustCompile(`\b(gsimc|grpc_server|process)_[a-z_]+[a-z]\b`).FindAllString(
			text, -1)
		if len(names) < 20 {
			t.Errorf("%s names %d metrics", file, len(names))
		}
		for _, name := range names {
			if !strings.Contains(page, "\n"+name+" ") && !strings.Contains(page, "\n"+name+"{") {
				t.Errorf("%s has %s, which the server does not export", file, name)
			}
		}
	}
}
