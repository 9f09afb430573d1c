package train_test

import (
	"path/filepath"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
)

// trainOn trains the recommended model.
func trainOn(t *testing.T, p *dataset.Partition, rank int) *train.Result {
	t.Helper()
	return check.Get(train.Run(p, train.Config{Spec: train.Recommended(), Rank: rank, Seed: 1}))(t)
}

// reread returns a model as its file has it.
func reread(t *testing.T, m *model.Model) *model.Model {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.gsimc")
	check.Must(t, m.WriteFile(path))
	read := check.Get(model.Open(path))(t)
	t.Cleanup(func() { check.Pass(t, read.Close(), "Close") })
	return read
}

// wantLiveKept wants the file of a model to have its constants of trends and repeats.
func wantLiveKept(t *testing.T, m *model.Model) {
	t.Helper()
	read := reread(t, m)
	check.Same(t, m.Spec().Trend, read.Spec().Trend, "trends in the file")
	check.Same(t, m.Spec().Again, read.Spec().Again, "repeats in the file")
	check.Same(t, m.Version(), read.Version(), "version in the file")
}
