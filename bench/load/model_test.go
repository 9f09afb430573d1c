package main

import (
	"path/filepath"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
)

// A generated model must be one that a server opens, of the given shape and dynamics.
func TestBenchModel(t *testing.T) {
	for _, learned := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "model.gsimc")
		check.Must(t, writeBenchModel(path, 500, 16, learned, 1))
		m := check.Get(model.Open(path))(t)
		if m.NumItems() != 500 || m.Rank() != 16 || m.HasVariance() != learned {
			t.Errorf("%d items, rank %d, variance %v, want 500, 16, %v", m.NumItems(), m.Rank(),
				m.HasVariance(), learned)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkBenchModel(b *testing.B) {
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "m")
		check.Must(b, writeBenchModel(path, 20000, 256, true, 1))
	}
}
