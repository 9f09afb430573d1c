package server

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/server/internal/metric"
)

// rankBuckets are the upper bounds of gsimc_online_rank: at 10, 50 and 100 the counts are the hits of recall@N.
var rankBuckets = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}

// onlineCutoffs are the N of gsimc_online_recall.
var onlineCutoffs = [...]int{10, 50, 100}

// qualityMetrics are the series of live quality.
type qualityMetrics struct {
	rank            *prometheus.HistogramVec
	recall          *prometheus.GaugeVec
	drops           *prometheus.CounterVec
	serving, shadow *onlineMetrics
	dropped         struct{ queue, erased, failed prometheus.Counter }
}

func newQualityMetrics() *qualityMetrics {
	m := &qualityMetrics{
		rank: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "gsimc_online_rank", Buckets: rankBuckets,
			Help: "Rank that the item of a sampled event had just before it, among the items not seen by the user."}, []string{"model"}),
		recall: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "gsimc_online_recall",
			Help: "Share of the sampled events, since the serving model was loaded, whose item was among the first n."}, []string{"model", "n"}),
		drops: metric.Counters("gsimc_online_dropped_total", "Sampled events that were not measured: queue (full: too many for the "+
			"worker), erased (the user), failed (the history could not be read).", "reason"),
	}
	m.serving, m.shadow = m.of("serving"), m.of("shadow")
	m.dropped.queue, m.dropped.erased = m.drops.WithLabelValues("queue"), m.drops.WithLabelValues("erased")
	m.dropped.failed = m.drops.WithLabelValues("failed")
	return m
}

func (m *qualityMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.rank, m.recall, m.drops}
}

// of makes the metrics of one of the two models; a series begins with its first event.
func (m *qualityMetrics) of(model string) *onlineMetrics {
	return &onlineMetrics{all: m, label: model}
}

// onlineMetrics are what one model reached. One goroutine writes them.
type onlineMetrics struct {
	all   *qualityMetrics
	label string

	events int // since restart
	hits   [len(onlineCutoffs)]int
}

// restart begins the recall anew.
func (o *onlineMetrics) restart() { o.events, o.hits = 0, [len(onlineCutoffs)]int{} }

// observe counts a rank that the model gave. The histogram comes last: who reads its count, and the recalls after it, finds recalls
// that hold the event.
func (o *onlineMetrics) observe(rank int) {
	o.events++
	for i, n := range onlineCutoffs {
		if rank <= n {
			o.hits[i]++
		}
		o.all.recall.WithLabelValues(o.label, strconv.Itoa(n)).Set(float64(o.hits[i]) / float64(o.events))
	}
	o.all.rank.WithLabelValues(o.label).Observe(float64(rank))
}
