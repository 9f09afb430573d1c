package model_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/spectral"
)

// chain is four items of which neighbours are alike, with the two smoothest eigenvectors of the
// path graph a-b-c-d.
func chain() *model.Model {
	spec := model.DefaultSpec()
	spec.TrainUsers = 8
	basis := &spectral.Basis{
		N: 4, K: 2,
		U: []float64{
			0.5, 0.653,
			0.5, 0.271,
			0.5, -0.271,
			0.5, -0.653,
		},
		Kappa: []float64{1, 0.7}, Lambda: []float64{0, 0.3}, Degrees: []int64{3, 5, 4, 2},
		Scale: []float64{0.5, 0.5, 0.5, 0.5},
	}
	m, err := model.New(spec, basis, []string{"a", "b", "c", "d"}, fit.Histories{})
	if err != nil {
		panic(err)
	}
	return m
}

func Example() {
	m := chain()
	state, seen := m.NewState(), ranking.NewSet(m.NumItems())
	for _, id := range []string{"a", "b"} {
		item, _ := m.ItemIndex(id)
		m.Fold(state, model.Event{Item: item, Weight: 1})
		seen.Add(item)
	}
	query := m.NewQuery()
	m.QueryTo(query, state, model.EstimatorGS)
	for _, r := range m.TopN(nil, query, 10, seen) {
		fmt.Printf("%s %.3f\n", m.ItemID(r.Item), r.Score)
	}
	// Output:
	// c 0.244
	// d -0.100
}

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "chain.gsimc")
	written := chain()
	if err := written.WriteFile(path); err != nil {
		panic(err)
	}
	m, err := model.Open(path)
	if err != nil {
		panic(err)
	}
	defer m.Close()
	fmt.Println(m.NumItems(), "items, rank", m.Rank(), "- same version:",
		m.Version() == written.Version())
	// Output: 4 items, rank 2 - same version: true
}

func ExampleModel_Popular() {
	m := chain()
	for _, item := range m.Popular()[:2] {
		fmt.Printf("%s %d/%d\n", m.ItemID(item), m.Degree(item), m.NumTrainUsers())
	}
	// Output:
	// b 5/8
	// c 4/8
}
