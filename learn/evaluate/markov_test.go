package evaluate

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
)

// The test users are ranked by the constants that the validation users choose, and on any number of
// processors alike.
func TestMarkov(t *testing.T) {
	p := randomPartition(6, 400, 60)
	c := newChain(p)
	spec, err := chooseMarkov(newTask(p, &Options{}, markov{}), c)
	if err != nil {
		t.Fatal(err)
	}
	c.Fit(spec)
	var want []int32
	for _, h := range train.Histories(&p.Test) {
		want = append(want, c.Scorer().Rank(h[:len(h)-1], h[len(h)-1].Item))
	}
	chosen := map[string]float64{
		"backward": spec.Backward, "fade": spec.Fade,
		"source-exponent": spec.SourceExponent, "target-exponent": spec.TargetExponent,
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, processors := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(processors)
		var seen []int
		got, err := Run(p, Options{Methods: []Method{markov{}}, Progress: func(_ string, done, _ int) {
			seen = append(seen, done)
		}})
		if err != nil {
			t.Fatal(err)
		}
		if d := gocmp.Diff(want, got[0].Ranks); d != "" {
			t.Errorf("%d processors: ranks (-want +got):\n%s", processors, d)
		}
		if d := gocmp.Diff(chosen, got[0].Chosen); d != "" {
			t.Errorf("%d processors: constants (-want +got):\n%s", processors, d)
		}
		if processors == 1 && (len(seen) == 0 || !slices.IsSorted(seen)) {
			t.Errorf("progress was %v, want it to rise", seen)
		}
	}
}

// The constants that are chosen beforehand, as by time, give the same ranks.
func TestMarkovChosen(t *testing.T) {
	p := randomPartition(7, 300, 50)
	options := Options{Methods: []Method{markov{}}}
	chosen, err := Choose(p, options)
	if err != nil {
		t.Fatal(err)
	}
	if len(Choosers(options.Methods)) != 1 {
		t.Error("markov chooses no constants")
	}
	want, err := Run(p, options)
	if err != nil {
		t.Fatal(err)
	}
	// Other validation users have no say any more.
	other := *p
	other.Validation = dataset.Histories{Ptr: []int64{0}}
	got, err := Run(&other, Options{Methods: chosen})
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("results (-chosen at once +chosen before):\n%s", d)
	}
	_, err = Run(&other, options)
	if err == nil || !strings.Contains(err.Error(), "markov: chooses its constants") {
		t.Errorf("error %v, want one of the validation users", err)
	}
}
