package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/arms"
	"github.com/gsimc/gsimc/server/internal/coldstart"
	"github.com/gsimc/gsimc/server/internal/metric"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/popularity"
	"github.com/gsimc/gsimc/server/internal/stage"
)

// Arm is a further model, which answers a share of the users.
type Arm struct {
	// Name has at most 24 small letters, digits, _ and -, the first a letter. It stands in answers
	// and metrics. "main" is the model of the server.
	Name string
	// Open opens the model. It is called again at each reload, as that of the server.
	Open func() (*model.Model, error)
	// Share is the percentage of the users, 0 to 100; those that no arm has are main's.
	Share float64
	// Canary gives the users back to main when the arm is found worse, see [arms.Trial].
	Canary bool
}

// armsOf are the arms without their models.
func (c *Config) armsOf() []arms.Arm {
	var list []arms.Arm
	for _, a := range c.Arms {
		list = append(list, arms.Arm{Name: a.Name, Share: a.Share, Canary: a.Canary})
	}
	return list
}

// armNames are the names of the arms, main's first.
func (c *Config) armNames() []string {
	names := []string{arms.Main}
	for _, a := range c.Arms {
		names = append(names, a.Name)
	}
	return names
}

// validateArms returns the faults of the fields about arms.
func (c *Config) validateArms() []error {
	faults := []error{arms.Validate(c.armsOf()), atLeast("CanaryEvents", c.CanaryEvents, 2)}
	if !(c.CanaryZ >= 0 && c.CanaryZ <= 100) {
		faults = append(faults, fault.New("CanaryZ", c.CanaryZ, "a number from 0 to 100"))
	}
	for _, a := range c.Arms {
		if a.Canary && c.QualitySample == 0 {
			faults = append(faults, &fault.Fault{Field: "Arms",
				Problem: "no event is measured, and " + a.Name + " is a canary",
				Advice:  []fault.Change{{Verb: "set", Field: "QualitySample", To: "above 0"}}})
		}
	}
	return faults
}

// arm is one of the models that serve, with what belongs to it. The first one is main.
type arm struct {
	index    int
	name     string
	models   *models.Holder
	extender *coldstart.Extender // nil: the model is not extended
	trial    *arms.Trial         // nil: no canary
	scratch  sync.Pool           // of *scratch
}

// lease is a model that is held for a call, with its arm.
type lease struct {
	*models.Lease

	arm *arm
}

// acquire returns the model of an arm; the caller must release it.
func (a *arm) acquire() lease { return lease{a.models.Acquire(), a} }

// main is the arm of the server's own model, which answers requests without a user id.
func (s *Server) main() *arm { return s.arms[0] }

// armOf returns the arm of a user; an empty id is that of nobody.
func (s *Server) armOf(user string) *arm {
	if len(s.arms) == 1 || user == "" {
		return s.main()
	}
	return s.arms[s.split.Of(user)]
}

// armField is what answers call the arm: nothing as long as there is one.
func (s *Server) armField(a *arm) string {
	if len(s.arms) == 1 {
		return ""
	}
	return a.name
}

// openArms opens the models of the arms. After an error nothing is open.
func (s *Server) openArms(open func() (*model.Model, error)) error {
	s.split = arms.NewSplit(s.cfg.armsOf(), s.cfg.ArmSalt)
	s.popular = popularity.New(popularity.Deps{Store: s.store, Updater: s.updater, Log: s.log,
		HalfLife: s.cfg.PopularityHalfLife, Guard: s.chain.Guard})
	orPopular := func() (*model.Model, error) {
		m, err := open()
		if errors.Is(err, ErrNoModel) {
			return s.popular.Model(context.Background())
		}
		return m, err
	}
	all := append([]Arm{{Name: arms.Main, Open: orPopular}}, s.cfg.Arms...)
	for i, c := range all {
		if s.cfg.Tracer != nil {
			c.Open = tracedOpen(s.cfg.Tracer, c.Open)
		}
		h, err := models.Open(c.Open, s.now, s.metrics.models)
		if err != nil {
			s.closeArms()
			if i > 0 {
				err = fault.In("arm "+c.Name, err)
			}
			return err
		}
		a := &arm{index: i, name: c.Name, models: h}
		if c.Canary {
			a.trial = &arms.Trial{Events: s.cfg.CanaryEvents, Z: s.cfg.CanaryZ}
		}
		h.OnReload = a.onReload(s)
		s.arms = append(s.arms, a)
	}
	s.models = s.main().models
	s.popular.Models = s.models
	return nil
}

func (s *Server) closeArms() {
	for _, a := range s.arms {
		a.models.Close()
	}
}

// reloadArms loads the models of the arms beside main anew. It returns the first error; an arm with
// an error keeps its model.
func (s *Server) reloadArms(ctx context.Context) (first error) {
	var refused *models.RefusedError
	for _, a := range s.arms[1:] {
		l, _, err := a.models.Reload(ctx)
		switch {
		case err == nil:
			l.Release()
		case first != nil:
		case errors.As(err, &refused):
			first = &models.RefusedError{Err: fmt.Errorf("arm %s: %w", a.name, refused.Err)}
		default:
			first = err
		}
	}
	return first
}

// measured takes note of the rank that a user's item had in the list of an arm's model.
func (s *Server) measured(index int, version string, rank int) {
	for _, a := range s.arms {
		if a.trial == nil || index != 0 && index != a.index || s.split.Dropped(a.index) {
			continue
		}
		f, looked := a.trial.Add(index != 0, version, rank)
		if !looked {
			continue
		}
		attrs := []slog.Attr{slog.String("arm", a.name), slog.Float64("gain", f.Arm),
			slog.Float64("main_gain", f.Main), slog.Float64("standard_error", f.StandardError),
			slog.Int("events", f.Events), slog.Int("main_events", f.MainEvents),
			slog.String("model", f.ArmModel), slog.String("main_model", f.MainModel)}
		if !f.Worse {
			s.log.LogAttrs(context.Background(), slog.LevelInfo, "canary is not worse", attrs...)
			continue
		}
		if s.split.Drop(a.index, true) {
			s.metrics.arms.returns.WithLabelValues(a.name).Inc()
			s.log.LogAttrs(context.Background(), slog.LevelWarn,
				"audit: canary is worse: its users go to main", attrs...)
		}
	}
}

// onReload takes note of the outcome of a reload. A canary gets its users back with another model
// than the one that was found worse.
func (a *arm) onReload(s *Server) func(models.Reloaded) {
	return func(r models.Reloaded) {
		attrs := []slog.Attr{stage.Duration(r.Took)}
		if a.index > 0 {
			attrs = append(attrs, slog.String("arm", a.name))
		}
		if r.Err != nil {
			s.log.LogAttrs(context.Background(), slog.LevelError, "model reload failed",
				append(attrs, slog.String("error", r.Err.Error()))...)
			return
		}
		a.extender.Wake()
		s.log.LogAttrs(context.Background(), slog.LevelInfo, "model loaded", append(attrs,
			slog.String("version", r.Version), slog.String("previous", r.Previous))...)
		if r.Version != r.Previous && s.split.Drop(a.index, false) {
			s.log.LogAttrs(context.Background(), slog.LevelWarn,
				"audit: canary has another model: it has its users again",
				slog.String("arm", a.name), slog.String("model", r.Version))
		}
	}
}

// armMetrics are the series about arms.
type armMetrics struct{ returns *prometheus.CounterVec }

func newArmMetrics() *armMetrics {
	return &armMetrics{returns: metric.Counters("gsimc_canary_returns_total",
		"How often a canary was found worse than main and lost its users.", "arm")}
}

// Collectors returns the metrics for a registry.
func (m *armMetrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.returns}
}

// ListModels implements AdminService.
func (s admin) ListModels(
	context.Context, *pb.ListModelsRequest,
) (*pb.ListModelsResponse, error) {
	resp := &pb.ListModelsResponse{}
	for _, a := range s.arms {
		l := a.acquire()
		of := &pb.ArmModel{Arm: a.name, Model: describeModel(l.Lease),
			SharePercent:           s.split.Share(a.index),
			ConfiguredSharePercent: s.split.Arm(a.index).Share}
		l.Release()
		if a.trial != nil {
			f := a.trial.Figures()
			of.Canary = &pb.Canary{Returned: s.split.Dropped(a.index),
				Gain: f.Arm, MainGain: f.Main, StandardError: f.StandardError,
				EventCount: int64(f.Events), MainEventCount: int64(f.MainEvents)}
		}
		resp.Models = append(resp.Models, of)
	}
	return resp, nil
}
