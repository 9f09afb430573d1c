package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
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

// Rows outside of the tables, or tables shorter than what the steps were checked for, panic.
func TestFolderRefusesWhatLiesOutside(t *testing.T) {
	inside := []FoldStep{{From: 1, To: 2}}
	for name, test := range map[string]struct {
		steps        []FoldStep
		kept, x, sum int
		want         string
	}{
		"inside":     {inside, 1, 2, 3, ""},
		"from":       {[]FoldStep{{From: 2}}, 1, 2, 3, "fold from row 2 of 2 to row 0 of 3"},
		"to":         {[]FoldStep{{To: 3}}, 1, 2, 3, "fold from row 0 of 2 to row 3 of 3"},
		"below 0":    {[]FoldStep{{From: -1}}, 1, 2, 3, "fold from row -1 of 2 to row 0 of 3"},
		"short x":    {inside, 1, 1, 3, "fold from 1 to 3 rows, but its steps are for 2 and 3"},
		"short sum":  {inside, 1, 2, 2, "fold from 2 to 2 rows, but its steps are for 2 and 3"},
		"short kept": {inside, 0, 2, 3, "1 steps of a fold, but 0 rows to keep them"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				got := ""
				if err := recover(); err != nil {
					got = strings.TrimPrefix(fmt.Sprint(err), "gemm: ")
				}
				if got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			}()
			kept, x := make([]FoldRow, test.kept), make([]FoldRow, test.x)
			NewFolder(2, 3, test.steps).Fold(kept, x, make([]FoldRow, test.sum))
		})
	}
}
