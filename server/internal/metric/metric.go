// Package metric makes Prometheus metrics in the one form that all series of the server have.
package metric

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// latencyBuckets are the upper bounds, in seconds, of the classic buckets of every latency: a call
// takes from a quarter of a millisecond to a second. Every histogram of latencies has native
// buckets as well, for scrapers that take them.
var latencyBuckets = []float64{
	.00025, .0005, .001, .002, .003, .005, .0075, .010, .015, .025, .050, .100, .250, 1,
}

// The native buckets of latencies.
const (
	nativeFactor        = 1.1 // neighbouring buckets differ by at most 10 %
	nativeMaxBuckets    = 160
	nativeResetInterval = time.Hour
)

// LatencyOpts returns the options of a histogram of latencies.
func LatencyOpts(name, help string) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: name, Help: help,
		Buckets:                         latencyBuckets,
		NativeHistogramBucketFactor:     nativeFactor,
		NativeHistogramMaxBucketNumber:  nativeMaxBuckets,
		NativeHistogramMinResetDuration: nativeResetInterval,
	}
}

// A Set makes the metrics of a part of the server, and knows them all.
type Set struct{ all []prometheus.Collector }

// Collectors returns the metrics for a registry.
func (s *Set) Collectors() []prometheus.Collector { return s.all }

// Add takes a metric that was made elsewhere.
func Add[C prometheus.Collector](s *Set, c C) C {
	s.all = append(s.all, c)
	return c
}

// Latency makes a histogram of seconds.
func (s *Set) Latency(name, help string) prometheus.Histogram {
	return Add(s, prometheus.NewHistogram(LatencyOpts(name, help)))
}

// Histogram makes a histogram with these upper bounds of its buckets.
func (s *Set) Histogram(name, help string, buckets []float64) prometheus.Histogram {
	return Add(s, prometheus.NewHistogram(
		prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}))
}

// Counter makes a counter.
func (s *Set) Counter(name, help string) prometheus.Counter {
	return Add(s, prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help}))
}

// Counters makes counters that labels tell apart.
func (s *Set) Counters(name, help string, labels ...string) *prometheus.CounterVec {
	return Add(s, prometheus.NewCounterVec(
		prometheus.CounterOpts{Name: name, Help: help}, labels))
}

// Gauge makes a gauge.
func (s *Set) Gauge(name, help string) prometheus.Gauge {
	return Add(s, prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help}))
}

// Gauges makes gauges that labels tell apart.
func (s *Set) Gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return Add(s, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels))
}

// Outcomes returns what counts successes and failures by the label result, the only one that vec
// has left. Both series exist from then on.
func Outcomes(vec *prometheus.CounterVec) (count func(good bool)) {
	success, failure := vec.WithLabelValues("success"), vec.WithLabelValues("failure")
	return func(good bool) {
		if good {
			success.Inc()
		} else {
			failure.Inc()
		}
	}
}

// Series makes a counter for each value of an enum but 0, which stands for "unspecified". So all
// series exist from the start, with 0, and rates are right from the first event on.
func Series[E interface {
	~int32
	String() string
}](vec *prometheus.CounterVec, names map[int32]string) map[E]prometheus.Counter {
	m := make(map[E]prometheus.Counter, len(names))
	for i := range names {
		if i != 0 {
			m[E(i)] = vec.WithLabelValues(Label(E(i)))
		}
	}
	return m
}

// Label turns the name of an enum value into a label value: RESULT_SOURCE_POPULAR of ResultSource
// is "popular".
func Label(v interface{ String() string }) string {
	name := v.String()
	for _, prefix := range []string{"RESULT_SOURCE_", "DEGRADATION_", "EVENT_DISPOSITION_"} {
		if rest, found := strings.CutPrefix(name, prefix); found {
			return strings.ToLower(rest)
		}
	}
	return strings.ToLower(name)
}
