package again

import (
	"fmt"
	"math"

	"github.com/gsimc/gsimc/internal/fault"
)

// Spec are the constants of the term.
type Spec struct {
	Decay    float64 `json:"decay"`    // δ; 0: there is no term
	Days     bool    `json:"days"`     // ages are in days, not in visits
	Constant float64 `json:"constant"` // c₀, in units of scores as c₁ and c₂ are
	Recency  float64 `json:"recency"`  // c₁
	Newest   float64 `json:"newest"`   // c₂
}

// None reports whether the scores stay as they are.
func (s *Spec) None() bool { return s.Decay == 0 }

// String names the constants.
func (s Spec) String() string {
	unit := "visits"
	if s.Days {
		unit = "days"
	}
	return fmt.Sprintf("ages in %s, decay %g, constant %.3g, recency %.3g, newest %.3g", unit,
		s.Decay, s.Constant, s.Recency, s.Newest)
}

// Validate returns the fault of a field that is out of range.
func (s *Spec) Validate() error {
	if *s == (Spec{}) {
		return nil
	}
	if !(s.Decay > 0 && s.Decay <= mostDecay) {
		return fault.New("Decay", s.Decay, "a number above 0 and up to 10, or 0 for no term at all")
	}
	for _, field := range []struct {
		name string
		c    float64
	}{{"Constant", s.Constant}, {"Recency", s.Recency}, {"Newest", s.Newest}} {
		if !(math.Abs(field.c) <= largest) {
			return fault.New(field.name, field.c, "a number from -1e30 to 1e30")
		}
	}
	return nil
}

// Scaled returns the spec for scores that are larger by a factor, and the zero value if there are
// none such.
func (s *Spec) Scaled(factor float64) Spec {
	x := *s
	x.Constant, x.Recency, x.Newest = factor*x.Constant, factor*x.Recency, factor*x.Newest
	if !(factor > 0) || x.Validate() != nil {
		return Spec{}
	}
	return x
}

// Bounds of a Spec, by which every term is finite.
const (
	mostDecay = 10
	largest   = 1e30
)

// decays are the candidates of δ.
var decays = []float64{0.3, 0.6, 1}

// Candidates returns the specs to choose from, without c.
func Candidates() (specs []Spec) {
	for _, days := range []bool{false, true} {
		for _, decay := range decays {
			specs = append(specs, Spec{Decay: decay, Days: days})
		}
	}
	return specs
}
