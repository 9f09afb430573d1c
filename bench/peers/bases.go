package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/gsimc/gsimc/bench/internal/ceiling"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/spectral"
)

// base is what top-N is searched in.
type base struct {
	title   string
	n, k    int
	model   *model.Model
	rows    []float32 // n×k, the rows that scores are dot products with
	trained bool      // on events, not drawn
	exact   bool      // whether the model's scores have the bits of dot products with rows
	queries []float32 // k each; those of the check, and the first ones are timed

	// local holds the local term of each query, nil if the model has none.
	local [][]ranking.Boost

	found map[int][][]int32 // our first items of the timed queries, by how many; see firsts

	free func() error
}

// timedQueries is how many of the queries are timed, in turn; all of them are checked for wrong
// answers.
const timedQueries = 512

// timed is how many queries are timed.
func (b *base) timed() int { return min(timedQueries, len(b.queries)/b.k) }

// firsts returns our first top items of each of the timed queries.
func (b *base) firsts(top int) [][]int32 {
	if b.found[top] != nil {
		return b.found[top]
	}
	lists := make([][]int32, b.timed())
	var best []ranking.Scored
	for i := range lists {
		best = b.model.TopN(best, b.spectral(b.queries, i), top, nil)
		for _, one := range best {
			lists[i] = append(lists[i], one.Item)
		}
	}
	if b.found == nil {
		b.found = make(map[int][][]int32)
	}
	b.found[top] = lists
	return lists
}

// gaussianBase draws rows and queries: the hardest data for a search that skips what cannot be
// among the first.
func gaussianBase(n, k, queries int) (*base, error) {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(k)))
	b := &spectral.Basis{
		N: n, K: k, U: make([]float64, n*k), Kappa: make([]float64, k), Lambda: make([]float64, k),
		Degrees: make([]int64, n), Scale: make([]float64, n),
	}
	for i := range b.U {
		b.U[i] = float64(float32(rng.NormFloat64()))
	}
	for j := range k {
		b.Kappa[j] = 1 - float64(j)/float64(k)
		b.Lambda[j] = 1 - b.Kappa[j]
	}
	ids := make([]string, n)
	for i := range ids {
		ids[i], b.Degrees[i], b.Scale[i] = fmt.Sprintf("item-%07d", i), 1, 1
	}
	spec := model.DefaultSpec()
	spec.TrainUsers = 1
	m, err := model.New(spec, b, ids, fit.Histories{})
	if err != nil {
		return nil, err
	}
	g := &base{
		title:   "Gaussian",
		n:       n,
		k:       k,
		model:   m,
		exact:   true,
		queries: make([]float32, queries*k),
	}
	if err := g.allocate(); err != nil {
		return nil, err
	}
	for i, u := range b.U {
		g.rows[i] = float32(u)
	}
	for i := range g.queries {
		g.queries[i] = float32(rng.NormFloat64())
	}
	return g, nil
}

// allocate reserves the rows in large pages: the float32 scan gets them where a serious one would
// have them.
func (b *base) allocate() error {
	var err error
	b.rows, b.free, err = ceiling.Pages[float32](b.n * b.k)
	return err
}

// trainedBase is a model that gsimc trained on a file of events. The queries are what the users of
// the file would ask with after their last event but one.
func (s *session) trainedBase(title, events, name string, rank, queries int) (*base, error) {
	path, err := s.train(events, name, rank)
	if err != nil {
		return nil, err
	}
	m, err := model.Open(path)
	if err != nil {
		return nil, err
	}
	data, _, err := dataset.Read([]string{events}, dataset.Options{})
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	b := &base{title: title, n: m.NumItems(), k: m.Rank(), model: m, trained: true}
	b.queries, b.local = userQueries(m, data, queries)
	if err := b.allocate(); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	unmap := b.free
	b.free = func() error { return errors.Join(unmap(), m.Close()) }
	b.readRows()
	return b, nil
}

// readRows takes the rows out of the model column by column: the scores of a unit vector are one.
func (b *base) readRows() {
	column, unit := make([]float32, b.n), b.model.NewQuery()
	for j := range b.k {
		unit.Spectrum[j] = 1
		b.model.ScoresTo(column, unit)
		unit.Spectrum[j] = 0
		for i, x := range column {
			b.rows[i*b.k+j] = x
		}
	}
}

// userQueries folds the histories of users, evenly spread over the data, without their last event.
// If there are fewer users than queries, the shorter histories of the same users follow. local
// holds the local term of each query.
func userQueries(
	m *model.Model, data *dataset.Interactions, count int,
) (queries []float32, local [][]ranking.Boost) {
	k := m.Rank()
	query := m.NewQuery()
	step := max(1, data.NumUsers()/count)
	for cut := 1; len(queries) < count*k; cut++ {
		found := len(queries)
		for u := 0; u < data.NumUsers() && len(queries) < count*k; u += step {
			first, end := data.Ptr[u], data.Ptr[u+1]-int64(cut)
			if end <= first {
				continue
			}
			state := m.NewState()
			for e := first; e < end; e++ {
				if item, known := m.ItemIndex(data.Items[data.Item[e]]); known {
					event := model.Event{Item: item, Weight: 1}
					if data.Time != nil {
						event.Time = data.Time[e]
					}
					m.Fold(state, event)
				}
			}
			m.QueryTo(query, state, model.EstimatorBGS)
			queries = append(queries, query.Spectrum...)
			local = append(local, slices.Clone(query.Boosts))
		}
		if len(queries) == found { // even the longest history is used up
			break
		}
	}
	if m.Spec().Local.None() {
		local = nil
	}
	return queries, local
}

// The data sets of real users.
const (
	amazonGames = "amazon-games"
	diginetica  = "diginetica" // whose spectrum falls slowly
)

// events returns the file of a data set, or "" and a note if it is not there.
func (s *session) events(title string) string {
	path := filepath.Join(s.data, title, "interactions.csv.gz")
	if _, err := os.Stat(path); err != nil {
		s.note("the data set %s is not there and is left out", title)
		return ""
	}
	return path
}

// train returns the model of a file of events, from the cache or from gsimc train.
func (s *session) train(events, name string, rank int) (string, error) {
	folder := s.tmp
	if s.cache != "" {
		folder = s.cache
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return "", err
		}
	}
	path := filepath.Join(folder, fmt.Sprintf("%s-k%d.gsimc", name, rank))
	if old, err := model.Open(path); err == nil {
		return path, old.Close()
	}
	s.say("training %s", filepath.Base(path))
	// All items stay, so that the size of a basis is that of its data.
	return path, s.program("train", "--data", events, "--out", path, "--rank", fmt.Sprint(rank),
		"--min-user-events", "0", "--min-item-events", "0")
}

// program runs gsimc without its bars.
func (s *session) program(args ...string) error {
	cmd := exec.CommandContext(s.ctx, s.gsimc, append([]string{"--quiet"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: make build makes it, --gsimc names another", err)
		}
		return fmt.Errorf("gsimc %s: %w: %s", args[0], err, out)
	}
	return nil
}
