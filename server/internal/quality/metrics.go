package quality

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/server/internal/metric"
)

// rankBuckets are the upper bounds of gsimc_online_rank: at 10, 50 and 100 the counts are the hits
// of recall@N.
var rankBuckets = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}

// cutoffs are the N of gsimc_online_recall.
var cutoffs = [...]int{10, 50, 100}

// Metrics are the series of live quality.
type Metrics struct {
	metric.Set
	rank            *prometheus.HistogramVec
	recall          *prometheus.GaugeVec
	serving, shadow *modelMetrics
	withoutTrends   *modelMetrics // of the serving model
	dropped         struct{ queue, erased, failed prometheus.Counter }
}

// NewMetrics makes the metrics of a [Meter].
func NewMetrics() *Metrics {
	m := &Metrics{}
	m.rank = metric.Add(&m.Set, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "gsimc_online_rank", Buckets: rankBuckets,
		Help: "Rank that the item of a sampled event had just before it, among the items not " +
			"seen by the user. The model is serving (that of --model), without-trends (the same, " +
			"if it has trends, without them, on the same events), shadow, or an arm.",
	}, []string{"model"}))
	m.recall = m.Gauges("gsimc_online_recall",
		"Share of the sampled events, since the serving model was loaded, whose item "+
			"was among the first n.", "model", "n")
	drops := m.Counters("gsimc_online_dropped_total",
		"Sampled events that were not measured: queue (full: too many "+
			"for the worker), erased (the user), failed (the history could not be read).",
		"reason")
	m.serving, m.shadow = m.of("serving"), m.of("shadow")
	m.withoutTrends = m.of("without-trends")
	m.dropped.queue = drops.WithLabelValues("queue")
	m.dropped.erased = drops.WithLabelValues("erased")
	m.dropped.failed = drops.WithLabelValues("failed")
	return m
}

// of makes the metrics of one of the models; a series begins with its first event.
func (m *Metrics) of(model string) *modelMetrics {
	return &modelMetrics{all: m, label: model}
}

// modelMetrics are the ranks and recalls of one model. One goroutine writes them.
type modelMetrics struct {
	all   *Metrics
	label string

	events int // since restart
	hits   [len(cutoffs)]int
}

// restart begins the recall anew. There is none before an event.
func (o *modelMetrics) restart() {
	o.events, o.hits = 0, [len(cutoffs)]int{}
	o.all.recall.DeletePartialMatch(prometheus.Labels{"model": o.label})
}

// observe counts a rank that the model gave. The histogram comes last: a reader of its count who
// reads the recalls afterwards finds recalls that include the event.
func (o *modelMetrics) observe(rank int) {
	o.events++
	for i, n := range cutoffs {
		if rank <= n {
			o.hits[i]++
		}
		o.all.recall.WithLabelValues(o.label,
			strconv.Itoa(n)).Set(float64(o.hits[i]) / float64(o.events))
	}
	o.all.rank.WithLabelValues(o.label).Observe(float64(rank))
}
