package tune

import (
	"fmt"

	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/local"
	"github.com/gsimc/gsimc/spectral"
)

// Candidate is a set of constants. It can be compared.
type Candidate struct {
	Graph          string  // of spectral.GraphKinds
	Window         int     // events of a hyperedge; 0: whole histories
	DegreeExponent float64 // s
	DegreeRescale  float64 // t
	Rank           int     // k

	Dynamics  string  // model.DynamicsLearned or model.DynamicsNone
	Bands     string  // as kalman.ParseBands reads them; learned dynamics only
	Ridge     float64 // learned dynamics only
	Positions int64   // learned dynamics only

	Filter string  // the paper's model only, as the two below
	Phi    float64 // φ
	Alpha  float64 // forgetting per event
}

// CandidateOf returns the candidate with the constants of a model of the given rank.
func CandidateOf(s *model.Spec, rank int) Candidate {
	c := Candidate{
		Graph: s.Graph, Window: s.Window, DegreeExponent: s.DegreeExponent,
		DegreeRescale: s.DegreeRescale,
		Rank:          rank, Dynamics: s.Dynamics.Kind,
	}
	if c.learned() {
		c.Bands, c.Ridge, c.Positions = kalman.FormatBands(s.Dynamics.Bands), s.Dynamics.Ridge,
			s.Dynamics.Positions
		return c
	}
	c.Filter, c.Phi, c.Alpha = s.Filter.Name, s.Filter.Phi, s.Alpha
	return c
}

// String names every constant that counts.
func (c Candidate) String() string {
	text := fmt.Sprintf("%s s=%v window=%d t=%v k=%d", c.Graph, c.DegreeExponent, c.Window,
		c.DegreeRescale, c.Rank)
	if c.learned() {
		return text + fmt.Sprintf(" bands=%s ridge=%v positions=%d", c.Bands, c.Ridge, c.Positions)
	}
	return text + fmt.Sprintf(" %s phi=%v alpha=%v", c.Filter, c.Phi, c.Alpha)
}

func (c Candidate) learned() bool { return c.Dynamics == model.DynamicsLearned }

// Spec returns what a model of the candidate is built from, with the other constants of base.
func (c Candidate) Spec(base model.Spec) (model.Spec, error) {
	s := base
	s.Graph, s.DegreeExponent, s.Window, s.DegreeRescale = c.Graph, c.DegreeExponent, c.Window,
		c.DegreeRescale
	if !c.learned() {
		s.Dynamics, s.Local = model.DynamicsSpec{Kind: model.DynamicsNone}, local.Spec{}
		s.Filter.Name, s.Filter.Phi, s.Alpha = c.Filter, c.Phi, c.Alpha
		return s, nil
	}
	bands, err := kalman.ParseBands(c.Bands)
	s.Dynamics = model.DynamicsSpec{
		Kind: model.DynamicsLearned, Bands: bands, Ridge: c.Ridge, Positions: c.Positions,
		Deviation: base.Dynamics.Deviation,
	}
	return s, err
}

// graph is what the basis depends on, besides the rank.
func (c Candidate) graph() spectral.Graph {
	return spectral.Graph{Kind: c.Graph, DegreeExponent: c.DegreeExponent, Window: c.Window}
}

// bands are the memories that the query is made of: the learned ones, or the one of the paper with
// forgetting.
func (c Candidate) bands() ([]kalman.Band, error) {
	if c.learned() {
		return kalman.ParseBands(c.Bands)
	}
	return []kalman.Band{{Rho: c.Alpha}}, nil
}

// Trial is a candidate with what it reached on the validation users.
type Trial struct {
	Candidate Candidate
	NDCG, HR  float64 // at 10
	NDCGErr   float64 // standard error of NDCG
}
