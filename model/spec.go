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

	"github.com/gsimc/gsimc/fault"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/spectral"
)

// The two forms of the prior covariance P_0.
const (
	CovarianceDiagonal = "diagonal" // the variance of each coordinate of the spectrum
	CovarianceFull     = "full"     // all k×k covariances; the basis is rotated so that they become diagonal
)

// Spec is what a model is built from besides data, and what describes it afterwards.
type Spec struct {
	Graph          string          // spectral.Hypergraph or spectral.Covariance
	DegreeExponent float64         // s of the hypergraph, in [0, 2]; paper: 1
	Window         int             // events in a hyperedge, 0: all of a user, as in the paper; see spectral.Graph
	DegreeRescale  float64         // t, in [−2, 2]: encoder rows d_i^{−t/2} u_i, decoder rows d_i^{t/2} u_i; paper: 0
	Filter         spectral.Filter // H(λ)
	Alpha          float64         // forgetting per event, in (0, 1]; paper: 1, none
	HalfLife       float64         // forgetting per elapsed time, in seconds; paper: 0, none
	SigmaEta       float64         // process noise variance σ_η; paper: 1e-4
	SigmaNu        float64         // measurement noise variance σ_ν; paper: 1e-4
	Covariance     string          // CovarianceDiagonal or CovarianceFull
	Dynamics       DynamicsSpec    // learned dynamics, in the place of filter, forgetting and noise
	TrainUsers     int64           // users that the basis was learned from, at least the largest degree

	// Provenance says where the model comes from: command, data hash, solver report, … Any valid
	// UTF-8.
	Provenance map[string]string
}

// TrainedAtKey is the entry of Spec.Provenance that holds the time of the training, as RFC 3339.
const TrainedAtKey = "trained_at"

// TrainedAt returns the time of the training, and false if the provenance does not tell it.
func (s *Spec) TrainedAt() (at time.Time, ok bool) {
	at, err := time.Parse(time.RFC3339, s.Provenance[TrainedAtKey])
	return at, err == nil
}

// DynamicsSpec says how a user's query follows from the events: by the paper's filter, or by
// dynamics that are learned from the training users (package dynamics). With the latter Filter,
// Alpha, HalfLife, SigmaEta, SigmaNu and Covariance have no effect.
type DynamicsSpec struct {
	Kind      string        // DynamicsNone or DynamicsLearned
	Bands     []kalman.Band // memories of the past
	Ridge     float64       // λ of the regression, in units of the mean variance of its features; above 0
	Positions int64         // last positions of each training user that are learned from; 0: all
	Deviation bool          // track each user's deviation, with noise learned from the validation users
}

// The kinds of dynamics.
const (
	DynamicsNone    = "none"    // the paper: GS-IMC and BGS-IMC
	DynamicsLearned = "learned" // bands of memory with a learned read-out
)

// learned tells whether the model has learned dynamics.
func (d *DynamicsSpec) learned() bool { return d.Kind == DynamicsLearned }

func (d *DynamicsSpec) validate() []error {
	switch d.Kind {
	case DynamicsNone:
		return nil
	case DynamicsLearned:
	default:
		return []error{fault.New("Dynamics", strconv.Quote(d.Kind), DynamicsNone+" or "+DynamicsLearned)}
	}
	var faults []error
	if len(d.Bands) == 0 {
		faults = append(faults, fault.New("Bands", nil, "at least one"))
	}
	if !(d.Ridge > 0) || math.IsInf(d.Ridge, 0) {
		faults = append(faults, fault.New("Ridge", d.Ridge, "a finite number above 0"))
	}
	if d.Positions < 0 {
		faults = append(faults, fault.New("Positions", d.Positions, "0 (all) or more"))
	}
	return faults
}

// DefaultSpec returns the constants of the paper: hypergraph with s = 1 and whole histories, t = 0,
// random-walk filter, no forgetting, σ_η = σ_ν = 1e-4, diagonal covariance. TrainUsers is left to
// the caller.
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

// Validate returns the faults of all fields that are out of range, joined; fields of Dynamics have
// their own names, and Dynamics is the field of an unknown kind. The fields of the Kalman filter
// are checked by [kalman.Filter.Validate], when a model is built.
func (s *Spec) Validate() error {
	faults := []error{
		spectral.Graph{Kind: s.Graph, DegreeExponent: s.DegreeExponent, Window: s.Window}.Validate(),
		s.Filter.Validate(),
	}
	if !(math.Abs(s.DegreeRescale) <= 2) {
		faults = append(faults, fault.New("DegreeRescale", s.DegreeRescale, "a number from -2 to 2"))
	}
	if s.Covariance != CovarianceDiagonal && s.Covariance != CovarianceFull {
		faults = append(faults,
			fault.New("Covariance", strconv.Quote(s.Covariance), CovarianceDiagonal+" or "+CovarianceFull))
	}
	faults = append(faults, s.Dynamics.validate()...)
	if s.TrainUsers < 1 {
		faults = append(faults,
			fault.New("TrainUsers", s.TrainUsers, "the number of users that the basis was learned from"))
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
// with d users, for the exponent t of Spec.DegreeRescale. An item without users counts as one with
// one user.
func Rescale(d int64, t float64) (encoder, decoder float32) {
	power := math.Pow(float64(max(d, 1)), t/2)
	return float32(1 / power), float32(power)
}

// clone returns a copy that shares no memory.
func (s *Spec) clone() Spec {
	c := *s
	c.Provenance = maps.Clone(s.Provenance)
	c.Dynamics.Bands = slices.Clone(s.Dynamics.Bands)
	return c
}

// Estimator chooses what of a state is the query: the closed form or the Kalman estimate.
type Estimator string

// The two estimators of a user's spectrum. They are of the paper's model: with learned dynamics
// there is one query only, whatever the estimator.
const (
	EstimatorGS  Estimator = "gs-imc"  // q = H(Λ) z, the closed form of the paper's Section 3
	EstimatorBGS Estimator = "bgs-imc" // q = x̂, the Kalman estimate of Section 4
)

// Event is one interaction of a user with an item that the model knows: 0 ≤ Item < NumItems,
// |Weight| ≤ event.MaxWeight.
type Event = kalman.Event

// History holds the events of one user in the order in which they are to be folded: by time.
type History = kalman.History
