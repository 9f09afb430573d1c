package gemm

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

func TestFold(t *testing.T) {
	for _, kern := range foldKernels() {
		t.Run(kern.name, func(t *testing.T) {
			before := foldInUse
			defer func() { foldInUse = before }()
			foldInUse = kern
			rng := rand.New(rand.NewPCG(15, 16))
			// rows are fetched 12 steps before
			for _, steps := range []int{0, 1, 2, 11, 12, 13, 14, 100} {
				for _, keep := range []bool{false, true} {
					testFold(t, rng, steps, keep)
				}
			}
		})
	}
}

func testFold(t *testing.T, rng *rand.Rand, length int, keep bool) {
	t.Helper()
	const from, to = 7, 5
	x, sum := guarded[float32](rng, from, FoldWidth, 0), guarded[float32](rng, to, FoldWidth, 0)
	kept := guarded[float32](rng, length, FoldWidth, 0)
	steps := make([]FoldStep, length)
	for i := range steps {
		steps[i] = FoldStep{
			From: rng.Int32N(from), To: rng.Int32N(to), A: rng.Float32() - 0.5,
			B: rng.Float32() - 0.5, C: rng.Float32() - 0.5,
		}
	}
	y, wantSum, wantKept := [FoldWidth]float64{}, ToFloat64(sum.Data), ToFloat64(kept.Data)
	for i, s := range steps {
		for j := range y {
			y[j] = float64(s.A)*y[j] + float64(s.B)*float64(x.Data[int(s.From)*FoldWidth+j])
			wantSum[int(s.To)*FoldWidth+j] += float64(s.C) * y[j]
			if keep {
				wantKept[i*FoldWidth+j] = y[j]
			}
		}
	}
	var keepIn []FoldRow
	if keep {
		keepIn = foldRows(kept)
	}
	Fold(keepIn, foldRows(x), foldRows(sum), steps)
	for _, m := range []Matrix[float32]{x, sum, kept} {
		checkGuards(t, "fold", m)
	}
	for name, pair := range map[string]struct {
		got  []float32
		want []float64
	}{"sum": {sum.Data, wantSum}, "kept": {kept.Data, wantKept}} {
		for i, want := range pair.want {
			if !(math.Abs(float64(pair.got[i])-want) <= 1e-5) {
				t.Fatalf("%d steps: %s: element %d is %v, want %v",
					length, name, i, pair.got[i], want)
			}
		}
	}
}

// foldRows is the memory of a matrix of FoldWidth columns.
func foldRows(m Matrix[float32]) []FoldRow {
	return unsafe.Slice((*FoldRow)(unsafe.Pointer(unsafe.SliceData(m.Data))), m.Rows)
}
