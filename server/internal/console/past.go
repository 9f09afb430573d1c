package console

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

const (
	lookEvery = 30 * time.Second
	looksKept = 120 // an hour; some 8 KiB each
)

// charted are the metrics that the page draws over time.
var charted = []string{
	"grpc_server_handled_total", "grpc_server_handling_seconds", "gsimc_calls_shed_total",
	"gsimc_observe_visible_seconds", "gsimc_online_rank", "gsimc_online_recall",
}

// Past remembers how the metrics of the page were in the last hour, so that its charts have a past
// when it is opened.
type Past struct {
	from prometheus.Gatherer

	mu    sync.Mutex
	looks []look // the oldest first
}

// look is how the metrics were.
type look struct {
	At      float64 `json:"at"`      // seconds since 1970
	Metrics string  `json:"metrics"` // in the text format of Prometheus
}

// NewPast returns an empty past of these metrics.
func NewPast(from prometheus.Gatherer) *Past { return &Past{from: from} }

// Run looks at the metrics until ctx ends. p may be nil.
func (p *Past) Run(ctx context.Context) {
	if p == nil {
		return
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for ctx.Err() == nil { // a look may take long, and then both wait
		p.look(time.Now())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look notes how the metrics are. What cannot be gathered is missing.
func (p *Past) look(now time.Time) {
	families, _ := p.from.Gather()
	var text bytes.Buffer
	for _, f := range families {
		if !slices.Contains(charted, f.GetName()) {
			continue
		}
		f.Metric = slices.DeleteFunc(f.Metric, isLeftOut)
		f.Help = nil
		// It fails for a family without metrics, and for none that a gatherer returns.
		_, _ = expfmt.MetricFamilyToText(&text, f)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looks = append(p.looks, look{At: float64(now.UnixMilli()) / 1e3, Metrics: text.String()})
	if over := len(p.looks) - looksKept; over > 0 {
		p.looks = slices.Delete(p.looks, 0, over)
	}
}

// isLeftOut reports whether no chart needs a metric: most counters, of which there is one for each
// method and code, have counted nothing, and of the histograms by method that of lists is drawn.
func isLeftOut(m *dto.Metric) bool {
	if m.Histogram == nil {
		return m.Counter != nil && m.Counter.GetValue() == 0
	}
	return m.Histogram.GetSampleCount() == 0 || slices.ContainsFunc(m.Label,
		func(l *dto.LabelPair) bool {
			return l.GetName() == "grpc_method" && l.GetValue() != "Recommend"
		})
}

// ServeHTTP answers with all looks, the oldest first.
func (p *Past) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	looks := append([]look{}, p.looks...) // [] in JSON if there are none yet
	p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(looks) // an error means that the reader has gone
}
