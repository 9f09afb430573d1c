package ceiling

import (
	"fmt"
	"testing"
)

// TestLoadStaysInside reads from slices that end where their page's neighbour may not exist; the
// kernels must run for any length, and leave what is less than a block.
func TestLoadStaysInside(t *testing.T) {
	if !Available() {
		t.Skip("no kernels for this processor")
	}
	for _, n := range []int{0, 1, block - 1, block, block + 1, 7*block + 13, 1 << 20} {
		Load(make([]byte, n))
	}
}

// TestOperations: the count is proportional to the steps, and a step of float32 has twice the
// operations of one of float64.
func TestOperations(t *testing.T) {
	if !Available() {
		t.Skip("no kernels for this processor")
	}
	one, ten, wide := FMA32(1), FMA32(10), FMA64(10)
	if one <= 0 || ten != 10*one || wide != ten/2 {
		t.Errorf("FMA32(1), FMA32(10), FMA64(10) = %v, %v, %v operations", one, ten, wide)
	}
}

func BenchmarkLoad(b *testing.B) {
	if !Available() {
		b.Skip("no kernels for this processor")
	}
	for _, mib := range []int{5, 17, 128} {
		b.Run(fmt.Sprintf("kernel=%s/MiB=%d", Name(), mib), func(b *testing.B) {
			p := make([]byte, mib<<20)
			b.SetBytes(int64(len(p)))
			for b.Loop() {
				Load(p)
			}
		})
	}
}

func BenchmarkFMA(b *testing.B) {
	if !Available() {
		b.Skip("no kernels for this processor")
	}
	for _, f := range []struct {
		bits int
		run  func(int) float64
	}{{32, FMA32}, {64, FMA64}} {
		b.Run(fmt.Sprintf("kernel=%s/bits=%d", Name(), f.bits), func(b *testing.B) {
			var done float64
			for b.Loop() {
				done += f.run(1_000_000)
			}
			b.ReportMetric(done/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
