package model

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// TestFilesOfCalibration: a file without the calibration, as older programs wrote it, is valid. One
// without Σ_θ too is not, nor is a calibration that is none.
func TestFilesOfCalibration(t *testing.T) {
	m := newLearned(t, rand.New(rand.NewPCG(9, 1)), 30, 5,
		func(s *Spec) { learnedBands(s, true) })
	if c := m.Describe().Deviation.Calibration; len(c) == 0 {
		t.Fatal("no calibration")
	}
	rename := func(ts tensors, names ...string) {
		for _, name := range names {
			ts[name].Name = "old " + name
		}
	}
	for _, c := range []struct {
		name   string
		change func(ts tensors)
		want   string // empty: valid
		held   bool
	}{
		{"as it is", func(tensors) {}, "", false},
		{"older", func(ts tensors) { rename(ts, "calibration") }, "", false},
		{"withheld", func(ts tensors) { rename(ts, "sigma_theta", "theta_floor") }, "",
			true},
		{"neither", func(ts tensors) { rename(ts, "sigma_theta", "calibration") },
			`no tensor "sigma_theta"`, false},
		{"no number", func(ts tensors) {
			binary.LittleEndian.PutUint64(ts["calibration"].Data, math.Float64bits(math.NaN()))
		}, `"calibration" has [NaN`, false},
		{"empty", func(ts tensors) {
			ts["calibration"].Shape, ts["calibration"].Data = []int64{0}, nil
		}, `"calibration" has []`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := decode(forged(m, func(_ map[string]string, ts tensors) { c.change(ts) }))
			if c.want != "" {
				check.Says(t, err, c.want, "decode")
				return
			}
			check.Must(t, err)
			if d := got.Describe().Deviation; d.Withheld != c.held || got.HasVariance() == c.held {
				t.Errorf("withheld %v, variances %v, want withheld %v", d.Withheld,
					got.HasVariance(), c.held)
			}
		})
	}
}
