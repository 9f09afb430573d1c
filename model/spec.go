package model

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model/again"
	"github.com/gsimc/gsimc/model/local"
	"github.com/gsimc/gsimc/model/trend"
	"github.com/gsimc/gsimc/spectral"
)

// The two forms of the prior covariance P_0.
const (
	// CovarianceDiagonal: P_0 holds the variance of each coordinate of the spectrum.
	CovarianceDiagonal = "diagonal"

	// CovarianceFull: P_0 holds all k×k covariances. The basis is rotated so that P_0 becomes
	// diagonal.
	CovarianceFull = "full"
)

// Spec holds the choices that a model is built by. It is kept with the model and describes it.
// [DefaultSpec] has the constants of the paper.
type Spec struct {
	// The item graph, see [spectral.Graph].
	Graph          string  // spectral.Hypergraph or spectral.Covariance
	DegreeExponent float64 // s of the hypergraph, in [0, 2]; paper: 1
	Window         int     // events in a hyperedge; paper: 0, the whole history of a user

	// DegreeRescale is t, in [−2, 2]: encoder rows are d_i^{−t/2} u_i and decoder rows
	// d_i^{t/2} u_i. Paper: 0.
	DegreeRescale float64

	// The paper's model. Covariance is CovarianceDiagonal or CovarianceFull.
	Filter     spectral.Filter // H(λ)
	Alpha      float64         // forgetting per event, in (0, 1]; paper: 1, no forgetting
	HalfLife   float64         // forgetting by elapsed time, in seconds; paper: 0, no forgetting
	SigmaEta   float64         // process noise variance σ_η; paper: 1e-4
	SigmaNu    float64         // measurement noise variance σ_ν; paper: 1e-4
	Covariance string

	// Dynamics, if learned, replaces the fields of the paper's model.
	Dynamics DynamicsSpec

	// Local is the local term. With a number of neighbours, [New] chooses the other constants on
	// the validation users, beginning with those given, unless Histories.KeepLocal is set. A chosen
	// Weight of 0 tells that no local term was better. The zero value is no local term.
	Local local.Spec

	// The constants of trends and of repeats, see [Model.SetLive]. Zero: there are none.
	Trend trend.Spec
	Again again.Spec

	// TrainUsers is the number of users that the basis was learned from. No degree is larger.
	TrainUsers int64

	// Provenance tells the origin of the model: command, hash of the data, report of the solver and
	// the like. Keys and values are valid UTF-8.
	Provenance map[string]string
}

// TrainedAtKey is the key in Spec.Provenance of the time of the training, in the form of RFC 3339.
const TrainedAtKey = "trained_at"

// TrainedAt returns the time of the training. ok is false if the provenance has none.
func (s *Spec) TrainedAt() (at time.Time, ok bool) {
	at, err := time.Parse(time.RFC3339, s.Provenance[TrainedAtKey])
	return at, err == nil
}

// DynamicsSpec chooses how a user's query follows from the events: by the paper's filter, or by
// dynamics learned from the training users (package dynamics). With learned dynamics the fields
// Filter, Alpha, HalfLife, SigmaEta, SigmaNu and Covariance of Spec have no effect. With
// DynamicsNone the other fields of DynamicsSpec have none.
type DynamicsSpec struct {
	Kind  string        // DynamicsNone or DynamicsLearned
	Bands []kalman.Band // memories of the past, at least one

	// Ridge is the regularisation λ of the regression, in units of the mean variance of its
	// features. It is above 0.
	Ridge float64

	// Positions limits learning to the last events of each training user; 0 stands for all events.
	Positions int64

	// Popularity is ω, in [0, 1e6]: ω h is a part of every query, see
	// [fit.PopularityQuery]. New chooses it last, unless Histories.KeepLocal is set.
	Popularity float64

	// Deviation adds the tracking of each user's deviation from the bands. Its noise is learned
	// from the validation users.
	Deviation bool
}

// The kinds of dynamics.
const (
	DynamicsNone    = "none"    // the paper's model: GS-IMC and BGS-IMC
	DynamicsLearned = "learned" // bands of memory with a learned read-out
)

// learned reports whether the model has learned dynamics.
func (d *DynamicsSpec) learned() bool { return d.Kind == DynamicsLearned }

func (d *DynamicsSpec) validate() []error {
	switch d.Kind {
	case DynamicsNone:
		return nil
	case DynamicsLearned:
	default:
		want := DynamicsNone + " or " + DynamicsLearned
		return []error{fault.New("Dynamics", strconv.Quote(d.Kind), want)}
	}
	var faults []error
	if len(d.Bands) == 0 {
		faults = append(faults, fault.New("Bands", nil, "at least one"))
	}
	if !(d.Ridge > 0) || math.IsInf(d.Ridge, 0) {
		faults = append(faults, fault.New("Ridge", d.Ridge, "a finite number above 0"))
	}
	if !(d.Popularity >= 0 && d.Popularity <= 1e6) {
		faults = append(faults, fault.New("Popularity", d.Popularity, "0 to 1e6"))
	}
	if d.Positions < 0 {
		faults = append(faults, fault.New("Positions", d.Positions, "0 (all) or more"))
	}
	return faults
}

// DefaultSpec returns the constants of the paper: hypergraph with s = 1 and whole histories, t = 0,
// random-walk filter, no forgetting, σ_η = σ_ν = 1e-4, diagonal covariance. The caller sets
// TrainUsers.
func DefaultSpec() Spec {
	return Spec{
		Graph:          spectral.Hypergraph,
		DegreeExponent: 1,
		Filter:         spectral.DefaultFilter(spectral.RandomWalk),
		Alpha:          1,
		SigmaEta:       1e-4,
		SigmaNu:        1e-4,
		Covariance:     CovarianceDiagonal,
		Dynamics:       DynamicsSpec{Kind: DynamicsNone},
	}
}

// Validate returns the faults of all fields that are out of range, joined. A fault in Dynamics has
// the field's own name, such as Ridge; the fault of an unknown kind has the name Dynamics. The
// fields of the Kalman filter are checked by [kalman.Filter.Validate] when a model is built.
func (s *Spec) Validate() error {
	graph := spectral.Graph{Kind: s.Graph, DegreeExponent: s.DegreeExponent, Window: s.Window}
	faults := []error{graph.Validate(), s.Filter.Validate()}
	if !(math.Abs(s.DegreeRescale) <= 2) {
		faults = append(faults,
			fault.New("DegreeRescale", s.DegreeRescale, "a number from -2 to 2"))
	}
	if s.Covariance != CovarianceDiagonal && s.Covariance != CovarianceFull {
		want := CovarianceDiagonal + " or " + CovarianceFull
		faults = append(faults, fault.New("Covariance", strconv.Quote(s.Covariance), want))
	}
	faults = append(faults, s.Dynamics.validate()...)
	faults = append(faults, fault.In("Local", s.Local.Validate()),
		fault.In("Trend", s.Trend.Validate()), fault.In("Again", s.Again.Validate()))
	if s.TrainUsers < 1 {
		faults = append(faults, fault.New("TrainUsers", s.TrainUsers,
			"the number of users that the basis was learned from"))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Provenance)) {
		if !utf8.ValidString(key) || !utf8.ValidString(s.Provenance[key]) {
			faults = append(faults, &fault.Fault{
				Field: "Provenance", Problem: fmt.Sprintf("entry %q is not valid UTF-8", key),
			})
			break
		}
	}
	return errors.Join(faults...)
}

// Rescale returns the factors d^{−t/2} of the encoder row and d^{t/2} of the decoder row of an item
// with d users, for the exponent t of Spec.DegreeRescale. An item without users gets the factors of
// d = 1.
func Rescale(d int64, t float64) (encoder, decoder float32) {
	power := math.Pow(float64(max(d, 1)), t/2)
	return float32(1 / power), float32(power)
}

// clone returns a copy that shares no memory with s.
func (s *Spec) clone() Spec {
	c := *s
	c.Provenance = maps.Clone(s.Provenance)
	c.Dynamics.Bands = slices.Clone(s.Dynamics.Bands)
	return c
}

// Estimator chooses the query of a state: the closed form or the Kalman estimate.
type Estimator string

// The two estimators of a user's spectrum in the paper's model. With learned dynamics a state has
// one query, the same for both.
const (
	EstimatorGS  Estimator = "gs-imc"  // q = H(Λ) z, the closed form of the paper's Section 3
	EstimatorBGS Estimator = "bgs-imc" // q = x̂, the Kalman estimate of Section 4
)

// Event is one interaction of a user with an item that the model knows: 0 ≤ Item < NumItems,
// |Weight| ≤ event.MaxWeight.
type Event = kalman.Event

// History holds the events of one user in the order in which they are to be folded: by time.
type History = kalman.History
