package deploy

import (
	"context"
	"log/slog"
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
}

func startPrometheus(t *testing.T, target string) *prometheus {
	t.Helper()
	p := &prometheus{t: t, db: teststorage.New(t), now: time.Now(), scrape: make(chan bool),
		done: make(chan struct{})}
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	p.query = rules.EngineQueryFunc(engine, p.db)
	for _, r := range loadAlerts(t) {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr)
		if err != nil {
			t.Fatal(err)
		}
		p.alerts = append(p.alerts, rules.NewAlertingRule(r.Alert, expr, time.Duration(r.For), 0,
			labels.FromMap(r.Labels), labels.FromMap(r.Annotations), labels.EmptyLabels(), "", true,
			slog.New(slog.DiscardHandler)))
	}
	text := strings.NewReplacer("rule_files: [alerts.yaml]", "",
		"scrape_interval: 15s", "scrape_interval: 200ms\n  scrape_timeout: 200ms",
	).Replace(read(t, "prometheus.yaml"))
	cfg, err := config.Load(text, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	m, err := scrape.NewManager(&scrape.Options{
		DiscoveryReloadInterval: commonmodel.Duration(10 * time.Millisecond)},
		slog.New(slog.DiscardHandler), nil, nil, p, client.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.ApplyConfig(cfg); err != nil {
		t.Fatal(err)
	}
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
	if ls.Get(labels.MetricName) == "up" {
		a.met = (v == 1) == a.want
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

// exists reports whether the database has a series of a name.
func (p *prometheus) exists(name string) bool {
	p.t.Helper()
	found, err := p.query(p.t.Context(), "count("+name+")", p.now)
	if err != nil {
		p.t.Fatal(err)
	}
	return len(found) > 0
}
