package dataset_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/dataset"
)

// TestReference partitions the optional reference data and compares the sizes
// with those of an independent implementation.
func TestReference(t *testing.T) {
	for _, name := range []string{"ml-latest-small", "movietweetings", "amazon-games"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("..", "..", "..", "shared", "reference", name)
			raw, err := os.ReadFile(filepath.Join(dir, "expected.json"))
			if os.IsNotExist(err) {
				t.Skipf("no reference data: %v", err)
			}
			check.Must(t, err)
			type sizes struct {
				Users             map[string]int `json:"users"`
				Items             int            `json:"items"`
				InteractionsTrain int            `json:"interactions_train"`
			}
			var want sizes
			check.Must(t, json.Unmarshal(raw, &want))
			d, _, err := dataset.Read([]string{filepath.Join(dir, "interactions.csv.gz")},
				dataset.Options{})
			check.Must(t, err)
			split := check.Get(dataset.ReadSplit(filepath.Join(dir, "split.csv.gz"), d))(t)
			p := check.Get(d.Partition(split))(t)
			got := sizes{
				Users: map[string]int{"train": p.Train.Len(),
					"validation": p.Validation.Len(), "test": p.Test.Len()},
				Items:             len(p.Items),
				InteractionsTrain: len(p.Train.Item),
			}
			check.Same(t, want, got, "sizes of the partition")
			// No held-out user of the reference data is too short, so its
			// numbers are those before and after such users are dropped.
			for role, n := range want.Users {
				for _, r := range []dataset.Role{dataset.Train, dataset.Validation, dataset.Test} {
					if r.String() == role && split.Count(r) != n {
						t.Errorf("split.Count(%s) = %d, want %d", role, split.Count(r), n)
					}
				}
			}
		})
	}
}
