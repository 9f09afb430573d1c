package evaluate_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/train"

	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// expectation is the part of expected.json that is checked: figures of an
// independent implementation in another language, in float64.
type expectation struct {
	Users  map[string]int `json:"users"`
	Rank   int            `json:"rank"`
	Graphs map[string]struct {
		Eigenvalues []float64                     `json:"leading_eigenvalues_of_K"`
		Methods     map[string]map[string]float64 `json:"methods"`
		P0          []float64                     `json:"P0 random-walk (first 10)"`
	} `json:"graphs"`
	Popularity map[string]float64 `json:"popularity"`
	MRFCF      map[string]float64 `json:"-"` // its key has a comma, which a tag cannot name
}

// variants are the settings that expected.json names behind a method.
var variants = []struct {
	suffix string
	edit   func(s *model.Spec)
}{
	{"", func(*model.Spec) {}},
	{", degree-rescale 0.5", func(s *model.Spec) { s.DegreeRescale = 0.5 }},
	{", degree-rescale 0.5, half-life 2 events", func(s *model.Spec) {
		s.DegreeRescale, s.Alpha = 0.5, math.Exp2(-1.0/2)
	}},
	{", degree-rescale 0.5, half-life 5 events", func(s *model.Spec) {
		s.DegreeRescale, s.Alpha = 0.5, math.Exp2(-1.0/5)
	}},
}

// TestReference compares every method on every graph with the reference:
// eigenvalues within 1e-5 relative, HR within 0.002 or one user, NDCG within
// 0.002. amazon-games takes minutes and runs only without -short, if
// GSIMC_REFERENCE_ALL is set.
func TestReference(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: the reference data takes some seconds")
	}
	names := []string{"ml-latest-small", "movietweetings"}
	if os.Getenv("GSIMC_REFERENCE_ALL") != "" {
		names = append(names, "amazon-games")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			p, want := loadReference(t, name)
			for label, graph := range want.Graphs {
				t.Run(label, func(t *testing.T) {
					basis := basisOf(t, p, graphOf(label), want.Rank)
					for j, kappa := range graph.Eigenvalues {
						if rel := math.Abs(basis.Kappa[j]/kappa - 1); rel > 1e-5 {
							t.Errorf("κ_%d = %v, want %v: %.1e relative", j, basis.Kappa[j], kappa,
								rel)
						}
					}
					for _, v := range variants {
						checkMethods(t, p, basis, label, v.suffix, v.edit, graph.Methods)
					}
				})
			}
			checkFigures(t, p, methodsNamed(t, evaluate.Popularity)[0], want.Popularity)
			checkFigures(t, p, methodsNamed(t, evaluate.MRFCF)[0], want.MRFCF)
		})
	}
}

func loadReference(t *testing.T, name string) (*dataset.Partition, *expectation) {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "shared", "reference", name)
	raw, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no reference data: ../shared/reference/%s is not beside the repository", name)
	}
	check.Must(t, err)
	want := new(expectation)
	check.Must(t, json.Unmarshal(raw, want))
	var all map[string]json.RawMessage
	check.Must(t, json.Unmarshal(raw, &all))
	check.Must(t, json.Unmarshal(all["mrfcf (full rank, a=2)"], &want.MRFCF))
	d, _, err := dataset.Read([]string{filepath.Join(dir, "interactions.csv.gz")},
		dataset.Options{})
	check.Must(t, err)
	split := check.Get(dataset.ReadSplit(filepath.Join(dir, "split.csv.gz"), d))(t)
	p := check.Get(d.Partition(split))(t)
	return p, want
}

// graphOf reads a label of expected.json such as "hypergraph degree-exponent 0.7".
func graphOf(label string) spectral.Graph {
	if strings.HasPrefix(label, spectral.Covariance) {
		return spectral.Graph{Kind: spectral.Covariance, DegreeExponent: 1}
	}
	if strings.HasSuffix(label, "0.7") {
		return spectral.Graph{Kind: spectral.Hypergraph, DegreeExponent: 0.7}
	}
	return spectral.Graph{Kind: spectral.Hypergraph, DegreeExponent: 1}
}

// checkMethods evaluates the methods of want whose name ends in suffix.
func checkMethods(t *testing.T, p *dataset.Partition, basis *spectral.Basis, label, suffix string,
	edit func(*model.Spec), want map[string]map[string]float64) {
	t.Helper()
	opt := evaluate.Options{Paper: evaluate.Ingredients{Spec: model.DefaultSpec()}}
	graph := graphOf(label)
	opt.Paper.Spec.Graph, opt.Paper.Spec.DegreeExponent, opt.Paper.Spec.TrainUsers = graph.Kind,
		graph.DegreeExponent, int64(p.Train.Len())
	opt.Paper.Basis = basis
	edit(&opt.Paper.Spec)
	var figures []map[string]float64
	for name, f := range want {
		short, rest, _ := strings.Cut(name, ",")
		if rest != strings.TrimPrefix(suffix, ",") {
			continue
		}
		methods, err := evaluate.ParseMethods(strings.Replace(short, "sqrt(K) filter",
			spectral.PowerFilter, 1))
		if err != nil || len(methods) != 1 {
			t.Fatalf("%q: %v %v", name, methods, err)
		}
		opt.Methods = append(opt.Methods, methods[0])
		figures = append(figures, f)
	}
	results := check.Get(evaluate.Run(p, opt))(t)
	for i, r := range results {
		compareFigures(t, r, suffix, figures[i])
	}
}

func checkFigures(t *testing.T, p *dataset.Partition, m evaluate.Method, want map[string]float64) {
	t.Helper()
	results := check.Get(evaluate.Run(p, evaluate.Options{
		Methods: []evaluate.Method{m}, MRFCFA: 2,
	}))(t)
	compareFigures(t, results[0], "", want)
}

func compareFigures(t *testing.T, r evaluate.Result, suffix string, want map[string]float64) {
	t.Helper()
	got := r.Figures()
	oneUser := 1 / float64(len(r.Ranks))
	for name, w := range want {
		bound := 0.002
		if strings.HasPrefix(name, "hr") {
			bound = max(bound, oneUser)
		}
		if d := math.Abs(got[name] - w); d > bound+1e-6 { // the reference is rounded to six digits
			t.Errorf("%s%s: %s = %.6f, want %.6f ± %.4f", r.Name, suffix, name, got[name], w, bound)
		} else {
			t.Logf("%s%s: %s = %.6f, reference %.6f", r.Name, suffix, name, got[name], w)
		}
	}
}

// TestReferencePrior compares P_0 with the reference, which pins the definition
// of the paper's Section 4 down: the full spectrum counts the last event.
func TestReferencePrior(t *testing.T) {
	p, want := loadReference(t, "movietweetings")
	basis := basisOf(t, p, graphOf("hypergraph"), want.Rank)
	spec := model.DefaultSpec()
	spec.TrainUsers = int64(p.Train.Len())
	m := check.Get(model.New(spec, basis, p.Items, train.LearnFrom(p)))(t)
	for j, w := range want.Graphs["hypergraph"].P0 {
		if got := float64(m.NewState().P[j]); math.Abs(got/w-1) > 1e-3 {
			t.Errorf("P_0[%d] = %v, want %v", j, got, w)
		}
	}
}
