package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gsimc/gsimc/bench/internal/clicks"
	"github.com/gsimc/gsimc/bench/internal/npy"
	"github.com/gsimc/gsimc/bench/internal/python"
	"github.com/gsimc/gsimc/bench/internal/result"
	"github.com/gsimc/gsimc/bench/internal/rounds"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/spectral"
)

const (
	ownSolver = "gsimc spectral.Solve"
	tolerance = 1e-4 // the residual that everyone has to reach, of the largest eigenvalue
)

// measureTrain finds the leading eigenvectors of K of the same matrices by gsimc and by ARPACK, on
// one thread.
func measureTrain(s *session) (err error) {
	workers, err := s.startPythons(1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll(workers)) }()
	workers = withSciPy(workers)
	r := clicks.Draw(
		pick(s, clicks.Config{Users: 200_000, Items: 17_770, Ones: 11_500_000, Seed: 1},
			clicks.Config{Users: 5_000, Items: 1_500, Ones: 150_000, Seed: 1}),
	)
	if err := s.eigenGroups("generated, 4 genres a user", r, workers, []eigenGroup{
		{rank: pick(s, 50, 10), rounds: 1, forms: []string{"sparse", "dense"}},
		{rank: pick(s, 500, 50), rounds: s.rounds, forms: []string{"sparse"}},
	}); err != nil {
		return err
	}
	if s.left(amazonGames) {
		return nil
	}
	path := s.events(amazonGames)
	if path == "" {
		return nil
	}
	data, _, err := dataset.Read([]string{path}, dataset.Options{})
	if err != nil {
		return err
	}
	r = &spectral.Incidence{NumItems: data.NumItems(), Ptr: data.Ptr, Item: data.Item}
	return s.eigenGroups(amazonGames, r, workers, []eigenGroup{
		{rank: pick(s, 300, 20), rounds: s.rounds, forms: []string{"sparse"}},
	})
}

// withSciPy returns the first of the workers with SciPy: they all call the same ARPACK.
func withSciPy(workers []*python.Worker) []*python.Worker {
	for i, w := range workers {
		if w.Versions.SciPy != "" {
			return workers[i : i+1]
		}
	}
	return nil
}

// eigenGroup says how many eigenvectors to find, how often, and of what kind of operator ARPACK
// does.
type eigenGroup struct {
	rank, rounds int
	forms        []string
}

func (s *session) eigenGroups(
	title string,
	r *spectral.Incidence,
	workers []*python.Worker,
	groups []eigenGroup,
) error {
	if err := s.loadIncidence(r, workers); err != nil {
		return err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, g := range groups {
		if s.left(fmt.Sprintf("%s, k = %d", title, g.rank)) {
			continue
		}
		if err := s.eigenGroup(title, r, workers, g); err != nil {
			return err
		}
	}
	return nil
}

// loadIncidence hands the matrix to the Python processes in compressed sparse rows.
func (s *session) loadIncidence(r *spectral.Incidence, workers []*python.Worker) error {
	ptr, item := s.path("ptr.npy"), s.path("item.npy")
	err := errors.Join(npy.Write(ptr, r.Ptr, len(r.Ptr)), npy.Write(item, r.Item, len(r.Item)))
	if err != nil {
		return err
	}
	for _, w := range workers {
		matrix := map[string]any{"ptr": ptr, "item": item, "items": r.NumItems}
		if err := w.Call("eigen.load", matrix, nil); err != nil {
			return fmt.Errorf("%s: %w", w.Interpreter, err)
		}
	}
	return errors.Join(os.Remove(ptr), os.Remove(item))
}

// solved is what a solver says of its answer.
type solved struct{ Seconds, Residual, Sum, Passes float64 }

func (s *session) eigenGroup(
	title string,
	r *spectral.Incidence,
	workers []*python.Worker,
	g eigenGroup,
) error {
	last := map[string]solved{}
	var names []string
	add := func(name string, role result.Role, solve func() (solved, error)) rounds.Contestant {
		names = append(names, name)
		return rounds.Contestant{Name: name, Role: role, Run: func() (float64, error) {
			answer, err := solve()
			last[name] = answer
			return answer.Seconds, err
		}}
	}
	contestants := []rounds.Contestant{
		add(ownSolver, result.Own, func() (solved, error) { return s.solve(r, g.rank) }),
	}
	for _, w := range workers {
		for _, form := range g.forms {
			name := fmt.Sprintf("SciPy %s eigsh, %s", w.Versions.SciPy,
				map[string]string{"sparse": "sparse operator", "dense": "dense Gram matrix"}[form])
			contestants = append(
				contestants,
				add(name, result.Peer, func() (answer solved, err error) {
					err = w.Call("eigen.solve",
						map[string]any{"form": form, "k": g.rank, "tol": tolerance}, &answer)
					return answer, err
				}),
			)
		}
	}
	group := result.Group{
		Title: fmt.Sprintf("%s: %d users, %d items, %d ones, k = %d, 1 thread", title, r.NumUsers(),
			r.NumItems, len(r.Item), g.rank),
		Params: map[string]float64{
			"users": float64(
				r.NumUsers(),
			), "items": float64(r.NumItems), "ones": float64(len(r.Item)), "k": float64(g.rank),
		},
		Unit: "s", Ours: ownSolver,
		Remarks: fmt.Sprintf("All are asked for a residual of %.0e of the largest eigenvalue. "+
			"The time of gsimc is that of everything after the matrix R, "+
			"SciPy's does not include the normalisation of R.", tolerance),
	}
	if err := s.competeRounds(group, contestants, g.rounds); err != nil {
		return err
	}
	s.eigenChecks(&s.file.Groups[len(s.file.Groups)-1], names, last)
	return nil
}

// eigenChecks tells how good the answers are: the residuals, and the sums of the eigenvalues, which
// are the larger the better.
func (s *session) eigenChecks(g *result.Group, names []string, last map[string]solved) {
	own := last[ownSolver].Sum
	for _, name := range names {
		answer := last[name]
		c := result.Check{
			Name: "residual of " + name, Value: answer.Residual,
			Text: fmt.Sprintf("%.1e, sum of eigenvalues %.7g", answer.Residual, answer.Sum),
			Bad:  !(answer.Residual <= 1.5*tolerance) || math.Abs(answer.Sum/own-1) > 1e-5,
		}
		s.say("%s: %s", c.Name, c.Text)
		g.Checks = append(g.Checks, c)
	}
}

// solve is gsimc's own solver with the paper's graph.
func (s *session) solve(r *spectral.Incidence, rank int) (solved, error) {
	told := time.Now()
	progress := func(done, total int) {
		if time.Since(told) > progressEvery {
			told = time.Now()
			s.say("%s, k = %d: step %d of %d, or begun again", ownSolver, rank, done, total)
		}
	}
	runtime.GC() // what was left by the one before is not this one's
	begin := time.Now()
	basis, err := spectral.Solve(r, spectral.Options{
		Graph: spectral.Graph{
			Kind:           spectral.Hypergraph,
			DegreeExponent: 1,
		}, Rank: rank, Tolerance: tolerance, Seed: 1, Progress: progress,
	})
	answer := solved{Seconds: time.Since(begin).Seconds()}
	if err != nil {
		return answer, err
	}
	answer.Residual, answer.Passes = basis.Report.Residual, float64(basis.Report.Passes)
	for _, kappa := range basis.Kappa {
		answer.Sum += kappa
	}
	return answer, nil
}

// measureTrainLarge trains at the size of the Netflix prize on all cores: nobody else is asked to.
func measureTrainLarge(s *session) error {
	c := pick(s, clicks.Config{Users: 480_189, Items: 17_770, Ones: 100_480_507, Seed: 1},
		clicks.Config{Users: 20_000, Items: 2_000, Ones: 1_000_000, Seed: 1})
	rank := pick(s, 1000, 100)
	s.say("drawing %d users, %d items, %d ones", c.Users, c.Items, c.Ones)
	r := clicks.Draw(c)
	debug.FreeOSMemory() // what drawing took is not training's
	if err := resetPeak(); err != nil {
		s.note("the largest memory in use is not known: %v", err)
	}
	g := result.Group{
		Title: fmt.Sprintf(
			"generated, the size of the Netflix prize: "+
				"%d users, %d items, %d ones, k = %d, %d threads",
			r.NumUsers(), r.NumItems, len(r.Item), rank, runtime.GOMAXPROCS(0)),
		Params: map[string]float64{
			"users": float64(r.NumUsers()),
			"items": float64(r.NumItems),
			"ones":  float64(len(r.Item)),
			"k":     float64(rank),
		},
		Unit: "s", Ours: ownSolver, Remarks: "Once.",
	}
	s.say("%s", g.Title)
	answer, err := s.solve(r, rank)
	if err != nil {
		return err
	}
	peak := peakGiB()
	g.Series = []result.Series{
		{Name: ownSolver, Role: result.Own, Samples: []float64{answer.Seconds}},
	}
	g.Checks = []result.Check{
		{
			Name:  "residual",
			Value: answer.Residual,
			Text:  fmt.Sprintf("%.1e of the largest eigenvalue", answer.Residual),
			Bad:   answer.Residual > tolerance,
		},
		{Name: result.Multiplied, Value: answer.Passes, Text: fmt.Sprint(answer.Passes)},
		{
			Name:  "largest resident memory, R included",
			Value: peak,
			Text:  fmt.Sprintf("%.2f GiB", peak),
		},
	}
	s.say("%.1f s, residual %.1e, %.2f GiB", answer.Seconds, answer.Residual, peak)
	s.file.Groups = append(s.file.Groups, g)
	return nil
}

// resetPeak begins the record of the largest resident memory of this process anew.
func resetPeak() error { return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// peakGiB is that record; 0 where the system keeps none.
func peakGiB() float64 {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kib); n == 1 {
			return kib / (1 << 20)
		}
	}
	return 0
}
