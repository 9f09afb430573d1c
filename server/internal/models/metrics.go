package models

import "github.com/gsimc/gsimc/server/internal/metric"

// Metrics count the loads of model files.
type Metrics struct {
	metric.Set
	loaded func(good bool)
}

// NewMetrics makes the metrics of a [Holder].
func NewMetrics() *Metrics {
	m := &Metrics{}
	m.loaded = metric.Outcomes(
		m.Counters("gsimc_model_loads_total", "Loads of the model file.", "result"))
	return m
}

// Refused counts a file that was refused before a [Holder] saw it.
func (m *Metrics) Refused() { m.loaded(false) }
