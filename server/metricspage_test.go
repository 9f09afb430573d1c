package server

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/internal/test/check"
)

var update = flag.Bool("update", false, "write docs/metrics.md anew")

// description is how a metric describes itself.
var description = regexp.MustCompile(
	`^Desc\{fqName: "([^"]*)", help: (".*"), constLabels: \{.*\}, variableLabels: \{(.*)\}\}$`)

// TestMetricsPage: docs/metrics.md has each metric of a server, as the registry describes it.
// go test ./server -run TestMetricsPage -update writes it.
func TestMetricsPage(t *testing.T) {
	metrics := NewMetrics()
	ts := start(t, setup{config: func(cfg *Config) { cfg.Metrics = metrics }})
	ts.observe(t, newEvent("ann", 1))
	ts.ask(t, forUser("ann"))
	registry := metrics.registry
	families, err := registry.Gather()
	must(t, err)
	types := map[string]string{"gsimc_online_rank": "histogram"} // sampled, so not always there
	for _, f := range families {
		types[f.GetName()] = strings.ToLower(f.GetType().String())
	}
	described := make(chan *prometheus.Desc)
	go func() {
		registry.Describe(described)
		close(described)
	}()
	rows := map[string]string{}
	for d := range described {
		m := description.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("not understood: %s", d)
		}
		name := m[1]
		if !strings.HasPrefix(name, "gsimc_") && !strings.HasPrefix(name, "grpc_") {
			continue // of Go and of the process
		}
		kind := types[name]
		if kind == "" && strings.HasSuffix(name, "_total") {
			kind = "counter"
		}
		if kind == "" {
			kind = "gauge"
		}
		var help string
		check.Get(fmt.Sscanf(m[2], "%q", &help))(t)
		rows[name] = fmt.Sprintf("| `%s` | %s | %s | %s |\n", name, kind,
			strings.ReplaceAll(m[3], ",", ", "), strings.ReplaceAll(help, "|", "\\|"))
	}
	var page strings.Builder
	page.WriteString("# Metrics\n\nAll series of `/metrics` besides those of Go and of the process, " +
		"as the server describes them;\n[operations](operations.md#metrics-to-watch) says which to " +
		"watch. `TestMetricsPage` writes this page.\n\n" +
		"| name | type | labels | |\n|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		page.WriteString(rows[name])
	}
	const path = "../docs/metrics.md"
	if *update {
		must(t, os.WriteFile(path, []byte(page.String()), 0o644))
	}
	raw, err := os.ReadFile(path)
	must(t, err)
	if string(raw) != page.String() {
		t.Errorf("%s is out of date: go test ./server -run TestMetricsPage -update", path)
	}
}
