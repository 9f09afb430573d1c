package deploy

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	commonmodel "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
)

// loadAlerts returns the alerts by name.
func loadAlerts(t *testing.T) map[string]rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile("alerts.yaml", false, commonmodel.UTF8Validation,
		parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	alerts := make(map[string]rulefmt.Rule)
	for _, r := range groups.Groups[0].Rules {
		alerts[r.Alert] = r
	}
	return alerts
}

// counters are the series of a counter with two values of a label that rise by a given amount a
// minute.
func counters(name, labels, one, other string, rise, otherRise int) string {
	const series = "%s{job=\"gsimc\", instance=\"i\", %s} 0+%dx600\n"
	return fmt.Sprintf(series, name, labels+one, rise) +
		fmt.Sprintf(series, name, labels+other, otherRise)
}

func gauge(name, values string) string {
	return fmt.Sprintf("%s{job=\"gsimc\", instance=\"i\"} %s\n", name, values)
}

// TestAlerts evaluates each alert after ten hours of series, one value a minute, that call for it,
// and of others that do not.
func TestAlerts(t *testing.T) {
	handled := func(failed int) string {
		return counters("grpc_server_handled_total",
			`grpc_service="gsimc.v1.RecommenderService", grpc_method="Recommend", grpc_code=`,
			`"OK"`, `"Internal"`, 10_000, failed)
	}
	lists := func(fast int) string {
		return counters("grpc_server_handling_seconds_bucket", `grpc_method="Recommend", le=`,
			`"0.025"`, `"+Inf"`, fast, 10_000) +
			counters("grpc_server_handling_seconds_count", `grpc_method=`, `"Recommend"`,
				`"Observe"`, 10_000, 10_000)
	}
	visible := func(soon int) string {
		return counters("gsimc_observe_visible_seconds_bucket", "le=", `"1.0"`, `"+Inf"`, soon,
			10_000) + counters("gsimc_observe_visible_seconds_count", "x=", `"a"`, `"b"`, 10_000, 0)
	}
	labelled := func(name, label, one, other string) func(a, b int) string {
		return func(a, b int) string {
			return counters(name, label+"=", `"`+one+`"`, `"`+other+`"`, a, b)
		}
	}
	shed := labelled("gsimc_calls_shed_total", `class="recommend", reason`, "limit", "idle")
	loads := labelled("gsimc_model_loads_total", "result", "failure", "success")
	retrained := labelled("gsimc_retrain_total", "outcome", "failed", "swapped")
	results := labelled("gsimc_recommend_results_total", "source", "popular", "model")
	refused := labelled("gsimc_calls_refused_total", "reason", "unauthenticated", "denied")
	panics := labelled("gsimc_panics_total", "x", "a", "b")
	// The series begin at the epoch.
	for name, tt := range map[string]struct{ calls, calm string }{
		"GsimcDown":             {gauge("up", "0x600"), gauge("up", "1x600")},
		"GsimcErrorsFast":       {handled(200), handled(100)},
		"GsimcErrorsSlow":       {handled(100), handled(50)},
		"GsimcRecommendSlow":    {lists(8_000), lists(9_000)},
		"GsimcShedding":         {shed(100, 0), shed(10, 1000)},
		"GsimcEventsLate":       {visible(9_000), visible(9_999)},
		"GsimcStoreFailed":      {gauge("gsimc_store_failed", "1x600"), gauge("gsimc_store_failed", "0x600")},
		"GsimcStoreStalled":     {gauge("gsimc_store_stalled", "1x600"), gauge("gsimc_store_stalled", "0x600")},
		"GsimcStoreRefusing":    {gauge("gsimc_store_refusing", "1x600"), gauge("gsimc_store_refusing", "0x600")},
		"GsimcStoreDamaged":     {gauge("gsimc_store_damaged_files", "2x600"), gauge("gsimc_store_damaged_files", "0x600")},
		"GsimcStoreAway":        {gauge("gsimc_store_away", "1x600"), gauge("gsimc_store_away", "0x600")},
		"GsimcStoreDegraded":    {gauge("gsimc_store_degraded", "1x600"), gauge("gsimc_store_degraded", "0x600")},
		"GsimcRetentionLate":    {gauge("gsimc_retention_due_events", "1x600"), gauge("gsimc_retention_due_events", "0x600")},
		"GsimcStoreFillsUp":     {gauge("gsimc_store_room_bytes", "20e9-20e6x600"), gauge("gsimc_store_room_bytes", "200e9-20e6x600")},
		"GsimcModelStale":       {gauge("gsimc_model_train_timestamp_seconds", "-1300000x600"), gauge("gsimc_model_train_timestamp_seconds", "0x600")},
		"GsimcModelDrift":       {gauge("gsimc_drift_energy_ratio", "0.7x600"), gauge("gsimc_drift_energy_ratio", "0.9x600")},
		"GsimcModelLoadFailed":  {loads(1, 1), loads(0, 1)},
		"GsimcRetrainingFailed": {retrained(1, 1), retrained(0, 1)},
		"GsimcListsNotPersonal": {results(60, 40), results(40, 60)},
		"GsimcStrangers":        {refused(100, 0), refused(30, 20)},
		"GsimcCertificateEnds": {gauge("gsimc_tls_not_after_timestamp_seconds", "600000x600"),
			gauge("gsimc_tls_not_after_timestamp_seconds", "700000x600") + "gsimc_tls_not_after_timestamp_seconds{x=\"none\"} 0x600\n"},
		"GsimcPanic": {panics(1, 0), panics(0, 0)},
	} {
		rule, ok := loadAlerts(t)[name]
		if !ok {
			t.Errorf("alerts.yaml has no %s", name)
			continue
		}
		for series, want := range map[string]bool{tt.calls: true, tt.calm: false} {
			if got := fires(t, rule.Expr, series); got != want {
				t.Errorf("%s fires: %t, want %t, for\n%s", name, got, want, series)
			}
		}
	}
}

// fires evaluates an expression after ten hours of series.
func fires(t *testing.T, expr, series string) bool {
	t.Helper()
	storage := promqltest.LoadedStorage(t, "load 1m\n"+indent(series))
	defer storage.Close()
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	at := time.Unix(0, 0).Add(599 * time.Minute)
	query := get(engine.NewInstantQuery(t.Context(), storage, nil, expr, at))(t)
	result := query.Exec(t.Context())
	if result.Err != nil {
		t.Fatalf("%s: %v", expr, result.Err)
	}
	vector := get(result.Vector())(t)
	return len(vector) > 0
}

func indent(series string) string {
	return "  " + strings.Join(strings.Split(strings.TrimSpace(series), "\n"), "\n  ") + "\n"
}

// TestDashboard parses the expressions of the dashboard.
func TestDashboard(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	must(t, json.Unmarshal([]byte(read(t, "grafana/gsimc.json")), &dashboard))
	n := 0
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			n++
			expr := strings.ReplaceAll(target.Expr, "$__rate_interval", "1m")
			if _, err := parser.NewParser(parser.Options{}).ParseExpr(expr); err != nil {
				t.Errorf("%s: %v", p.Title, err)
			}
		}
	}
	if n < 15 {
		t.Errorf("the dashboard has %d expressions", n)
	}
}

// TestEveryAlertIsTested and has a page in the runbook, and the runbook none of another.
func TestEveryAlertIsTested(t *testing.T) {
	runbook := read(t, "../docs/runbook.md")
	tests := read(t, "alerts_test.go")
	var names []string
	for name, rule := range loadAlerts(t) {
		names = append(names, name)
		if !strings.Contains(tests, `"`+name+`"`) {
			t.Errorf("no test makes %s fire", name)
		}
		if !strings.Contains(runbook, "\n## "+name+"\n") {
			t.Errorf("the runbook has no section %s", name)
		}
		if rule.Annotations["summary"] == "" || rule.Labels["severity"] == "" {
			t.Errorf("%s has no summary, or no severity", name)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^## (Gsimc\w+)$`).FindAllStringSubmatch(runbook, -1) {
		if !slices.Contains(names, m[1]) {
			t.Errorf("the runbook has a section of %s, which is no alert", m[1])
		}
	}
}
