package server

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/store"
)

// gauges reads, at each scrape, the values that the server holds anyway.
type gauges struct{ s *Server }

var (
	statesDesc      = prometheus.NewDesc("gsimc_user_states", "User states in the cache.", nil, nil)
	stateBytesDesc  = prometheus.NewDesc("gsimc_user_state_bytes", "Memory of the user states in the cache.", nil, nil)
	storeBytesDesc  = prometheus.NewDesc("gsimc_store_bytes", "Space that the store uses.", nil, nil)
	modelInfoDesc   = prometheus.NewDesc("gsimc_model_info", "The serving model; filter is empty with learned dynamics.", []string{"version", "graph", "dynamics", "filter"}, nil)
	modelItemsDesc  = prometheus.NewDesc("gsimc_model_items", "Items of the serving model, those that it was extended by included.", nil, nil)
	modelRankDesc   = prometheus.NewDesc("gsimc_model_rank", "Rank of the serving model.", nil, nil)
	modelLoadDesc   = prometheus.NewDesc("gsimc_model_load_timestamp_seconds", "When the serving model was loaded.", nil, nil)
	buildInfoDesc   = prometheus.NewDesc("gsimc_build_info", "The server binary.", []string{"version"}, nil)
	storeFailedDesc = prometheus.NewDesc("gsimc_store_failed", "1 when the store takes no more writes until a restart.", nil, nil)
	drainingDesc    = prometheus.NewDesc("gsimc_draining", "1 while the server shuts down.", nil, nil)
)

// Describe implements [prometheus.Collector].
func (g gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{statesDesc, stateBytesDesc, storeBytesDesc, storeFailedDesc, modelInfoDesc, modelItemsDesc,
		modelRankDesc, modelLoadDesc, buildInfoDesc, drainingDesc} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (g gauges) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(statesDesc, float64(g.s.states.Len()))
	gauge(stateBytesDesc, float64(g.s.states.Bytes()))
	stats, err := g.s.storeStats(context.Background())
	if err == nil { // a closed store has no size; the series is then absent
		gauge(storeBytesDesc, float64(stats.Bytes))
	}
	failed := 0.0
	if errors.Is(err, store.ErrFailed) {
		failed = 1
	}
	gauge(storeFailedDesc, failed)
	if l := g.s.models.Acquire(); l != nil { // nil: a scrape at the very end
		defer l.Release()
		spec := l.Spec()
		filter := spec.Filter.Name
		if spec.Dynamics.Kind == model.DynamicsLearned {
			filter = ""
		}
		gauge(modelInfoDesc, 1, l.Base().Version(), spec.Graph, spec.Dynamics.Kind, filter)
		gauge(modelItemsDesc, float64(l.NumItems()))
		gauge(modelRankDesc, float64(l.Rank()))
		gauge(modelLoadDesc, float64(l.Loaded().UnixMilli())/1e3)
	}
	gauge(buildInfoDesc, 1, g.s.cfg.BuildVersion)
	draining := 0.0
	if g.s.isDraining() {
		draining = 1
	}
	gauge(drainingDesc, draining)
}
