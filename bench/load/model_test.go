package main

import (
	"path/filepath"
	"testing"

	"github.com/gsimc/gsimc/model"
)

// A generated model must be one that a server opens, of the given shape and dynamics.
func TestBenchModel(t *testing.T) {
	for _, learned := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "model.gsimc")
		if err := writeBenchModel(path, 500, 16, learned, 1); err != nil {
			t.Fatal(err)
		}
		m, err := model.Open(path)
		if err != nil {
			t.Fatal(err)
		}
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
		if err := writeBenchModel(filepath.Join(b.TempDir(), "m"), 20000, 256, true,
			1); err != nil {
			b.Fatal(err)
		}
	}
}
