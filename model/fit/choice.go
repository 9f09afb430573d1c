package fit

import (
	"fmt"
	"strings"
)

// Candidates are what learned dynamics choose from on the validation users, besides the rank of the
// basis and the constants of the [Spec].
type Candidates struct {
	Ranks      []int     // below that of the basis
	Ridges     []float64 // besides that of the Spec
	FewerBands bool      // the bands of the Spec without the last one
}

// None tells whether there is nothing to choose.
func (c *Candidates) None() bool {
	return len(c.Ranks) == 0 && len(c.Ridges) == 0 && !c.FewerBands
}

// Choice tells how the rank, the ridge and the bands of learned dynamics were chosen.
type Choice struct {
	Rank, Of  int     // of the model, and of the basis that it was learned from
	Ridge     float64 // λ
	Bands     int     // the number of bands that are kept, the first ones of the Spec
	Positions int     // events of validation users that were ranked
	Tried     []Tried // in order
}

// Tried is a candidate of a [Choice].
type Tried struct {
	Rank  int
	Ridge float64
	Bands int
	Value float64 // the mean value of the targets' places, see local.Choose
}

// String tells the outcome: "rank 512 of 1024, ridge 0.3, 4 bands: chosen on 2985 positions of
// validation users".
func (c *Choice) String() string {
	return fmt.Sprintf("rank %d of %d, ridge %.3g, %d bands: chosen on %d positions of validation "+
		"users", c.Rank, c.Of, c.Ridge, c.Bands, c.Positions)
}

// Values lists the candidates: "rank 1024, ridge 1, 4 bands: 0.0712; rank 512, ridge 1, 4 bands:
// 0.0731".
func (c *Choice) Values() string {
	parts := make([]string, len(c.Tried))
	for i, t := range c.Tried {
		parts[i] = fmt.Sprintf("rank %d, ridge %.3g, %d bands: %.4f", t.Rank, t.Ridge, t.Bands,
			t.Value)
	}
	return strings.Join(parts, "; ")
}
