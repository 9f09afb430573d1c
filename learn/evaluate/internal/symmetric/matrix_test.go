package symmetric

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// For matrices around the height of a strip, strips, rows and whole rows show the same numbers.
func TestMatrix(t *testing.T) {
	for _, n := range []int{
		0, 1, 2, stripRows - 1, stripRows, stripRows + 1, 2*stripRows + 3,
	} {
		m := New(n)
		value := func(i, j int) float64 { return float64(min(i, j)*n + max(i, j)) }
		for i := range n {
			for j, row := i, m.Row(i); j < n; j++ {
				row[j-i] = value(i, j)
			}
		}
		end := 0
		for lo := 0; lo < n; lo += stripRows {
			strip := m.strip(lo)
			end += len(strip.Data)
			for i := range strip.Rows {
				for j := i; j < strip.Cols; j++ {
					if got := strip.Data[i*strip.Stride+j]; got != value(lo+i, lo+j) {
						t.Fatalf("n = %d: strip of row %d has %v at (%d, %d)", n, lo, got, i, j)
					}
				}
			}
		}
		if end != len(m.data) {
			t.Errorf("n = %d: the strips have %d numbers, the matrix %d", n, end, len(m.data))
		}
		got, want := make([]float64, n), make([]float64, n)
		for i := range n {
			m.RowTo(got, i)
			for j := range want {
				want[j] = value(i, j)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("n = %d: row %d (-want +got):\n%s", n, i, diff)
			}
		}
	}
}
