package dynamics

import "testing"

// BenchmarkStep is one iteration over 45,000 measurements of a coordinate.
func BenchmarkStep(b *testing.B) {
	f := emOf(b, 500, 100)
	n := float64(len(f.residual))
	for b.Loop() {
		f.step()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/measurement")
}
