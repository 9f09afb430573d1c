package topn

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/internal/num/vec"
	"github.com/gsimc/gsimc/internal/ranking"
)

// Where the bound is tight, no part of it can be missing.

// TestBoundOfRoundings: rows and query are whole numbers of steps, so the rounding of float32
// products is the only error there is.
func TestBoundOfRoundings(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n, k = 64, 256
	rows, q, gain := make([]float32, n*k), make([]float32, k), make([]float32, n)
	for i := range rows {
		rows[i] = float32(rng.IntN(255) - 127)
	}
	for i := range gain {
		gain[i] = 1
		rows[i*k] = 127 // so that a step is 1
	}
	x := tightIndex(t, rows, gain, k)
	for round := range 50 {
		// All signs are those of a row, so that its sum is large and its roundings are, too.
		for j := range q {
			sign := math.Copysign(1, float64(rows[round%n*k+j]))
			q[j] = float32(sign * float64(rng.IntN(x.maxDigit)+1))
		}
		q[0] = float32(x.maxDigit)
		s := &search{ix: x, order: &x.few}
		if !s.query.set(x, q, x.maxDigit) {
			t.Fatal("the query is outside of the limits of the bound")
		}
		checkBounds(t, "roundings", s, &x.bytes, ranking.Request{Query: q})
	}
}

// TestBoundOfSteps: the query points where the numbers of a row miss it, so that the error of the
// row is as large as the bound allows.
func TestBoundOfSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const n, k = 64, 256
	rows, q, gain := make([]float32, n*k), make([]float32, k), make([]float32, n)
	for i := range rows {
		rows[i] = float32(rng.IntN(200)-100) + 0.49 // nearly half a step away
	}
	for i := range gain {
		gain[i] = 1
		rows[i*k] = 127
	}
	x := tightIndex(t, rows, gain, k)
	for i := range n {
		for j, v := range rows[i*k : (i+1)*k] {
			q[j] = v - float32(math.RoundToEven(float64(v)))
		}
		s := &search{ix: x, order: &x.few}
		if !s.query.set(x, q, x.maxDigit) {
			t.Fatal("the query is outside of the limits of the bound")
		}
		checkBounds(t, "steps", s, &x.bytes, ranking.Request{Query: q})
	}
}

func tightIndex(t *testing.T, rows, gain []float32, k int) *Index {
	t.Helper()
	if !vec.QuantisedScans() {
		t.Skip("no kernel for int8 rows in use")
	}
	x := newIndex(rows, gain, k, 0, true)
	if !x.quantised {
		t.Fatal("the rows are outside of the limits of the bound")
	}
	return x
}
