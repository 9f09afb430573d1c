package console

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/internal/test/check"
)

// The past has the metrics of the charts that have counted something, and an hour of them.
func TestPast(t *testing.T) {
	metrics := prometheus.NewRegistry()
	handled := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "grpc_server_handled_total"},
		[]string{"grpc_code"})
	visible := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "gsimc_observe_visible_seconds", Buckets: []float64{1, 2}})
	other := prometheus.NewCounter(prometheus.CounterOpts{Name: "gsimc_panics_total"})
	metrics.MustRegister(handled, visible, other)
	handled.WithLabelValues("OK").Add(3)
	handled.WithLabelValues("Internal").Add(0)
	other.Inc()
	past, start := NewPast(metrics), time.Unix(1e9, 0)
	past.look(start)
	visible.Observe(1.5)
	for i := range looksKept {
		past.look(start.Add(time.Duration(1+i) * lookEvery))
	}

	nothing := http.NotFoundHandler()
	h := NewHandler(Deps{API: nothing, Past: past, Models: nothing})
	w := get(h, Path+"past")
	var looks []look
	check.Must(t, json.Unmarshal(w.Body.Bytes(), &looks))
	check.Same(t, looksKept, len(looks), "looks")
	check.Same(t, float64(start.Add(lookEvery).Unix()), looks[0].At, "the oldest")
	check.Same(t, `# TYPE grpc_server_handled_total counter
grpc_server_handled_total{grpc_code="OK"} 3
# TYPE gsimc_observe_visible_seconds histogram
gsimc_observe_visible_seconds_bucket{le="1"} 0
gsimc_observe_visible_seconds_bucket{le="2"} 1
gsimc_observe_visible_seconds_bucket{le="+Inf"} 1
gsimc_observe_visible_seconds_sum 1.5
gsimc_observe_visible_seconds_count 1
`, looks[0].Metrics, "the metrics")
}

// Nothing is looked at after the end.
func TestPastEnds(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	past := NewPast(prometheus.NewRegistry())
	past.Run(ended)
	check.Same(t, 0, len(past.looks), "looks")
}

// Every metric of the charts is remembered, and nothing else; the page keeps the same.
func TestChartsHaveAPast(t *testing.T) {
	text := files(t)["metrics.js"]
	list, rest, _ := strings.Cut(text[strings.Index(text, "const charted"):], "];")
	for _, part := range []string{list, rest[strings.Index(rest, "function draw("):]} {
		named := regexp.MustCompile(`"((?:gsimc|grpc)_[a-z_]+)"`).FindAllStringSubmatch(part, -1)
		var names []string
		for _, m := range named {
			names = append(names, m[1])
		}
		slices.Sort(names)
		check.Same(t, charted, slices.Compact(names), "metrics")
	}
}
