package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/vec"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model/content"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/model/local"
	"github.com/gsimc/gsimc/spectral"
)

// market draws users of two tastes: each has distinct items, mostly of one half of the catalogue.
func market(seed uint64, n, users int) *spectral.Incidence {
	rng := rand.New(rand.NewPCG(seed, 9))
	r := &spectral.Incidence{NumItems: n, Ptr: []int64{0}}
	for u := range users {
		var items []int32
		for range 5 + rng.IntN(12) {
			i := int32(rng.IntN(n / 2))
			if (u%2 == 0) == (rng.IntN(6) > 0) {
				i += int32(n / 2)
			}
			if !slices.Contains(items, i) {
				items = append(items, i)
			}
		}
		r.Item = append(r.Item, items...)
		r.Ptr = append(r.Ptr, int64(len(r.Item)))
	}
	return r
}

// kinds are models of every shape that an extension has to deal with.
func kinds() map[string]Spec {
	paper := DefaultSpec()
	scaled := paper
	scaled.DegreeExponent, scaled.DegreeRescale = 0.8, 0.6
	windows := scaled
	windows.Window = 8
	full := paper
	full.Covariance = CovarianceFull
	covariance := paper
	covariance.Graph = spectral.Covariance
	learned := scaled
	learned.Dynamics = DynamicsSpec{
		Kind: DynamicsLearned, Bands: []kalman.Band{{Rho: 0}, {Rho: 0.8}}, Ridge: 1,
		Deviation: true,
	}
	return map[string]Spec{
		"paper": paper, "scaled": scaled, "windows": windows, "full": full,
		"covariance": covariance, "learned": learned,
	}
}

// trained learns a basis from r and returns it with the histories of its users.
func trained(
	tb testing.TB, spec Spec, r *spectral.Incidence, rank int,
) (*spectral.Basis, []History) {
	tb.Helper()
	graph := spectral.Graph{
		Kind: spec.Graph, DegreeExponent: spec.DegreeExponent, Window: spec.Window,
	}
	basis := check.Get(spectral.Solve(r, spectral.Options{Graph: graph, Rank: rank, Seed: 1}))(tb)
	histories := make([]History, r.NumUsers())
	for u := range histories {
		for t, i := range r.Item[r.Ptr[u]:r.Ptr[u+1]] {
			histories[u] = append(histories[u], Event{Item: i, Weight: 1, Time: int64(t) * 3600})
		}
	}
	return basis, histories
}

// A history lasts until the next: the model is the same if all are yielded in one buffer.
func TestHistoriesInOneBuffer(t *testing.T) {
	r := market(1, 40, 400)
	spec := kinds()["learned"]
	spec.Local = local.Default()
	spec.TrainUsers = int64(r.NumUsers())
	basis, histories := trained(t, spec, r, 4)
	var buffer History
	m := mustNewFrom(t, spec, basis, fit.Histories{Train: func(yield func(History) bool) {
		for _, h := range histories {
			if buffer = append(buffer[:0], h...); !yield(buffer) {
				return
			}
		}
	}})
	kept := mustNewFrom(t, spec, basis, fit.Histories{Train: slices.Values(histories)})
	check.Same(t, kept.Version(), m.Version(), "version")
}

// without takes item i out of a basis and out of histories, as if the basis had been learned and
// the item then forgotten. The last item of the new numbering stands for it in the histories that
// are returned besides.
func without(b *spectral.Basis, r *spectral.Incidence, i int) (*spectral.Basis, [][]int32) {
	c := *b
	c.N--
	c.U = slices.Delete(slices.Clone(b.U), i*b.K, (i+1)*b.K)
	c.Degrees = slices.Delete(slices.Clone(b.Degrees), i, i+1)
	c.Scale = slices.Delete(slices.Clone(b.Scale), i, i+1)
	var histories [][]int32
	for u := range r.NumUsers() {
		h := slices.Clone(r.Item[r.Ptr[u]:r.Ptr[u+1]])
		for at, j := range h {
			switch {
			case int(j) == i:
				h[at] = int32(c.N)
			case int(j) > i:
				h[at] = j - 1
			}
		}
		histories = append(histories, h)
	}
	return &c, histories
}

// The row of an item that is in the basis follows from those of the others: an eigenvector is K u =
// κ u.
func TestPlaceReproducesTheBasis(t *testing.T) {
	const n, rank = 40, 2
	r := market(1, n, 400)
	for name, spec := range kinds() {
		t.Run(name, func(t *testing.T) {
			spec.TrainUsers = int64(r.NumUsers())
			basis, histories := trained(t, spec, r, rank)
			all := mustNewFrom(t, spec, basis, fit.Histories{
				Train: slices.Values(histories), Validation: histories[:50],
			})
			for _, i := range []int{0, 7, n - 1} {
				rest, users := without(basis, r, i)
				m := *all // with the dynamics and the rotation that were learned with the item
				m.n = n - 1
				m.table = table{
					ids: itemNames(n - 1), degrees: rest.Degrees, graphScale: rest.Scale,
					width: all.width,
				}
				for j := range n {
					if j != i {
						m.basis = append(m.basis, row(all.basis, j, rank)...)
						m.decoderScale = append(m.decoderScale, all.decoderScale[j])
					}
				}
				check.Must(t, m.finish())
				e := check.Get(m.NewEvidence([]string{"new"}, nil))(t)
				for _, h := range users {
					e.Add(h)
				}
				item := check.Get(e.Place(0, float64(basis.Degrees[i])))(t)
				x := check.Get(m.Extend([]NewItem{item}))(t)
				near(t, "row", row(x.extension.basis, 0, rank), gemm.ToFloat64(row(all.basis, i, rank)),
					1e-5)
				near(t, "prediction", x.extension.predictions, gemm.ToFloat64(all.prediction(int32(i))),
					1e-5)
				got, want := x.extension.graphScale[0], basis.Scale[i]
				if math.Abs(got-want) > 1e-9*want {
					t.Errorf("scale of item %d is %v, want %v", i, got, want)
				}
				if got, want := x.Degree(int32(n-1)), basis.Degrees[i]; got != want {
					t.Errorf("degree of item %d: %v, want %v", i, got, want)
				}
			}
		})
	}
}

// extended is a model of n items, and the same with the given number of new ones, which users of
// both tastes have.
func extended(tb testing.TB, spec Spec, items int) (base, x *Model) {
	tb.Helper()
	const n = 40
	r := market(2, n, 200)
	spec.TrainUsers = int64(r.NumUsers())
	basis, histories := trained(tb, spec, r, 6)
	base = mustNewFrom(tb, spec, basis, fit.Histories{
		Train: slices.Values(histories), Validation: histories[:50],
	})
	ids := make([]string, items)
	for i := range ids {
		ids[i] = fmt.Sprintf("a-new-%02d", items-i)
	}
	e, err := base.NewEvidence(ids, nil)
	check.Must(tb, err)
	for u := range r.NumUsers() {
		e.Add(append(slices.Clone(r.Item[r.Ptr[u]:r.Ptr[u+1]]), int32(n+u%items), -1))
	}
	placed := make([]NewItem, items)
	for i := range placed {
		users, like := float64(10*(i+1)), []content.Neighbour(nil)
		if i >= 3 { // some borrow, and the last one of them all
			like = []content.Neighbour{{Item: 7, Similarity: 0.8}, {Item: 30, Similarity: 0.5}}
		}
		if placed[i], err = e.PlaceNear(i, users, like); i == 4 {
			placed[i], err = base.Borrow(ids[i], users, like)
		}
		check.Must(tb, err)
	}
	if x, err = base.Extend(placed); err != nil {
		tb.Fatal(err)
	}
	return base, x
}

func TestExtendedModel(t *testing.T) {
	const items = 5
	for name, spec := range kinds() {
		t.Run(name, func(t *testing.T) {
			base, x := extended(t, spec, items)
			n := int32(base.NumItems())
			if x.NumItems() != int(n)+items || x.Base() != base || base.Base() != base {
				t.Fatalf("%d items, want %d and the base", x.NumItems(), int(n)+items)
			}
			for i := range n {
				if x.ItemID(i) != base.ItemID(i) || x.Degree(i) != base.Degree(i) {
					t.Fatalf("item %d has changed", i)
				}
			}
			for i := n; i < n+items; i++ {
				want := fmt.Sprintf("a-new-%02d", i-n+1)
				if got, known := x.ItemIndex(want); x.ItemID(i) != want || got != i || !known {
					t.Errorf("item %d is %q with the index %d, want %q", i, x.ItemID(i), got, want)
				}
				if _, known := base.ItemIndex(want); known {
					t.Errorf("the base knows %q", want)
				}
			}
			checkPopular(t, x)
			checkTopN(t, x)
			checkBoosts(t, x)
			checkStates(t, base, x)
		})
	}
}

// checkPopular holds the popular items against a sort.
func checkPopular(t *testing.T, x *Model) {
	t.Helper()
	want := make([]int32, x.NumItems())
	for i := range want {
		want[i] = int32(i)
	}
	slices.SortStableFunc(want, func(a, b int32) int { return int(x.Degree(b) - x.Degree(a)) })
	check.Same(t, want, x.Popular(), "popular items")
}

// checkTopN holds TopN against ScoresTo, new items included, and those against the rows.
func checkTopN(t *testing.T, x *Model) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	s := x.NewState()
	for i := range int32(x.NumItems()) {
		x.Fold(s, Event{Item: i, Weight: rng.Float32(), Time: int64(i)})
	}
	q, scores := x.NewQuery(), make([]float32, x.NumItems())
	x.QueryTo(q, s, EstimatorBGS)
	x.ScoresTo(scores, q)
	skip := ranking.NewSet(x.NumItems())
	skip.Add(3)
	skip.Add(int32(x.NumItems()) - 2)
	var want []ranking.Scored
	for i, score := range scores {
		u, g := x.decoder(int32(i))
		if score != vec.Dot(u, q.Spectrum)*g {
			t.Fatalf("score %d is not that of its row", i)
		}
		if !skip.Has(int32(i)) {
			want = append(want, ranking.Scored{Item: int32(i), Score: score})
		}
	}
	slices.SortStableFunc(want, func(a, b ranking.Scored) int {
		if a.Score > b.Score {
			return -1
		}
		return 1
	})
	check.Same(t, want, x.TopN(nil, q, x.NumItems(), skip), "TopN")
}

// checkBoosts: additions count for items of the base and of the extension, with an allow-list and
// without, and a request without any is not touched by them.
func checkBoosts(t *testing.T, x *Model) {
	t.Helper()
	rng := rand.New(rand.NewPCG(6, 6))
	q, scores := x.NewQuery(), make([]float32, x.NumItems())
	for range 50 {
		for j := range q.Spectrum {
			q.Spectrum[j] = float32(rng.NormFloat64())
		}
		skip, all := ranking.SetOf(x.NumItems(), int32(rng.IntN(x.NumItems()))), []int32{}
		r := ranking.Request{Query: q.Spectrum, N: rng.IntN(x.NumItems() + 3), Skip: skip}
		plain := r
		x.ScoresTo(scores, q)
		want := [][]ranking.Scored{topOracle(scores, r.N, skip)}
		for _, i := range rng.Perm(x.NumItems())[:rng.IntN(x.NumItems())] {
			addition := float32(rng.NormFloat64())
			scores[i] += addition
			r.Boosts = append(r.Boosts, ranking.Boost{Item: int32(i), Score: addition})
		}
		for i := range x.NumItems() {
			all = append(all, int32(i))
		}
		among := r
		among.Among = all
		want = append(want, topOracle(scores, r.N, skip), topOracle(scores, r.N, skip))
		batch := []ranking.Request{plain, r, among}
		x.TopNBatch(batch)
		for i := range batch {
			if got := append([]ranking.Scored{}, batch[i].Top...); !cmp.Equal(got, want[i]) {
				t.Fatalf("request %d (-want +got):\n%s", i, cmp.Diff(want[i], got))
			}
		}
	}
}

// checkStates: events on known items give the same bits with the extension and without, and events
// on new items count.
func checkStates(t *testing.T, base, x *Model) {
	t.Helper()
	a, b := base.NewState(), x.NewState()
	for i := range int32(10) {
		base.Fold(a, Event{Item: i, Weight: 1, Time: int64(i)})
		x.Fold(b, Event{Item: i, Weight: 1, Time: int64(i)})
	}
	check.Same(t, a, b, "states differ with the extension (-without +with)")
	before := slices.Clone(b.X)
	x.Fold(b, Event{Item: int32(base.NumItems()), Weight: 1, Time: 20})
	if slices.Equal(before, b.X) {
		t.Error("an event on a new item changed nothing")
	}
}

func TestExtensionsHaveVersionsAndNoFiles(t *testing.T) {
	base, x := extended(t, kinds()["learned"], 3)
	_, y := extended(t, kinds()["learned"], 4)
	_, again := extended(t, kinds()["learned"], 3)
	if x.Version() != again.Version() || x.Version() == y.Version() ||
		!strings.HasPrefix(x.Version(), base.Version()+"+") {
		t.Errorf("versions %s, %s and %s of extensions of %s",
			x.Version(), again.Version(), y.Version(), base.Version())
	}
	path := filepath.Join(t.TempDir(), "model")
	trending, _ := withTrends(rand.New(rand.NewPCG(21, 22)), x)
	check.Must(t, trending.WriteFile(path))
	m := check.Get(Open(path))(t)
	defer m.Close()
	if m.Version() != base.Version() || m.NumItems() != base.NumItems() {
		t.Errorf("the file has the version %s and %d items, want those of the base, %s and %d",
			m.Version(), m.NumItems(), base.Version(), base.NumItems())
	}
	// An extension of an extension is one of the base, and closing it leaves the base alone.
	opened := check.Get(m.Extend(nil))(t)
	if err := opened.Close(); err != nil || m.ItemID(0) != base.ItemID(0) ||
		m.NumItems() != base.NumItems() {
		t.Errorf("closing an extension: %v", err)
	}
}

func TestExtendRefuses(t *testing.T) {
	base, x := extended(t, kinds()["paper"], 2)
	item := NewItem{ID: "z", Users: 3, row: make([]float32, base.Rank()), graphScale: 1}
	called := func(id string) NewItem {
		other := item
		other.ID = id
		return other
	}
	for name, test := range map[string]struct {
		items []NewItem
		want  string
	}{
		"known":   {[]NewItem{called(base.ItemID(4))}, "the model knows it"},
		"twice":   {[]NewItem{item, item}, "distinct"},
		"no id":   {[]NewItem{called("")}, "1 to 256"},
		"no UTF8": {[]NewItem{called("\xff")}, "UTF-8"},
	} {
		check.Says(t, check.Err(x.Extend(test.items)), test.want, "%s", name)
	}
	windows := kinds()["covariance"]
	windows.Window = 8
	m := *base
	m.spec = windows
	if _, err := m.NewEvidence([]string{"z"}, nil); err == nil {
		t.Error("a covariance graph of windows was extended")
	}
	e := check.Get(base.NewEvidence([]string{"z"}, nil))(t)
	if _, err := e.Place(0, 1); err == nil {
		t.Error("an item without histories was placed")
	}
}

// A row stays bounded: for an item whose loop is all there is of it, and for one among strangers.
func TestPlaceIsBounded(t *testing.T) {
	base, _ := extended(t, kinds()["scaled"], 1)
	e := check.Get(base.NewEvidence([]string{"z"}, nil))(t)
	n := int32(base.NumItems())
	e.Add([]int32{n})                            // alone
	e.Add([]int32{n, -1, -1, -1, -1, -1, -1, 0}) // one known item among strangers
	item, err := e.Place(0, 1e6)                 // and far more users than the histories show
	check.Must(t, err)
	x := check.Get(base.Extend([]NewItem{item}))(t)
	if d := x.Degree(n); d != base.NumTrainUsers() {
		t.Errorf("degree %d, want at most the %d training users", d, base.NumTrainUsers())
	}
	// sample·scale² loop is at most κ/2, and the sum at most twice the known item's part
	s := item.graphScale * 1e6 / 2 * 2 * math.Pow(8, -0.8) * base.graphScale[0]
	for j, u := range row(base.basis, 0, base.Rank()) {
		limit := 2 * s * math.Abs(float64(u)) / base.kappa[j] * (1 + 1e-6)
		if math.Abs(float64(item.row[j])) > limit {
			t.Errorf("coordinate %d is %v, want at most %v", j, item.row[j], limit)
		}
	}
}

// A row by a sample of the histories has in the mean the energy of the row by all of them.
func TestSampledRowsAreNotTooLong(t *testing.T) {
	base, _ := extended(t, kinds()["scaled"], 1)
	n := int32(base.NumItems())
	r := market(11, int(n), 400)
	energy := func(sample, first int) float64 {
		e := check.Get(base.NewEvidence([]string{"z"}, nil))(t)
		for u := first; u < r.NumUsers(); u += sample {
			e.Add(append(slices.Clone(r.Item[r.Ptr[u]:r.Ptr[u+1]]), n))
		}
		item := check.Get(e.Place(0, float64(r.NumUsers())))(t)
		sum := 0.0
		for _, x := range item.row {
			sum += float64(x) * float64(x)
		}
		return sum
	}
	all := energy(1, 0)
	for _, sample := range []int{3, 7, 21} {
		mean := 0.0
		for first := range sample {
			mean += energy(sample, first) / float64(sample)
		}
		if math.Abs(mean-all) > 0.5*all {
			t.Errorf("one history in %d gives a row of the energy %v, want about the %v of all",
				sample, mean, all)
		}
	}
}

// The few users of a new item have the present in common. Times the users behind them that is more
// than a training has, and the row would be longer than a basis with orthonormal columns can have.
func TestSampledRowsAreNotTooLongForABasis(t *testing.T) {
	base, _ := extended(t, kinds()["windows"], 1)
	n, last := int32(base.NumItems()), 0.0
	for _, users := range []float64{3, 30, 150} {
		e := check.Get(base.NewEvidence([]string{"z"}, nil))(t)
		for range 3 {
			e.Add([]int32{4, 5, 6, n})
		}
		item := check.Get(e.Place(0, users))(t)
		square := 0.0
		for _, x := range item.row {
			square += float64(x) * float64(x)
		}
		if square <= last || square >= 1 {
			t.Errorf("the row of three users among %v has the energy %v, want above %v and below 1",
				users, square, last)
		}
		last = square
	}
}
