package deploy

import (
	"context"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	commonmodel "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/teststorage"
)

// step is the time between two scrapes as the database has it. The real time is that of a scrape:
// hours of a server in seconds.
const step = 4 * time.Minute

// prometheus scrapes one server, with the configuration of this folder, and evaluates the alerts.
type prometheus struct {
	t      *testing.T
	db     *teststorage.TestStorage
	now    time.Time     // of the database
	scrape chan bool     // lets a scrape happen that finds the server up, or not
	done   chan struct{} // a scrape has been stored
	alerts []*rules.AlertingRule
	query  rules.QueryFunc
	read   map[string]bool // names that alerts read
	last   []sample        // of these, of the last scrape
}

// sample is a series with its value.
type sample struct {
	series labels.Labels
	value  float64
}

var metricNames = regexp.MustCompile(`\b(gsimc|grpc_server)_[a-z_]+[a-z]\b`)

func startPrometheus(t *testing.T, target string) *prometheus {
	t.Helper()
	p := &prometheus{t: t, db: teststorage.New(t), now: time.Now(), scrape: make(chan bool),
		done: make(chan struct{}), read: map[string]bool{"up": true}}
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	p.query = rules.EngineQueryFunc(engine, p.db)
	for _, r := range loadAlerts(t) {
		for _, name := range metricNames.FindAllString(r.Expr, -1) {
			p.read[name] = true
		}
		expr := get(parser.NewParser(parser.Options{}).ParseExpr(r.Expr))(t)
		p.alerts = append(p.alerts, rules.NewAlertingRule(r.Alert, expr, time.Duration(r.For), 0,
			labels.FromMap(r.Labels), labels.FromMap(r.Annotations), labels.EmptyLabels(), "", true,
			slog.New(slog.DiscardHandler)))
	}
	text := strings.NewReplacer("rule_files: [alerts.yaml]", "",
		"scrape_interval: 15s", "scrape_interval: 100ms\n  scrape_timeout: 100ms",
	).Replace(read(t, "prometheus.yaml"))
	cfg := get(config.Load(text, slog.New(slog.DiscardHandler)))(t)
	m, err := scrape.NewManager(&scrape.Options{
		DiscoveryReloadInterval: commonmodel.Duration(10 * time.Millisecond)},
		slog.New(slog.DiscardHandler), nil, nil, p, client.NewRegistry())
	must(t, err)
	must(t, m.ApplyConfig(cfg))
	targets := make(chan map[string][]*targetgroup.Group, 1)
	server := commonmodel.LabelSet{commonmodel.AddressLabel: commonmodel.LabelValue(target)}
	targets <- map[string][]*targetgroup.Group{
		"gsimc": {{Source: "test", Targets: []commonmodel.LabelSet{server}}}}
	go func() { _ = m.Run(targets) }()
	t.Cleanup(func() { close(p.scrape); m.Stop() })
	return p
}

// AppenderV2 implements [storage.AppendableV2]: it is what the scrape writes to.
func (p *prometheus) AppenderV2(ctx context.Context) storage.AppenderV2 {
	up, more := <-p.scrape
	p.last = p.last[:0]
	return &retimed{AppenderV2: p.db.AppenderV2(ctx), p: p, want: up, ended: !more}
}

// retimed stores a scrape at the time of the database.
type retimed struct {
	storage.AppenderV2
	p     *prometheus
	want  bool // the server should be up
	met   bool // it is as it should be
	ended bool // the test has
}

func (a *retimed) Append(ref storage.SeriesRef, ls labels.Labels, st, _ int64, v float64,
	h *histogram.Histogram, fh *histogram.FloatHistogram, opts storage.AppendV2Options,
) (storage.SeriesRef, error) {
	if ls.Get(commonmodel.MetricNameLabel) == "up" {
		a.met = (v == 1) == a.want
	}
	if !a.p.read[ls.Get(commonmodel.MetricNameLabel)] {
		return 0, nil // saves time
	}
	if h == nil && fh == nil {
		a.p.last = append(a.p.last, sample{ls, v})
	}
	return a.AppenderV2.Append(ref, ls, 0, a.p.now.UnixMilli(), v, h, fh, opts)
}

func (a *retimed) Commit() error {
	if a.ended {
		return a.Rollback()
	}
	if !a.met { // a busy machine: again
		go func() { a.p.scrape <- a.want }()
		return a.Rollback()
	}
	err := a.AppenderV2.Commit()
	a.p.done <- struct{}{}
	return err
}

// advance scrapes the server, after so long in the database, and evaluates all alerts then.
func (p *prometheus) advance(up bool) {
	p.t.Helper()
	p.now = p.now.Add(step)
	p.scrape <- up
	select {
	case <-p.done:
	case <-time.After(20 * time.Second):
		p.t.Fatal("no scrape")
	}
	p.eval()
}

// hold lets time pass in the database in which scrapes find what the last one found.
func (p *prometheus) hold(d time.Duration) {
	p.t.Helper()
	if d == 0 {
		return
	}
	for end := p.now.Add(d); p.now.Before(end); {
		p.now = p.now.Add(min(step, end.Sub(p.now)))
		app := p.db.AppenderV2(p.t.Context())
		for _, s := range p.last {
			if _, err := app.Append(0, s.series, 0, p.now.UnixMilli(), s.value, nil, nil,
				storage.AppendV2Options{}); err != nil {
				p.t.Fatal(err)
			}
		}
		must(p.t, app.Commit())
	}
	p.eval()
}

func (p *prometheus) eval() {
	p.t.Helper()
	for _, a := range p.alerts {
		if _, err := a.Eval(p.t.Context(), 0, p.now, p.query, nil, 0); err != nil {
			p.t.Fatalf("%s: %v", a.Name(), err)
		}
	}
}

// firing are the alerts that fire.
func (p *prometheus) firing() map[string]bool {
	firing := map[string]bool{}
	for _, a := range p.alerts {
		for _, alert := range a.ActiveAlerts() {
			if alert.State == rules.StateFiring {
				firing[a.Name()] = true
			}
		}
	}
	return firing
}

// metricsOfAlertsExist: every series that an alert reads is there after a scrape, those of what has
// not happened too.
func (p *prometheus) metricsOfAlertsExist() {
	p.t.Helper()
	for name := range p.read {
		if !p.exists(name) {
			p.t.Errorf("an alert reads %s, which is not scraped", name)
		}
	}
}

// exists reports whether the database has a series of a name.
func (p *prometheus) exists(name string) bool {
	p.t.Helper()
	found, err := p.query(p.t.Context(), "count("+name+")", p.now)
	must(p.t, err)
	return len(found) > 0
}
