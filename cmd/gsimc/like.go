package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/alecthomas/kong"

	"github.com/gsimc/gsimc/dataset"
	"github.com/gsimc/gsimc/evaluate"
	"github.com/gsimc/gsimc/internal/progress"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// likeFlags train after the model of another file.
type likeFlags struct {
	Like      string `group:"Retraining:" placeholder:"FILE" help:"Train with the constants of this model instead of those of the flags: graph, rank, dynamics or filter, noise, and the filters of rare users and items."`
	Compare   string `group:"Retraining:" placeholder:"FILE" help:"Compare with this model: hold the last events of up to 2000 recently active users out of the training, events that this model was not trained on, and print the recall@50 of both models on those whose items both know."`
	Estimator string `group:"Retraining:" default:"bgs-imc" enum:"bgs-imc,gs-imc" help:"What the scores of --compare are read from, as for serve."`
	JSON      bool   `group:"Retraining:" name:"json" help:"Print the summary as JSON."`
}

// The comparison of --compare.
const (
	compareCutoff   = 50
	compareUsers    = 2000
	compareShare    = 4 // at most one user in so many loses the last event
	compareMinUsers = 30
)

// pattern is the model of --like.
type pattern struct {
	spec model.Spec
	rank int // that was asked for
}

// likeGroups are the groups of the flags that --like stands in for.
var likeGroups = []string{"Item graph:", "Kind of model:", "Filter:", "Online state:", "Learned dynamics:"}

// AfterApply is called by kong when the values have been checked. It refuses flags of the command line that would silently do
// nothing: beside --like those that it stands in for, and else the constants of the kind of model that is not trained.
func (c *trainCmd) AfterApply(ctx *kong.Context) (err error) {
	for _, on := range ctx.Path {
		if on.Flag == nil || on.Resolved {
			continue // not from the command line
		}
		if reason := c.withoutEffect(on.Flag); reason != "" {
			err = errors.Join(err, fmt.Errorf("--%s: has no effect %s", on.Flag.Name, reason))
		}
	}
	return err
}

// withoutEffect says why a flag would do nothing; it is empty for one that does something.
func (c *trainCmd) withoutEffect(flag *kong.Flag) string {
	group := ""
	if flag.Group != nil {
		group = flag.Group.Key
	}
	learned := c.dynamics() == model.DynamicsLearned
	switch {
	case c.Like != "" && (flag.Name == "rank" || slices.Contains(likeGroups, group)):
		return "with --like, leave one of the two out"
	case c.Like != "" || flag.Name == "filter" || flag.Name == "degree-rescale":
		return ""
	case learned && (group == "Filter:" || group == "Online state:"):
		return "on learned dynamics: leave it out, or choose a --filter"
	case !learned && group == "Learned dynamics:":
		return "without learned dynamics: leave it out, or leave out --filter, --preset paper and --dynamics none"
	}
	return ""
}

// follow reads the model of --like, and takes over what its provenance says of flags that are not in its spec.
func (c *trainCmd) follow() error {
	m, err := openModel("--like", c.Like)
	if err != nil {
		return err
	}
	c.like = &pattern{spec: m.Spec(), rank: m.Rank()}
	if err := m.Close(); err != nil {
		return err
	}
	from := c.like.spec.Provenance
	number := func(key string, dst *int) {
		if n, err := strconv.Atoi(from[key]); err == nil {
			*dst = max(*dst, n)
		}
	}
	number("min_user_events", &c.MinUserEvents)
	number("min_item_events", &c.MinItemEvents)
	number("asked_rank", &c.like.rank) // above that of the model if it had fewer items
	if c.Solver == spectral.SolverAuto && from["solver"] == spectral.SolverNystrom {
		c.Solver, c.NystromForm = from["solver"], from["nystrom_form"]
		number("landmarks", &c.Landmarks)
	}
	return nil
}

// spec is that of the model to train; TrainUsers and Provenance are left to the caller.
func (c *trainCmd) spec() model.Spec {
	if c.like != nil {
		return c.like.spec
	}
	return c.modelFlags.spec(&c.graphFlags, c.dynamics(), given(c.Filter, spectral.RandomWalk))
}

// solverOptions are for a catalogue of n items.
func (c *trainCmd) solverOptions(n int) spectral.Options {
	opt := c.graphFlags.options(c.dynamics(), n)
	if c.like != nil {
		s := &c.like.spec
		opt.Graph = spectral.Graph{Kind: s.Graph, DegreeExponent: s.DegreeExponent, Window: s.Window}
		opt.Rank = min(c.like.rank, n)
	}
	return opt
}

// askedRank is the rank that a training on other events is to ask for: the catalogue may grow.
func (c *trainCmd) askedRank() int {
	if c.like != nil {
		return c.like.rank
	}
	return given(c.Rank, graphDefaults(c.dynamics(), math.MaxInt).rank)
}

// heldOut are the events that were kept from the training for --compare, and the model to compare with.
type heldOut struct {
	events  *dataset.Interactions // of the users of targets alone
	targets evaluate.Targets
	old     *model.Model
}

// holdOut opens the model of --compare and takes the events out; without --compare it returns nil.
func (c *trainCmd) holdOut(events *dataset.Interactions) (*heldOut, error) {
	if c.Compare == "" {
		return nil, nil
	}
	old, err := openModel("--compare", c.Compare)
	if err != nil {
		return nil, err
	}
	until := knownUntil(old.Spec().Provenance)
	users := evaluate.RecentUsers(events, until, min(compareUsers, events.NumUsers()/compareShare))
	if len(users) < compareMinUsers {
		return nil, errors.Join(old.Close(), tooFewError{fmt.Errorf("--compare: %d of the %d users can be held out, want at least %d: "+
			"a quarter of the users at most, each with two items or more, the last of them after those that %s was trained on",
			len(users), events.NumUsers(), compareMinUsers, c.Compare)})
	}
	items := events.HoldOutLast(users)
	held := &heldOut{events: events.Only(users), targets: evaluate.Targets{Items: items}, old: old}
	for u := range users {
		held.targets.Users = append(held.targets.Users, int32(u))
	}
	return held, nil
}

// knownUntil is the time of the newest event that a model was trained on, but not after the training itself: a single event
// from the future must not make all others old. What the model has seen cannot tell how well it foresees. Without an entry
// it has seen nothing.
func knownUntil(provenance map[string]string) int64 {
	until := int64(math.MaxInt64)
	for _, key := range []string{"last_event", "trained_at"} {
		at, err := time.Parse(time.RFC3339, provenance[key])
		if err != nil {
			return math.MinInt64
		}
		until = min(until, at.Unix())
	}
	return until
}

// compare ranks the events that were held out by both models, as far as both know their items. A nil h gives nil.
func (h *heldOut) compare(p progress.Progress, fresh *model.Model, est model.Estimator) *evaluate.Comparison {
	if h == nil {
		return nil
	}
	p.Begin("comparing models", progress.Steps)
	defer p.End()
	result := evaluate.Compare(h.old, fresh, est, h.events, h.targets, compareCutoff)
	return &result
}

func (h *heldOut) close() error {
	if h == nil {
		return nil
	}
	return h.old.Close()
}

// trained is the object that --json prints.
type trained struct {
	Version    string      `json:"version"`
	Users      int         `json:"train_users"`
	Items      int         `json:"items"`
	Rank       int         `json:"rank"`
	Comparison *comparison `json:"comparison,omitempty"` // with --compare
}

// comparison of the new model with an old one, by recall@N on the same users.
type comparison struct {
	OldVersion    string  `json:"old_version"`
	Users         int     `json:"users"`    // with a held-out item that both models know
	LeftOut       int     `json:"left_out"` // with one that only one of them knows, or none
	N             int     `json:"n"`
	Old           float64 `json:"old"`
	OldErr        float64 `json:"old_stderr"`
	New           float64 `json:"new"`
	NewErr        float64 `json:"new_stderr"`
	Difference    float64 `json:"difference"`
	DifferenceErr float64 `json:"difference_stderr"`
	Worse         bool    `json:"worse"` // by more than one standard error
}

func newComparison(version string, c *evaluate.Comparison) *comparison {
	if c == nil {
		return nil
	}
	return &comparison{
		OldVersion: version, Users: c.Users, LeftOut: c.LeftOut, N: c.N, Old: c.Old, OldErr: c.OldErr, New: c.New, NewErr: c.NewErr,
		Difference: c.Difference, DifferenceErr: c.DifferenceErr, Worse: c.Worse(),
	}
}

// comparisonRow is the comparison in a summary.
func comparisonRow(old string, c *evaluate.Comparison) []string {
	on := fmt.Sprintf("%d recent events", c.Users)
	if c.LeftOut > 0 {
		on += fmt.Sprintf(" on items that both models know (%d are on others)", c.LeftOut)
	}
	return []string{fmt.Sprintf("recall@%d", c.N), fmt.Sprintf("%.4f ± %.4f on %s; %s has %.4f ± %.4f; difference %+.4f ± %.4f",
		c.New, c.NewErr, on, old, c.Old, c.OldErr, c.Difference, c.DifferenceErr)}
}
