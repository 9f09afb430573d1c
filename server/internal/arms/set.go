package arms

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/metric"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/stage"
)

// A Set is the models that serve at the same time, each for its users. Make it with [Open].
type Set struct {
	Split *Split
	all   []*Member // main first
	log   *slog.Logger
	m     *Metrics
}

// A Member is one of the models that serve. The first one is main.
type Member struct {
	Index  int
	Name   string
	Models *models.Holder
	Trial  *Trial // nil: no canary
	// OnLoad, if not nil, is told of each reload without an error, also if the same model serves
	// on. It is set before the first one.
	OnLoad func()
}

// A Lease is a model that is held for a call, with its arm.
type Lease struct {
	*models.Lease

	Arm *Member
}

// Acquire returns the model of an arm; the caller must release it.
func (a *Member) Acquire() Lease { return Lease{a.Models.Acquire(), a} }

// Deps are what a [Set] needs.
type Deps struct {
	Salt         string  // of the [Split]
	CanaryEvents int     // of each [Trial]
	CanaryZ      float64 // the same
	Now          func() time.Time
	Models       *models.Metrics
	Metrics      *Metrics
	Log          *slog.Logger
}

// Open opens the models, main's first. After an error nothing is open.
func Open(main func() (*model.Model, error), others []Arm, d Deps) (*Set, error) {
	s := &Set{Split: newSplit(others, d.Salt), log: d.Log, m: d.Metrics}
	for i, arm := range append([]Arm{{Name: Main, Open: main}}, others...) {
		h, err := models.Open(arm.Open, d.Now, d.Models)
		if err != nil {
			s.Close()
			if i > 0 {
				err = fault.In("arm "+arm.Name, err)
			}
			return nil, err
		}
		a := &Member{Index: i, Name: arm.Name, Models: h}
		if arm.Canary {
			a.Trial = &Trial{Events: d.CanaryEvents, Z: d.CanaryZ}
		}
		h.OnReload = func(r models.Reloaded) { s.reloaded(a, r) }
		s.all = append(s.all, a)
	}
	return s, nil
}

// UseCatalogue lets the catalogue say what may be shown. It is called before the first Acquire.
func (s *Set) UseCatalogue(items *catalogue.Catalogue) {
	for _, a := range s.all {
		a.Models.UseCatalogue(items)
	}
}

// All returns the arms, main first.
func (s *Set) All() []*Member { return s.all }

// Names returns the names of the arms, main's first.
func (s *Set) Names() (names []string) {
	for _, a := range s.all {
		names = append(names, a.Name)
	}
	return names
}

// Main is the arm of the server's own model, which answers requests without a user id.
func (s *Set) Main() *Member { return s.all[0] }

// Of returns the arm of a user; an empty id is that of nobody.
func (s *Set) Of(user string) *Member {
	if len(s.all) == 1 || user == "" {
		return s.Main()
	}
	return s.all[s.Split.Of(user)]
}

// Field is what answers call an arm: nothing as long as there is one.
func (s *Set) Field(a *Member) string {
	if len(s.all) == 1 {
		return ""
	}
	return a.Name
}

// Close gives the models back. A nil set has none.
func (s *Set) Close() {
	if s == nil {
		return
	}
	for _, a := range s.all {
		a.Models.Close()
	}
}

// ReloadOthers loads the models of the arms beside main anew. It returns the first error; an arm
// with an error keeps its model.
func (s *Set) ReloadOthers(ctx context.Context) (first error) {
	var refused *models.RefusedError
	for _, a := range s.all[1:] {
		l, _, err := a.Models.Reload(ctx)
		switch {
		case err == nil:
			l.Release()
		case first != nil:
		case errors.As(err, &refused):
			first = &models.RefusedError{Err: fmt.Errorf("arm %s: %w", a.Name, refused.Err)}
		default:
			first = err
		}
	}
	return first
}

// Measured takes note of the rank that a user's item had in the list of an arm's model.
func (s *Set) Measured(index int, version string, rank int) {
	for _, a := range s.all {
		if a.Trial == nil || index != 0 && index != a.Index || s.Split.Dropped(a.Index) {
			continue
		}
		f, looked := a.Trial.Add(index != 0, version, rank)
		if !looked {
			continue
		}
		attrs := []slog.Attr{slog.String("arm", a.Name), slog.Float64("gain", f.Arm),
			slog.Float64("main_gain", f.Main), slog.Float64("standard_error", f.StandardError),
			slog.Int("events", f.Events), slog.Int("main_events", f.MainEvents),
			slog.String("model", f.ArmModel), slog.String("main_model", f.MainModel)}
		if !f.Worse {
			s.log.LogAttrs(context.Background(), slog.LevelInfo, "canary is not worse", attrs...)
			continue
		}
		if s.Split.Drop(a.Index, true) {
			s.m.returns.WithLabelValues(a.Name).Inc()
			s.log.LogAttrs(context.Background(), slog.LevelWarn,
				"audit: canary is worse: its users go to main", attrs...)
		}
	}
}

// reloaded takes note of the outcome of a reload. A canary gets its users back with another model
// than the one that was found worse.
func (s *Set) reloaded(a *Member, r models.Reloaded) {
	attrs := []slog.Attr{stage.Duration(r.Took)}
	if a.Index > 0 {
		attrs = append(attrs, slog.String("arm", a.Name))
	}
	if r.Err != nil {
		s.log.LogAttrs(context.Background(), slog.LevelError, "model reload failed",
			append(attrs, slog.String("error", r.Err.Error()))...)
		return
	}
	if a.OnLoad != nil {
		a.OnLoad()
	}
	s.log.LogAttrs(context.Background(), slog.LevelInfo, "model loaded", append(attrs,
		slog.String("version", r.Version), slog.String("previous", r.Previous))...)
	if r.Version != r.Previous && s.Split.Drop(a.Index, false) {
		s.log.LogAttrs(context.Background(), slog.LevelWarn,
			"audit: canary has another model: it has its users again",
			slog.String("arm", a.Name), slog.String("model", r.Version))
	}
}

// Metrics are the series about arms.
type Metrics struct {
	metric.Set
	returns *prometheus.CounterVec
}

// NewMetrics makes the metrics.
func NewMetrics() *Metrics {
	m := &Metrics{}
	m.returns = m.Counters("gsimc_canary_returns_total",
		"How often a canary was found worse than main and lost its users.", "arm")
	return m
}
