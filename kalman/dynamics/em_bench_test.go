package dynamics

import (
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
)

// BenchmarkStep is one iteration over 45,000 measurements of a coordinate.
func BenchmarkStep(b *testing.B) {
	s := simulate(3, testDynamics(1, 0.02), 500, 100, 40)
	m, err := measure(s.histories)
	check.Must(b, err)
	series := m.residuals(&kalman.Dynamics{Bands: s.d.Bands, Mean: s.d.Mean},
		0, 1, s.row, s.encoder)[0]
	f := newEM(m, series, 0.02)
	n := float64(len(series))
	for b.Loop() {
		f.step()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/measurement")
}
