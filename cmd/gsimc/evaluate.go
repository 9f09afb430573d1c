package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gsimc/gsimc/dataset"
	"github.com/gsimc/gsimc/evaluate"
	"github.com/gsimc/gsimc/internal/progress"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

type evaluateCmd struct {
	dataFlags
	Split string `group:"Events:" placeholder:"FILE" help:"CSV of user_id,role with role train, validation or test. Default: 8:1:1, drawn by --seed."`

	graphFlags

	Methods string  `group:"Methods:" default:"all" help:"Comma-separated: popularity, mrfcf, and gs-imc, bgs-imc and bgs-online with a filter (gs-imc tikhonov) or without one (all filters); or all of these. By name only: ease, ease-forgetting."`
	MrfcfA  float64 `group:"Methods:" name:"mrfcf-a" default:"2" help:"Constant a of mrfcf; above 1."`
	filterFlags
	kalmanFlags
	Covariance string `group:"Online state:" default:"diagonal" enum:"diagonal,full" help:"Prior covariance P_0: diagonal or full."`

	JSON bool `group:"Output:" name:"json" help:"Print one JSON object."`
}

// Help is the manual under the flags.
func (evaluateCmd) Help() string {
	return `The last item of each test user is ranked among all items that are not in the user's history. HR@N is the share of ` +
		`users whose item has a rank of at most N, NDCG@N the mean of 1/log2(rank+1) for those ranks; ± is the standard error. ` +
		`bgs-imc starts from all but the last history item and takes that as one update; bgs-online folds every item from nothing, as ` +
		`the server does. All filters are ` + strings.Join(spectral.FilterNames, ", ") + `. ease is EASE^R, and ease-forgetting the same ` +
		`where an event counts less the older it is; both choose their constants on the validation users and need a matrix of all pairs ` +
		`of items, at most 4 GiB.

  gsimc evaluate --data events.csv.gz --rank 200 --methods "popularity,gs-imc,mrfcf"
  gsimc evaluate --data events.csv.gz --rank 200 --degree-exponent 0.7 --degree-rescale 0.5 --alpha 0.87 --methods "bgs-online power" --json`
}

// Validate is called by kong after parsing.
func (c *evaluateCmd) Validate() error {
	_, err := evaluate.ParseMethods(c.Methods)
	if err != nil {
		err = fmt.Errorf("--methods: %w", err)
	}
	return errors.Join(c.dataFlags.check(), c.graphFlags.check(), c.filterFlags.check(), c.kalmanFlags.check(), above("--mrfcf-a", c.MrfcfA, 1), err)
}

// Run measures the methods and prints a table or a JSON object.
func (c *evaluateCmd) Run(a *app) error {
	methods, err := evaluate.ParseMethods(c.Methods)
	if err != nil {
		return usageError{err}
	}
	p := a.progress()
	events, _, err := c.read(p)
	if err != nil {
		return err
	}
	split := dataset.SeededSplit(events.NumUsers(), c.Seed)
	if c.Split != "" {
		if split, err = readSplit(c.Split, events); err != nil {
			return err
		}
	}
	part, err := partition(events, split, c.Split)
	if err != nil {
		return err
	}
	var basis *spectral.Basis
	if evaluate.NeedsBasis(methods) {
		if basis, err = solve(p, evaluate.Incidence(part), c.graphFlags.options()); err != nil {
			return err
		}
	}
	results, elapsed, err := c.measure(p, part, basis, methods)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(a, c.report(part, basis, results, elapsed))
	}
	c.printHead(a.stdout, part, basis)
	return evaluate.WriteTable(a.stdout, results, elapsed)
}

// measure runs the methods with progress and notes the time of each.
func (c *evaluateCmd) measure(p progress.Progress, part *dataset.Partition, basis *spectral.Basis, methods []evaluate.Method) ([]evaluate.Result, []time.Duration, error) {
	elapsed := make([]time.Duration, 0, len(methods))
	begin := time.Now()
	p.Begin("ranking test users", progress.Steps)
	defer p.End()
	results, err := evaluate.Run(part, basis, evaluate.Options{
		Methods: methods,
		Spec:    c.spec(part.Train.Len()),
		MRFCFA:  c.MrfcfA,
		Progress: func(_ evaluate.Method, done, total int) {
			p.Update(int64(len(elapsed)*total+done), int64(len(methods)*total))
		},
		Done: func(*evaluate.Result) {
			elapsed = append(elapsed, time.Since(begin))
			begin = time.Now()
		},
	})
	return results, elapsed, err
}

// spec is what all models have in common; the filter's name comes from the method.
func (c *evaluateCmd) spec(trainUsers int) model.Spec {
	return model.Spec{
		Graph: c.Graph, DegreeExponent: c.DegreeExponent, Window: c.Window, DegreeRescale: c.DegreeRescale,
		Filter: c.filter(""),
		Alpha:  c.Alpha, HalfLife: c.HalfLife.Seconds(), SigmaEta: c.SigmaEta, SigmaNu: c.SigmaNu,
		Covariance: c.Covariance, TrainUsers: int64(trainUsers),
	}
}

func (c *evaluateCmd) printHead(w io.Writer, part *dataset.Partition, basis *spectral.Basis) {
	fmt.Fprintf(w, "users: %d training, %d validation, %d test; items: %d; training interactions: %d\n",
		part.Train.Len(), part.Validation.Len(), part.Test.Len(), len(part.Items), len(part.Train.Item))
	if basis != nil {
		windows := ""
		if c.Window != 0 {
			windows = fmt.Sprintf(", windows of %d events", c.Window)
		}
		fmt.Fprintf(w, "%s, s = %v%s, t = %v, rank %d: %v, %s\n", c.Graph, c.DegreeExponent, windows, c.DegreeRescale, basis.K,
			basis.Report, basis.Report.Elapsed.Round(time.Millisecond))
	}
	fmt.Fprintln(w)
}

// evaluation is the object that --json prints.
type evaluation struct {
	Users struct {
		Train      int `json:"train"`
		Validation int `json:"validation"`
		Test       int `json:"test"`
	} `json:"users"`
	Items          int       `json:"items"`
	Interactions   int       `json:"interactions_train"`
	Rank           int       `json:"rank"`
	Graph          string    `json:"graph"`
	DegreeExponent float64   `json:"degree_exponent"`
	Window         int       `json:"window"` // 0: whole histories
	DegreeRescale  float64   `json:"degree_rescale"`
	Solver         *solution `json:"solver,omitempty"` // absent if no method needs a basis

	// Methods maps a method's name to its figures: hr@N, ndcg@N, their standard errors, the constants chosen on the validation users,
	// and the seconds that it took.
	Methods map[string]map[string]float64 `json:"methods"`
}

// solution describes a basis.
type solution struct {
	Name          string    `json:"name"`
	Residual      float64   `json:"max_residual"`
	Orthogonality float64   `json:"orthogonality_error"`
	Passes        int       `json:"vectors_multiplied"`
	Seconds       float64   `json:"seconds"`
	Leading       []float64 `json:"leading_eigenvalues_of_K"` // the 20 largest
	Kth           float64   `json:"kth_eigenvalue_of_K"`
}

func (c *evaluateCmd) report(part *dataset.Partition, basis *spectral.Basis, results []evaluate.Result, elapsed []time.Duration) evaluation {
	e := evaluation{
		Items: len(part.Items), Interactions: len(part.Train.Item), Graph: c.Graph,
		DegreeExponent: c.DegreeExponent, Window: c.Window, DegreeRescale: c.DegreeRescale, Methods: map[string]map[string]float64{},
	}
	e.Users.Train, e.Users.Validation, e.Users.Test = part.Train.Len(), part.Validation.Len(), part.Test.Len()
	if basis != nil {
		e.Rank = basis.K
		e.Solver = &solution{
			Name: basis.Report.Solver, Residual: basis.Report.Residual, Orthogonality: basis.Report.Orthogonality,
			Passes: basis.Report.Passes, Seconds: basis.Report.Elapsed.Seconds(),
			Leading: basis.Kappa[:min(20, basis.K)], Kth: basis.Kappa[basis.K-1],
		}
	}
	for i := range results {
		figures := results[i].Figures()
		figures["seconds"] = elapsed[i].Seconds()
		e.Methods[results[i].Method.String()] = figures
	}
	return e
}
