package ingest

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// What became of a record. The last two are dead letters. Items are applied or deleted else.
const applied, duplicate, pending, deleted, rejected, unreadable = "applied", "duplicate",
	"pending", "deleted", "rejected", "unreadable"

// Metrics are the figures of a consumer.
type Metrics struct {
	registry   *prometheus.Registry
	records    *prometheus.CounterVec // by what became of them
	reconnects prometheus.Counter
	errors     prometheus.Counter
	delay      prometheus.Histogram
}

func newMetrics(c *Consumer) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(),
		records: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gsimc_kafka_records_total",
			Help: "Records that are done, by what became of them. Those that are rejected or " +
				"unreadable are dead letters."},
			[]string{"outcome", "topic"}),
		reconnects: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "gsimc_kafka_reconnects_total",
			Help: "Times that the server took no events or items, for any reason that passes."}),
		errors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "gsimc_kafka_errors_total",
			Help: "Fetches, commits, dead letters and questions that failed and are tried again."}),
		delay: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "gsimc_kafka_acknowledged_seconds",
			Help:    "Time from the timestamp of an event's record to its acknowledgement.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 20)}),
	}
	for topic, outcomes := range map[string][]string{
		c.events: {applied, duplicate, pending, rejected, unreadable},
		c.items:  {applied, deleted, rejected, unreadable},
	} {
		for _, outcome := range outcomes {
			if topic != "" {
				m.records.WithLabelValues(outcome, topic)
			}
		}
	}
	m.registry.MustRegister(m.records, m.reconnects, m.errors, m.delay, lag{c})
	return m
}

// lag collects how far each partition is behind.
type lag struct{ *Consumer }

var lagDesc = prometheus.NewDesc("gsimc_kafka_lag",
	"Records of an assigned partition that are not done, with the markers of transactions.",
	[]string{"topic", "partition"}, nil)

// Describe implements prometheus.Collector.
func (lag) Describe(to chan<- *prometheus.Desc) { to <- lagDesc }

// Collect implements prometheus.Collector.
func (c lag) Collect(to chan<- prometheus.Metric) {
	partitions := c.all()
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	if err := c.ends(ctx, partitions); err != nil {
		c.failed("cannot ask for the ends of partitions", err) // the lag is at least that of before
	}
	for _, p := range partitions {
		next, known := p.Next()
		if end := p.end.Load(); known && end >= 0 {
			to <- prometheus.MustNewConstMetric(lagDesc, prometheus.GaugeValue,
				float64(max(0, end-next.Offset)), p.topic, strconv.Itoa(int(p.number)))
		}
	}
}

// failed counts a failure of what is tried again, and logs it.
func (c *Consumer) failed(what string, err error) {
	c.metrics.errors.Inc()
	c.log.Warn(what, "error", err)
}

// pingTimeout bounds a question to the brokers that somebody waits for.
const pingTimeout = 2 * time.Second

// Handler serves /metrics, and /healthz: 503 while the server, all brokers, the group or a topic
// are away, and while no dead letter can be kept.
func (c *Consumer) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(c.metrics.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		if err := c.health(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

func (c *Consumer) health(ctx context.Context) error {
	for _, l := range c.lanes {
		l.mu.Lock()
		err := l.broken
		l.mu.Unlock()
		if err != nil {
			return err
		}
	}
	if err := c.letters.Err(); err != nil {
		return fmt.Errorf("no dead letter can be kept: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if err := c.ask(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outside != nil {
		return fmt.Errorf("not in the group: %w", c.outside)
	}
	return nil
}
