package fit

import (
	"fmt"
	"strings"
)

// Choice tells how the rank and the ridge of learned dynamics were chosen.
type Choice struct {
	Rank, Of  int     // of the model, and of the basis that it was learned from
	Ridge     float64 // λ
	Positions int     // events of validation users that were ranked
	Tried     []Tried // in order
}

// Tried is a candidate of a [Choice].
type Tried struct {
	Rank  int
	Ridge float64
	Value float64 // the mean value of the targets' places, see local.Choose
}

// String tells the outcome: "rank 512 of 1024, ridge 0.3: chosen on 2985 positions of validation
// users".
func (c *Choice) String() string {
	return fmt.Sprintf("rank %d of %d, ridge %.3g: chosen on %d positions of validation users",
		c.Rank, c.Of, c.Ridge, c.Positions)
}

// Values lists the candidates: "rank 1024, ridge 1: 0.0712; rank 512, ridge 1: 0.0731".
func (c *Choice) Values() string {
	parts := make([]string, len(c.Tried))
	for i, t := range c.Tried {
		parts[i] = fmt.Sprintf("rank %d, ridge %.3g: %.4f", t.Rank, t.Ridge, t.Value)
	}
	return strings.Join(parts, "; ")
}
